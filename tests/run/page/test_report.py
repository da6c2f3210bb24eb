"""`result.to_html`: what a privacy officer asks is on the page, and nothing in a plan is markup."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import attrs
import numpy as np
import pytest

import dpframe as dp
from dpframe.display.visible import is_invisible
from dpframe.ledger.details import USER
from dpframe.rounding import format_up
from dpframe.run.page import charts, document
from dpframe.spec.budget import ModelBudget
from tests.support.pages_of_plans import DATA, HOSTILE, NOTE, UNSEEN, charged, hostile_plan

DRAWN = "could not be drawn"


class Parsed(HTMLParser):
    """The elements of a page, their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dp.Result:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(USER, "alice")
        return charged(tmp_path_factory.mktemp("charged"), hostile_plan())


@pytest.fixture(scope="module")
def page(result: dp.Result) -> str:
    return result.to_html()


def words(page: str) -> str:
    """The text of a page, with single spaces."""
    return " ".join(Parsed(page).text.split())


def test_no_text_of_a_plan_or_ledger_is_markup(page: str) -> None:
    parsed = Parsed(page)
    assert DRAWN not in page
    assert 1 == parsed.tags.count("script")  # the page's own
    assert "img" not in parsed.tags
    assert not [name for name, _ in parsed.attributes if name.startswith("on") or name == "style"]
    assert parsed.text.count(HOSTILE) > 5
    assert NOTE in parsed.text
    assert [value for name, value in parsed.attributes if name == "aria-label" and HOSTILE in value] == []
    pictures = re.findall(r"<svg .*?</svg>", page, flags=re.S)
    assert any(html.escape(HOSTILE) in picture for picture in pictures)  # the full name, in a title
    assert not [each for each in page if is_invisible(each) and each != "\n"]
    assert r"\u202e\x1b[2J" in parsed.text
    assert UNSEEN not in page


def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    parsed = Parsed(page)
    assert not {"link", "iframe", "object", "embed", "base", "form"} & set(parsed.tags)
    assert not [value for name, value in parsed.attributes if name in ("src", "href", "action", "data")]
    assert "url(" not in re.sub(r"url\(#\w+\)", "", page)
    assert "@import" not in page
    (policy,) = (value for name, value in parsed.attributes if value.startswith("default-src"))
    assert "'unsafe-inline'" not in policy
    style, script = (re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.S)[0] for tag in ("style", "script"))
    assert document._hash(style) in policy
    assert document._hash(script) in policy


def test_what_a_privacy_officer_asks_is_there(result: dp.Result, page: str) -> None:
    text, charge = words(page), result.charge
    assert charge is not None
    assert charge.others is not None
    assert f"Protected is {result.statement.protected}." in text
    assert "more than 2.71829 times (e to the power ε) as likely with that person's rows as without them" in text
    assert "Other runs ε = 1" in text
    assert f"With this run ε = {format_up(charge.spent.epsilon)}" in text
    assert f"{charge.time[:10]} {charge.time[11:16]} UTC" in text
    assert charge.head in text
    assert result.statement.plan in text
    assert "0 to 10" in text
    assert "counts as 1.0" in text
    assert result.plan_file in Parsed(page).text  # a plan file has escapes for what cannot be seen
    assert "NIST SP 800-226" in text
    assert "W3C draft note" in text
    assert text.count("To be filled in by a person") > 5
    for name in result:
        assert name in text
    shares = [float(share) for share in re.findall(r'width="([\d.]+)%" height="100%" class="part', page)]
    expected = [charge.others.epsilon / 3, (charge.spent.epsilon - charge.others.epsilon) / 3]
    assert expected == pytest.approx([share / 100 for share in shares], abs=1e-4)


def test_every_number_has_its_error_and_pictures_have_tables(result: dp.Result, page: str) -> None:
    numbers = sum(result[name].size for name in result)
    exact = sum(int((result.interval(name).low == result.interval(name).high).sum()) for name in result)
    unknown = sum(int((~result.interval(name).determined).sum()) for name in result)
    in_tables = re.findall(r"<td[^>]*>[^<]* ± [^<]*</td>", page)
    assert numbers - exact - unknown == len(in_tables)
    assert 4 == page.count('role="img" aria-label="') - 1  # heat map, eigenvalues, components, shares; and the bar
    quiet = int((~result.interval("correlation").excludes_zero).sum())
    assert quiet == len(re.findall(r'class="quiet"', page))
    assert quiet == len(re.findall(r'class="dotted"', page))


