"""Eigenvalues of an integer matrix with a proved error bound.

The result of a float solver is checked afterwards. With M the matrix, V and w the computed eigenvectors and
eigenvalues, R = MV − V diag(w) and σ the smallest singular value of V, the sorted eigenvalues differ from w by at most
‖R‖/σ (Kahan 1967; Cao, Xie and Li 1996). Three checks are tried in turn, each slower than the one before and successful
in more cases:

1. R and VᵀV − I in floats, with the usual bound γ_n = nu/(1 − nu) on the rounding of inner products of length n, which
   holds for any order of summation and for fused operations.
2. The same in exact integers, for V rounded to 60 bits and w to integers.
3. Without the solver: bisection on the number of eigenvalues above m + 1/2, which is the number of sign agreements
   between consecutive leading minors of 2M − (2m + 1)I, in exact integers. No leading minor vanishes: a rational
   eigenvalue of an integer matrix is an integer. It always succeeds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNIT = 2.0**-53
SLACK = 1.01  # covers the rounding of a few norms, which is smaller by orders of magnitude
BITS = 60  # precision of the entries of V in the exact check


def largest_eigenvalues(matrix: NDArray[Any], k: int, error: int) -> list[int]:
    """The k largest eigenvalues of a symmetric integer matrix, from the largest, each within ``error`` + 1/2.

    >>> largest_eigenvalues(np.array([[2, 1], [1, 2]]), 2, error=1)
    [3, 1]
    """
    floats = matrix.astype(np.float64)
    try:
        values, vectors = np.linalg.eigh(floats)
    except np.linalg.LinAlgError:  # no convergence
        return bisected(matrix, k)
    nearest = [round(value) for value in values.tolist()]
    if float_error(floats, values, vectors) <= error or exact_error(matrix, nearest, vectors) <= error:
        return nearest[::-1][:k]
    return bisected(matrix, k)


def float_error(matrix: NDArray[np.float64], values: NDArray[np.float64], vectors: NDArray[np.float64]) -> float:
    """A bound on the error of a float eigendecomposition of the integer matrix that ``matrix`` was rounded from."""
    dim = len(matrix)
    gamma = (dim + 2) * UNIT / (1 - (dim + 2) * UNIT)
    size, length = float(np.linalg.norm(matrix)), float(np.linalg.norm(vectors))
    largest = float(np.abs(values).max())
    residual = float(np.linalg.norm(matrix @ vectors - vectors * values)) + gamma * length * (size + largest)
    overlap = float(np.linalg.norm(vectors.T @ vectors - np.eye(dim))) + gamma * (length**2 + dim)
    if not overlap < 0.5:  # also if it is NaN
        return math.inf
    return SLACK * (residual / math.sqrt(1 - overlap) + UNIT * size)


def exact_error(matrix: NDArray[Any], values: list[int], vectors: NDArray[np.float64]) -> float:
    """A bound on the error of integer eigenvalues, for the same vectors, in exact integers."""
    from flint import fmpz_mat

    if not np.isfinite(vectors).all():
        return math.inf
    dim = len(matrix)
    basis = fmpz_mat(np.rint(vectors * 2.0**BITS).astype(np.int64).tolist())
    scaled = fmpz_mat([[value if i == j else 0 for j in range(dim)] for i, value in enumerate(values)])
    residual = _norm(fmpz_mat(matrix.tolist()) * basis - basis * scaled)
    identity = fmpz_mat([[4**BITS if i == j else 0 for j in range(dim)] for i in range(dim)])
    overlap = _norm(basis.transpose() * basis - identity) / 4**BITS
    return SLACK * residual / 2**BITS / math.sqrt(1 - overlap) if overlap < 0.5 else math.inf


def _norm(matrix: Any) -> int:
    """The Frobenius norm of an integer matrix, rounded up."""
    return math.isqrt(sum(int(entry) ** 2 for entry in matrix.entries())) + 1


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
