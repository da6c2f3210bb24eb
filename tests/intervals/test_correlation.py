"""Correlations: coverage from low noise to noise above the variances, and the limits of the search."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpframe.intervals.correlation import CorrelationLaw, beyond, extremes
from dpframe.intervals.matrix import MatrixLaw
from dpframe.lattice import FloatArray
from tests.support.noisy import coverage, symmetric_noise

DIM = 5


def correlated(rho: float) -> FloatArray:
    """A covariance with equal correlations and variances from 1 to 0.05."""
    deviations = np.sqrt(np.geomspace(1.0, 0.05, DIM))
    correlations = np.full((DIM, DIM), rho) + (1 - rho) * np.eye(DIM)
    return np.asarray(correlations * np.outer(deviations, deviations))


def law(center: FloatArray, deviation: float) -> CorrelationLaw:
    return CorrelationLaw(of=MatrixLaw.of_noise(center, deviation, deviation * math.sqrt(0.5)))


@pytest.mark.parametrize(
    ("rho", "deviation"), [(0.0, 0.1), (0.5, 0.001), (0.5, 0.03), (0.5, 0.1), (0.5, 0.3), (0.9, 0.02), (-0.9, 0.2)]
)
def test_correlations_are_covered(rho: float, deviation: float) -> None:
    """300 releases of 10 pairs: five deviations, as if pairs were dependent three by three, are 0.03."""
    exact = correlated(rho) if rho >= 0 else correlated(-rho) * np.outer(*[(-1.0) ** np.arange(DIM)] * 2)
    deviations = np.sqrt(np.diag(exact))
    truth = exact / np.outer(deviations, deviations)
    pairs = np.triu_indices(DIM, 1)

    def draw(random: np.random.Generator) -> CorrelationLaw:
        return law(exact + symmetric_noise(random, DIM, deviation), deviation)

    share = coverage(draw, truth, releases=300)[pairs]
    assert 0.92 < share.mean() < 0.98
    assert share.min() > 0.87


def test_low_noise_gives_the_delta_method() -> None:
    exact = correlated(0.6)
    found = law(exact, 1e-4)
    interval = found.interval(0.95)
    pairs = np.triu_indices(DIM, 1)
    width = (interval.high - interval.low)[pairs]
    assert width == pytest.approx(2 * 1.96 * found.standard_error()[pairs], rel=0.01)
    assert np.array_equal(np.diag(interval.low), np.ones(DIM))


def test_variances_within_noise_determine_nothing() -> None:
    found = law(np.diag([1.0, 1.0, -0.5]) + 0.01, 1.0).interval(0.95)
    assert not found.determined[0, 2]
    assert (found.low[0, 2], found.high[0, 2]) == (-1.0, 1.0)


def test_the_search_finds_the_extremes() -> None:
    """Against all points of a fine grid of the ellipsoid."""
    random = np.random.default_rng(0)
    values = np.array([[0.3, 1.0, 0.8], [-0.2, 0.5, 0.9], [0.05, 2.0, 0.4]])
    roots = 0.1 * random.standard_normal((3, 3, 3))
    joint = roots @ np.swapaxes(roots, 1, 2) + 0.001 * np.eye(3)
    sphere = random.standard_normal((200_000, 3))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    low, high = extremes(values, joint, 1.5)
    for at in range(3):
        points = values[at] + 1.5 * sphere @ np.linalg.cholesky(joint[at]).T
        found = points[:, 0] / np.sqrt(points[:, 1] * points[:, 2])
        expected = max(found.min(), -1.0), min(found.max(), 1.0)
        assert (low[at], high[at]) == pytest.approx(expected, abs=0.004)


def test_variances_that_noise_makes_negative_do_not_rule_out_correlations() -> None:
    """Variances of a fifth of the noise, 5000 pairs: 0.929 is five deviations below 0.945. It was 0.912."""
    noise = np.sqrt([0.5, 1.0, 1.0])
    values = np.array([0.0, 0.2, 0.2]) + noise * np.random.default_rng(1).standard_normal((5000, 3))
    joint = np.tile(np.diag(noise**2), (len(values), 1, 1))
    low, high = extremes(values, joint * (1 + beyond(values, joint) / 1.96**2)[:, None, None], 1.96)
    assert ((low <= 0.0) & (high >= 0.0)).mean() > 0.929
    assert (values[beyond(values, joint) == 0.0, 1:] > 0.0).all()
