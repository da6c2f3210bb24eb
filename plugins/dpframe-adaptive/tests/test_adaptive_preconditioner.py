"""The linear map that takes noise where it does least harm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe_adaptive import Preconditioner

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


@pytest.mark.parametrize("power", [0.0, 0.125, 0.25, 0.5])
def test_a_power_of_the_covariance(power: float) -> None:
    """Variances after the map are in proportion to λ^(1 − 2p), and their sum is that before it."""
    matrix = Preconditioner(**released(VARIANCES), power=power).apply().array
    after = np.linalg.eigvalsh(matrix @ ((TURN * VARIANCES) @ TURN.T) @ matrix)[::-1]
    expected = VARIANCES ** (1 - 2 * power)
    np.testing.assert_allclose(after, expected * VARIANCES.sum() / expected.sum(), rtol=1e-9)


def test_the_best_powers() -> None:
    """No other power has less noise in all entries than 1/4, nor less relative to the variances than 1/2."""

    def noise(power: float, weights: Any) -> float:
        matrix = Preconditioner(**released(VARIANCES), power=power).apply().array
        rates = np.linalg.eigvalsh(matrix)  # smallest along the largest variance
        return float((np.outer(1 / rates, 1 / rates) ** 2 * np.outer(weights, weights)).sum())

    for best, weights in ((0.25, np.ones(6)), (0.5, 1 / VARIANCES)):
        found = {power: noise(power, weights) for power in (0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5)}
        assert best == min(found, key=lambda power: found[power])


def test_no_direction_is_stretched_for_its_noise() -> None:
    """Where noise hides all variances, the map is the identity; where it hides some, these are stretched alike."""
    hidden = Preconditioner(**released(VARIANCES, deviation=10.0), power=0.25).apply().array
    np.testing.assert_allclose(hidden, np.eye(6), rtol=1e-9, atol=1e-12)
    assert "power -0.25" in Preconditioner(**released(VARIANCES), power=0.25).choice()
    rates = np.linalg.eigvalsh(
        Preconditioner(**released([1.0, 0.5, 1e-4, 1e-5, 1e-6, 0.0], 0.01), power=0.25).apply().array
    )
    assert rates[-1] == pytest.approx(rates[-4], rel=1e-9)
    assert rates[0] < rates[1] < 0.9 * rates[-1]


def test_the_power_for_components_is_that_of_the_smallest_forecast() -> None:
    """For one strong direction among equal ones the same noise everywhere is best; not for many weak ones."""
    same = Preconditioner(**released([2.0, 1.0, 1.0, 1.0, 1.0, 1.0], 0.01), power=None, components=(1,))
    np.testing.assert_allclose(same.apply().array, np.eye(6), rtol=1e-9, atol=1e-12)
    assert "not turned or stretched" in same.choice()
    apart = Preconditioner(**released([4.0, 1.0, 0.2, 0.05, 0.01, 0.001], 1e-4), power=None, components=(5,))
    assert "power -0.125" in apart.choice()


def test_a_pilot_of_nothing() -> None:
    parts = released(np.zeros(6))
    for power in (None, 0.5):
        np.testing.assert_allclose(Preconditioner(**parts, power=power).apply().array, np.eye(6), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("power", [-0.1, 0.6])
def test_refused(power: float) -> None:
    with pytest.raises(dp.PlanError, match="power"):
        Preconditioner(**released(VARIANCES), power=power)
