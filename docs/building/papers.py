"""Lists every item of the papers with its place in code and documentation, its tests and a verdict.

Items are in docs/building/papers.toml. Places and tests are collected from citations in docstrings and in Markdown
pages, such as ``[Unitary orbits: Lemma 6.3, Lemma 6.5]``. ``python -m docs.building.papers`` writes the page.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "papers.md"
VERDICTS = ("implemented", "corrected", "proof-only", "not applicable")
NEED_TESTS = VERDICTS[:2]
NEED_REASON = VERDICTS[1:]
CODE = ("dpframe", "plugins/*/dpframe_*")
TESTS = ("tests", "plugins/*/tests")
HEAD = """# The papers, item by item

Every algorithm, theorem, lemma, corollary, definition, remark and figure of the papers that dpframe builds on (they
have no tables): where it is, and how it is tested. A numbered equation that says something of its own has a line; all
others are named with the item in whose statement or proof they are. This page is written by
`python -m docs.building.papers` from the items in `docs/building/papers.toml` and from the citations in docstrings and
pages; a test fails when an item has no place, when a number is left out, when a citation names no item, or when this
page is not current.

*Implemented*: there is code for it, and a test. *Corrected*: the same, where what is printed needs a mend, which the
errata explain: of [Re-Analyze Gauss](../explanation/gaussian-error.md#errata-of-the-paper), of
[unitary orbits](../explanation/unitary-orbits-errata.md), of [spiked covariance](../explanation/spiked-errata.md).
*Proof-only*: a step of a proof without a quantity of its own.
"""


@cache
def papers() -> list[dict[str, Any]]:
    """The papers with their items."""
    found: list[dict[str, Any]] = tomllib.loads((Path(__file__).with_name("papers.toml")).read_text(encoding="utf-8"))[
        "paper"
    ]
    return found


@cache
def _pattern() -> re.Pattern[str]:
    names = "|".join(re.escape(paper["name"]) for paper in papers())
    return re.compile(rf"\[({names}): ([^\]]+)\]")


def cited(text: str) -> Iterator[tuple[str, str]]:
    """The citations in a text: pairs of a paper and an item."""
    for paper, items in _pattern().findall(" ".join(text.split())):
        for item in items.split(", "):
            yield paper, item


def docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """The docstrings of a module, each with the dotted name of what it documents within the module."""

    def walk(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield name, ast.get_docstring(node) or ""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef):
                yield from walk(child, f"{name}.{child.name}" if name else child.name)

    yield from walk(ast.parse(path.read_text(encoding="utf-8")), "")


def python_files(folders: tuple[str, ...]) -> list[Path]:
    """The Python files below these folders."""
    return sorted(file for folder in folders for place in ROOT.glob(folder) for file in place.glob("**/*.py"))


def in_code() -> Iterator[tuple[str, str, str]]:
    """Citations in docstrings of code: paper, item, dotted name."""
    for path in python_files(CODE):
        module = ".".join(path.with_suffix("").relative_to(package_root(path)).parts).removesuffix(".__init__")
        for name, text in docstrings(path):
            for paper, item in cited(text):
                yield paper, item, f"{module}.{name}" if name else module


def package_root(path: Path) -> Path:
    """The folder from which a module is imported."""
    top = path.relative_to(ROOT).parts
    return ROOT if top[0] == "dpframe" else ROOT / top[0] / top[1]


def in_tests() -> Iterator[tuple[str, str, str]]:
    """Citations in docstrings of tests: paper, item, test."""
    for path in python_files(TESTS):
        for name, text in docstrings(path):
            for paper, item in cited(text):
                file = path.relative_to(ROOT).as_posix()
                yield paper, item, f"{file}::{name}" if name.startswith("test") else file


def in_pages() -> Iterator[tuple[str, str, str]]:
    """Citations in Markdown pages that people write: paper, item, page."""
    for path in sorted((ROOT / "docs").glob("**/*.md")):
        if path not in (PAGE, PAGE.with_name("catalog.md")):
            for paper, item in cited(path.read_text(encoding="utf-8")):
                yield paper, item, path.relative_to(ROOT).as_posix()


def equations(each: dict[str, Any]) -> list[int]:
    """The numbers of an item's equations: its own, and those that are named with it, such as "8, 17-21"."""
    found: list[int] = []
    for part in (each["item"].strip("()"), *each.get("equations", "").split(", ")):
        first, _, last = part.partition("-")
        if first.isdecimal():
            found += range(int(first), int(last or first) + 1)
    return found


def table() -> dict[tuple[str, str], tuple[list[str], list[str]]]:
    """The places and the tests of every item, those given in docs/building/papers.toml first."""
    found: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for paper in papers():
        for each in paper["items"]:
            found[paper["name"], each["item"]] = (list(each.get("at", ())), list(each.get("tests", ())))
    for column, citations in ((0, [*in_code(), *in_pages()]), (1, list(in_tests()))):
        for paper, item, place in citations:
            places = found.get((paper, item), ([], []))[column]
            if place not in places:
                places.append(place)
    return found


def page() -> str:
    """The page with all items."""
    parts, found = [HEAD], table()
    for paper in papers():
        parts += [f"\n## {paper['name']}\n\n{paper['by']}.\n", "| item | what | where | tested by | verdict |"]
        parts.append("|---|---|---|---|---|")
        for each in paper["items"]:
            places, tests = found[paper["name"], each["item"]]
            why = f": {each['why']}" if "why" in each else ""
            cells = [each["item"], _about(each), _where(places), _tests(tests), each["verdict"] + why]
            parts.append("| " + " | ".join(cells) + " |")
    return "\n".join(parts) + "\n"


def _about(each: dict[str, Any]) -> str:
    """What an item says, and the numbered equations that are named with it."""
    named = each.get("equations", "").replace("-", ") to (").replace(", ", "), (")
    return f"{each['about']}; ({named})" if named else str(each["about"])


def _where(places: list[str]) -> str:
    """Links to pages, and names of code."""
    shown = []
    for place in places:
        if place.endswith(".md"):
            name = Path(place).stem.replace("-", " ")
            shown.append(f"[{name}](../{Path(place).relative_to('docs').as_posix()})")
        else:
            shown.append(f"`{place}`")
    return ", ".join(shown)


def _tests(tests: list[str]) -> str:
    return ", ".join(
        f"`{Path(test.partition('::')[0]).stem}`" for test in dict.fromkeys(t.partition("::")[0] for t in tests)
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
