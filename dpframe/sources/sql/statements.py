"""Statistics as statements: sums of integers over the rows of a table, each with the number of rows that contribute.

A statement has as many sums as an engine allows; a moment of more is computed in tiles. The statistics of the core that
are sums of products, or counts, are here. Others are refused before the charge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement

import attrs
import numpy as np

from dpframe.errors import DataError
from dpframe.interfaces import Statistic
from dpframe.lattice import IntArray
from dpframe.reading.private_data import Parts
from dpframe.reading.under import Under
from dpframe.sources.sql.cells import CellSource
from dpframe.sources.sql.dialect import Dialect
from dpframe.sources.sql.row_map import MOST_DIM, MOST_LINEAR_DIM, RowMap
from dpframe.sources.sql.selects import Selects
from dpframe.spec.columns import Column
from dpframe.spec.rows import Rows
from dpframe.statistics import ColumnHistogram, Moment, NormHistogram, PlacedSum, RowSum

Answer = tuple[int, list[int]]
"""The number of rows that contribute, and the sums of a statement."""


@attrs.frozen
class Select:
    """One SELECT of the number of rows and of sums.

    Args:
        sql: its text.
        dialect: the engine's SQL.
        units: the integers that the sums are to be divided by.
    """

    sql: str
    dialect: Dialect
    units: Sequence[int]

    @classmethod
    def of(cls, dialect: Dialect, terms: Sequence[str], source: Selects, units: Sequence[int] = ()) -> Select:
        """The sums of terms over rows."""
        columns = [part for term in terms for part in dialect.sums(term)]
        return cls(source.statement(["COUNT(*)", *columns], dialect), dialect, units or [1] * len(terms))

    def answer(self, row: Sequence[object]) -> Answer:
        """What the engine answered, as integers."""
        count, *parts = row
        width = len(self.dialect.sums("1"))
        sums = (self.dialect.total(parts[at : at + width]) for at in range(0, len(parts), width))
        return self.dialect.total([count]), [found // unit for found, unit in zip(sums, self.units, strict=True)]


@attrs.frozen
class Statement:
    """The sums of all rows.

    Args:
        selects: SELECTs of disjoint rows, together of all that contribute.
        count: a SELECT of the number of all rows, which tells whether the first of several has left any to the others.
    """

    selects: tuple[Select, ...]
    count: str = ""

    @classmethod
    def of(cls, dialect: Dialect, terms: Sequence[str], source: Selects) -> Statement:
        """The sums of terms over rows, by one SELECT."""
        return cls((Select.of(dialect, terms, source),))

    def answer(self, row: Callable[[str], Sequence[object]]) -> Answer:
        """What the engine answers, as integers.

        Args:
            row: gives the one row of a SELECT.
        """
        first, *others = self.selects
        answers = [first.answer(row(first.sql))]
        if others and answers[0][0] != first.dialect.total(row(self.count)):
            answers += [each.answer(row(each.sql)) for each in others]
        counts, sums = zip(*answers, strict=True)
        return sum(counts), [sum(each) for each in zip(*sums, strict=True)]


@attrs.frozen
class Compiled:
    """A statistic as statements.

    Args:
        statements: to be answered on the same rows.
        parts: the parts of the statistic, from the number of rows and the answers.
    """

    statements: tuple[Statement, ...]
    parts: Callable[[int, Sequence[Sequence[int]]], Parts]


def compiled(statistic: Statistic, rows: Rows, dialect: Dialect, cells: CellSource) -> Compiled:
    """A statistic of the rows of a table.

    Args:
        statistic: the statistic, with its references resolved.
        rows: the promise of the plan.
        dialect: the engine's SQL.
        cells: the cells of the table.
    """
    if isinstance(statistic, Under):
        return compiled(statistic.statistic, statistic.rows, dialect, cells)
    check_expressible(statistic, rows)
    source, mapped = Selects(cells.subquery(rows)), RowMap(rows, dialect)
    if isinstance(statistic, Moment):
        ends = mapped.near()
        parts = cells.split(rows, ends) if ends else None
        if parts is None:
            return _moment(mapped, [(mapped.integers(source), 1)])
        near, far = map(Selects, parts)
        count = source.statement(["COUNT(*)"], dialect)
        return _moment(mapped, [(mapped.doubled(near), 2), (mapped.integers(far), 1)], count)
    if isinstance(statistic, RowSum):
        return _row_sum(statistic, mapped, mapped.integers(source))
    if isinstance(statistic, NormHistogram):
        return _norm_histogram(statistic, mapped, source)
    assert isinstance(statistic, ColumnHistogram)  # by the check
    return _column_histogram(statistic, mapped, source)


def check_expressible(statistic: Statistic, rows: Rows) -> None:
    """Refuse a statistic that cannot be computed in SQL; the numbers of the promise may be unknown yet."""
    if isinstance(statistic, Under):
        check_expressible(statistic.statistic, statistic.rows)
        return
    rest = "Read the rows instead: pass a query without push=True, or a file."
    if type(statistic) not in (Moment, RowSum, PlacedSum, NormHistogram, ColumnHistogram):
        raise DataError(f"the statistic {statistic.name!r} cannot be computed inside a database. {rest}")
    most, how = (MOST_DIM, "computed") if rows.linear is None else (MOST_LINEAR_DIM, "multiplied by a matrix")
    if rows.known_dim > most:
        raise DataError(f"rows of more than {most} coordinates are not {how} inside a database. {rest}")


def _moment(mapped: RowMap, sources: Sequence[tuple[Selects, int]], count: str = "") -> Compiled:
    """The moment of lattice rows, which are in disjoint sources, each with an integer that they are multiplied by."""
    dialect, rows = mapped.dialect, mapped.rows
    dim = rows.known_dim
    factors = [f"q{i}" if size**2 < 2**31 else dialect.as_wide(f"q{i}") for i, size in enumerate(mapped.sizes())]
    tiles = list(_tiles(dim, dialect.most_sums - dim * rows.center))
    statements = []
    for number, pairs in enumerate(tiles):
        terms = [f"{factors[i]} * {factors[i]}" if i == j else f"q{i} * q{j}" for i, j in pairs]
        firsts = [f"q{i}" for i in range(dim)] if rows.center and number == 0 else []
        selects = [
            Select.of(dialect, [*terms, *firsts], source, [unit**2] * len(terms) + [unit] * len(firsts))
            for source, unit in sources
        ]
        statements.append(Statement(tuple(selects), count))

    def parts(count: int, answers: Sequence[Sequence[int]]) -> Parts:
        total: IntArray = np.zeros((rows.width, rows.width), dtype=object)
        for pairs, sums in zip(tiles, answers, strict=True):
            for (i, j), found in zip(pairs, sums, strict=False):
                total[i, j] = total[j, i] = found
        if rows.center:
            firsts = answers[0][len(tiles[0]) :]
            total[-1, :dim] = total[:dim, -1] = [rows.constant * found for found in firsts]
            total[-1, -1] = rows.constant**2 * count
        return {"moment": total}

    return Compiled(tuple(statements), parts)


def _tiles(dim: int, most: int) -> Iterator[list[tuple[int, int]]]:
    """The pairs of coordinates, at most so many in a tile; of many, those of two groups of coordinates."""
    side = dim if dim * (dim + 1) // 2 <= most else math.isqrt(most)
    groups = [range(start, min(start + side, dim)) for start in range(0, dim, side)]
    for first, second in combinations_with_replacement(groups, 2):
        yield [(i, j) for i in first for j in second if i <= j]


def _row_sum(statistic: RowSum, mapped: RowMap, source: Selects) -> Compiled:
    terms = [f"q{i}" for i in range(mapped.rows.known_dim)]

    def parts(count: int, answers: Sequence[Sequence[int]]) -> Parts:
        return {"sum": np.array([*answers[0], statistic.constant * count], dtype=object)}

    return Compiled((Statement.of(mapped.dialect, terms, source),), parts)


def _norm_histogram(statistic: NormHistogram, mapped: RowMap, cells: Selects) -> Compiled:
    grid = statistic.grid(mapped.rows.known_dim)
    steps = [f"k{i}" for i in range(mapped.rows.known_dim)]
    source = mapped.in_steps(cells, grid.per_unit, int(grid.last) + 1)
    source = mapped.selected([f"{mapped.squares(steps)} AS t"], source)
    return _counts([f"t <= {int(edge)}" for edge in grid.squares.tolist()], mapped.dialect, source)


def _column_histogram(statistic: ColumnHistogram, mapped: RowMap, cells: Selects) -> Compiled:
    at, column = next(
        (at, column)
        for at, column in enumerate(mapped.rows.columns or ())
        if isinstance(column, Column) and column.name == statistic.column
    )
    cell = f"c{at}"
    if column.missing is not None:
        number = mapped.dialect.number(column.missing)
        cell = f"CASE WHEN {mapped.dialect.is_finite(cell)} THEN {cell} ELSE {number} END"
    source = mapped.selected([f"{cell} AS x"], cells, mapped.conditions())
    last = [last_cell(column, float(edge)) for edge in column.map(np.asarray(statistic.edges))[:, 0]]
    terms = [f"x <= {mapped.dialect.number(each)}" for each in last]
    return _counts(terms, mapped.dialect, source)


def last_cell(column: Column, edge: float) -> float:
    """The largest double whose coordinate is at most that of an edge: coordinates increase with cells.

    >>> last_cell(Column("age", 0, 100), 0.0)
    50.0
    """
    low, high = -math.inf, math.inf
    if column.map(np.array([column.high]))[0, 0] <= edge:
        return high
    if column.map(np.array([column.low]))[0, 0] > edge:
        return low
    low, high = column.low, column.high  # the coordinate of the first is at most that of the edge, of the second above
    while math.nextafter(low, high) < high:
        middle = _between(low, high)
        low, high = (middle, high) if column.map(np.array([middle]))[0, 0] <= edge else (low, middle)
    return low


def _between(low: float, high: float) -> float:
    """A double between two others: half way among the doubles, so that few steps find any of them."""
    order = np.array([low, high]).view(np.int64).astype(object)
    ranks = [int(each) if each >= 0 else -(int(each) + 2**63) for each in order]
    rank = sum(ranks) // 2
    return float(np.array([rank if rank >= 0 else -rank - 2**63], dtype=np.int64).view(np.float64)[0])


def _counts(conditions: Sequence[str], dialect: Dialect, source: Selects) -> Compiled:
    """The numbers of rows in the bins between conditions, each of which implies the next, and after the last."""
    terms = [f"CASE WHEN {condition} THEN 1 ELSE 0 END" for condition in conditions]
    pieces = [terms[at : at + dialect.most_sums] for at in range(0, len(terms), dialect.most_sums)]

    def parts(count: int, answers: Sequence[Sequence[int]]) -> Parts:
        up_to = [each for sums in answers for each in sums]
        return {"counts": np.diff(np.array([0, *up_to, count], dtype=object))}

    return Compiled(tuple(Statement.of(dialect, piece, source) for piece in pieces), parts)
