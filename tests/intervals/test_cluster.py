"""Eigenvalues within noise of each other: their intervals cover, for the closed form of two and for larger clusters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import i0e

from dpframe.intervals.cluster import limits
from dpframe.lattice import FloatArray
from tests.support.noisy import symmetric_noise

Z = 1.959964


def _share(values: FloatArray, releases: int) -> FloatArray:
    """The share of releases in which each eigenvalue is covered."""
    random, inside = np.random.default_rng(0), []
    for _ in range(releases):
        noisy = np.asarray(np.linalg.eigvalsh(np.diag(values) + symmetric_noise(random, len(values))), np.float64)[::-1]
        _, low, high = limits(noisy, Z, 12.0)
        inside.append((low <= values) & (values <= high))
    return np.asarray(np.mean(inside, axis=0))


def test_two_eigenvalues_have_the_ends_of_their_exact_likelihood() -> None:
    """The density of two noisy eigenvalues has a closed form, with a Bessel function of both distances."""
    x = np.array([0.9, -0.9])
    largest, smallest = np.meshgrid(np.linspace(-3, 5, 1601), np.linspace(-5, 3, 1601), indexing="ij")
    product = (x[0] - x[1]) * (largest - smallest) / 2
    likelihood = np.log(i0e(product)) - (np.square(largest - x[0]) + np.square(smallest - x[1])) / 2
    likelihood[largest < smallest] = -np.inf
    kept = 2 * (likelihood.max() - likelihood.max(axis=1)) < Z**2
    best, low, high = limits(x, Z, 6.0)
    assert low[0] == pytest.approx(largest[kept, 0].min(), abs=0.02)
    assert high[0] == pytest.approx(largest[kept, 0].max(), abs=0.02)
    assert (low[1], high[1]) == pytest.approx((-high[0], -low[0]))
    at = np.unravel_index(likelihood.argmax(), likelihood.shape)
    assert best[0] == pytest.approx(largest[at], abs=0.01)


def test_eigenvalues_that_are_far_apart_have_the_noise_of_the_diagonal() -> None:
    noisy = np.array([200.0, 100.0, 0.0])
    _, low, high = limits(noisy, Z, 12.0)
    assert high - low == pytest.approx(np.full(3, 2 * Z), rel=0.01)


def test_equal_eigenvalues_are_likeliest_at_the_mean() -> None:
    """Noisy eigenvalues that are closer than noise alone would put them: nothing says that they differ."""
    best, low, high = limits(np.array([0.4, 0.1, -0.2, -0.5]) + 7.0, Z, 12.0)
    assert best == pytest.approx(np.full(4, 6.95), abs=0.01)
    assert (np.diff(low) <= 0.0).all()
    assert (np.diff(high) <= 0.0).all()
    assert low[0] > 6.95 - 1.2  # the mean of four has a deviation of a half, and the largest is at least the mean


@pytest.mark.parametrize(
    "values",
    [np.full(3, 50.0), np.full(5, 50.0), np.array([52.0, 50.0, 50.0, 50.0]), np.array([53.0, 53.0, 50.0, 50.0])],
    ids=["three", "five", "one out", "pairs"],
)
def test_clusters_are_covered(values: FloatArray) -> None:
    """150 releases: a share of one number below 0.78 has a probability below 1e-6, if it is 0.92."""
    share = _share(values, 150)
    assert share.min() > 0.78
    assert share.mean() > 0.9


def test_intervals_of_a_cluster_are_not_much_wider_than_the_spread() -> None:
    """Five equal eigenvalues; bounds that hold whatever the others are are 2.5 times as wide as it."""
    random, found, noisy = np.random.default_rng(1), [], []
    for _ in range(60):
        x = np.asarray(np.linalg.eigvalsh(symmetric_noise(random, 5)), np.float64)[::-1]
        _, low, high = limits(x, Z, 12.0)
        found.append(high - low)
        noisy.append(x)
    spread = 2 * Z * math.sqrt(np.var(noisy, axis=0).mean())
    assert np.median(found) < 1.6 * spread
