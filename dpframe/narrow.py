"""Lattice rows in 16-bit integers, where a promise keeps them small: a quarter of the memory, a third of the time."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import lattice
from dpframe.lattice import FloatArray, IntArray
from dpframe.private import Redacted, Scratch
from dpframe.rows import Rows

LANES = 16
"""Strips have a multiple of so many rows; those behind the last are zero."""

LEAST_STEPS = 4  # fewer sums of LANES products between two changes to 64 bits would not be worth it

AddProducts = Callable[[NDArray[np.int16], int, IntArray, IntArray], None]  # dpframe.strips.add_products


def steps_for(rows: Rows) -> int:
    """How many pairs of products of coordinates have a sum that 32 bits hold; zero where 16 bits are not for them.

    Where no norm is given beside the columns, no coordinate is larger than one and no row too long. Wide rows are left
    to the matrix library, which works on a block with all cores.
    """
    if rows.norm is not None or rows.width >= lattice.TILE:
        return 0
    most = round(lattice.steps_per_unit(rows.known_dim, rows.length))
    steps = (2**31 - 1) // (2 * most * most)
    return steps if steps >= LEAST_STEPS else 0


@attrs.frozen(repr=False, eq=False)
class Narrow(Redacted):
    """Some rows, all of them numbers.

    Args:
        strips: one for each coordinate, and one of ones for the constant coordinate where the plan is centred.
        count: how many rows there are, without the zeros behind them.
        rows: the promise.
        add_products: the compiled code that sums products of strips.
    """

    strips: NDArray[np.int16]
    count: int
    rows: Rows
    add_products: AddProducts

    def widen(self, room: FloatArray) -> None:
        """Write the integer rows, with the constant coordinate, in doubles."""
        room.T[...] = self.strips[:, : self.count]
        if self.rows.center:
            room[:, -1] = self.rows.constant

    def add_gram(self, total: IntArray) -> None:
        """Add the exact Gram matrix of the integer rows, with the constant coordinate."""
        weights = np.ones(self.rows.width, dtype=np.int64)
        if self.rows.center:
            weights[-1] = self.rows.constant
        self.add_products(self.strips, steps_for(self.rows), weights, total)


def room_for(count: int, rows: Rows, scratch: Scratch) -> NDArray[np.int16]:
    """Strips for so many rows, with any content but for the constant coordinate."""
    strips: NDArray[np.int16] = scratch.array(
        "narrow", -(-count // LANES) * LANES, rows.width, by_columns=True, dtype=np.int16
    ).T
    if rows.center:
        strips[-1, :count] = 1
        strips[-1, count:] = 0
    return strips
