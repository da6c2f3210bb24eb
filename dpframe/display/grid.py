"""Matrices of short texts with names of rows and columns, for terminals and text files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

LINES = 60  # a matrix that needs more of them is shown in part
LEADING = 12  # rows of such a part
LONGEST_NAME = 24  # characters of a name of a row or column; the rest is cut off
INDENT, GAP = "  ", 2


@attrs.frozen(kw_only=True)
class Grid:
    """Cells under the names of their columns, beside those of their rows.

    Columns that do not fit beside each other follow below, with the names of the rows again. What needs more than
    `lines` lines is shown in part, with a line that says so.

    Args:
        cells: the cells, row by row; of a large matrix the leading part.
        rows: the names of the rows.
        columns: the names of the columns; None for one column that needs no name.
        shape: the number of rows and columns of the whole matrix.
        where: where all of it is found, in words.
        faint: which cells are printed faintly.
        lines: the most lines.
    """

    cells: Sequence[Sequence[str]]
    rows: Sequence[str]
    columns: Sequence[str] | None
    shape: tuple[int, int]
    where: str
    faint: Any = attrs.field(default=lambda cell: False)
    lines: int = LINES

    def __rich_console__(self, console: Console, options: Any) -> Iterator[RenderableType]:
        from rich.padding import Padding
        from rich.text import Text

        room = options.max_width
        panels = list(self._panels(room))
        shown = len(self.cells), len(self.cells[0])
        needed = len(panels) * (len(self.cells) + 2)
        if shown == self.shape and needed <= self.lines:
            for number, panel in enumerate(panels):
                if number:
                    yield Text()
                yield from self._lines(panel, len(self.cells), room)
            return
        part = attrs.evolve(self, cells=self.cells[:LEADING], rows=self.rows[:LEADING])
        panel = next(part._panels(room))
        yield from part._lines(panel, len(part.cells), room)
        yield Padding(Text(self.left_out(len(part.cells), len(panel))), (0, 0, 0, len(INDENT)))

    def left_out(self, rows: int, columns: int) -> str:
        """A line that says which part is shown, and where all of it is.

        Args:
            rows: the number of rows that are shown.
            columns: the number of columns that are shown.
        """
        parts = [
            f"the first {part} of {whole} {what}"
            for part, whole, what in ((rows, self.shape[0], "rows"), (columns, self.shape[1], "columns"))
            if part < whole
        ]
        return f"… {' and '.join(parts)}; all of it: {self.where}"

    def _panels(self, room: int) -> Iterator[range]:
        """The columns that are shown beside each other."""
        widths, first, used = self._widths, 0, 0
        free = room - len(INDENT) - self._margin
        for place, width in enumerate(widths):
            if place > first and used + GAP + width > free:
                yield range(first, place)
                first, used = place, 0
            used += GAP + width
        yield range(first, len(widths))

    @property
    def _margin(self) -> int:
        return max((len(_cut(name)) for name in self.rows), default=0)

    @property
    def _widths(self) -> list[int]:
        names = [""] * len(self.cells[0]) if self.columns is None else list(map(_cut, self.columns))
        return [max(len(name), *(len(row[place]) for row in self.cells)) for place, name in enumerate(names)]

    def _lines(self, panel: range, rows: int, room: int) -> Iterator[Text]:
        from rich.text import Text

        widths, margin = self._widths, self._margin
        if self.columns is not None:
            head = "".join(f"{_cut(self.columns[place]):>{GAP + widths[place]}}" for place in panel)
            yield _line(Text(INDENT + " " * margin + head, style="cyan"), room)
        for name, row in zip(self.rows[:rows], self.cells, strict=False):
            line = Text(INDENT).append(f"{_cut(name):<{margin}}", style="cyan")
            for place in panel:
                style = "dim" if self.faint(row[place]) else ""
                line.append(f"{row[place]:>{GAP + widths[place]}}", style=style)
            yield _line(line, room)


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _line(line: Text, room: int) -> Text:
    line.no_wrap = True
    line.truncate(room, overflow="ellipsis")
    return line
