"""The tools that build the site: links, and formulas."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from math_core import LatexToMathML

import dpframe as dp
from docs.building import catalog, links, measured, stage
from dpframe.discovery import CORE, OWN

GOOD = '<h1 id="top">A</h1><a href="#top">1</a><a href="folder/b.html#x">2</a><a href="https://example.org/">3</a>'


def site(folder: Path, page: str) -> Path:
    (folder / "folder").mkdir()
    (folder / "a.html").write_text(page)
    (folder / "folder" / "b.html").write_text('<p id="x">B</p><a href="../a.html">back</a>')
    (folder / "style.css").write_text("p { color: red }")
    return folder


def test_a_whole_site_has_no_problems(tmp_path: Path) -> None:
    assert [] == links.problems(site(tmp_path, GOOD))


@pytest.mark.parametrize(
    ("planted", "problem"),
    [
        ('<a href="c.html">', "a.html: c.html leads nowhere"),
        ('<img src="c.svg">', "a.html: c.svg leads nowhere"),
        ('<a href="#y">', "a.html: #y has no such anchor"),
        ('<a href="folder/b.html#y">', "a.html: folder/b.html#y has no such anchor"),
        ('<script src="https://example.org/x.js">', "a.html: loads https://example.org/x.js from elsewhere"),
        ('<link href="//example.org/x.css">', "a.html: loads //example.org/x.css from elsewhere"),
    ],
)
def test_a_broken_link_is_found(tmp_path: Path, planted: str, problem: str) -> None:
    assert [problem] == links.problems(site(tmp_path, GOOD + planted))


def test_a_style_sheet_that_loads_a_font_from_elsewhere_is_found(tmp_path: Path) -> None:
    site(tmp_path, GOOD)
    (tmp_path / "style.css").write_text("@font-face { src: url(https://example.org/font.woff2) }")
    assert ["style.css: loads url(https://example.org/font.woff2) from elsewhere"] == links.problems(tmp_path)


def test_links_of_the_repository_become_links_of_the_site() -> None:
    places = {"SECURITY.md": "project/security.md", "docs/how-to/a.md": "how-to/a.md", "docs/b.md": "b.md"}
    text = "[x](../../SECURITY.md#threats), [y](../b.md), `[z](gone.md)`, [w](https://example.org/a.md)"
    moved = "[x](../project/security.md#threats), [y](../b.md), `[z](gone.md)`, [w](https://example.org/a.md)"
    assert moved == stage.relinked(text, "docs/how-to/a.md", places)
    with pytest.raises(ValueError, match=re.escape("gone.md, which is no page of the site")):
        stage.relinked("[z](gone.md)", "docs/b.md", places)


def test_two_remarks_in_brackets_are_no_link() -> None:
    text = "[A paper: Theorem 2] [Slides of it: Theorem]: so it is. `x[0] [A]`"
    assert text.replace("] [S", "] \\[S") == stage.relinked(text, "docs/b.md", {"docs/b.md": "b.md"})


def test_every_page_can_be_staged() -> None:
    places = stage.pages()
    for source in places:
        if source.endswith(".md"):
            stage.relinked((stage.ROOT / source).read_text(encoding="utf-8"), source, places)


def formulas(text: str) -> list[str]:
    """The formulas of a page, outside of its code."""
    code = re.split(r"(^```.*?^```$|`[^`\n]*`)", text, flags=re.M | re.S)
    prose = "".join(part for part in code if not part.startswith("`"))
    fenced = re.findall(r"^```math\n(.*?)^```$", text, flags=re.M | re.S)
    return [*fenced, *re.findall(r"\$\$(.+?)\$\$", prose, flags=re.S), *re.findall(r"(?<!\$)\$([^$]+)\$(?!\$)", prose)]


def test_every_formula_can_be_drawn_here_and_on_a_code_host() -> None:
    converter = LatexToMathML(fancy_error=False)
    found = 0
    for page in stage.DOCS.glob("**/*.md"):
        for formula in formulas(page.read_text(encoding="utf-8")):
            converter.convert_with_local_state(formula, displaystyle=True)  # raises at a command that it does not know
            found += 1
            # Markdown takes a backslash off such marks before a code host draws the formula; two begin a line.
            assert not re.search(r"\\[{}|,;!_*]", formula.replace(r"\\", "")), (page.name, formula)
    assert found > 1000


def test_the_catalog_is_up_to_date() -> None:
    assert catalog.page() == catalog.PAGE.read_text(encoding="utf-8"), "run python -m docs.building.catalog"


def test_the_catalog_has_everything_that_the_project_provides() -> None:
    text = catalog.PAGE.read_text(encoding="utf-8")
    for info in dp.plugins():
        if info.name in (CORE, *OWN):
            for name in (what.rpartition(" ")[2] for what in info.provides):
                assert f"\n### `{name}`\n" in text, name


def test_figures_of_mechanisms_are_those_of_the_benchmarks() -> None:
    text = measured.PAGE.read_text(encoding="utf-8")
    assert measured.written(text) == text, "run python -m docs.building.measured"
