"""What is summed over placed rows: their products, their sum, and how many have which length."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import types

from dpframe.jit import compiled, compiled_part
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading.kernels.buffers import Buffers
from dpframe.reading.kernels.pairs import SHORT
from dpframe.reading.kernels.placing import (
    CELLS,
    MAP,
    MOST,
    ROOMS,
    TALL,
    Cells,
    Map,
    Rooms,
    add_rows_of_integers,
    measure_rows,
    place,
    round_rows,
)
from dpframe.reading.kernels.row_gram import HOW, add_both, add_some
from dpframe.reading.kernels.vectors import address_of
from dpframe.reading.scratch import zeros_in_lines


def _add_placed(
    cells: Cells,
    how: Map,
    rooms: Rooms,
    scale: float,
    inner: float,
    weights: IntArray,
    total: IntArray,
    skipped_rows: IntArray,
    wide_rows: FloatArray,
    buffers: Buffers,
) -> tuple[int, int]:
    dim, width, done = wide_rows.shape[1], len(weights), (0, 0)
    for start in range(0, cells.rows, MOST):
        some = min(MOST, cells.rows - start)
        rows = place(cells, start, some, dim, how, rooms)
        done = add_some(
            address_of(rows),
            False,
            8 * rows.shape[1],
            start,
            some,
            dim,
            scale,
            inner,
            width,
            skipped_rows,
            wide_rows,
            done,
            buffers,
        )
    add_both(weights, total, buffers)
    return done


@cache
def _adding_placed() -> Any:
    return compiled(CELLS, MAP, ROOMS, *HOW)(_add_placed)


def add_placed(
    cells: Cells,
    how: Map,
    scale: float,
    inner: float,
    weights: IntArray,
    total: IntArray,
    skipped_rows: IntArray,
    wide_rows: FloatArray,
) -> tuple[int, int]:
    """Place rows of cells, and add their Gram matrix as `add_rows` does.

    Args:
        cells: where the cells are.
        how: how they become coordinates.
        scale: lattice steps per unit.
        inner: the length to which long rows are scaled down, in lattice steps.
        weights: 1 for each coordinate, followed by the value of the constant coordinate, if there is one.
        total: the matrix to add to, both triangles of it.
        skipped_rows: buffer for the indices of skipped rows, as for `add_rows`.
        wide_rows: buffer for integer rows that need more than 16 bits, without the constant coordinate.

    Returns:
        The numbers of skipped rows and of wide rows, as `add_rows` does.
    """
    rooms, buffers = Rooms.of(wide_rows.shape[1]), Buffers.of(len(weights))
    counts: tuple[int, int] = _adding_placed()(
        cells, how, rooms, scale, inner, weights, total, skipped_rows, wide_rows, buffers
    )
    return counts


@compiled_part
def _find(edges: FloatArray, squares: FloatArray, bins: IntArray) -> None:
    """For each square the number of edges below it: a binary search of all of them, step by step."""
    bins[:] = 0
    left = len(edges)
    while left > 1:
        half = left >> 1
        for k in range(len(squares)):
            bins[k] += half if edges[bins[k] + half - 1] < squares[k] else 0
        left -= half
    for k in range(len(squares)):
        bins[k] += edges[bins[k]] < squares[k]


def _count_lengths(
    cells: Cells,
    how: Map,
    rooms: Rooms,
    dim: int,
    scale: float,
    limit: float,
    edges: FloatArray,
    counts: IntArray,
    skipped_rows: IntArray,
    bins: IntArray,
) -> int:
    skipped, across = 0, 8 * rooms.rows.shape[1]
    for start in range(0, cells.rows, MOST):
        some = min(MOST, cells.rows - start)
        rows = place(cells, start, some, dim, how, rooms)
        for k in range(0, some, TALL):
            here, there = address_of(rows) + np.uint64(across * k), address_of(rooms.squares) + np.uint64(8 * k)
            measure_rows(here, across, rows.shape[1], scale, limit, there)
        _find(edges, rooms.squares, bins)
        for k in range(some):
            if rooms.squares[k] < math.inf:
                counts[bins[k]] += 1
            else:
                skipped_rows[skipped] = start + k
                skipped += 1
    return skipped


@cache
def _counting_lengths() -> Any:
    return compiled(
        CELLS,
        MAP,
        ROOMS,
        types.int64,
        types.float64,
        types.float64,
        types.Array(types.float64, 1, "C", readonly=True),
        types.int64[::1],
        types.int64[::1],
        types.int64[::1],
    )(_count_lengths)


def count_lengths(
    cells: Cells,
    how: Map,
    dim: int,
    scale: float,
    limit: float,
    edges: FloatArray,
    counts: IntArray,
    skipped_rows: IntArray,
) -> int:
    """Place rows of cells, and count the rows in bins of their length.

    Args:
        cells: where the cells are.
        how: how they become coordinates.
        dim: the number of coordinates.
        scale: grid steps per unit; coordinates are rounded to the grid.
        limit: the largest integer on the grid; coordinates beyond are clipped to it.
        edges: increasing squared lengths in grid steps: bin i is from edge i − 1 to edge i, that one included.
        counts: to add to: one number for each bin, the last of which is beyond all edges.
        skipped_rows: buffer for the indices of skipped rows.

    Returns:
        The number of skipped rows, which are not counted: those with a coordinate that is no number.
    """
    rooms, bins = Rooms.of(dim), np.zeros(MOST, dtype=np.int64)
    skipped: int = _counting_lengths()(cells, how, rooms, dim, scale, limit, edges, counts, skipped_rows, bins)
    return skipped


def _sum_placed(
    cells: Cells, how: Map, rooms: Rooms, dim: int, scale: float, total: FloatArray, skipped_rows: IntArray
) -> int:
    skipped, across = 0, 8 * rooms.rows.shape[1]
    for start in range(0, cells.rows, MOST):
        some = min(MOST, cells.rows - start)
        rows = place(cells, start, some, dim, how, rooms)
        for first in range(0, some, TALL):
            here = address_of(rows) + np.uint64(across * first)
            round_rows(here, across, rows.shape[1], scale, math.inf, address_of(rooms.squares))
            for k in range(TALL):
                short, there = rooms.squares[k] <= SHORT, first + k < some
                if there and not short:
                    skipped_rows[skipped] = start + first + k
                    skipped += 1
                if not (short and there):
                    rows[first + k] = 0.0
            add_rows_of_integers(here, across, rows.shape[1], address_of(total))
    return skipped


@cache
def _summing_placed() -> Any:
    return compiled(CELLS, MAP, ROOMS, types.int64, types.float64, types.float64[::1], types.int64[::1])(_sum_placed)


def sum_placed(cells: Cells, how: Map, dim: int, scale: float, skipped_rows: IntArray) -> tuple[IntArray, int]:
    """Place rows of cells, round them to the lattice and add them.

    Args:
        cells: where the cells are, of at most 2²¹ rows.
        how: how they become coordinates.
        dim: the number of coordinates.
        scale: lattice steps per unit.
        skipped_rows: buffer for the indices of skipped rows.

    Returns:
        The sum of the integer rows, and the number of skipped rows, which are not in it: those that are longer than
        the norm or have a coordinate that is no number.
    """
    rooms = Rooms.of(dim)
    total = zeros_in_lines((rooms.rows.shape[1],))  # integers below 2⁵³
    skipped: int = _summing_placed()(cells, how, rooms, dim, scale, total, skipped_rows)
    return total[:dim].astype(np.int64), skipped
