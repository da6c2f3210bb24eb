"""The linear map that takes noise where it does least harm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe_adaptive import Preconditioner
from dpframe_adaptive.preconditioner import best_rates, components_gain

CONSTANT, COUNT = 0.25, 1000
TURN = np.linalg.qr(np.random.default_rng(5).standard_normal((6, 6)))[0]


def released(variances: Any, deviation: float = 0.0) -> dict[str, Any]:
    """A pilot of rows about their mean with these variances along the directions TURN, and a deviation of its noise."""
    covariance = (TURN * np.array(variances)) @ TURN.T
    moment = np.zeros((7, 7))
    moment[:-1, :-1], moment[-1, -1] = COUNT * (covariance + covariance.T) / 2, CONSTANT**2 * COUNT
    noise = {"diagonal": math.sqrt(2) * deviation * COUNT, "off-diagonal": deviation * COUNT} if deviation else {}
    return {
        "sum": dp.AugmentedSum(np.append(np.zeros(6), CONSTANT * COUNT), constant=CONSTANT),
        "about": dp.Mean(np.zeros(6)),
        "moment": dp.AugmentedMoment(moment, constant=CONSTANT),
        "moment_noise": noise,
    }


VARIANCES = np.array([1.0, 0.5, 0.2, 0.1, 0.05, 0.01])


def stretched(matrix: Any) -> Any:
    """How much directions are stretched, ascending."""
    return np.linalg.svd(matrix, compute_uv=False)[::-1]


def test_half_of_the_map_is_zero() -> None:
    """Followed by a rotation, which changes no length, it is the symmetric map along the directions of the pilot."""
    matrix = Preconditioner(**released(VARIANCES), power=0.25).apply().array
    assert np.array_equal(matrix, np.triu(matrix))
    squared = matrix @ matrix.T
    along = np.diag(TURN.T @ squared @ TURN)
    np.testing.assert_allclose(TURN.T @ squared @ TURN, np.diag(along), atol=1e-9)
    np.testing.assert_allclose(along / along[0], np.sqrt(VARIANCES[0] / VARIANCES), rtol=1e-9)


@pytest.mark.parametrize("power", [0.0, 0.125, 0.25, 0.5])
def test_a_power_of_the_covariance(power: float) -> None:
    """Variances after the map are in proportion to λ^(1 − 2p), and their sum is that before it."""
    matrix = Preconditioner(**released(VARIANCES), power=power).apply().array
    after = np.linalg.eigvalsh(matrix.T @ ((TURN * VARIANCES) @ TURN.T) @ matrix)[::-1]
    expected = VARIANCES ** (1 - 2 * power)
    np.testing.assert_allclose(after, expected * VARIANCES.sum() / expected.sum(), rtol=1e-9)


def test_the_best_powers() -> None:
    """No other power has less noise in all entries than 1/4, nor less relative to the variances than 1/2."""

    def noise(power: float, weights: Any) -> float:
        matrix = Preconditioner(**released(VARIANCES), power=power).apply().array
        rates = stretched(matrix)  # smallest along the largest variance
        return float((np.outer(1 / rates, 1 / rates) ** 2 * np.outer(weights, weights)).sum())

    for best, weights in ((0.25, np.ones(6)), (0.5, 1 / VARIANCES)):
        found = {power: noise(power, weights) for power in (0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5)}
        assert best == min(found, key=lambda power: found[power])


def test_no_direction_is_stretched_for_its_noise() -> None:
    """Where noise hides all variances, the map is the identity; where it hides some, these are stretched alike."""
    hidden = Preconditioner(**released(VARIANCES, deviation=10.0), power=0.25).apply().array
    np.testing.assert_allclose(hidden, np.eye(6), rtol=1e-9, atol=1e-12)
    assert "power -0.25" in Preconditioner(**released(VARIANCES), power=0.25).choice()
    rates = stretched(Preconditioner(**released([1.0, 0.5, 1e-4, 1e-5, 1e-6, 0.0], 0.01), power=0.25).apply().array)
    assert rates[-1] == pytest.approx(rates[-4], rel=1e-9)
    assert rates[0] < rates[1] < 0.9 * rates[-1]


@pytest.mark.parametrize("components", [(1,), (2,), (5,), (1, 3)])
def test_no_map_has_a_smaller_error_of_components(components: tuple[int, ...]) -> None:
    """To first order, for rows as long as their variances say: other rates are compared, near ones and random ones."""
    variances, deviation = VARIANCES[::-1], 0.001
    weights = np.zeros((6, 6))
    for k in components:
        weights[6 - k :, : 6 - k] += 1 / (np.subtract.outer(variances, variances) ** 2 + deviation**2)[6 - k :, : 6 - k]

    def error(squares: Any) -> float:
        return float((squares @ variances) ** 2 * ((1 / squares) @ weights @ (1 / squares)))

    best = best_rates(variances, deviation, components) ** 2
    random = np.random.default_rng(7)
    others = [best * np.exp(size * random.standard_normal(6)) for size in (0.01, 0.1, 1.0) for _ in range(200)]
    assert error(best) <= (1 + 1e-9) * min(error(squares) for squares in [*others, np.ones(6)])


def test_long_directions_far_from_the_gap_are_shrunk() -> None:
    """A direction that dominates makes rows long, and says nothing about the third and the fourth."""
    apart = [100.0, 10.0, 0.5, 0.3, 0.01, 0.01]
    matrix = Preconditioner(**released(apart, 1e-4), power=None, components=(3,)).apply().array
    rates = np.linalg.norm(TURN.T @ matrix, axis=1)
    assert rates[0] < rates[1] < min(rates[2], rates[3])
    after = np.trace(matrix.T @ ((TURN * apart) @ TURN.T) @ matrix)
    assert after == pytest.approx(sum(apart), rel=1e-6)
    assert "gaps that the pilot shows" in Preconditioner(**released(apart, 1e-4), components=(3,)).choice()


def test_rows_are_left_as_they_are_where_a_map_gains_nothing() -> None:
    """For one strong direction among equal ones the same noise everywhere is best."""
    same = Preconditioner(**released([2.0, 1.0, 1.0, 1.0, 1.0, 1.0], 0.01), power=None, components=(6,))
    np.testing.assert_allclose(same.apply().array, np.eye(6), rtol=1e-9, atol=1e-12)
    assert "not turned or stretched" in same.choice()


def test_the_gain_to_expect_is_that_of_the_map() -> None:
    """With one direction of two wanted there is one gap, and both have the same share in it."""
    assert components_gain(2, (1,)) == pytest.approx(1.5 / math.sqrt(2) * _half_power_of_two(), rel=1e-9)
    assert components_gain(7, (5,)) > components_gain(7, (3,)) > components_gain(7, (1,)) > 1.0


def test_a_gap_that_long_directions_hide_is_seen_better() -> None:
    """Two directions dominate, the third gap is small: at the same price the map gives a better third component.

    With the identity in place of the map a plan has no pilot, and the ratio is 1. Over 9 seeds the mean of the
    logarithms is below the bar by more than 5 of its deviations.
    """
    random = np.random.default_rng(11)
    turn = np.linalg.qr(random.standard_normal((8, 8)))[0]
    spread = 0.5 * np.sqrt([1.0, 0.8, 0.04, 0.01, 0.01, 0.01, 0.01, 0.01])
    rows = 0.8 * random.uniform(-1, 1, (20_000, 8)) * spread @ turn.T
    true = np.linalg.eigh(np.cov(rows.T))[1][:, -3:]

    def error(k: int, seed: int) -> float:
        plan = dp.Plan(
            rows=dp.Rows(columns=[dp.Column(f"x{place}", -1, 1) for place in range(8)], neighbors="add-remove"),
            budget=dp.Budget(epsilon=0.5, delta=1e-6),
            steps=[dp.release("cov", "adaptive", goal="components", k=k)],  # for k = 1 there is no map
        )
        found = np.linalg.eigh(plan.run(rows, insecure_seed=seed)["cov"])[1][:, -3:]
        return float(np.linalg.norm(found @ found.T - true @ true.T))

    ratios = [error(3, seed) / error(1, seed) for seed in range(9)]
    assert np.exp(np.mean(np.log(ratios))) < 0.95


def _half_power_of_two() -> float:
    """What half the power of the best map leaves of 3/(2√2), for variances 1 and 1/2.

    The best has x = (1, 2) up to a factor: both x·λ alike. Half the power is x = (1, √2), for which
    Σ xλ/√(x₁x₂) = (1 + 1/√2)/2^(1/4).
    """
    return math.sqrt(2) * 2**0.25 / (1 + 1 / math.sqrt(2))


def test_a_pilot_of_nothing() -> None:
    parts = released(np.zeros(6))
    for power in (None, 0.5):
        np.testing.assert_allclose(Preconditioner(**parts, power=power).apply().array, np.eye(6), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("power", [-0.1, 0.6])
def test_refused(power: float) -> None:
    with pytest.raises(dp.PlanError, match="power"):
        Preconditioner(**released(VARIANCES), power=power)
