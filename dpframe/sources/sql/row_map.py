"""The map of rows in SQL: from cells to lattice integers, bit for bit those of `dpframe.reading`.

The expressions are the operations of :meth:`dpframe.Column.map`, :meth:`dpframe.Category.map` and `dpframe.lattice`, on
the same doubles in the same order. Sums over coordinates are sums of integers below 2⁶³. Rows that contribute nothing
are left out by a condition on their cells.

Rows multiplied by a matrix are lattice rows first, and the matrix is one of integers, as in
`dpframe.reading.linear_map`: products and their partial sums are integers below 2⁵³, so doubles hold them exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from dpframe import lattice
from dpframe.lattice import FloatArray
from dpframe.reading.linear_map import integer_matrix
from dpframe.sources.sql.cells import Ends
from dpframe.sources.sql.dialect import Dialect, halved
from dpframe.sources.sql.selects import Selects
from dpframe.spec.columns import Category, Column
from dpframe.spec.rows import Rows

MOST_DIM = 1 << 9
"""The largest number of coordinates: sums of as many squares of at most 2⁵² stay below 2⁶³."""

MOST_LINEAR_DIM = 1 << 7
"""The largest number with a linear map, whose square each row takes as many products: 40 rows then take a minute."""

LARGEST = 1 << 26
"""Coordinates are rounded to at most this many lattice steps. One that is cut makes its row very long, as it was."""


MOST_FACTOR = 46_340
"""The largest integer whose square is below 2³¹."""


@attrs.frozen
class Coordinates:
    """The coordinates of rows before they are rounded.

    Args:
        source: the rows that they are computed from.
        conditions: which of its rows contribute.
        values: for each coordinate its SQL, and the largest size that it can have, in lattice steps.
    """

    source: Selects
    conditions: Sequence[str]
    values: Sequence[tuple[str, float]]


@attrs.frozen
class RowMap:
    """The map of rows of one promise.

    Args:
        rows: the promise, with columns and all of its numbers known.
        dialect: the engine's SQL.
    """

    rows: Rows
    dialect: Dialect

    # -- what a cell becomes -------------------------------------------------------------------------------------------

    def conditions(self) -> list[str]:
        """Which rows contribute: those without a missing cell that has no public value."""
        numbers = self._needed(Column)
        return [*(self.dialect.are_finite(numbers) if numbers else ()), *self._known_levels()]

    def _known_levels(self) -> list[str]:
        return [f"{cell} IS NOT NULL" for cell in self._needed(Category)]

    def _needed(self, kind: type[Column | Category]) -> list[str]:
        """The cells without which a row contributes nothing."""
        columns = enumerate(self.rows.columns or ())
        return [f"c{at}" for at, each in columns if isinstance(each, kind) and each.missing is None]

    def _coordinates(self, cells: Selects, scale: float, *, exact: bool) -> Coordinates:
        """The coordinates of the rows that contribute.

        Args:
            cells: the cells c0, c1, … of the columns.
            scale: the number of steps in a length of one. Coordinates below 2⁻⁶⁰/scale in size may be replaced by 0,
                where an engine needs that.
            exact: whether coordinates must be exact, not only rounded to multiples of 1/scale.
        """
        if self.rows.linear is not None:
            return self._multiplied(cells, scale)
        found: list[tuple[str, float]] = []
        shift, rate = self.rows.affine
        for at, column in enumerate(self.rows.columns or ()):
            here = slice(len(found), len(found) + len(column.labels))
            if isinstance(column, Column):
                place = float(shift[here][0]), float(rate[here][0])
                found.append(self._number(f"c{at}", column, place, scale, exact=exact))
            else:
                found += self._levels(f"c{at}", column, shift[here], rate[here], scale)
        return Coordinates(cells, self.conditions(), found)

    def _number(
        self, cell: str, column: Column, place: tuple[float, float], scale: float, *, exact: bool
    ) -> tuple[str, float]:
        """(clip(cell) − middle) · rate, about a coordinate and multiplied by a factor: ``place``."""
        number, (shift, rate) = self.dialect.number, place
        middle, per_unit = column.affine(shift, rate)
        low, high = column.map(np.array([column.low, column.high]), shift, rate)[:, 0].tolist()
        branches, value = self.dialect.clipped(cell, column.low, column.high)
        smallest = abs(middle) * 2.0**-54 * per_unit  # a coordinate that is not 0, if the middle is not
        if self.dialect.traps_underflow and smallest * min(scale, 1.0) < 1e-290:
            near = 2.0**-60 / scale / per_unit
            around = f"BETWEEN {number(middle - near)} AND {number(middle + near)}"
            branches.append(f"WHEN {cell} {around} THEN {number(middle)}")
        if branches:
            value = f"CASE {' '.join(branches)} ELSE {value} END"
        if column.missing is not None:
            value = f"CASE WHEN {self.dialect.is_finite(cell)} THEN {value} ELSE {number(column.missing)} END"
        value = self._placed(value, middle, per_unit)
        first, last = (column.low - middle) * per_unit, (column.high - middle) * per_unit
        beyond = first < low or last > high
        if beyond and (exact or [round(each * scale) for each in (first, last, low, high)] != _twice(low, high, scale)):
            value = (
                f"CASE WHEN {value} < {number(low)} THEN {number(low)} WHEN {value} > {number(high)} "
                f"THEN {number(high)} ELSE {value} END"
            )
        return value, max(abs(low), abs(high)) * scale

    def _placed(self, value: str, middle: float, *factors: float) -> str:
        """(value − middle), multiplied by one factor after the other."""
        if middle != 0.0:
            value = f"({value} - {self.dialect.number(middle)})"
        for factor in factors:
            if factor != 1.0:
                value = f"({value} * {self.dialect.number(factor)})"
        return value

    def _levels(
        self, cell: str, column: Category, shift: FloatArray, rate: FloatArray, scale: float
    ) -> list[tuple[str, float]]:
        """Two constants for each level; the cell is the place of its level."""
        found = []
        for level, (away, per_unit) in enumerate(zip(shift.tolist(), rate.tolist(), strict=True)):
            without, with_ = (0.0 - away) * per_unit, (1.0 - away) * per_unit
            if column.missing is not None and column.levels[level] == column.missing:
                chosen = f"COALESCE({cell}, {level}) = {level}"
            else:
                chosen = f"{cell} = {level}"
            constants = self.dialect.number(with_), self.dialect.number(without)
            size = max(abs(without), abs(with_)) * scale
            found.append((f"CASE WHEN {chosen} THEN {constants[0]} ELSE {constants[1]} END", size))
        return found

    def _multiplied(self, cells: Selects, scale: float) -> Coordinates:
        """Lattice rows about their center, multiplied by the matrix in integers.

        No product of doubles underflows: a coordinate that is always rounded to 0 is written as 0, and the others are
        multiples of 2⁻⁵⁵ steps.
        """
        dialect, before = self.dialect, RowMap(self.rows.before_linear, self.dialect)
        matrix, unit = integer_matrix(self.rows.multiplied)
        doubles = [f"{dialect.as_double(f'q{at}')} AS a{at}" for at in range(len(matrix))]
        products, values, per_unit = [], [], unit * before.rows.step
        for at, column in enumerate(matrix.T.astype(np.int64).tolist()):
            longest = lattice.RADIUS * (math.isqrt(sum(each**2 for each in column)) + 1)  # by Cauchy and Schwarz
            size = longest * per_unit * scale * (1 + 2.0**-40)  # whatever is rounded here
            if size < 0.25 or not any(column):
                values.append((dialect.number(0.0), 0.0))
                continue
            terms = [f"a{i} * ({each})" for i, each in enumerate(column) if each]
            products.append(f"{halved(terms, lambda a, b: f'({a} + {b})')} AS p{at}")
            values.append((f"(p{at} * {dialect.number(per_unit)})", size))
        source = self.selected(products or ["1 AS p"], self.selected(doubles, before.integers(cells)))
        return Coordinates(source, (), values)

    # -- rows of integers ----------------------------------------------------------------------------------------------

    def in_steps(self, cells: Selects, scale: float, most: int) -> Selects:
        """The rows that contribute, with the coordinates rounded to multiples of 1/scale: k0, k1, …

        Args:
            cells: the cells c0, c1, … of the columns.
            scale: the number of steps in a length of one.
            most: the largest integer; larger ones become it.
        """
        placed = self._coordinates(cells, scale, exact=False)
        items = [
            f"{self._rounded_within(value, size, scale, most)} AS k{at}"
            for at, (value, size) in enumerate(placed.values)
        ]
        return self.selected(items, placed.source, placed.conditions)

    def _rounded_within(self, value: str, size: float, scale: float, most: int) -> str:
        y = f"({value} * {self.dialect.number(scale)})"
        if round(size) > most:
            top, bottom = self.dialect.number(float(most)), self.dialect.number(-float(most))
            y = f"CASE WHEN {y} > {top} THEN {top} WHEN {y} < {bottom} THEN {bottom} ELSE {y} END"
        return self.dialect.rounded(y)

    def integers(self, cells: Selects) -> Selects:
        """The lattice rows that contribute: q0, q1, …, each row of length at most RADIUS.

        Args:
            cells: the cells c0, c1, … of the columns.
        """
        dim, dialect = self.rows.known_dim, self.dialect
        scale = lattice.steps_per_unit(dim, self.rows.length)
        placed = self._coordinates(cells, scale, exact=False)
        longest = sum(round(size) ** 2 for _, size in placed.values)
        is_short = (self.rows.norm is None and not self.rows.is_moved) or longest <= lattice.RADIUS**2
        if is_short:
            found = self.in_steps(cells, scale, LARGEST)
            return self.selected([f"k{at} AS q{at}" for at in range(dim)], found, fence=False)
        if longest < lattice.MODERATE:
            found = self.in_steps(cells, scale, LARGEST)
            rest: list[str] = []
        else:
            found, rest = self._with_coordinates(cells, scale), [f"v{at}" for at in range(dim)]
        steps = [f"k{at}" for at in range(dim)]
        found = self.selected([*steps, *rest, f"{self.squares(steps)} AS t"], found)
        length = "t"
        if rest:
            found = self._directions(found, steps, rest)
            length = "s"
        factor = f"{dialect.number(float(lattice.inner_radius(dim)))} / SQRT({dialect.as_double(length)})"
        kept = f"CASE WHEN t <= {lattice.RADIUS**2} THEN {dialect.number(1.0)} ELSE {factor} END AS f"
        found = self.selected([*steps, kept], found)
        items = [f"{dialect.rounded(f'({dialect.as_double(step)} * f)')} AS q{at}" for at, step in enumerate(steps)]
        return self.selected(items, found)

    # -- rows near their ranges ----------------------------------------------------------------------------------------

    def near(self) -> Ends | None:
        """For each column of numbers, by its place, the ends between which cells are near its range: those of which
        `doubled` computes no factor above `MOST_FACTOR`. None if the ends of the range itself could give a larger one,
        or if rows may have to be shortened."""
        rows, sizes = self.rows, self.sizes()
        if rows.norm is not None or rows.is_moved or 2 * max(sizes) > MOST_FACTOR:
            return None
        scale, found, first = lattice.steps_per_unit(rows.known_dim, rows.length), {}, 0
        for at, column in enumerate(rows.columns or ()):
            if isinstance(column, Column):
                middle, per_unit = column.affine()
                away = (MOST_FACTOR - sizes[first] - 1) / (per_unit * scale)
                found[at] = middle - away, middle + away
            first += len(column.labels)
        return found

    def doubled(self, cells: Selects) -> Selects:
        """The lattice rows times two, q0, q1, …, of cells between the ends of `near`; no row has to be shortened.

        Coordinates are rounded before they are clipped, to the integers a and b of the ends of the range: the map
        increases, so the integer is the same. Of an integer k that is clipped to [a, b], the double is
        |k − a| − |k − b| + a + b, which takes less time than LEAST and GREATEST, and of which DuckDB knows the range.

        A product with a power of two is exact, unless its result is so small that it is rounded to 0 afterwards. So
        the product with the number of steps in a length of one can be combined with it.
        """
        scale = lattice.steps_per_unit(self.rows.known_dim, self.rows.length)
        shift, rate = self.rows.affine
        steps: list[str] = []
        twice: list[str] = []
        for at, column in enumerate(self.rows.columns or ()):
            here = slice(len(steps), len(steps) + len(column.labels))
            if isinstance(column, Column):
                middle, per_unit = column.affine()
                factors = (per_unit * scale,) if math.frexp(per_unit)[0] == 0.5 else (per_unit, scale)
                steps.append(self.dialect.rounded(self._placed(f"c{at}", middle, *factors)))
                low, high = _ends(column, scale)
                both = f"ABS(k{here.start} - ({low})) - ABS(k{here.start} - ({high}))"
                twice.append(f"({both})" if low == -high else f"({both} + ({low + high}))")
                continue
            for value, size in self._levels(f"c{at}", column, shift[here], rate[here], scale):
                twice.append(f"(2 * k{len(steps)})")
                steps.append(self._rounded_within(value, size, scale, LARGEST))
        found = self.selected([f"{step} AS k{at}" for at, step in enumerate(steps)], cells, self._known_levels())
        return self.selected([f"{each} AS q{at}" for at, each in enumerate(twice)], found)

    # -- sizes ---------------------------------------------------------------------------------------------------------

    def sizes(self) -> list[int]:
        """How large each integer of a lattice row can be, from the ranges of the promise alone."""
        if self.rows.norm is not None or self.rows.is_moved:
            return [lattice.RADIUS] * self.rows.known_dim
        scale = lattice.steps_per_unit(self.rows.known_dim, self.rows.length)
        placed = self._coordinates(Selects(""), scale, exact=False)
        return [min(round(size), lattice.RADIUS) for _, size in placed.values]

    def _with_coordinates(self, cells: Selects, scale: float) -> Selects:
        """Rows that may be very long: rounded coordinates k0, k1, … and the coordinates v0, v1, … themselves."""
        placed = self._coordinates(cells, scale, exact=True)
        items = [f"{value} AS v{at}" for at, (value, _) in enumerate(placed.values)]
        found = self.selected(items, placed.source, placed.conditions)
        items = [
            f"{self._rounded_within(f'v{at}', size, scale, LARGEST)} AS k{at}, v{at}"
            for at, (_, size) in enumerate(placed.values)
        ]
        return self.selected(items, found)

    def _directions(self, found: Selects, steps: Sequence[str], values: Sequence[str]) -> Selects:
        """Very long rows as directions in place of their steps, with the square of the length, s, of either."""
        dialect, dim = self.dialect, len(steps)
        is_moderate = f"t < {int(lattice.MODERATE)}"
        largest = halved([f"ABS({value})" for value in values], dialect.larger)
        items = [*steps, *values, "t", f"CASE WHEN {is_moderate} THEN {dialect.number(1.0)} ELSE {largest} END AS m"]
        found = self.selected(items, found)
        per_unit = dialect.number(2.0 ** lattice.direction_bits(dim))
        items = [
            f"CASE WHEN {is_moderate} THEN {step} ELSE {dialect.rounded(f'(({value} / m) * {per_unit})')} END AS {step}"
            for step, value in zip(steps, values, strict=True)
        ]
        found = self.selected([*items, "t"], found)
        return self.selected([*steps, "t", f"{self.squares(steps)} AS s"], found)

    def squares(self, steps: Sequence[str]) -> str:
        """The sum of the squares of integers."""
        wide = self.dialect.as_wide
        return halved([f"{wide(step)} * {wide(step)}" for step in steps], lambda a, b: f"({a} + {b})")

    def selected(
        self, items: Sequence[str], source: Selects, conditions: Sequence[str] = (), *, fence: bool = True
    ) -> Selects:
        """Columns that are computed once."""
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return source.then(items, f"{where}{self.dialect.fence if fence else ''}")


def _ends(column: Column, scale: float) -> list[int]:
    """The lattice integers of the ends of a range."""
    return [round(each * scale) for each in column.map(np.array([column.low, column.high]))[:, 0].tolist()]


def _twice(low: float, high: float, scale: float) -> list[int]:
    return [round(low * scale), round(high * scale)] * 2
