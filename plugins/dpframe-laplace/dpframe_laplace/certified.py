"""Eigenvalues of an integer matrix with a proved error bound.

The result of a float solver is checked by its residual (`dpframe.eigensolver`). Four ways are tried in turn, each
slower than the one before and successful in more cases:

1. The residual in floats, with a bound on its rounding.
2. The residual in exact integers.
3. Rotations of the eigenvectors in 128-bit fixed-point arithmetic, and their residual in exact integers. A matrix of a
   hundred coordinates with entries near 2⁶² needs them.
4. Without a solver: bisection on the number of eigenvalues above m + 1/2, which is the number of sign agreements
   between consecutive leading minors of 2M − (2m + 1)I, in exact integers. No leading minor vanishes: a rational
   eigenvalue of an integer matrix is an integer. It always succeeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp

NEAR = 2.0**-10  # the largest lack of orthogonality of vectors that rotations start from


def largest_eigenvalues(matrix: NDArray[Any], k: int, error: int) -> list[int]:
    """The k largest eigenvalues of a symmetric integer matrix, from the largest, each within ``error`` + 1/2.

    >>> largest_eigenvalues(np.array([[2, 1], [1, 2]]), 2, error=1)
    [3, 1]
    """
    floats = matrix.astype(np.float64)
    try:
        values, vectors = np.linalg.eigh(floats)
    except np.linalg.LinAlgError:  # no convergence
        return _rotated(matrix, np.eye(len(matrix)), k, error)
    nearest = [round(value) for value in values.tolist()]
    if dp.eigensolver.float_residual(floats, values, vectors).of_eigenvalues <= error:
        return nearest[::-1][:k]
    if dp.eigensolver.exact_residual(matrix, nearest, vectors).of_eigenvalues <= error:
        return nearest[::-1][:k]
    near = dp.eigensolver.overlap(vectors) < NEAR
    return _rotated(matrix, vectors if near else np.eye(len(matrix)), k, error)


def _rotated(matrix: NDArray[Any], start: NDArray[Any], k: int, error: int) -> list[int]:
    """The same, by rotations of nearly orthonormal vectors; by bisection where these do not get there."""
    try:
        found = dp.eigensolver.fixed_eigensystem(matrix, start, error)
    except dp.SamplingError:
        return bisected(matrix, k)
    unit = 1 << dp.eigensolver.FIXED
    return [(2 * value + unit) // (2 * unit) for value in found.values[::-1][:k]]


def bisected(matrix: NDArray[Any], k: int) -> list[int]:
    """The k largest eigenvalues, each within 1/2 of the integer returned, by bisection on exact counts."""
    entries = [[int(entry) for entry in row] for row in matrix.tolist()]
    bound = max(sum(map(abs, row)) for row in entries) + 1
    largest = []
    for rank in range(1, k + 1):
        low, high = -bound, bound  # eigenvalue number `rank` is above low + 1/2 and not above high + 1/2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _above(entries, middle) >= rank else (low, middle)
        largest.append(high)
    return largest


def _above(entries: list[list[int]], threshold: int) -> int:
    """How many eigenvalues are above threshold + 1/2: fraction-free elimination gives the leading minors in turn."""
    rows = [
        [2 * entry - (2 * threshold + 1) * (i == j) for j, entry in enumerate(row)] for i, row in enumerate(entries)
    ]
    count, before = 0, 1
    for pivot in range(len(rows)):
        minor = rows[pivot][pivot]
        count += (minor > 0) == (before > 0)
        for i in range(pivot + 1, len(rows)):
            factor = rows[i][pivot]
            for j in range(pivot + 1, len(rows)):
                rows[i][j] = (rows[i][j] * minor - factor * rows[pivot][j]) // before
        before = minor
    return count
