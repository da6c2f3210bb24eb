"""Rows as integers: the exact fixed-point lattice on which every statistic is computed.

A row x with ‖x‖ ≤ norm becomes the integer row q = rint(x · S / norm), where S = 2¹⁶ − ⌈√d/2⌉. Rounding moves a row by
at most √d/2, so ‖q‖ ≤ 2¹⁶; longer rows are scaled down to length S and rounded again. Integer rows are held in float64,
where sums of their products are exact while they stay below 2⁵³: a Gram matrix of up to 2²¹ rows comes out of BLAS
exactly, whatever the order, the threads or fused operations.

The map of a row depends on that row alone. Before rounding there are only elementwise operations, which IEEE arithmetic
makes independent of a value's position in the array; every sum over coordinates is a sum of integers below 2⁵³, hence
exact in any order. (A floating-point norm is not: its last bit depends on the row's position in its block, and an
adversary can turn that into sensitivity.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

BITS = 16
RADIUS = 1 << BITS
"""The largest length of an integer row, in lattice steps."""

SHORT = float(RADIUS**2)
"""Integer rows of at most this squared length are kept unchanged."""

MODERATE = 2.0**52
"""Longer rows below this squared length, about a thousand norms, are scaled down from their integers. A sum of squares
below it is exact, hence the same in any order. So is the comparison with it: a sum is inexact only above 2⁵³, and
rounding cannot take it from there to 2⁵²."""

MAX_DIM = 1 << 20
"""The largest number of coordinates of a row."""

TILE = 1 << 10
"""The side of the square tiles in which Gram matrices are computed, 8 MiB each."""

MAX_BLOCK_ROWS = 1 << (53 - 2 * BITS)
"""The largest number of rows of a block whose float64 Gram matrix is certainly exact."""


def ceil_half_root(dim: int) -> int:
    """The smallest integer r with 2r ≥ √dim."""
    return math.isqrt((dim + 3) // 4 - 1) + 1


def inner_radius(dim: int) -> int:
    """S: the length to which long rows are scaled, so that they stay within RADIUS after rounding."""
    return RADIUS - ceil_half_root(dim)


def steps_per_unit(dim: int, norm: float) -> float:
    """The number of lattice steps in a length of one."""
    return inner_radius(dim) / norm


def direction_bits(dim: int) -> int:
    """Bits per coordinate that keep the squared length of a direction exact: dim · 4^bits ≤ 2⁵²."""
    return (52 - (dim - 1).bit_length()) // 2


def integer_rows(
    values: NDArray[Any], norm: float, out: FloatArray | None = None, *, within: bool = False
) -> tuple[FloatArray, NDArray[np.bool_] | None]:
    """Round rows to the lattice, scaling down those longer than ``norm``.

    Args:
        values: (rows, dim), any real dtype.
        norm: the public bound on the length of a row.
        out: the array for the integers; a new one by default.
        within: whether every row is known to be finite and no longer than the norm; lengths are not computed then.

    Returns:
        Integer rows in float64, each of length at most RADIUS, and a mask of the rows that had a non-finite entry
        (those rows are zero), or None if there is none.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        steps = steps_per_unit(values.shape[1], norm)
        integers = np.multiply(values, steps, out=out, dtype=np.float64, casting="unsafe")
        np.rint(integers, out=integers)
    return integers, None if within else shorten(integers, lambda: values)


def shorten(integers: FloatArray, values: Callable[[], NDArray[Any]]) -> NDArray[np.bool_] | None:
    """Scale down, in place, the rounded rows that are longer than RADIUS.

    Args:
        integers: rows in lattice steps, rounded, of any length; NaN or infinite where a value is, or overflows.
        values: returns the rows before rounding; called only if a row is very long or not finite.

    Returns:
        A mask of the rows that had a non-finite entry (those rows are zero), or None if there is none.
    """
    dim = integers.shape[1]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", integers, integers)
    short = squares <= SHORT
    if short.all():
        return None
    moderate = squares < MODERATE
    long = moderate & ~short
    factors = np.ones(len(integers))
    factors[long] = inner_radius(dim) / np.sqrt(squares[long])
    with np.errstate(invalid="ignore"):
        integers *= factors[:, None]
        np.rint(integers, out=integers)
    beyond = np.flatnonzero(~moderate)
    if not len(beyond):
        return None
    with np.errstate(over="ignore"):
        wide = values()[beyond].astype(np.float64)
    integers[beyond], finite = _scaled_down(wide)
    if finite.all():
        return None
    lost = np.zeros(len(integers), dtype=np.bool_)
    lost[beyond[~finite]] = True
    return lost


def _scaled_down(rows: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Rows scaled to length S and rounded; non-finite rows are zero."""
    dim = rows.shape[1]
    finite = np.logical_and.reduce(np.isfinite(rows), axis=1)
    rows[~finite] = 0.0
    largest = np.abs(rows).max(axis=1)
    largest[~finite] = 1.0
    # Divide by the largest entry first: squares of entries above 1.4e154 would overflow.
    directions = np.rint(rows / largest[:, None] * 2.0 ** direction_bits(dim))
    lengths = np.sqrt(np.einsum("ij,ij->i", directions, directions))
    lengths[~finite] = 1.0
    scaled: FloatArray = np.rint(directions * (inner_radius(dim) / lengths)[:, None])
    return scaled, finite


def gram(integers: FloatArray) -> IntArray:
    """The exact Gram matrix of a block of integer rows."""
    total = np.zeros((integers.shape[1],) * 2, dtype=np.int64)
    add_gram(integers, total)
    return total


def add_gram(integers: FloatArray, total: IntArray) -> None:
    """Add the exact Gram matrix of a block of integer rows to a total: tiles of the upper triangle, mirrored below."""
    if len(integers) > MAX_BLOCK_ROWS:
        raise ValueError(f"a block has at most {MAX_BLOCK_ROWS} rows, or its Gram matrix would not be exact")
    if not len(integers):
        return
    for start in range(0, len(total), TILE):
        here = slice(start, start + TILE)
        total[here, here] += (integers[:, here].T @ integers[:, here]).astype(np.int64)
        for after in range(start + TILE, len(total), TILE):
            there = slice(after, after + TILE)
            tile = (integers[:, here].T @ integers[:, there]).astype(np.int64)
            total[here, there] += tile
            total[there, here] += tile.T
