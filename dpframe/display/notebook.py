"""HTML for notebooks, from the same descriptions that terminals print: real tables, in the colors of the page.

Nothing is told by color alone, and every text is escaped: names come from files of other people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING

from dpframe.display.grid import LEADING, Grid
from dpframe.display.tables import is_number, pairs, table
from dpframe.display.visible import Visible, visible

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

MOST_CELLS = 1000  # of a matrix; a larger one is shown in part

STYLE = """<style>
div.dpframe { max-width: 100%; overflow-x: auto; }
div.dpframe p { margin: 0.5em 0; max-width: 60em; text-align: left; }
div.dpframe table { border-collapse: collapse; margin: 0.2em 0 1em 0; color: inherit; }
div.dpframe th, div.dpframe td { border: 0; padding: 0.15em 1.2em 0.15em 0.3em; text-align: left !important;
  vertical-align: top; white-space: normal; max-width: 36em; }
div.dpframe thead th { border-bottom: 1px solid currentColor; vertical-align: bottom; }
div.dpframe tbody th { font-weight: 600; white-space: nowrap; }
div.dpframe .number { text-align: right !important; white-space: nowrap; font-variant-numeric: tabular-nums; }
div.dpframe .faint { font-style: italic; opacity: 0.7; }
</style>"""


def html_of(content: RenderableType) -> str:
    """A rendering as HTML that a notebook shows.

    Args:
        content: what is rendered.

    >>> html_of(pairs({"Rows": "a < b"})).splitlines()[-2]
    '<table><tbody><tr><th scope="row">Rows</th><td>a &lt; b</td></tr></tbody></table>'
    """
    return "\n".join(['<div class="dpframe">', STYLE, *_parts(content), "</div>"])


def _parts(content: RenderableType) -> Iterator[str]:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    if isinstance(content, Text):
        yield from _paragraph(content)
    elif isinstance(content, Group):
        for each in content.renderables:
            yield from _parts(each)
    elif isinstance(content, Visible):  # every text is made visible here
        yield from _parts(content.content)
    elif isinstance(content, Padding):
        yield from _parts(content.renderable)
    elif isinstance(content, pairs):
        yield _table((), ([_head(label), _cell(text)] for label, text in content.labeled.items()))
    elif isinstance(content, table):
        yield from _labeled(content.rows)
    elif isinstance(content, Grid):
        yield from _matrix(content)
    elif hasattr(content, "__rich__"):
        yield from _parts(content.__rich__())
    else:
        from dpframe.display.printable import plain_text

        yield f"<pre>{_text(plain_text(content))}</pre>"


def _text(text: str) -> str:
    return "\n".join(escape(visible(line)) for line in text.split("\n"))


def _lines(text: str) -> str:
    return _text(text).replace("\n", "<br>")


def _paragraph(content: Text) -> Iterator[str]:
    text, style = _lines(content.plain.strip()), str(content.style)
    if text:
        tag = "strong" if "bold" in style else "small" if "dim" in style else ""
        yield f"<p><{tag}>{text}</{tag}></p>" if tag else f"<p>{text}</p>"


def _cell(text: str, number: bool = False, faint: bool = False) -> str:
    names = " ".join(name for name, given in (("number", number), ("faint", faint)) if given)
    return f"<td{_class(names)}>{_lines(text)}</td>"


def _head(text: str, scope: str = "row", number: bool = False) -> str:
    return f'<th scope="{scope}"{_class("number" if number else "")}>{_lines(text)}</th>'


def _class(names: str) -> str:
    return f' class="{names}"' if names else ""


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    above, below = "".join(head), "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{above}</tr></thead>' if above else ''}<tbody>{below}</tbody></table>"


def _labeled(rows: list[dict[str, str]]) -> Iterator[str]:
    """Rows of labeled cells; the first cell of each names it."""
    if rows:
        head = [_head(label, "col", is_number(label)) for label in rows[0]]
        yield _table(head, (_named(row) for row in rows))


def _named(row: dict[str, str]) -> list[str]:
    (_, name), *others = row.items()
    return [_head(name), *(_cell(text, is_number(label)) for label, text in others)]


def _matrix(grid: Grid) -> Iterator[str]:
    """A matrix with the names of its rows and columns, or its leading part with a line that says so."""
    shown = len(grid.cells), len(grid.cells[0])
    if shown != grid.shape or shown[0] * shown[1] > MOST_CELLS:
        shown = min(LEADING, shown[0]), min(LEADING, shown[1])
    head = () if grid.columns is None else (_head(name, "col", True) for name in grid.columns[: shown[1]])
    rows = (
        [_head(name), *(_cell(cell, True, bool(grid.faint(cell))) for cell in cells[: shown[1]])]
        for name, cells in zip(grid.rows[: shown[0]], grid.cells, strict=False)
    )
    yield _table(["<td></td>", *head] if grid.columns is not None else (), rows)
    if shown != grid.shape:
        yield f"<p>{_text(grid.left_out(*shown))}</p>"
