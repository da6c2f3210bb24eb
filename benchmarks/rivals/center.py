"""A private center, for methods whose authors assume rows of mean zero; and what several rivals share."""

from __future__ import annotations

import math

import attrs
import numpy as np

from benchmarks.rivals.noise import Noise, Terms
from dpframe.lattice import FloatArray

SHARE = 0.1
"""Of mu², or of a pure epsilon, for the center."""


@attrs.frozen(kw_only=True, eq=False)
class Centered:
    """Rows about a released center.

    Args:
        rows: the rows less the center.
        center: the released mean, moved into the box.
        count: the number of rows: public under replace, released otherwise.
        radius: no row about this center is longer.
    """

    rows: FloatArray
    center: FloatArray
    count: float
    radius: float

    def moment(self, radius: float | None = None) -> FloatArray:
        """Σ x xᵀ of the rows about the center, scaled down to a radius if there is one; private."""
        rows = self.rows if radius is None else clipped(self.rows, radius)
        return np.asarray(rows.T @ rows)


@attrs.frozen(kw_only=True, eq=False)
class Estimate:
    """A released covariance.

    Args:
        covariance: the matrix.
        penalty: what regression adds to it, from the public law of the noise: its usual largest eigenvalue times the
            identity, or a matrix where the noise is not the same in all directions.
    """

    covariance: FloatArray
    penalty: FloatArray


def centered(rows: FloatArray, terms: Terms, noise: Noise, mu: float) -> Centered:
    """Rows about their noisy mean, by Gaussian noise at level mu.

    Rows lie in the box [−1, 1]ᵈ. Where a row is added or removed, the sum of the rows [x, κ] moves by at most √(d +
    κ²), κ = √d/2. Where one is replaced, the sum moves by at most 2√d, and the number of rows is public.
    """
    total, dim = rows.sum(axis=0), rows.shape[1]
    if terms.replace:
        return _about(rows, noise.gaussian(total, 2 * math.sqrt(dim), mu), float(len(rows)))
    constant = math.sqrt(dim) / 2
    noisy = noise.gaussian(np.append(total, constant * len(rows)), math.sqrt(1.25 * dim), mu)
    return _about(rows, noisy[:-1], float(noisy[-1]) / constant)


def centered_purely(rows: FloatArray, terms: Terms, noise: Noise, epsilon: float) -> Centered:
    """Rows about their noisy mean, by Laplace noise.

    The sum of the rows [x, √d] moves by at most d + √d in all where a row is added or removed. Where one is replaced,
    the sum moves by at most 2d.
    """
    total, dim = rows.sum(axis=0), rows.shape[1]
    if terms.replace:
        return _about(rows, noise.laplace(total, 2.0 * dim, epsilon), float(len(rows)))
    constant = math.sqrt(dim)
    noisy = noise.laplace(np.append(total, constant * len(rows)), dim + constant, epsilon)
    return _about(rows, noisy[:-1], float(noisy[-1]) / constant)


def _about(rows: FloatArray, total: FloatArray, count: float) -> Centered:
    count = max(count, 1.0)
    center = np.clip(total / count, -1.0, 1.0)
    radius = float(np.linalg.norm(1 + np.abs(center)))
    return Centered(rows=rows - center, center=center, count=count, radius=radius)


def clipped(rows: FloatArray, radius: float) -> FloatArray:
    """The rows, longer ones scaled down to the radius."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows * np.minimum(1.0, radius / np.maximum(lengths, 1e-300)))


def penalty(deviation: float, dim: int) -> FloatArray:
    """The usual largest eigenvalue √(2d)·s of GOE noise with deviation s on its diagonal, times the identity."""
    return np.asarray(math.sqrt(2 * dim) * deviation * np.eye(dim))


def rebuilt(values: FloatArray, vectors: FloatArray) -> FloatArray:
    """The symmetric matrix with these eigenvalues and eigenvectors."""
    return np.asarray((vectors * values) @ vectors.T)
