"""Eigenvalues of an integer matrix with a proved error.

The float solver's answer is checked after the fact. With M the matrix, V and w its answer, R = MV − V diag(w) and
σ the smallest singular value of V, the sorted eigenvalues differ from w by at most ‖R‖/σ (Kahan 1967; Cao, Xie and Li
1996). R and VᵀV − I are computed in floats, with the usual bound γ_n = nu/(1 − nu) on the rounding of inner products of
length n, which holds for any order of summation and for fused operations. Where this does not prove the error that was
asked for, the eigenvalues are enclosed in ball arithmetic instead: slower, and always enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

UNIT = 2.0**-53
SLACK = 1.01  # covers the rounding of a few norms, which is smaller by many orders


def nearest_integers(matrix: NDArray[np.int64], error: int) -> list[int]:
    """The eigenvalues of a symmetric integer matrix, from the largest, each given within ``error`` + 1/2.

    >>> nearest_integers(np.array([[2, 1], [1, 2]]), error=1)
    [3, 1]
    """
    floats = matrix.astype(np.float64)
    values, vectors = np.linalg.eigh(floats)
    if not float_error(floats, values, vectors) <= error:  # also where it is not a number
        return _enclosed(matrix, error)
    return [round(value) for value in values[::-1].tolist()]


def float_error(matrix: NDArray[np.float64], values: NDArray[np.float64], vectors: NDArray[np.float64]) -> float:
    """A bound on the error of a float eigendecomposition of the integer matrix that ``matrix`` was rounded from."""
    dim = len(matrix)
    gamma = (dim + 2) * UNIT / (1 - (dim + 2) * UNIT)
    size, length = float(np.linalg.norm(matrix)), float(np.linalg.norm(vectors))
    largest = float(np.abs(values).max())
    residual = float(np.linalg.norm(matrix @ vectors - vectors * values)) + gamma * length * (size + largest)
    overlap = float(np.linalg.norm(vectors.T @ vectors - np.eye(dim))) + gamma * (length**2 + dim)
    if not overlap < 0.5:
        return float("inf")
    return SLACK * (residual / float(np.sqrt(1 - overlap)) + UNIT * size)


def _enclosed(matrix: NDArray[np.int64], error: int) -> list[int]:
    """The same in ball arithmetic, with as much precision as it takes."""
    from flint import acb_mat, ctx, fmpz_mat

    exact = acb_mat(fmpz_mat(matrix.tolist()))
    precision = 128
    while True:
        with ctx.workprec(precision):
            try:
                balls = [value.real for value in exact.eig(multiple=True)]
            except ValueError:  # not separated at this precision
                balls = []
            if balls and all(ball.rad() < error for ball in balls):
                return sorted((int((ball.mid() + 0.5).floor().unique_fmpz()) for ball in balls), reverse=True)
        precision *= 2
