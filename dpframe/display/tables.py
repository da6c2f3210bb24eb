"""Headings, labeled pairs and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

NARROW = 90  # in a terminal with fewer columns, tables have no margins, and columns are closer
BROKEN = 60  # from as many columns on, words are broken to keep a table
UNBROKEN = 12  # characters of a word that stay together in such a table
BREAK = re.compile(r"(?<=[.\-=(,/_])(?=[^\s\d])|(?<==)(?=\d)")
"""Where a word may be broken before that: after a mark, but not within a number."""


def heading(text: str) -> RenderableType:
    """A bold line."""
    from rich.text import Text

    return Text(text, style="bold")


class pairs:  # noqa: N801 - a renderable that reads like a function
    """Labels on the left, texts on the right."""

    def __init__(self, labeled: Mapping[str, str]) -> None:
        self.labeled = labeled

    def __rich_console__(self, console: Console, options: Any) -> Any:
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="cyan", no_wrap=True)
        grid.add_column(overflow="fold")
        for label, text in self.labeled.items():
            grid.add_row(Text("  " + label), Text(text))
        yield grid


def sentence(caveat: str) -> str:
    """The text as a sentence, with a capital and a period."""
    return f"{caveat[0].upper()}{caveat[1:]}."


class table:  # noqa: N801 - a renderable that reads like a function
    """Rows of labeled cells: a table if there is room for its words, else lists of pairs."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        self.rows = rows

    def __rich_console__(self, console: Console, options: Any) -> Any:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        narrow = options.max_width < NARROW
        widths, between = self._widths(options.max_width) if narrow else self._widths(options.max_width - 1, apart=3)
        if widths is None:
            for row in self.rows:
                yield Text()
                yield pairs(row)
            return
        padding = (0, between - 1, 0, 0) if narrow else (0, between - 2, 0, 1)  # a column of spaces divides two
        wide = Table(box=box.SIMPLE_HEAD, padding=padding, show_edge=not narrow)
        for label in self.rows[0]:
            justify: Literal["left", "right"] = "right" if is_number(label) else "left"
            wide.add_column(label, overflow="fold", justify=justify, width=widths.get(label))
        for row in self.rows:
            wide.add_row(*(Text(_folded(text, widths.get(label))) for label, text in row.items()))
        yield wide

    def _widths(self, room: int, apart: int = 2) -> tuple[dict[str, int] | None, int]:
        """The widths of columns and the spaces between them; None where there is no room for them.

        No word is broken if that is possible, and columns move closer for it; else words are broken after marks, and
        long ones anywhere. What is left goes to the columns in equal parts, as far as they have a use for it.
        """
        lines = {label: "\n".join(row[label] for row in self.rows).splitlines() for label in self.rows[0]}
        wanted = {label: max(map(len, [label, *each])) for label, each in lines.items()}
        choices = ((_whole, apart), (_whole, 2), (_pieces, 2), (_pieces, apart - 1))
        for pieces, between in choices[: 4 if room >= BROKEN else 1]:
            least = {label: _longest(label, each, pieces) for label, each in lines.items()}
            most = max(wanted.values())
            for width in range(most, 0, -1):
                widths = {label: max(least[label], min(wanted[label], width)) for label in wanted}
                if sum(widths.values()) + between * len(widths) <= room:
                    return widths, between
        return None, 2


def is_number(label: str) -> bool:
    """Whether the cells under a label are numbers, which are aligned on the right."""
    return label.startswith("ε")


def _longest(label: str, lines: list[str], pieces: Callable[[str], list[str]]) -> int:
    """The width of what a column must not break: pieces of its words, and a label such as "ε alone" itself."""
    words = [word for line in lines for word in line.split()]
    kept = [label] if is_number(label) else label.split()
    return max(map(len, [*kept, *(piece for word in words for piece in pieces(word))]))


def _whole(word: str) -> list[str]:
    return [word]


def _pieces(word: str) -> list[str]:
    """The parts of a word, each with the mark it ends with; parts that are long are cut.

    >>> _pieces("covariance.scaled-radius"), _pieces("epsilon=0.25"), _pieces("1e-06")
    (['covariance.', 'scaled-', 'radius'], ['epsilon=', '0.25'], ['1e-06'])
    """
    return [part[at : at + UNBROKEN] for part in BREAK.split(word) for at in range(0, len(part), UNBROKEN)]


def _folded(text: str, width: int | None) -> str:
    """A text in lines of at most this width: words that do not fit are broken after marks."""
    if width is None:
        return text
    folded = []
    for line in text.split("\n"):
        current = ""
        for word in line.split(" "):
            parts = [word] if len(word) <= width else _pieces(word)
            for place, part in enumerate(parts):
                joined = f"{current} {part}" if current and place == 0 else current + part
                if current and len(joined) > width:
                    folded.append(current)
                    joined = part
                current = joined
        folded.append(current)
    return "\n".join(folded)
