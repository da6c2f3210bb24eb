"""Gram matrices from 16-bit integers, where compiled code is there for it: several times faster than in doubles.

Of columns with ranges, 16 bits hold all integers by the promise. With a norm they hold all but those of rows of which
half goes in one direction; doubles hold these.
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
"""Strips have a multiple of so many rows; those behind the last are zero."""

LEAST_PAIRS = 4  # with fewer pairs between two carries, carrying takes longer than multiplying
LEAST_DIM = 17  # products of fewer coordinates take less time than mapping them


def pairs_per_carry(rows: Rows) -> int:
    """Pair products that fit in a 32-bit sum before it must be carried; 0 where the int16 path does not apply.

    A carry leaves at most 16 bits in the sum. Without a norm beside the columns no coordinate is larger than one and no
    row is too long. Wide rows are left to BLAS, which works on a block with all cores.
    """
    if rows.norm is not None or rows.width >= lattice.TILE:
        return 0
    most = round(lattice.steps_per_unit(rows.known_dim, rows.length))
    pairs = (2**31 - 2**16) // (2 * most * most)
    return pairs if pairs >= LEAST_PAIRS else 0


def is_plain(cells: NDArray[Any]) -> bool:
    """Whether cells are of a type that compiled code takes, and where it can."""
    return cells.dtype.char in "fd" and cells.dtype.isnative and cells.flags.aligned


def made_plain(cells: NDArray[Any]) -> NDArray[Any]:
    """The same numbers so that they are."""
    with np.errstate(over="ignore"):
        return np.array(cells, dtype=np.float32 if cells.dtype.char == "f" else np.float64, order="C")


def _weights(rows: Rows) -> IntArray:
    """What integers are multiplied with when they are summed: the constant coordinate is one in 16 bits."""
    weights = np.ones(rows.width, dtype=np.int64)
    if rows.center:
        weights[-1] = rows.constant
    return weights


@attrs.frozen(repr=False, eq=False)
class Int16Rows(Redacted):
    """Some rows of columns.

    Args:
        strips: one for each coordinate, and one of ones for the constant coordinate where the plan is centred; all of
            them zero in rows that contribute nothing.
        count: how many rows there are, without the zeros behind them.
        rows: the promise.
        add_strips: `dpframe.reading.kernels.add_strips`.
    """

    strips: NDArray[np.int16]
    count: int
    rows: Rows
    add_strips: Any

    def widen(self, room: FloatArray) -> None:
        """Write the integer rows, with the constant coordinate, in doubles."""
        room.T[...] = self.strips[:, : self.count]
        if self.rows.center:
            room[:, -1] *= self.rows.constant

    def add_gram(self, total: IntArray) -> None:
        """Add the exact Gram matrix of the integer rows, with the constant coordinate."""
        self.add_strips(self.strips, pairs_per_carry(self.rows), _weights(self.rows), total)


def strips_for(count: int, rows: Rows, scratch: Scratch) -> NDArray[np.int16]:
    """Strips for so many rows, with any content but for the constant coordinate."""
    strips: NDArray[np.int16] = scratch.array(
        "int16", -(-count // MULTIPLE) * MULTIPLE, rows.width, by_columns=True, dtype=np.int16
    ).T
    if rows.center:
        strips[-1, :count] = 1
        strips[-1, count:] = 0
    return strips


def add_rows(values: NDArray[Any], rows: Rows, compiled: Any, total: IntArray) -> None:
    """Add the exact Gram matrix of integer rows with a norm, with the constant coordinate.

    Args:
        values: rows of any real type.
        rows: the promise.
        compiled: `dpframe.reading.kernels.add_rows`.
        total: what is added to.
    """
    if values.shape[1] != rows.known_dim:
        raise ValueError(f"rows of {values.shape[1]} coordinates, where {rows.known_dim} were promised")
    if not is_plain(values) or values.strides[1] != values.itemsize:
        values = made_plain(values)
    add_but_some(partial(compiled, values), len(values), rows, lambda aside: values[aside], total)


def add_but_some(
    compiled: Any, count: int, rows: Rows, values: Callable[[IntArray], NDArray[Any]], total: IntArray
) -> None:
    """Add the Gram matrix of rows by compiled code, and of those that it leaves out from their integers.

    Args:
        compiled: what rounds and sums the rows, scaled down to a norm.
        count: how many rows there are.
        rows: the promise.
        values: the coordinates of rows by their numbers.
        total: what is added to.
    """
    dim = rows.known_dim
    aside, beyond = np.empty(count, dtype=np.int64), np.empty((count, dim))
    how = lattice.steps_per_unit(dim, rows.length), lattice.inner_radius(dim), _weights(rows)
    left_out, wide = compiled(*how, total, aside, beyond)
    if wide:
        constant = np.full((wide, 1), float(rows.constant))
        lattice.add_gram(np.hstack([beyond[:wide], constant]) if rows.center else beyond[:wide], total)
    if left_out:
        lattice.add_gram(Chunk(rows, values(aside[:left_out])).integers(), total)
