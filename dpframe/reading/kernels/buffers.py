"""Buffers of the kernels, and their layout.

Products are of 16-bit integers, because one instruction multiplies many of them and adds them in pairs. Two consecutive
rows are stored as a *pair*: one 32-bit word for each coordinate, with the integer of the first row in the lower half
and that of the second row in the upper half. Multiplying two words gives the sum of two products.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from dpframe.lattice import FloatArray, IntArray
from dpframe.reading.scratch import zeros_in_lines

PAIRS = 128
"""Pairs of rows per block: the words of one product tile stay in the L1 cache, those of the whole block in L2."""

TALL = 6
"""Height of a product tile: this many coordinates times one or two vectors of others, so that the sums and factors fit
in the registers of a core."""

LINE = 16
"""Words in a cache line."""

GROUP = 4
"""Fewest pairs between two carries: with fewer, products of whole integers are no faster than those of both halves."""


class Buffers(NamedTuple):
    """The buffers of one kernel call."""

    pairs: NDArray[np.int32]  # a block of pairs, then the high halves and the low halves of its integers
    sums: IntArray  # sums of products with high halves; sums of those with low halves or whole integers
    squares: NDArray[np.int32]  # per GROUP of pairs, the largest sum of squares of a coordinate, in eighths
    places: NDArray[np.uint64]  # addresses of two rows, then of the outputs: pairs, high halves, low halves
    numbers: FloatArray  # of two rows: factors, squared lengths before these, and their upper limits
    bits: NDArray[np.uint32]  # of two rows: 2¹⁶ or more if an integer of the row does not fit in 16 bits

    @classmethod
    def of(cls, width: int) -> Buffers:
        """Buffers for rows of this many coordinates.

        A pair takes an odd number of cache lines, so that the words of one coordinate fall in different cache sets.
        """
        words = LINE * ((width + TALL + LINE - 2) // LINE | 1)
        return cls(
            pairs=zeros_in_lines((3, PAIRS, words), np.int32),
            sums=zeros_in_lines((2, width + TALL, words), np.int64),
            squares=np.zeros(PAIRS // GROUP, dtype=np.int32),
            places=np.zeros(5, dtype=np.uint64),
            numbers=np.zeros(6),
            bits=np.zeros(2, dtype=np.uint32),
        )


BUFFERS = numba.typeof(Buffers.of(1))  # type: ignore[no-untyped-call]
