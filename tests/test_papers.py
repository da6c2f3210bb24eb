"""The table of the papers' items: every item has a place, every citation names an item, and the page is current."""

from __future__ import annotations

import ast
import importlib
import re
from typing import Any

import pytest

from docs.building import papers

ITEMS = [(paper["name"], each) for paper in papers.papers() for each in paper["items"]]
CITATIONS = [*papers.in_code(), *papers.in_pages(), *papers.in_tests()]


def test_every_item_has_a_place_a_verdict_and_a_test_or_a_reason() -> None:
    found = papers.table()
    for paper, each in ITEMS:
        places, tests = found[paper, each["item"]]
        what = f"{paper}: {each['item']}"
        assert each["verdict"] in papers.VERDICTS, what
        assert places, f"{what} has no place"
        assert tests or each["verdict"] not in papers.NEED_TESTS, f"{what} has no test"
        assert "why" in each or each["verdict"] not in papers.NEED_REASON, f"{what} has no reason"


def test_no_item_is_listed_twice() -> None:
    names = [(paper, each["item"]) for paper, each in ITEMS]
    assert len(set(names)) == len(names)


def test_every_numbered_equation_has_a_place() -> None:
    """A line of its own, or the item in whose statement or proof it is; the slides number none."""
    for paper in papers.papers():
        found = sorted(number for each in paper["items"] for number in papers.equations(each))
        assert list(range(1, paper.get("equations", 0) + 1)) == found, paper["name"]


def test_no_number_of_an_item_is_left_out() -> None:
    """They run within a section for all kinds together, or for each kind throughout a paper."""
    for paper in papers.papers():
        numbers: dict[str, set[int]] = {}
        for each in paper["items"]:
            for kind, section, number in re.findall(r"^(?!Section)([A-Z]\w+) (?:(\d+)\.)?(\d+)$", each["item"]):
                numbers.setdefault(section or kind, set()).add(int(number))
        for place, found in numbers.items():
            assert set(range(1, max(found) + 1)) == found, f"{paper['name']}: {place}"


def test_every_citation_names_an_item() -> None:
    known = {(paper, each["item"]) for paper, each in ITEMS}
    assert [] == [citation for citation in CITATIONS if citation[:2] not in known]
    assert len(CITATIONS) > 100


def test_every_place_and_every_test_that_is_named_exists() -> None:
    for _, each in ITEMS:
        for place in each.get("at", ()):
            assert (papers.ROOT / place).is_file() if place.endswith(".md") else resolved(place) is not None, place
        for test in each.get("tests", ()):
            file, _, name = test.partition("::")
            tree = ast.parse((papers.ROOT / file).read_text(encoding="utf-8"))
            functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
            assert not name or name in functions, test


def resolved(name: str) -> Any:
    """What a dotted name means: a module, or something in one."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    return None


def test_places_in_code_are_names_that_resolve() -> None:
    for _, _, place in papers.in_code():
        assert resolved(place) is not None, place


def test_the_page_is_current() -> None:
    """Written by python -m docs.building.papers."""
    assert papers.page() == papers.PAGE.read_text(encoding="utf-8")


def test_citations_are_found_across_lines_and_unknown_papers_are_none() -> None:
    text = "as in [Unitary orbits: Lemma 6.3,\n    Theorem 2.7, (2)] and [a link](elsewhere) and [Other: Lemma 1]"
    expected = [("Unitary orbits", item) for item in ("Lemma 6.3", "Theorem 2.7", "(2)")]
    assert expected == list(papers.cited(text))


# Words before a year that are no author: venues, months, data sets.
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
NO_AUTHORS = rf"[A-Z]{{3,}}|NeurIPS|PoPETs|Cup|Survey|{MONTHS}"


def authors_and_years(text: str) -> set[tuple[str, str]]:
    """The first author and the year of all works cited as in "Balle and Wang 2018" or "Dwork et al. 2014"."""
    name = rf"(?!(?:{NO_AUTHORS})\b)([A-Z]\w+)"
    others = r"(?:, [A-Z]\w+(?: [A-Z]\w+)?)*(?: and [A-Z]\w+| et al\.)?"
    return set(re.findall(rf"(?<!\w){name}{others},? \(?((?:19|20)\d\d)\b", " ".join(text.split())))


def test_all_works_that_pages_and_code_cite_by_year_are_listed() -> None:
    page = papers.ROOT / "docs" / "explanation" / "notation.md"
    listed = authors_and_years(page.read_text(encoding="utf-8").partition("All papers:")[2])
    texts = [path.read_text(encoding="utf-8") for path in (papers.ROOT / "docs").glob("**/*.md")]
    texts += [text for path in papers.python_files(papers.CODE) for _, text in papers.docstrings(path)]
    cited = set().union(*map(authors_and_years, texts))
    assert set() == cited - listed
    assert len(cited) > 30
    planted = "of Nobody and Else (1999), in January 2020, COLT 2022 and Someone et al. 2001"
    assert {("Nobody", "1999"), ("Someone", "2001")} == authors_and_years(planted)


@pytest.mark.parametrize("planted", ["Lemma 99", "Theorem 2.2 and more"])
def test_a_citation_of_nothing_would_be_found(planted: str) -> None:
    known = {(paper, each["item"]) for paper, each in ITEMS}
    assert [("Unitary orbits", planted)] == [c for c in papers.cited(f"[Unitary orbits: {planted}]") if c not in known]
