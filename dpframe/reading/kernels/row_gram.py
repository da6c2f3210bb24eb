"""Rows with a norm, to the sum of their products."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from dpframe.jit import compiled, compiled_part
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading.kernels.buffers import PAIRS, ROOM, Room
from dpframe.reading.kernels.pairs import HALF, to_pairs
from dpframe.reading.kernels.products import add_products, add_sums


@compiled_part
def add_some(
    address: Any,
    single: bool,
    stride: int,
    start: int,
    count: int,
    dim: int,
    scale: float,
    inner: float,
    width: int,
    aside: IntArray,
    beyond: FloatArray,
    done: tuple[int, int],
    room: Room,
) -> tuple[int, int]:
    """Add the products of at most 2 · PAIRS rows, the first of which has the number ``start``; how many rows are in
    ``aside`` and in ``beyond``, with those that were before."""
    left_out, wide = done
    more, wider = to_pairs(
        address, single, stride, count, dim, scale, inner, width > dim, aside[left_out:], beyond[wide:], room
    )
    for i in range(left_out, left_out + more):
        aside[i] += start
    add_products((count + 1) // 2, width, room)
    return left_out + more, wide + wider


@compiled_part
def add_both(weights: IntArray, total: IntArray, room: Room) -> None:
    """Add the sums of products with both halves to the total."""
    for i in range(len(weights)):
        for j in range(i + 1):
            room.sums[1, i, j] += HALF * room.sums[0, i, j]
    add_sums(room.sums[1], weights, total)


def _add_rows(
    address: int,
    single: bool,
    stride: int,
    count: int,
    dim: int,
    scale: float,
    inner: float,
    weights: IntArray,
    total: IntArray,
    aside: IntArray,
    beyond: FloatArray,
    room: Room,
) -> tuple[int, int]:
    width, done = len(weights), (0, 0)
    for start in range(0, count, 2 * PAIRS):
        some, here = min(2 * PAIRS, count - start), address + np.uint64(start * stride)
        done = add_some(here, single, stride, start, some, dim, scale, inner, width, aside, beyond, done, room)
    add_both(weights, total, room)
    return done


HOW = (  # rows are summed
    types.float64,
    types.float64,
    types.int64[::1],
    types.int64[:, ::1],
    types.int64[::1],
    types.float64[:, ::1],
    ROOM,
)


@cache
def _adding_rows() -> Any:
    return compiled(types.uint64, types.boolean, types.int64, types.int64, types.int64, *HOW)(_add_rows)


def add_rows(
    rows: NDArray[Any],
    scale: float,
    inner: float,
    weights: IntArray,
    total: IntArray,
    aside: IntArray,
    beyond: FloatArray,
) -> tuple[int, int]:
    """Round rows to the lattice, scale down those that are longer than the norm, and add their products.

    Args:
        rows: floats or doubles, aligned, those of a row one behind the other.
        scale: lattice steps per unit.
        inner: the length to which long rows are scaled down, in lattice steps.
        weights: a one for each coordinate, and what the constant coordinate is, where there is one.
        total: what the sums are added to; both halves of it.
        aside: room for the numbers of rows.
        beyond: room for integer rows, without the constant coordinate.

    Returns:
        How many rows were left out, whose numbers are then in ``aside``: those with a cell that is not finite, or a
        thousand norms long. And how many have an integer that 16 bits do not hold: they are then in ``beyond``, and
        their products are not added.
    """
    place = rows.__array_interface__["data"][0], rows.itemsize == 4, rows.strides[0], *rows.shape
    room = Room.of(len(weights))
    found: tuple[int, int] = _adding_rows()(*place, scale, inner, weights, total, aside, beyond, room)
    return found
