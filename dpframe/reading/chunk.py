"""Chunks: the rows that a statistic sees at a time. They show no value when printed."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import hermitian, lattice
from dpframe.display.redacted import Redacted
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading.scratch import Scratch
from dpframe.spec.rows import Rows


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written to: several statistics and mechanisms share the same array."""
    view = array.view()
    view.flags.writeable = False
    return view


@attrs.frozen
class Grid:
    """A grid on which the lengths of rows are compared, as exact integers.

    Args:
        per_unit: grid steps in a length of one.
        last: the last edge in grid steps, a power of two; dim · (last + 1)² is below 2⁵³.
        squares: the squared edges in grid steps, increasing. Bin i counts the lengths from edge i − 1, that one
            excluded, to edge i, that one included; the last bin is unbounded.
    """

    per_unit: float
    last: float
    squares: FloatArray


@attrs.frozen(repr=False, eq=False)
class Chunk(Redacted):
    """Some rows, mapped to coordinates, from which a statistic is computed.

    Subclasses compute the same coordinates and integers faster.

    Args:
        rows: the promise, with its dimension known.
        values: the coordinates, (rows, dim), complex or real; NaN in rows that contribute nothing.
    """

    rows: Rows
    _given: Any = attrs.field(alias="values")
    _values: NDArray[Any] | None = attrs.field(default=None, init=False)
    _integers: FloatArray | None = attrs.field(default=None, init=False)

    def __len__(self) -> int:
        return len(self.values)

    # Not functools.cached_property: in Python 3.11 it has one lock for all chunks, which would serialize the workers.

    @property
    def values(self) -> NDArray[Any]:
        """The coordinates, neither clipped to the norm nor rounded; NaN in rows that contribute nothing."""
        if self._values is None:
            object.__setattr__(self, "_values", read_only(self._coordinates()))
        assert self._values is not None  # set above
        return self._values

    def integers(self) -> FloatArray:
        """Lattice rows of length at most RADIUS, followed by the constant coordinate if the plan is centered.

        Of complex rows, the real and the imaginary part of each coordinate are next to each other.

        They are computed once for all statistics, and cannot be written to.
        """
        if self._integers is None:
            object.__setattr__(self, "_integers", read_only(self._to_lattice()))
        assert self._integers is not None  # set above
        return self._integers

    def add_gram(self, total: IntArray) -> None:
        """Add the exact Gram matrix of the integer rows."""
        lattice.add_gram(self.integers(), total)

    def total(self) -> IntArray:
        """The sum of the integer rows, without the constant coordinate."""
        return np.asarray(self.integers()[:, : self.rows.real_dim].sum(axis=0)).astype(np.int64)

    def length_counts(self, grid: Grid) -> IntArray:
        """The numbers of rows in bins of their length, neither clipped to the norm nor rounded to the lattice."""
        finite = hermitian.real_rows(self.finite()) if self.rows.complex else self.finite()
        with np.errstate(over="ignore", under="ignore"):
            steps = np.multiply(finite, grid.per_unit, dtype=np.float64, casting="unsafe")
        np.rint(steps, out=steps)
        np.clip(steps, -grid.last - 1, grid.last + 1, out=steps)  # a clipped coordinate is still beyond the last edge
        bins = np.searchsorted(grid.squares, np.einsum("ij,ij->i", steps, steps), side="left")
        return np.bincount(bins, minlength=len(grid.squares) + 1).astype(np.int64)

    def finite(self) -> NDArray[Any]:
        """The rows that contribute, neither clipped nor rounded."""
        if self._all_finite():
            return self.values
        keep = np.isfinite(self.values).all(axis=1)
        return self.values if keep.all() else self.values[keep]

    def count(self) -> int:
        """The number of rows that contribute: those whose coordinates are finite, as doubles."""
        if self._all_finite():
            return len(self)
        with np.errstate(over="ignore"):
            return int(np.isfinite(self.values.astype(self.rows.dtype, copy=False)).all(axis=1).sum())

    def _all_finite(self) -> bool:
        """Whether every coordinate is known to be finite: a sum of doubles is finite only if all its terms are."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.values.dtype == np.float64 and math.isfinite(self.values.sum())

    def _coordinates(self) -> NDArray[Any]:
        values: NDArray[Any] = self._given
        return values

    def _to_lattice(self) -> FloatArray:
        return rounded(self.rows, self.values, Scratch())


@attrs.frozen(repr=False, eq=False)
class MappedChunk(Chunk):
    """Rows mapped by NumPy.

    Args:
        scratch: holds their integers, until the next chunk.
        within: whether every row is known to be finite and no longer than the promise states.
    """

    scratch: Scratch = attrs.field(kw_only=True)
    within: bool = attrs.field(default=False, kw_only=True)

    def _to_lattice(self) -> FloatArray:
        return rounded(self.rows, self.values, self.scratch, within=self.within)


def rounded(rows: Rows, values: NDArray[Any], scratch: Scratch, *, within: bool = False) -> FloatArray:
    """Coordinates rounded to integer rows, with the constant coordinate if there is one."""
    dim = rows.real_dim
    if rows.complex:
        values = hermitian.real_rows(values)
    integers = scratch.integers(len(values), rows, by_columns=values.flags.fnc)
    _, lost = lattice.integer_rows(values, rows.length, integers[:, :dim], within=within)
    set_constant(rows, integers, lost)
    return integers


def set_constant(rows: Rows, integers: FloatArray, lost: NDArray[np.bool_] | None) -> None:
    """Write the constant coordinate of centered rows: 0 in rows that contribute nothing."""
    if rows.center:
        integers[:, -1] = rows.constant
        if lost is not None:
            integers[lost, -1] = 0.0
