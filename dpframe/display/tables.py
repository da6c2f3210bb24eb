"""Headings, labeled pairs and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

NARROW = 90  # in a terminal with fewer columns, the widths of columns follow from their words
UNBROKEN = 12  # characters of a word that stay together in such a table
BETWEEN = 2  # spaces after each column of such a table


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

        widths = self._widths(options.max_width) if options.max_width < NARROW else {}
        if widths is None:
            for row in self.rows:
                yield Text()
                yield pairs(row)
            return
        wide = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0) if widths else (0, 1), show_edge=not widths)
        for label in self.rows[0]:
            justify: Literal["left", "right"] = "right" if is_number(label) else "left"
            wide.add_column(label, overflow="fold", justify=justify, width=widths.get(label))
        for row in self.rows:
            wide.add_row(*map(Text, row.values()))
        yield wide

    def _widths(self, room: int) -> dict[str, int] | None:
        """The widths of columns that break no word, or if need be only long ones; None where there is no room for them.

        What is left is shared in proportion to what the columns would take beyond that.
        """
        lines = {label: "\n".join(row[label] for row in self.rows).splitlines() for label in self.rows[0]}
        wanted = {label: max(map(len, [label, *each])) for label, each in lines.items()}
        for longest in (room, UNBROKEN):
            least = {label: max(len(word[:longest]) for word in _words(label, each)) for label, each in lines.items()}
            spare = room - sum(BETWEEN + width for width in least.values())
            if spare >= 0:
                share = min(spare / max(sum(wanted.values()) - sum(least.values()), 1), 1.0)
                return {label: width + int(share * (wanted[label] - width)) for label, width in least.items()}
        return None


def is_number(label: str) -> bool:
    """Whether the cells under a label are numbers, which are aligned on the right."""
    return label.startswith("ε")


def _words(label: str, lines: list[str]) -> list[str]:
    """What a column must not break: the words of its cells and of its label, and a label such as "ε alone" itself."""
    return [*([label] if is_number(label) else label.split()), *(word for line in lines for word in line.split())]
