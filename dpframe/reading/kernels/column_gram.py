"""Columns of cells to columns of integers, and to their Gram matrix."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import carray, types  # type: ignore[attr-defined]
from numpy.typing import NDArray

from dpframe.jit import compiled, compiled_part
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading.kernels.buffers import BUFFERS, PAIRS, Buffers
from dpframe.reading.kernels.placing import LARGEST, image
from dpframe.reading.kernels.products import add_pairs, add_sums
from dpframe.reading.kernels.vectors import (
    LANES,
    address_of,
    doubles_at,
    singles_at,
    transpose_words,
)


@compiled_part
def _round_column(cells: NDArray[Any], column: FloatArray, scale: float, integers: NDArray[Any]) -> bool:
    """Round the coordinates of the cells of a column; return whether every cell is finite."""
    middle, rate, low, high, missing = column[0], column[1], column[2], column[3], column[4]
    lost = 0
    for i in range(len(cells)):
        cell = np.float64(cells[i])
        lost += not abs(cell) <= LARGEST
        integers[i] = np.rint(image(cell, middle, rate, low, high, missing) * scale)
    return lost == 0


def _round_columns(
    addresses: NDArray[np.uint64],
    single: NDArray[np.bool_],
    count: int,
    columns: FloatArray,
    public: NDArray[np.bool_],
    scale: float,
    integers: NDArray[Any],
) -> bool:
    complete = True
    for j in range(len(addresses)):
        if single[j]:
            finite = _round_column(carray(singles_at(addresses[j]), count), columns[j], scale, integers[j])
        else:
            finite = _round_column(carray(doubles_at(addresses[j]), count), columns[j], scale, integers[j])
        complete &= finite or public[j]
        integers[j, count:] = 0
    return complete


_CELLS = (types.uint64[::1], types.boolean[::1], types.int64, types.float64[:, ::1])  # addresses to columns, below
_TO: dict[np.dtype[Any], Any] = {
    np.dtype(np.float64): types.float64[:, ::1],
    np.dtype(np.int16): types.int16[:, ::1],
}


@cache
def _rounding(dtype: np.dtype[Any]) -> Any:
    return compiled(*_CELLS, types.boolean[::1], types.float64, _TO[dtype])(_round_columns)


def round_columns(
    addresses: NDArray[np.uint64],
    single: NDArray[np.bool_],
    count: int,
    columns: FloatArray,
    public: NDArray[np.bool_],
    scale: float,
    integers: NDArray[Any],
) -> bool:
    """Round the coordinates of columns to the lattice.

    Args:
        addresses: of the first cell of each column; columns are aligned and contiguous.
        single: for each column, whether its cells are in single precision rather than double.
        count: the number of cells in each column.
        columns: for each column a row: the middle of its range, the inverse of half its width, and the images of its
            low end, of its high end and of a cell that is not finite. None of them is NaN if integers has 16 bits.
        public: for each column, whether a cell that is not finite has a public image. If not, its row is lost.
        scale: lattice steps per unit.
        integers: output: for each column a row of coordinates · scale, rounded, in doubles or 16 bits, with zeros
            after the last cell.

    Returns:
        Whether no row is lost.
    """
    complete: bool = _rounding(integers.dtype)(addresses, single, count, columns, public, scale, integers)
    return complete


def _add_int16_columns(
    transposed: NDArray[np.int16], per_carry: int, weights: IntArray, total: IntArray, buffers: Buffers
) -> None:
    width, count, across = len(transposed), transposed.shape[1] // 2, 4 * buffers.pairs.shape[2]
    for start in range(0, count, PAIRS):
        some = min(PAIRS, count - start)
        for first in range(0, width, LANES):
            j = min(first, width - LANES)  # the last group may overlap the one before
            for k in range(0, some, LANES):
                here = address_of(transposed) + np.uint64(4 * (count * j + start + k))
                there = address_of(buffers.pairs) + np.uint64(across * k + 4 * j)
                transpose_words(here, 4 * count, there, across)
        add_pairs(0, some, width, per_carry, buffers)
    add_sums(buffers.sums[1], weights, total)


@cache
def _adding_int16_columns() -> Any:
    return compiled(types.int16[:, ::1], types.int64, types.int64[::1], types.int64[:, ::1], BUFFERS)(
        _add_int16_columns
    )


def add_int16_columns(transposed: NDArray[np.int16], per_carry: int, weights: IntArray, total: IntArray) -> None:
    """Add the Gram matrix of 16-bit integers.

    Args:
        transposed: the integers, one row for each coordinate: at least LANES rows, of a multiple of 2 · LANES entries.
        per_carry: pairs of rows between two carries; 2 · per_carry · (the largest integer)² is at most 2³¹ − 2¹⁶.
        weights: the factor of each coordinate.
        total: the matrix to add to, both triangles of it.
    """
    _adding_int16_columns()(transposed, per_carry, weights, total, Buffers.of(len(transposed)))
