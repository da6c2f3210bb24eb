"""Memory for compiled code, and how rows lie in it.

Products are of 16-bit integers, because one instruction multiplies many of them and adds them in pairs. Two rows that
follow each other are held as *pairs*: a word of 32 bits for each coordinate, with the integer of the first row in its
lower half and that of the second in its upper. Word times word is then the sum of two products.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from dpframe.lattice import FloatArray, IntArray

PAIRS = 128
"""So many pairs of rows go through all products together: the words of a block stay in the first cache, and all of them
in the second."""

TALL = 6
"""Products of so many coordinates with one or two vectors of others are summed at once: sums and factors fit in the
registers of a core."""

LINE = 16
"""Words in a line of a cache."""

GROUP = 4
"""Products of fewer pairs between two carries take as long as those with both halves."""


class Room(NamedTuple):
    """Memory for one call of compiled code."""

    pairs: NDArray[np.int32]  # of some rows, and of the high and the low halves of their integers
    sums: IntArray  # of products with high halves, and of those with low halves or with whole integers
    squares: NDArray[np.int32]  # for each GROUP of pairs, the largest sum of squares of a coordinate, in eighths
    places: NDArray[np.uint64]  # addresses of two rows, and of where their pairs and both halves go
    numbers: FloatArray  # factors of two rows, their squared lengths before that, and the largest these may be
    bits: NDArray[np.uint32]  # of two rows, from 2¹⁶ on where 16 do not hold one

    @classmethod
    def of(cls, width: int) -> Room:
        """For rows of so many coordinates. Rows of pairs take an odd number of lines, so that the words of a coordinate
        in many rows do not fall on the same place of a cache."""
        words = LINE * ((width + TALL + LINE - 2) // LINE | 1)
        return cls(
            pairs=np.zeros((3, PAIRS, words), dtype=np.int32),
            sums=np.zeros((2, width + TALL, words), dtype=np.int64),
            squares=np.zeros(PAIRS // GROUP, dtype=np.int32),
            places=np.zeros(5, dtype=np.uint64),
            numbers=np.zeros(6),
            bits=np.zeros(2, dtype=np.uint32),
        )


ROOM = numba.typeof(Room.of(1))  # type: ignore[no-untyped-call]
