"""Raw rows to coordinates, many cells at a time.

:meth:`dpframe.Column.map` says what becomes of a cell. Here the same numbers are computed for all numeric columns of a
tile at once, in as few passes as NumPy allows. A cell x goes to f(x) = (x − middle)/half, and both roundings are
monotone, so that f(clip(x, low, high)) = clip(f(x), f(low), f(high)): clipping may come last, and is left out where the
smallest and the largest cell of a column lie in its range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.lattice import FloatArray
from dpframe.private import Scratch
from dpframe.rows import Category, Column, Rows

Raw = NDArray[Any] | Mapping[str, NDArray[Any]]


def mapper(rows: Rows, scratch: Scratch) -> Callable[[Any], tuple[NDArray[Any], bool]]:
    """The map of raw rows to coordinates that belongs to a promise; each result ends the one before.

    Beside the coordinates it tells whether all rows are known to be finite and within the norm. Without a norm beside
    the columns they are unless a cell is lost: each column contributes at most 1 to the square of a length.
    """
    return _as_it_is if rows.columns is None else _Columns.of(rows.columns, rows.norm is None, scratch)


def _as_it_is(raw: Any) -> tuple[NDArray[Any], bool]:
    return np.asarray(raw), False


@attrs.frozen(eq=False)
class _Numbers:
    """Numeric columns that stand side by side: the map of their cells, and where it needs no clipping."""

    middle: FloatArray
    half: FloatArray
    low: FloatArray  # cells from low to high need none
    high: FloatArray
    ends: tuple[tuple[float, float, float], ...]  # of each: the images of low, of high, and of a missing cell

    @classmethod
    def of(cls, columns: Sequence[Column]) -> _Numbers:
        low, high, middle, half = np.array([(each.low, each.high, each.middle, each.half_width) for each in columns]).T
        ends = np.array([each.map(np.array([each.low, each.high, np.nan]))[:, 0] for each in columns])
        rounded = ((low - middle) / half < ends[:, 0]) | ((high - middle) / half > ends[:, 1])
        return cls(
            middle=middle[:, None],
            half=half[:, None],
            low=np.where(rounded, np.inf, low),
            high=np.where(rounded, -np.inf, high),
            ends=tuple(map(tuple, ends.tolist())),
        )

    def fill(self, values: FloatArray, cells: Sequence[NDArray[Any]]) -> bool:
        """The coordinates of these cells, a row of ``values`` for each column; whether all of them are numbers."""
        complete = True
        for target, found in zip(values, cells, strict=True):
            target[...] = found
        least, most = values.min(axis=1), values.max(axis=1)  # not a number where one of the cells is none
        values -= self.middle
        values /= self.half
        above, below = least >= self.low, most <= self.high
        for i in np.flatnonzero(~(above & below)).tolist():
            low, high, missing = self.ends[i]
            if not above[i]:
                np.maximum(values[i], low, out=values[i])
            if not below[i]:
                np.minimum(values[i], high, out=values[i])
            if not (np.isfinite(least[i]) and np.isfinite(most[i])):
                values[i, ~np.isfinite(np.asarray(cells[i], dtype=np.float64))] = missing
                complete &= math.isfinite(missing)
        return complete


@attrs.frozen(eq=False)
class _Columns:
    """Tables, or arrays with as many columns as were declared, to coordinates."""

    bounded: bool  # whether no row of numbers is too long
    dim: int
    names: tuple[str, ...]
    parts: tuple[tuple[slice, _Numbers | Category], ...]  # which columns, and what they are
    scratch: Scratch

    @classmethod
    def of(cls, columns: Sequence[Column | Category], bounded: bool, scratch: Scratch) -> _Columns:
        parts: list[tuple[slice, _Numbers | Category]] = []
        start = dim = 0
        while start < len(columns):
            first, stop = columns[start], start + 1
            if isinstance(first, Category):
                parts.append((slice(start, stop), first))
            else:
                while stop < len(columns) and isinstance(columns[stop], Column):
                    stop += 1
                run = [column for column in columns[start:stop] if isinstance(column, Column)]
                parts.append((slice(start, stop), _Numbers.of(run)))
            dim += sum(len(column.labels) for column in columns[start:stop])
            start = stop
        return cls(bounded, dim, tuple(column.name for column in columns), tuple(parts), scratch)

    def __call__(self, raw: Raw) -> tuple[FloatArray, bool]:
        cells = list(raw.T) if isinstance(raw, np.ndarray) else [raw[name] for name in self.names]
        mapped = self.scratch.array("coordinates", len(cells[0]), self.dim, by_columns=True)  # as the cells come
        if not mapped.size:
            return mapped, self.bounded
        values, start, complete = mapped.T, 0, self.bounded
        with np.errstate(over="ignore", invalid="ignore"):
            for which, part in self.parts:
                if isinstance(part, _Numbers):
                    stop = start + which.stop - which.start
                    complete &= part.fill(values[start:stop], cells[which])
                else:
                    stop = start + len(part.levels)
                    values[start:stop] = part.map(cells[which.start]).T
                    complete &= not np.isnan(values[start]).any()
                start = stop
        return mapped, complete
