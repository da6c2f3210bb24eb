"""HTML for notebooks: well-formed tables with heads, every text escaped, and the same words as the report."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from rich.panel import Panel
from rich.text import Text

import dpframe.plugin as dp
from dpframe.display.notebook import html_of
from dpframe.display.tables import table
from tests.support.everything import COLUMNS, plans, released

EMPTY = {"br"}  # elements without an end


class Read(HTMLParser):
    """The elements and the words of HTML; refuses what is not well-formed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert [] == self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag == self.open.pop()

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words += data.split()

    def count(self, tag: str) -> int:
        return sum(each == tag for each, _ in self.seen)


def ledger(folder: Path) -> dp.Ledger:
    made = dp.Ledger.create(folder / "budget.db")
    made.add("clinic", budget=dp.Budget(epsilon=3.0, delta=1e-5), neighbors="add-remove")
    return made


def comparison() -> dp.Comparison:
    found = dp.compare(
        "moment",
        rows=dp.Rows(norm=1.0, neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        scenario=dp.Scenario(dim=4, n=5000, spectrum=[4, 3, 2, 1]),
        draws=20,
    )
    assert isinstance(found, dp.Comparison)
    return found


def shown(folder: Path) -> dict[str, Any]:
    made, plan = ledger(folder), plans()["gaussian"]
    return {
        "explanation": plan.explain(dim=3, spectrum=[3, 2, 1]),
        "result": released("every derivation"),
        "dry run": plan.dry_run(np.eye(3), ledger=made, dataset="clinic"),
        "ledger": made,
        "history": made.history(),
        "verified": made.verify(),
        "comparison": comparison(),
        "check": dp.check(np.full((3, 2), 20.0), dp.Rows(columns=COLUMNS[:2], neighbors="replace")),
    }


def test_html_has_the_words_of_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "2000")  # nothing is folded
    for name, each in shown(tmp_path).items():
        read = Read(each._repr_html_())
        drawn = {"─"}
        words = [word for word in str(each).split() if set(word) - drawn]
        assert sorted(words) == sorted(read.words), name
        assert read.count("table") >= 1, name
        assert read.count("th") >= 2, name
        assert all(attributes.get("scope") in ("row", "col") for tag, attributes in read.seen if tag == "th"), name


def test_plans_and_rows_are_tables() -> None:
    plan = plans()["every derivation"]
    whole, promise = Read(plan._repr_html_()), Read(plan.rows._repr_html_())
    for read in (whole, promise):
        text = " ".join(read.words)
        assert "Protected each person, with one row: whether they are in the data at all" in text
        assert "age 0 to 100 years its row contributes nothing" in text
        assert "ward one of north, south" in text
    assert "moment gaussian diagonal" in " ".join(whole.words)
    assert "covariance covariance a covariance matrix moment" in " ".join(whole.words)
    assert (4, 2) == (whole.count("table"), promise.count("table"))
    assert "Coordinates 4" in " ".join(promise.words)
    column = dp.Column("age", 17, 90, missing=40)
    assert "counts as 40" in dp.Rows(columns=[column], neighbors="replace")._repr_html_()
    assert "stated once dim and norm are known" in plans()["gaussian"]._repr_html_()


NASTY = "<img src=x onerror=alert(1)>&\"'\x1b[2J\u202e"


def test_every_text_is_escaped() -> None:
    rows = dp.Rows(columns=[dp.Column(NASTY, 0, 1, unit="<b>"), dp.Category("b", ["<i>"])], neighbors="replace")
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])
    data = {NASTY: np.zeros(9), "b": np.array(["<i>"] * 9)}
    result = attrs.evolve(plan.run(data), warnings=(NASTY,), choices={"moment": NASTY})
    for each in (rows, plan, plan.explain(), result, dp.check(data, rows)):
        html = each._repr_html_()
        assert set() == {tag for tag, _ in Read(html).seen} - {
            *("div", "style", "p", "strong", "small", "table", "thead", "tbody", "tr", "th", "td", "br")
        }
        assert not {"\x1b", "\u202e"} & set(html)
        assert "onerror=alert(1)&gt;&amp;&quot;&#x27;\\x1b[2J\\u202e" in html or each is not rows


def test_a_large_matrix_is_shown_in_part() -> None:
    rows = dp.Rows(norm=1.0, neighbors="replace")
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])
    for dim, cells in ((30, 900), (40, 144), (70, 144)):
        read = Read(plan.run(np.zeros((5, dim)), insecure_seed=1)._repr_html_())
        numbers = [tag for tag, attributes in read.seen if "number" in (attributes.get("class") or "")]
        text = " ".join(read.words)
        assert cells == numbers.count("td") - 2  # and two epsilons
        told = f"… the first 12 of {dim} rows and the first 12 of {dim} columns; all of it: result.frame('moment')"
        assert (told in text) == (cells == 144)


def test_what_is_not_told_from_zero_has_a_mark_beside_its_style() -> None:
    html = released("every derivation")._repr_html_()
    faint = re.findall(r'<td class="number faint">([^<]*)</td>', html)
    assert faint
    assert all(cell.startswith("~") or cell.endswith("n.d.") for cell in faint)
    assert len(faint) == len(re.findall(r">~|n\.d\.</td>", html))


def test_colors_are_those_of_the_page() -> None:
    html = released("every derivation")._repr_html_()
    assert [] == re.findall(r"#[0-9a-fA-F]{3,6}\b|rgb|\bcolor: (?!inherit)", html)


def test_other_renderings_are_text() -> None:
    read = Read(html_of(Panel(Text("a < b"))))
    assert (1, True) == (read.count("pre"), {"a", "<", "b"} <= set(read.words))
    assert 0 == Read(html_of(table([]))).count("table")
