"""The compiled map of a strip: cells of one numeric column to coordinates and to lattice integers, in one pass.

The operations are those of `dpframe.mapping` and `dpframe.lattice.integer_rows`, in the same order, so that every bit
is the same. Which of the two maps a cell goes through depends on nothing but how many came before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from dpframe.compiled import compiled
from dpframe.lattice import FloatArray

LARGEST = sys.float_info.max

Strip = Callable[[NDArray[Any], FloatArray, FloatArray, FloatArray, float], bool]


def strip(cells: NDArray[Any], coordinates: FloatArray, integers: FloatArray, column: FloatArray, scale: float) -> bool:
    """Map the cells of a column.

    Args:
        cells: any numbers.
        coordinates: where they go: (cell − middle)/half, clipped to the images of both ends of the range.
        integers: where coordinates · scale go, rounded.
        column: the middle of the range, half its width, and the images of its low end, its high end and of a cell that
            is not finite.
        scale: lattice steps per unit.

    Returns:
        Whether every cell is finite.
    """
    middle, half, low, high, missing = column[0], column[1], column[2], column[3], column[4]
    lost = 0
    for i in range(len(cells)):
        cell = np.float64(cells[i])
        value = (cell - middle) / half
        value = low if value < low else value
        value = high if value > high else value
        finite = abs(cell) <= LARGEST
        value = value if finite else missing
        lost += not finite
        coordinates[i] = value
        integers[i] = np.rint(value * scale)
    return lost == 0


def _strip_of(kind: Any) -> Strip:
    cells = types.Array(kind, 1, "C", readonly=True)
    return compiled(cells, *[types.float64[::1]] * 3, types.float64)(strip)


STRIPS = {np.dtype(np.float32): _strip_of(types.float32), np.dtype(np.float64): _strip_of(types.float64)}
"""The map for each type of cells; others are turned into doubles first."""
