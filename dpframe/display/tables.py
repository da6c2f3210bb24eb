"""Headings, labeled pairs and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


NARROW = 90  # in a terminal with fewer columns, tables are shown as lists of pairs


def heading(text: str) -> RenderableType:
    """A bold line."""
    from rich.text import Text

    return Text(text, style="bold")


def pairs(labeled: dict[str, str]) -> RenderableType:
    """Labels on the left, texts on the right."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in labeled.items():
        grid.add_row(Text("  " + label), Text(text))
    return grid


def sentence(caveat: str) -> str:
    """The text as a sentence, with a capital and a period."""
    return f"{caveat[0].upper()}{caveat[1:]}."


class table:  # noqa: N801 - a renderable that reads like a function
    """Rows of labeled cells: a table if there is room, lists of pairs on a narrow terminal."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        self.rows = rows

    def __rich_console__(self, console: Console, options: Any) -> Any:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        if options.max_width < NARROW:
            for row in self.rows:
                yield Text()
                yield pairs(row)
            return
        wide = Table(box=box.SIMPLE_HEAD, pad_edge=True)
        for label in self.rows[0]:
            wide.add_column(label, overflow="fold", justify="right" if label.startswith("ε") else "left")
        for row in self.rows:
            wide.add_row(*map(Text, row.values()))
        yield wide
