"""Columns to strips of integers, one for each coordinate, and to the sum of their products."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
from numba import carray, types  # type: ignore[attr-defined]
from numpy.typing import NDArray

from dpframe.jit import compiled, compiled_part
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading.kernels.buffers import PAIRS, ROOM, Room
from dpframe.reading.kernels.products import add_pairs, add_sums
from dpframe.reading.kernels.row_gram import HOW, add_both, add_some
from dpframe.reading.kernels.vectors import LANES, address_of, doubles_at, singles_at, turn_doubles, turn_words

LARGEST = sys.float_info.max


@compiled_part
def _image(cell: float, middle: float, rate: float, low: float, high: float, missing: float) -> float:
    """The coordinate of a cell."""
    value = (cell - middle) * rate
    value = low if value < low else value
    value = high if value > high else value
    return value if abs(cell) <= LARGEST else missing


@compiled_part
def _round_strip(cells: NDArray[Any], column: FloatArray, scale: float, integers: NDArray[Any]) -> bool:
    """Round the coordinates of the cells of a column; whether every cell is finite."""
    middle, rate, low, high, missing = column[0], column[1], column[2], column[3], column[4]
    lost = 0
    for i in range(len(cells)):
        cell = np.float64(cells[i])
        lost += not abs(cell) <= LARGEST
        integers[i] = np.rint(_image(cell, middle, rate, low, high, missing) * scale)
    return lost == 0


def _round_strips(
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
            finite = _round_strip(carray(singles_at(addresses[j]), count), columns[j], scale, integers[j])
        else:
            finite = _round_strip(carray(doubles_at(addresses[j]), count), columns[j], scale, integers[j])
        complete &= finite or public[j]
        integers[j, count:] = 0
    return complete


_CELLS = (types.uint64[::1], types.boolean[::1], types.int64, types.float64[:, ::1])  # of columns, and how to map them
_TO: dict[np.dtype[Any], Any] = {
    np.dtype(np.float64): types.float64[:, ::1],
    np.dtype(np.int16): types.int16[:, ::1],
}


@cache
def _rounding(dtype: np.dtype[Any]) -> Any:
    return compiled(*_CELLS, types.boolean[::1], types.float64, _TO[dtype])(_round_strips)


def round_strips(
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
        addresses: of the first cell of each column, aligned, with the others behind it.
        single: of each column, whether its cells are in single precision; otherwise they are doubles.
        count: how many cells there are in each column.
        columns: a row of each: the middle of its range, the inverse of half its width, and the images of its low end,
            of its high end and of a cell that is not finite; all of them numbers where integers are narrow.
        public: of each column, whether a cell that is not finite has a public image. If not, its row is lost.
        scale: lattice steps per unit.
        integers: a row for each column, in doubles or 16 bits, where coordinates · scale go, rounded, and zeros behind
            the last cell.

    Returns:
        Whether no row is lost.
    """
    complete: bool = _rounding(integers.dtype)(addresses, single, count, columns, public, scale, integers)
    return complete


def _add_strips(strips: NDArray[np.int16], steps: int, weights: IntArray, total: IntArray, room: Room) -> None:
    width, count, across = len(strips), strips.shape[1] // 2, 4 * room.pairs.shape[2]
    for start in range(0, count, PAIRS):
        some = min(PAIRS, count - start)
        for first in range(0, width, LANES):
            j = min(first, width - LANES)  # the last may begin with strips that are there already
            for k in range(0, some, LANES):
                here = address_of(strips) + np.uint64(4 * (count * j + start + k))
                there = address_of(room.pairs) + np.uint64(across * k + 4 * j)
                turn_words(here, 4 * count, there, across)
        add_pairs(0, some, width, steps, room)
    add_sums(room.sums[1], weights, total)


@cache
def _adding_strips() -> Any:
    return compiled(types.int16[:, ::1], types.int64, types.int64[::1], types.int64[:, ::1], ROOM)(_add_strips)


def add_strips(strips: NDArray[np.int16], steps: int, weights: IntArray, total: IntArray) -> None:
    """Add the products of narrow strips, each with each, summed over the rows.

    Args:
        strips: at least LANES of them, one for each coordinate, of a multiple of 2 · LANES rows.
        steps: 2 · steps · (the largest integer)² is at most 2³¹ − 2¹⁶.
        weights: what the integers of each strip are to be multiplied with.
        total: what the sums are added to; both halves of it.
    """
    _adding_strips()(strips, steps, weights, total, Room.of(len(strips)))


@compiled_part
def _map_strip(cells: NDArray[Any], column: FloatArray, values: FloatArray) -> None:
    """The coordinates of the cells of a column."""
    middle, rate, low, high, missing = column[0], column[1], column[2], column[3], column[4]
    for i in range(len(cells)):
        values[i] = _image(np.float64(cells[i]), middle, rate, low, high, missing)


def _add_columns(
    addresses: NDArray[np.uint64],
    single: NDArray[np.bool_],
    count: int,
    columns: FloatArray,
    strips: FloatArray,
    rows: FloatArray,
    scale: float,
    inner: float,
    weights: IntArray,
    total: IntArray,
    aside: IntArray,
    beyond: FloatArray,
    room: Room,
) -> tuple[int, int]:
    dim, width, across, done = len(addresses), len(weights), 8 * rows.shape[1], (0, 0)
    for start in range(0, count, 2 * PAIRS):
        some = min(2 * PAIRS, count - start)
        for first in range(0, dim, LANES):
            for j in range(first, min(first + LANES, dim)):
                here = addresses[j] + np.uint64((4 if single[j] else 8) * start)
                if single[j]:
                    _map_strip(carray(singles_at(here), some), columns[j], strips[j - first])
                else:
                    _map_strip(carray(doubles_at(here), some), columns[j], strips[j - first])
            for k in range(0, some, LANES):
                there = address_of(rows) + np.uint64(across * k + 8 * first)
                turn_doubles(address_of(strips) + np.uint64(8 * k), 8 * 2 * PAIRS, there, across)
        done = add_some(
            address_of(rows), False, across, start, some, dim, scale, inner, width, aside, beyond, done, room
        )
    add_both(weights, total, room)
    return done


@cache
def _adding_columns() -> Any:
    return compiled(*_CELLS, types.float64[:, ::1], types.float64[:, ::1], *HOW)(_add_columns)


def add_columns(
    addresses: NDArray[np.uint64],
    single: NDArray[np.bool_],
    count: int,
    columns: FloatArray,
    scale: float,
    inner: float,
    weights: IntArray,
    total: IntArray,
    aside: IntArray,
    beyond: FloatArray,
) -> tuple[int, int]:
    """Map the cells of columns to coordinates, and do with the rows of these what `add_rows` does.

    Args:
        addresses: of the first cell of each column, aligned, with the others behind it.
        single: of each column, whether its cells are in single precision; otherwise they are doubles.
        count: how many cells there are in each column.
        columns: a row of each, as for `round_strips`.
        scale: lattice steps per unit.
        inner: the length to which long rows are scaled down, in lattice steps.
        weights: a one for each coordinate, and what the constant coordinate is, where there is one.
        total: what the sums are added to; both halves of it.
        aside: room for the numbers of rows.
        beyond: room for integer rows, without the constant coordinate.

    Returns:
        What `add_rows` does.
    """
    strips, rows = np.zeros((LANES, 2 * PAIRS)), np.zeros((2 * PAIRS, -(-len(addresses) // LANES) * LANES))
    room = Room.of(len(weights))
    found: tuple[int, int] = _adding_columns()(
        addresses, single, count, columns, strips, rows, scale, inner, weights, total, aside, beyond, room
    )
    return found