def test_a_loaded_result_has_the_same_page_but_names_nobody(result: dp.Result, page: str, tmp_path: Path) -> None:
    result.to_json(tmp_path / "result.json")
    loaded = dp.Result.load(tmp_path / "result.json").to_html(tmp_path / "page.html")
    assert loaded == (tmp_path / "page.html").read_text(encoding="utf-8")
    changed = [(a, b) for a, b in zip(page.splitlines(), loaded.splitlines(), strict=True) if a != b]
    assert 2 == len(changed)
    assert "Run by" in changed[0][0]
    assert "alice" in changed[0][0]
    assert NOTE in html.unescape(changed[1][0])
    assert all("what is recorded is in entry 5 of the ledger" in after for _, after in changed)


def test_a_plan_that_is_not_the_one_that_was_run_is_not_described(result: dp.Result) -> None:
    other = attrs.evolve(result, plan_file=result.plan_file.replace("high = 10.0", "high = 77.0"))
    assert "0 to 77" not in words(other.to_html())
    assert "0 to 10" not in words(other.to_html())


def test_a_run_from_a_seed_protects_nobody() -> None:
    text = words(hostile_plan().run(DATA, insecure_seed=1).to_html())
    assert "NOT PRIVATE" in text
    assert "Nobody is protected" in text
    assert "Protected is" not in text
    assert "No outcome" not in text
    assert "not recorded: the run had no ledger" in text


def test_a_guarantee_in_exact_arithmetic_says_so(result: dp.Result) -> None:
    lines = tuple(attrs.evolve(line, numerics="floating") for line in result.statement.lines)
    floating = attrs.evolve(result, statement=attrs.evolve(result.statement, lines=lines))
    assert "In exact arithmetic, no outcome of this release" in words(floating.to_html())
    assert "private in exact arithmetic and computed in floats" in words(floating.to_html())


def test_a_guarantee_under_a_model_is_said_first(result: dp.Result) -> None:
    spent = ModelBudget(epsilon=1.0, delta=1e-6, model="spiked", failure="1/n")
    modeled = attrs.evolve(result, statement=attrs.evolve(result.statement, spent=spent))
    text = words(modeled.to_html())
    assert text.index("Under a model only") < text.index("Protected is")
    assert "No outcome" not in text


def test_a_run_that_failed_says_so_and_shows_what_there_is(result: dp.Result) -> None:
    kept = {name: record for name, record in result.records.items() if name != "components"}
    partial = attrs.evolve(result, records=kept, failed={"components": f"not computed {HOSTILE}"}, warnings=(HOSTILE,))
    page = partial.to_html()
    assert DRAWN not in page
    assert "Not complete" in words(page)
    assert f"componentsnot computed {HOSTILE}" in words(page)  # a term and its description
    assert f"Look at this first {HOSTILE}" in words(page)
    assert "Table of mean_in_units" in page


def test_a_page_that_cannot_be_drawn_has_the_report_as_text(
    result: dp.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(document, "_template", broken)
    page = result.to_html()
    assert f"{DRAWN} (ZeroDivisionError)" in page
    assert HOSTILE not in page
    assert " ± " in page
    result.save(tmp_path / "out")
    assert page == (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert result == dp.Result.load(tmp_path / "out" / "result.json")


def test_a_value_is_shown_without_its_picture_rather_than_not_at_all(
    result: dp.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "heat_map", None)
    page = result.to_html()
    assert DRAWN not in page
    assert "Heat map" not in page
    assert "Table of correlation" in page


def test_a_large_value_is_shown_in_part() -> None:
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="replace"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("moment", "gaussian"), dp.derive("top", "top-subspace", of="moment", k=5)],
    )
    page = plan.run(np.random.default_rng(0).normal(size=(50, 70)), insecure_seed=1).to_html()
    assert "The first 60 × 60 of 70 × 70 numbers" in words(page)
    assert "the first 60 of 70 columns and the first 4 of 5 components" in words(page)
