"""Bingham directions, real and complex, against their exact marginals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, special, stats

from dpframe.testing import seeded
from dpframe_orbit import direction
from dpframe_orbit.direction import complex_direction, envelope, log_acceptance, real_direction
from dpframe_orbit.pattern import Floats
from dpframe_orbit.uniform import normals, uniforms

FALSE_ALARM = 1e-6
DRAWS = 5000


def cdf_of(density: Callable[[Floats], Floats], low: float, high: float) -> Any:
    """The distribution function of an unnormalized density, on a fine grid."""
    points = np.linspace(low, high, 20_001)
    mass = integrate.cumulative_simpson(density(points), x=points, initial=0.0)
    return lambda x: np.interp(x, points, mass / mass[-1])


def real_marginal(costs: list[float]) -> Any:
    """Of x_1: at d = 2 by its angle, at d = 3 with the angle of the rest integrated out (a Bessel function)."""
    if len(costs) == 2:
        return cdf_of(
            lambda angle: np.exp(-costs[1] * np.sin(angle) ** 2 - costs[0] * np.cos(angle) ** 2), 0.0, math.pi
        )
    first, second, third = costs

    def density(x: Floats) -> Floats:
        rest = 1 - x**2
        swing = rest * (third - second) / 2
        return np.exp(-first * x**2 - rest * (second + third) / 2 + np.abs(swing)) * special.ive(0, swing)

    return cdf_of(density, -1.0, 1.0)


def complex_marginal(costs: list[float]) -> Any:
    """Of |x_1|²: the squares are uniform on the simplex under the invariant measure."""
    if len(costs) == 2:
        return cdf_of(lambda p: np.exp(-(costs[0] - costs[1]) * p), 0.0, 1.0)
    first, second, third = costs

    def density(p: Floats) -> Floats:
        rest, tilt = 1 - p, second - third
        return np.exp(-first * p - third * rest) * -np.expm1(-tilt * rest) / tilt

    return cdf_of(density, 0.0, 1.0)


COSTS = [[0.0, 2.0], [3.0, 0.0], [0.0, 40.0], [0.0, 1.0, 3.0], [5.0, 0.0, 2.0], [0.0, 7.0, 30.0]]


@pytest.mark.parametrize("costs", COSTS, ids=str)
def test_real_marginals_are_exact(costs: list[float]) -> None:
    random = seeded(1)
    drawn = np.array([real_direction(np.array(costs), random) for _ in range(DRAWS)])
    seen = np.arccos(drawn[:, 0]) if len(costs) == 2 else drawn[:, 0]
    assert stats.kstest(seen, real_marginal(costs)).pvalue > FALSE_ALARM
    assert stats.kstest(seen, real_marginal([1.5 * cost for cost in costs])).pvalue < FALSE_ALARM


@pytest.mark.parametrize("costs", COSTS, ids=str)
def test_complex_marginals_are_exact(costs: list[float]) -> None:
    random = seeded(2)
    drawn = np.array([complex_direction(np.array(costs), random) for _ in range(DRAWS)])
    seen = np.abs(drawn[:, 0]) ** 2
    assert stats.kstest(seen, complex_marginal(costs)).pvalue > FALSE_ALARM
    assert stats.kstest(seen, complex_marginal([1.5 * cost for cost in costs])).pvalue < FALSE_ALARM
    phases = np.angle(drawn[:, 0] / drawn[:, 1]) / (2 * math.pi) + 0.5
    assert stats.kstest(phases, "uniform").pvalue > FALSE_ALARM


def test_the_mean_square_that_a_wrong_exponent_misses() -> None:
    """At d = 2 with costs 0 and 2: 0.723; the law of an inverted acceptance ratio has 0.896."""
    random = seeded(3)
    squares = np.array([real_direction(np.array([0.0, 2.0]), random)[0] ** 2 for _ in range(DRAWS)])
    exact = (1 + special.iv(1, 1.0) / special.iv(0, 1.0)) / 2
    assert 0.723 == pytest.approx(exact, abs=5e-4)
    surprise = abs(squares.mean() - exact) / (squares.std() / math.sqrt(DRAWS))
    assert surprise < stats.norm.isf(FALSE_ALARM / 2)
    assert abs(squares.mean() - 0.896) / (squares.std() / math.sqrt(DRAWS)) > stats.norm.isf(FALSE_ALARM / 2)


@pytest.mark.parametrize("dim", [2, 3, 20, 200])
def test_the_acceptance_ratio_is_never_above_one_and_reaches_it(dim: int) -> None:
    rng = np.random.default_rng(dim)
    for scale in (0.0, 0.1, 10.0, 1e4, 1e9):
        costs = np.sort(rng.exponential(scale, dim) if scale else np.zeros(dim))
        costs -= costs[0]
        b = envelope(costs)
        assert 0 < b <= dim
        assert float(np.sum(1 / (b + 2 * costs))) == pytest.approx(1.0, rel=1e-9)
        exponents = np.concatenate([np.geomspace(1e-12, 1e12, 5000), np.linspace(0, dim, 5000), [(dim - b) / 2]])
        ratios = log_acceptance(exponents, dim, b)
        assert -1e-9 < ratios.max() < 1e-12 * dim


@pytest.mark.parametrize(("dim", "strength"), [(2, 5.0), (50, 100.0), (50, 1e4), (200, 1e3)])
def test_a_useful_share_of_proposals_is_accepted(dim: int, strength: float, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(exponents: Floats, dim: int, b: float) -> Floats:
        found = log_acceptance(exponents, dim, b)
        seen.extend(np.exp(found).tolist())
        return found

    monkeypatch.setattr(direction, "log_acceptance", watched)
    random = seeded(4)
    for _ in range(50):
        real_direction(np.linspace(0, strength, dim), random)
    assert 0.05 < np.mean(seen) <= 1.0


def test_normals_and_uniforms_of_words() -> None:
    words = seeded(5).words(50_000)
    assert stats.kstest(uniforms(words), "uniform").pvalue > FALSE_ALARM
    assert stats.kstest(normals(words), "norm").pvalue > FALSE_ALARM
    assert stats.kstest(1.05 * normals(words), "norm").pvalue < FALSE_ALARM
    farthest, ends = stats.norm.isf(2.0**-65), np.array([0, 2**63], dtype=np.uint64)
    assert [farthest, -farthest] == pytest.approx(normals(ends).tolist(), rel=1e-12)
    assert 2.0**-65 == uniforms(ends)[0]
