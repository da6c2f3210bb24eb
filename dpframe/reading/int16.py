"""Gram matrices from 16-bit integers, by compiled kernels: several times faster than in doubles.

For columns with ranges and no norm, the promise makes all integers fit in 16 bits. With a norm, a row does not fit if
one of its coordinates reaches half of the norm after scaling down; such rows are summed in doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import lattice
from dpframe.display.redacted import Redacted
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading.chunk import Chunk
from dpframe.reading.scratch import Scratch
from dpframe.spec.rows import Rows

MULTIPLE = 16
"""Buffers of 16-bit integers hold a multiple of this many rows; those after the last row are zero."""

LEAST_PAIRS = 4  # with fewer pairs between two carries, carrying takes longer than multiplying
LEAST_DIM = 17  # with fewer coordinates, mapping takes longer than multiplying


def pairs_per_carry(rows: Rows) -> int:
    """Pair products that fit in a 32-bit sum before it must be carried; 0 where the int16 path does not apply.

    A carry leaves at most 16 bits in the sum. Without a norm or a center, no coordinate of a column exceeds 1 and no
    row is too long. Wide rows are left to BLAS, which uses all cores for a block.
    """
    if rows.norm is not None or rows.is_moved or rows.width >= lattice.TILE:
        return 0
    most = round(lattice.steps_per_unit(rows.known_dim, rows.length))
    pairs = (2**31 - 2**16) // (2 * most * most)
    return pairs if pairs >= LEAST_PAIRS else 0


def is_plain(cells: NDArray[Any]) -> bool:
    """Whether the kernels can read these cells: native floats or doubles, aligned."""
    return cells.dtype.char in "fd" and cells.dtype.isnative and cells.flags.aligned


def made_plain(cells: NDArray[Any]) -> NDArray[Any]:
    """A contiguous copy that the kernels can read, with the same numbers as doubles; floats stay floats."""
    with np.errstate(over="ignore"):
        return np.array(cells, dtype=np.float32 if cells.dtype.char == "f" else np.float64, order="C")


def _weights(rows: Rows) -> IntArray:
    """The factors of the coordinates in a sum: the constant coordinate is stored as 1 in 16 bits."""
    weights = np.ones(rows.width, dtype=np.int64)
    if rows.center:
        weights[-1] = rows.constant
    return weights


@attrs.frozen(repr=False, eq=False)
class Int16Rows(Redacted):
    """Integer rows in 16 bits.

    Args:
        transposed: the integers, (coordinates, rows), with ones for the constant coordinate if the plan is centered;
            zero in rows that contribute nothing, and after the last row.
        count: the number of rows, without the padding.
        rows: the promise.
        add_int16_columns: `dpframe.reading.kernels.add_int16_columns`.
    """

    transposed: NDArray[np.int16]
    count: int
    rows: Rows
    add_int16_columns: Any

    def widen(self, out: FloatArray) -> None:
        """Write the integer rows, with the constant coordinate, as doubles."""
        out.T[...] = self.transposed[:, : self.count]
        if self.rows.center:
            out[:, -1] *= self.rows.constant

    def total(self) -> IntArray:
        """The sum of the integer rows, without the constant coordinate."""
        return np.asarray(self.transposed[: self.rows.known_dim].sum(axis=1, dtype=np.int64))

    def add_gram(self, total: IntArray) -> None:
        """Add the exact Gram matrix of the integer rows, with the constant coordinate."""
        self.add_int16_columns(self.transposed, pairs_per_carry(self.rows), _weights(self.rows), total)


def transposed_buffer(count: int, rows: Rows, scratch: Scratch) -> NDArray[np.int16]:
    """A buffer for the 16-bit integers of this many rows; only the constant coordinate is filled in."""
    transposed: NDArray[np.int16] = scratch.array(
        "int16", -(-count // MULTIPLE) * MULTIPLE, rows.width, by_columns=True, dtype=np.int16
    ).T
    if rows.center:
        transposed[-1, :count] = 1
        transposed[-1, count:] = 0
    return transposed


def add_rows(values: NDArray[Any], rows: Rows, compiled: Any, total: IntArray) -> None:
    """Add the exact Gram matrix of rows with a norm, with the constant coordinate.

    Args:
        values: rows of any real type.
        rows: the promise.
        compiled: `dpframe.reading.kernels.add_rows`.
        total: the matrix to add to.
    """
    if values.shape[1] != rows.known_dim:
        raise ValueError(f"rows of {values.shape[1]} coordinates, where {rows.known_dim} were promised")
    if not is_plain(values) or values.strides[1] != values.itemsize:
        values = made_plain(values)
    add_gram_with_fallback(partial(compiled, values), len(values), rows, lambda indices: values[indices], total)


def add_gram_with_fallback(
    compiled: Any, count: int, rows: Rows, values: Callable[[IntArray], NDArray[Any]], total: IntArray
) -> None:
    """Add the Gram matrix of rows by a kernel, and that of the rows it leaves out by NumPy.

    Args:
        compiled: the kernel, which rounds the rows, scales them down to the norm and sums them.
        count: the number of rows.
        rows: the promise.
        values: gives the coordinates of rows by their indices.
        total: the matrix to add to.
    """
    dim = rows.known_dim
    skipped_rows, wide_rows = np.empty(count, dtype=np.int64), np.empty((count, dim))
    how = lattice.steps_per_unit(dim, rows.length), lattice.inner_radius(dim), _weights(rows)
    skipped, wide = compiled(*how, total, skipped_rows, wide_rows)
    if wide:
        constant = np.full((wide, 1), float(rows.constant))
        lattice.add_gram(np.hstack([wide_rows[:wide], constant]) if rows.center else wide_rows[:wide], total)
    if skipped:
        lattice.add_gram(Chunk(rows, values(skipped_rows[:skipped])).integers(), total)
