"""A self-test of an engine: the statements of a plan on awkward cells, before anything is charged.

The cells are at and near the ends and the middle of each range, at ties of rounding, not finite, subnormal and very
large. An engine is refused unless every sum is the integer that the array path gives. So what is assumed of an engine's
arithmetic (`dpframe.sources.sql.dialect`) is checked where it is used.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import lattice
from dpframe.interfaces import Statistic
from dpframe.reading.totals import accumulate
from dpframe.reading.under import Under
from dpframe.sources.sql.cells import Ends, split
from dpframe.sources.sql.dialect import Dialect, Field
from dpframe.spec.columns import Category, Column
from dpframe.spec.refs import Ref
from dpframe.spec.rows import Rows

CELLS = 2000
"""About how many cells are tried in all."""

Table = list[list[float | None]]


def assumed(statistic: Statistic, rows: Rows) -> list[tuple[Statistic, Rows]]:
    """The statistic with numbers in place of what is yet to be released: a moderate norm, and a tiny one."""
    if isinstance(statistic, Under):
        return [(each, own) for each, own in assumed(statistic.statistic, statistic.rows)]
    dim = rows.known_dim
    matrix = np.random.default_rng(2).normal(0.0, 1.0 / math.sqrt(dim), (dim, dim)).tolist()
    known = {"about": (0.3,) * dim, "scale": (0.7,) * dim, "linear": matrix}
    given: dict[str, Any] = {name: value for name, value in known.items() if isinstance(getattr(rows, name), Ref)}
    norms: Sequence[Any] = (0.5, 1e-6) if isinstance(rows.norm, Ref) else (rows.norm,)
    return [(statistic, attrs.evolve(rows, **given, norm=norm)) for norm in norms]


def tried(rows: Rows, near: Ends) -> Table:
    """Rows of cells: numbers, and the places of levels.

    Args:
        rows: the promise.
        near: between which ends every second row is, by the places of columns; see `CellSource.split`.
    """
    columns, random = rows.columns or (), np.random.default_rng(1)
    count = max(24, min(CELLS // max(len(columns), 1), 96))
    found = [_cells(column, rows, at, count, random) for at, column in enumerate(columns)]
    table = [list(row) for row in zip(*found, strict=True)]
    for at, row in enumerate(table):  # most rows contribute
        for place, column in enumerate(columns):
            if at % 4 and column.missing is None and (row[place] is None or not math.isfinite(row[place] or 0.0)):
                row[place] = 0.0 if isinstance(column, Category) else column.high
        for place, (low, high) in near.items() if at % 2 else ():
            cell, column = row[place], columns[place]
            if isinstance(column, Column) and (cell is None or not low <= cell <= high):
                row[place] = column.high
    return table


def _cells(
    column: Column | Category, rows: Rows, place: int, count: int, random: np.random.Generator
) -> list[float | None]:
    if isinstance(column, Category):
        places = [*range(len(column.levels)), None]
        return [places[(at + place) % len(places)] for at in range(count)]
    step = column.half_width * math.sqrt(len(rows.columns or ())) / lattice.inner_radius(rows.known_dim)
    near = [column.low, column.high, column.middle, 0.0, -0.0, column.middle + step / 2, column.middle - 2.5 * step]
    cells: list[float | None] = [
        *near,
        *(math.nextafter(each, way) for each in near for way in (-math.inf, math.inf)),
        *(sys.float_info.max, -sys.float_info.max, 5e-324, -5e-324, 1e-310, 1e-160, 1e300),
        *(None, math.nan, math.inf, -math.inf),
    ]
    inside = random.uniform(column.low, column.high, count).tolist()
    ties = (column.middle + step * (np.floor(random.normal(0, 5000, count)) + 0.5)).tolist()
    cells = [cell for three in zip(cells * 4, inside, ties, strict=False) for cell in three]
    return [cells[(5 * at + 3 * place) % len(cells)] for at in range(count)]


@attrs.frozen
class MadeUp:
    """Made-up rows as a source of cells.

    Args:
        table: the rows.
        dialect: the engine's SQL.
        is_stored: whether the rows are split as those of the table will be.
    """

    table: Table
    dialect: Dialect
    is_stored: bool = False

    def subquery(self, rows: Rows) -> str:
        """The cells of all rows."""
        return _in_sql(self.table, self.dialect, rows)

    def split(self, rows: Rows, near: Ends) -> tuple[str, str] | None:
        """The cells of rows near their ranges, and those of the others."""
        if not self.is_stored:
            return None
        field = Field("float", self.dialect.double.casefold())
        parts = split(self.dialect, near, {at: (f"c{at}", field) for at in near})
        return parts and (
            _in_sql(self.table, self.dialect, rows, parts[0]),
            _in_sql(self.table, self.dialect, rows, parts[1]),
        )


def _in_sql(table: Table, dialect: Dialect, rows: Rows, where: str = "") -> str:
    is_number = [isinstance(column, Column) for column in rows.columns or ()]

    def written(cell: float | None, number: bool) -> str:
        if number:
            return dialect.number(cell)
        return f"CAST(NULL AS {dialect.integer})" if cell is None else str(int(cell))

    values = ", ".join(f"({', '.join(map(written, row, is_number))})" for row in table)
    names = ", ".join(f"c{at}" for at in range(len(is_number)))
    return f"(WITH made({names}) AS (VALUES {values}) SELECT * FROM made{where})"


def expected(statistic: Statistic, rows: Rows, table: Table) -> dict[str, list[int]]:
    """The integers of the array path."""
    rows = attrs.evolve(rows, person=None)
    cells = {column.name: _array(column, [row[at] for row in table]) for at, column in enumerate(rows.columns or ())}
    parts = accumulate([cells], [statistic], rows)[statistic]
    return {name: np.asarray(part).ravel().tolist() for name, part in parts.items()}


def _array(column: Column | Category, cells: Sequence[float | None]) -> NDArray[Any]:
    if isinstance(column, Column):
        return np.array([math.nan if cell is None else cell for cell in cells])
    if column.is_text:
        unknown = "".join(map(str, column.levels)) + "?"
        return np.array([unknown if cell is None else str(column.levels[int(cell)]) for cell in cells])
    return np.array([math.nan if cell is None else float(column.levels[int(cell)]) for cell in cells])


WHOLE = {9007199254740993: 9007199254740992.0, -9007199254740995: -9007199254740996.0, 2**63 - 1: 2.0**63}
"""Integers that are no doubles, and the doubles that they are rounded to."""


def conversions(dialect: Dialect) -> str:
    """A SELECT of 1 if integers that are no doubles are rounded to the nearest, and of 0 otherwise."""
    field = Field("integer", "bigint")
    equal = " AND ".join(
        f"{dialect.number_cell(f'w{at}', field)} = {dialect.number(number)}" for at, number in enumerate(WHOLE.values())
    )
    names = ", ".join(f"w{at}" for at in range(len(WHOLE)))
    values = ", ".join(map(str, WHOLE))
    return f"WITH made({names}) AS (VALUES ({values})) SELECT CASE WHEN {equal} THEN 1 ELSE 0 END FROM made"
