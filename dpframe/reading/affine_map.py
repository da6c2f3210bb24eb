"""Adjacent numeric columns, and the levels of a category: the affine map from their cells to coordinates.

A cell x of a numeric column is clipped to its range and mapped to f(x) = (x − middle) · rate. Both roundings are
monotone, so f(clip(x, low, high)) = clip(f(x), f(low), f(high)): clipping may come last, and is left out if the
smallest and the largest cell of a column lie in its range. A level is the number 0 or 1, mapped in the same way. The
coordinates are those of :meth:`dpframe.Column.map` and :meth:`dpframe.Category.map`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.lattice import FloatArray
from dpframe.reading import int16
from dpframe.spec.columns import Category, Column

Rounder = Callable[[slice, NDArray[Any]], bool]
"""Writes the coordinates of a tile of rows, in lattice steps and rounded, to an array (coordinates, rows), with zeros
after the last row. Returns whether no row is lost; the integers of a lost row are arbitrary."""


@attrs.frozen(eq=False)
class Numbers:
    """Adjacent numeric columns: the map of their cells, and where it needs no clipping."""

    columns: FloatArray  # for each a row: middle, rate, and the images of low, of high and of a missing cell
    low: FloatArray  # cells from low to high need no clipping
    high: FloatArray

    @classmethod
    def of(cls, columns: Sequence[Column], shift: FloatArray, rates: FloatArray) -> Numbers:
        """The map of these columns, about the coordinates ``shift`` and multiplied by ``rates``."""
        placed = list(zip(columns, shift.tolist(), rates.tolist(), strict=True))
        low, high, middle, rate = np.array([(each.low, each.high, *each.affine(*at)) for each, *at in placed]).T
        ends = np.array([each.map(np.array([each.low, each.high, np.nan]), *at)[:, 0] for each, *at in placed])
        rounded = ((low - middle) * rate < ends[:, 0]) | ((high - middle) * rate > ends[:, 1])
        return cls(
            columns=np.column_stack([middle, rate, ends]),
            low=np.where(rounded, np.inf, low),
            high=np.where(rounded, -np.inf, high),
        )

    def fill(self, values: FloatArray, cells: Sequence[NDArray[Any]]) -> bool:
        """Write the coordinates of these cells, a row of ``values`` for each column; return whether none is NaN."""
        complete = True
        for target, column in zip(values, cells, strict=True):
            target[...] = column  # cells are read once: another thread may write to them
        least, most = values.min(axis=1), values.max(axis=1)  # NaN if one of the cells is
        unknown = np.flatnonzero(~(np.isfinite(least) & np.isfinite(most))).tolist()
        lost = {i: ~np.isfinite(values[i]) for i in unknown}
        values -= self.columns[:, :1]
        values *= self.columns[:, 1:2]
        above, below = least >= self.low, most <= self.high
        for i in np.flatnonzero(~(above & below)).tolist():
            low, high, missing = self.columns[i, 2:].tolist()
            if not above[i]:
                np.maximum(values[i], low, out=values[i])
            if not below[i]:
                np.minimum(values[i], high, out=values[i])
            if i in lost:
                values[i, lost[i]] = missing
                complete &= math.isfinite(missing)
        return complete

    def rounder(self, cells: Sequence[NDArray[Any]], scale: float, kernels: Any) -> Rounder:
        """A rounder of the same coordinates by a kernel."""
        whole = ColumnPointers.of(cells) if all(map(_is_plain, cells)) else None

        def round_some(tile: slice, integers: NDArray[Any]) -> bool:
            pointers, some = (
                (whole, tile) if whole else (ColumnPointers.of([each[tile] for each in cells]), slice(None))
            )
            columns = self.columns if integers.dtype == np.float64 else np.nan_to_num(self.columns, nan=0.0)
            public = np.isfinite(self.columns[:, 4])
            complete: bool = kernels.round_columns(*pointers.at(some), columns, public, scale, integers)
            return complete

        return round_some

    def for_kernel(self, cells: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Columns from which a kernel computes the coordinates: the cells themselves."""
        return list(cells)

    def lost(self, cells: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
        """Rows with a cell that is not finite and has no public value."""
        lost = np.zeros(len(cells[0]), dtype=np.bool_)
        for values, column in zip(cells, self.columns, strict=True):
            if math.isnan(column[4]):
                lost |= _not_finite(values)
        return lost


def _not_finite(cells: NDArray[Any]) -> NDArray[np.bool_]:
    """Which cells are not finite as doubles."""
    with np.errstate(over="ignore"):
        return ~np.isfinite(np.asarray(cells, dtype=np.float64))


@attrs.frozen(eq=False)
class ColumnPointers:
    """The addresses of columns, valid as long as this object lives: it holds a reference to the cells."""

    cells: list[NDArray[Any]]
    addresses: NDArray[np.uint64]
    itemsizes: NDArray[np.uint64]

    @classmethod
    def of(cls, cells: Sequence[NDArray[Any]]) -> ColumnPointers:
        """The addresses of these columns, copied where a kernel cannot read them."""
        plain = [column if _is_plain(column) else int16.made_plain(column) for column in cells]
        addresses = [column.__array_interface__["data"][0] for column in plain]
        itemsizes = [column.itemsize for column in plain]
        return cls(plain, np.array(addresses, dtype=np.uint64), np.array(itemsizes, dtype=np.uint64))

    def at(self, tile: slice) -> tuple[NDArray[np.uint64], NDArray[np.bool_], int]:
        """For a tile: the addresses of its columns, which of them are in single precision, and the number of rows."""
        start, stop, _ = tile.indices(len(self.cells[0]))
        return self.addresses + np.uint64(start) * self.itemsizes, self.itemsizes == 4, stop - start


def _is_plain(cells: NDArray[Any]) -> bool:
    """Whether the kernels can read the cells of a column."""
    return int16.is_plain(cells) and cells.flags.c_contiguous


@attrs.frozen(eq=False)
class Levels:
    """The indicators of a category, about ``shift`` and multiplied by ``rate``."""

    category: Category
    shift: FloatArray
    rate: FloatArray

    @property
    def columns(self) -> FloatArray:
        """For each level a row as in Numbers.columns, of which 0 and 1 are the ends."""
        ends = (np.array([[0.0, 1.0]]) - self.shift[:, None]) * self.rate[:, None]
        return np.column_stack([self.shift, self.rate, ends, np.full(len(ends), math.nan)])

    def fill(self, values: FloatArray, cells: Sequence[NDArray[Any]]) -> bool:
        """Write the coordinates of these cells, a row of ``values`` for each level; return whether none is NaN."""
        values[...] = self._map(cells)
        return not np.isnan(values[0]).any()

    def rounder(self, cells: Sequence[NDArray[Any]], scale: float, kernels: Any) -> Rounder:
        """A rounder of the same coordinates, by NumPy."""

        def round_some(tile: slice, integers: NDArray[Any]) -> bool:
            values = self._map([column[tile] for column in cells])
            complete = not np.isnan(values[0]).any()
            if integers.dtype != np.float64:
                np.nan_to_num(values, copy=False)
            integers[:, : values.shape[1]] = np.rint(values * scale)
            integers[:, values.shape[1] :] = 0
            return complete

        return round_some

    def lost(self, cells: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
        """Rows with a cell that is none of the levels and has no public value."""
        lost: NDArray[np.bool_] = np.isnan(self._map(cells)[0])
        return lost

    def for_kernel(self, cells: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Columns from which a kernel computes the coordinates: the indicators, one for each level."""
        (words,) = cells
        return list(np.ascontiguousarray(self.category.map(words).T))

    def _map(self, cells: Sequence[NDArray[Any]]) -> FloatArray:
        """The coordinates of these cells, (levels, rows)."""
        (words,) = cells
        return self.category.map(words, self.shift, self.rate).T
