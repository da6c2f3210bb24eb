"""The Gram matrix of rows with a norm."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from dpframe.jit import compiled, compiled_part
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading.kernels.buffers import BUFFERS, PAIRS, Buffers
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
    skipped_rows: IntArray,
    wide_rows: FloatArray,
    done: tuple[int, int],
    buffers: Buffers,
) -> tuple[int, int]:
    """Add the products of at most 2 · PAIRS rows, the first of which has index ``start``.

    ``done`` holds the numbers of skipped and wide rows so far; returns them with those of these rows added.
    """
    skipped, wide = done
    more, wider = to_pairs(
        address,
        single,
        stride,
        count,
        dim,
        scale,
        inner,
        width > dim,
        skipped_rows[skipped:],
        wide_rows[wide:],
        buffers,
    )
    for i in range(skipped, skipped + more):
        skipped_rows[i] += start
    add_products((count + 1) // 2, width, buffers)
    return skipped + more, wide + wider


@compiled_part
def add_both(weights: IntArray, total: IntArray, buffers: Buffers) -> None:
    """Combine the sums of products with high and with low halves, and add them to the total."""
    for i in range(len(weights)):
        for j in range(i + 1):
            buffers.sums[1, i, j] += HALF * buffers.sums[0, i, j]
    add_sums(buffers.sums[1], weights, total)


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
    skipped_rows: IntArray,
    wide_rows: FloatArray,
    buffers: Buffers,
) -> tuple[int, int]:
    width, done = len(weights), (0, 0)
    for start in range(0, count, 2 * PAIRS):
        some, here = min(2 * PAIRS, count - start), address + np.uint64(start * stride)
        done = add_some(
            here, single, stride, start, some, dim, scale, inner, width, skipped_rows, wide_rows, done, buffers
        )
    add_both(weights, total, buffers)
    return done


HOW = (  # the types of scale to buffers, the last arguments of both kernels for rows with a norm
    types.float64,
    types.float64,
    types.int64[::1],
    types.int64[:, ::1],
    types.int64[::1],
    types.float64[:, ::1],
    BUFFERS,
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
    skipped_rows: IntArray,
    wide_rows: FloatArray,
) -> tuple[int, int]:
    """Round rows to the lattice, scale down those that are longer than the norm, and add their products.

    Args:
        rows: floats or doubles, aligned; the cells of a row are contiguous.
        scale: lattice steps per unit.
        inner: the length to which long rows are scaled down, in lattice steps.
        weights: 1 for each coordinate, followed by the value of the constant coordinate, if there is one.
        total: the matrix to add to, both triangles of it.
        skipped_rows: buffer for the indices of skipped rows.
        wide_rows: buffer for integer rows that need more than 16 bits, without the constant coordinate.

    Returns:
        The number of skipped rows, which have a cell that is not finite or are a thousand norms long; their indices are
        in ``skipped_rows``. And the number of rows with an integer that does not fit in 16 bits; their integers are in
        ``wide_rows``. The products of neither are added.
    """
    place = rows.__array_interface__["data"][0], rows.itemsize == 4, rows.strides[0], *rows.shape
    buffers = Buffers.of(len(weights))
    counts: tuple[int, int] = _adding_rows()(*place, scale, inner, weights, total, skipped_rows, wide_rows, buffers)
    return counts
