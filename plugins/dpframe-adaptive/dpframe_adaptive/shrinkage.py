"""Matrices with known noise, brought closer to what they were without it: functions of released values alone."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import isotonic_regression

import dpframe.plugin as dp

TYPICAL = 0.1
"""The variance of a correlation below which differences in noise matter little, when correlations are pooled."""


def rotation_invariant(matrix: dp.FloatArray, deviation: float) -> dp.FloatArray:
    """The matrix with its eigenvectors and with eigenvalues corrected for symmetric noise, none negative.

    Noise pushes eigenvalues apart. Among estimates that keep the eigenvectors, the best one for the Frobenius norm
    replaces each eigenvalue λ by λ − 2τ²·H(λ), where H is the Hilbert transform of the density of eigenvalues and τ the
    deviation of an entry off the diagonal (Bun, Allez, Bouchaud and Potters 2016, for large matrices). H is estimated
    by the sum of (λ − λⱼ)/((λ − λⱼ)² + τ²) over the others; results are made monotone and cut at zero.

    Args:
        matrix: a symmetric matrix.
        deviation: τ, the deviation of the noise off the diagonal.
    """
    values, vectors = np.linalg.eigh(matrix)
    if deviation > 0.0:
        apart = values[:, None] - values
        pushed = 2 * deviation**2 * (apart / (apart**2 + deviation**2)).sum(axis=1)
        values = isotonic_regression(values - pushed).x
    return _rebuilt(np.maximum(values, 0.0), vectors)


def positive_with_trace(matrix: dp.FloatArray) -> dp.FloatArray:
    """The nearest positive semidefinite matrix of the same trace, which noise hardly moves.

    Args:
        matrix: a symmetric matrix.
    """
    values, vectors = np.linalg.eigh(matrix)
    descending, places = values[::-1], np.arange(1, len(values) + 1)
    excess = (np.cumsum(descending) - max(float(values.sum()), 0.0)) / places
    cut = excess[np.flatnonzero(descending - excess > 0.0)[-1]] if values.sum() > 0.0 else math.inf
    return _rebuilt(np.maximum(values - cut, 0.0), vectors)


def toward_diagonal(matrix: dp.FloatArray, deviation: float) -> dp.FloatArray:
    """A covariance from which correlations are taken: entries off the diagonal are shrunk by how noisy they are.

    The noise of a correlation is τ²/(vᵢvⱼ), large for columns that vary little. Correlations are taken for draws from a
    normal law of mean 0, whose variance κ² is estimated from all of them; the mean of each, given what was released, is
    smaller by the factor κ²/(κ² + τ²/(vᵢvⱼ)). A variance within one deviation of zero is replaced by that deviation.

    Args:
        matrix: a symmetric matrix.
        deviation: τ, the deviation of the noise off the diagonal.
    """
    steady = rotation_invariant(matrix, deviation)
    if deviation == 0.0:
        return steady
    variances = np.maximum(np.diag(steady), math.sqrt(2) * deviation)
    products = np.outer(variances, variances)
    noise = deviation**2 / products
    pairs = np.triu_indices(len(matrix), 1)
    weights = 1 / (noise[pairs] + TYPICAL) ** 2
    squares = (matrix**2 / products - noise)[pairs]
    spread = min(max(float((weights * squares).sum() / max(float(weights.sum()), 1e-300)), 0.0), 1.0)
    shrunk = steady * (spread / (spread + noise))
    shrunk[np.diag_indices_from(shrunk)] = variances
    return np.asarray(shrunk)


def _rebuilt(values: dp.FloatArray, vectors: dp.FloatArray) -> dp.FloatArray:
    matrix = (vectors * values) @ vectors.T
    return np.asarray((matrix + matrix.T) / 2)
