"""Raw rows to coordinates, many cells at a time.

:meth:`dpframe.Column.map` says what becomes of a cell. Here the same numbers are computed for all numeric columns of a
tile at once, in as few passes as NumPy allows. A cell x goes to f(x) = (x − middle)/half, and both roundings are
monotone, so that f(clip(x, low, high)) = clip(f(x), f(low), f(high)): clipping may come last, and is left out where the
smallest and the largest cell of a column lie in its range.

Large data is mapped by compiled code (`dpframe.strips`) to the same numbers, bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import lattice
from dpframe.inputs import Ref
from dpframe.lattice import FloatArray
from dpframe.private import Chunk, Scratch
from dpframe.rows import Category, Column, Rows

Raw = NDArray[Any] | Mapping[str, NDArray[Any]]


COMPILED_FROM = 1 << 26
"""After so many cells the map is compiled, if Numba is there: loading it takes about as long as mapping them did."""


def mapper(rows: Rows, scratch: Scratch) -> Callable[[Any], Chunk]:
    """The map of raw rows to coordinates that belongs to a promise; each result ends the one before."""
    if rows.columns is None:
        return partial(_as_it_is, rows, scratch)
    return _Columns.of(rows, rows.columns, scratch)


def _as_it_is(rows: Rows, scratch: Scratch, raw: Any) -> Chunk:
    return Chunk(rows, np.asarray(raw), scratch=scratch)


@lru_cache
def _strips() -> Mapping[np.dtype[Any], Any]:
    """The compiled maps by type of cell; none where they cannot be had, for whatever reason: the run is charged, and
    the map below does the same."""
    try:
        strips: Mapping[np.dtype[Any], Any] = import_module("dpframe.strips").STRIPS
    except Exception:
        return {}
    return strips


@attrs.frozen(eq=False)
class _Numbers:
    """Numeric columns that stand side by side: the map of their cells, and where it needs no clipping."""

    columns: FloatArray  # a row of each: middle, half, and the images of low, of high and of a missing cell
    low: FloatArray  # cells from low to high need none
    high: FloatArray

    @classmethod
    def of(cls, columns: Sequence[Column]) -> _Numbers:
        low, high, middle, half = np.array([(each.low, each.high, each.middle, each.half_width) for each in columns]).T
        ends = np.array([each.map(np.array([each.low, each.high, np.nan]))[:, 0] for each in columns])
        rounded = ((low - middle) / half < ends[:, 0]) | ((high - middle) / half > ends[:, 1])
        return cls(
            columns=np.column_stack([middle, half, ends]),
            low=np.where(rounded, np.inf, low),
            high=np.where(rounded, -np.inf, high),
        )

    def fill_compiled(
        self, values: FloatArray, rounded: FloatArray, cells: Sequence[NDArray[Any]], scale: float, scratch: Scratch
    ) -> bool:
        """The same as `fill`, and the coordinates in lattice steps, rounded, where there is a compiled map."""
        complete = True
        for found, target, steps, column in zip(cells, values, rounded, self.columns, strict=True):
            strip = np.asarray(found)
            if not (strip.dtype in _strips() and strip.flags.c_contiguous and strip.flags.aligned):
                strip = scratch.array("strip", len(found), 1, by_columns=True)[:, 0]
                strip[...] = found
            if not _strips()[strip.dtype](strip, target, steps, column, scale):
                complete &= math.isfinite(column[-1])
        return complete

    def fill(self, values: FloatArray, cells: Sequence[NDArray[Any]]) -> bool:
        """The coordinates of these cells, a row of ``values`` for each column; whether all of them are numbers."""
        complete = True
        for target, found in zip(values, cells, strict=True):
            target[...] = found
        least, most = values.min(axis=1), values.max(axis=1)  # not a number where one of the cells is none
        values -= self.columns[:, :1]
        values /= self.columns[:, 1:2]
        above, below = least >= self.low, most <= self.high
        for i in np.flatnonzero(~(above & below)).tolist():
            low, high, missing = self.columns[i, 2:].tolist()
            if not above[i]:
                np.maximum(values[i], low, out=values[i])
            if not below[i]:
                np.minimum(values[i], high, out=values[i])
            if not (np.isfinite(least[i]) and np.isfinite(most[i])):
                values[i, ~np.isfinite(np.asarray(cells[i], dtype=np.float64))] = missing
                complete &= math.isfinite(missing)
        return complete


@attrs.define(eq=False)
class _Columns:
    """Tables, or arrays with as many columns as were declared, to coordinates."""

    rows: Rows
    names: tuple[str, ...]
    parts: tuple[tuple[slice, _Numbers | Category], ...]  # which columns, and what they are
    scratch: Scratch
    cells: int = attrs.field(init=False, default=0)  # mapped so far

    @classmethod
    def of(cls, rows: Rows, columns: Sequence[Column | Category], scratch: Scratch) -> _Columns:
        parts: list[tuple[slice, _Numbers | Category]] = []
        start = 0
        while start < len(columns):
            first, stop = columns[start], start + 1
            if isinstance(first, Category):
                parts.append((slice(start, stop), first))
            else:
                while stop < len(columns) and isinstance(columns[stop], Column):
                    stop += 1
                run = [column for column in columns[start:stop] if isinstance(column, Column)]
                parts.append((slice(start, stop), _Numbers.of(run)))
            start = stop
        return cls(rows, tuple(column.name for column in columns), tuple(parts), scratch)

    def __call__(self, raw: Raw) -> Chunk:
        """The coordinates of some rows. They are known to be finite and within the norm where there is none beside the
        columns, each of which contributes at most 1 to the square of a length, and no cell is lost."""
        cells = list(raw.T) if isinstance(raw, np.ndarray) else [raw[name] for name in self.names]
        count, dim = len(cells[0]), self.rows.known_dim
        mapped = self.scratch.array("coordinates", count, dim, by_columns=True)  # as the cells come
        rounded = self._room_for_integers(count)
        self.cells += mapped.size
        complete = self.rows.norm is None
        if mapped.size:
            with np.errstate(over="ignore", invalid="ignore"):
                complete &= self._fill(mapped.T, None if rounded is None else rounded.T, cells)
        return Chunk(self.rows, mapped, within=complete, rounded=rounded, scratch=self.scratch)

    def _room_for_integers(self, count: int) -> FloatArray | None:
        """Where integers go as well, once the map is compiled and the length of a lattice step is known."""
        if self.cells < COMPILED_FROM or isinstance(self.rows.norm, Ref) or not _strips():
            return None
        return self.scratch.integers(count, self.rows, by_columns=True)

    def _fill(self, values: FloatArray, rounded: FloatArray | None, cells: Sequence[NDArray[Any]]) -> bool:
        start, complete = 0, True
        scale = math.nan if rounded is None else lattice.steps_per_unit(len(values), self.rows.length)
        for which, part in self.parts:
            if isinstance(part, Category):
                here = slice(start, start + len(part.levels))
                values[here] = part.map(cells[which.start]).T
                complete &= not np.isnan(values[start]).any()
                if rounded is not None:
                    np.rint(np.multiply(values[here], scale, out=rounded[here]), out=rounded[here])
            else:
                here = slice(start, start + which.stop - which.start)
                if rounded is None:
                    complete &= part.fill(values[here], cells[which])
                else:
                    complete &= part.fill_compiled(values[here], rounded[here], cells[which], scale, self.scratch)
            start = here.stop
        return complete
