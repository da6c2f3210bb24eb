"""Count, mean and covariance from a sum and a moment."""

from __future__ import annotations

from typing import Any

import numpy as np

import dpframe.plugin as dp
from dpframe_adaptive import AdaptiveCount, AdaptiveCovariance, AdaptiveMean

CONSTANT = 0.5
ROWS = np.random.default_rng(0).uniform(-1, 1, (400, 3)) * [0.5, 0.2, 0.1] + [0.3, -0.5, 0.0]
ABOUT, SCALE = np.array([0.25, -0.5, 0.1]), np.array([1.0, 0.5, 0.25])


def released(noise: float = 0.0, seed: int = 0) -> dict[str, Any]:
    """Both releases of these rows, with Gaussian noise of this size on the moment, and ten times that on the sum."""
    random = np.random.default_rng(seed)
    placed = np.column_stack([(ROWS - ABOUT) / SCALE, np.full(len(ROWS), CONSTANT)])
    square = placed.T @ placed / 2 + random.standard_normal((4, 4)) * noise / 2
    total = np.append(ROWS.sum(axis=0), CONSTANT * len(ROWS)) + random.standard_normal(4) * 10 * noise
    return {
        "sum": dp.AugmentedSum(total, constant=CONSTANT),
        "moment": dp.AugmentedMoment(square + square.T, constant=CONSTANT),
        "about": dp.Mean(ABOUT),
        "scale": dp.Scales(SCALE),
        "sum_noise": {"each": 10 * noise} if noise else {},
        "moment_noise": {"diagonal": noise, "off-diagonal": noise / np.sqrt(2)} if noise else {},
    }


def test_without_noise_all_are_exact() -> None:
    parts = released()
    np.testing.assert_allclose(AdaptiveMean(**parts).apply().array, ROWS.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(AdaptiveCount(**parts).apply().array, 400.0, rtol=1e-12)
    for goal in ("covariance", "correlation"):
        found = AdaptiveCovariance(**parts, goal=goal).apply().array
        np.testing.assert_allclose(found, np.cov(ROWS.T, bias=True), rtol=1e-9)


def test_both_estimates_of_the_mean_count() -> None:
    """Weighted by precision, the mean is closer to the truth than either release alone says."""
    errors: dict[str, list[float]] = {"both": [], "sum": [], "moment": []}
    for seed in range(60):
        parts = released(0.5, seed)
        total, moment = parts["sum"].array, parts["moment"].array
        alone = {
            "both": AdaptiveMean(**parts).apply().array,
            "sum": total[:-1] / 400,
            "moment": ABOUT + SCALE * moment[:-1, -1] / (CONSTANT * 400),
        }
        for name, mean in alone.items():
            errors[name].append(float(np.linalg.norm(mean - ROWS.mean(axis=0))))
    both, *others = (np.mean(each) for each in errors.values())
    assert both < 1.02 * min(others)
    assert both < 0.9 * max(others)


def test_the_square_of_an_uncertain_mean_is_not_taken_for_variance() -> None:
    """With a center that is off by noise alone, the mean of many covariances is the truth."""
    found = []
    for seed in range(400):
        parts = released(3.0, seed)
        step = AdaptiveCovariance(**parts)
        found.append(step.found().covariance)
    truth = np.cov(((ROWS - ABOUT) / SCALE).T, bias=True)
    spread = np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - truth) < 6 * spread).all()  # below 1e-6 in all for normal errors


def test_a_count_of_nothing_is_one() -> None:
    parts = released()
    parts["sum"] = dp.AugmentedSum(np.zeros(4), constant=CONSTANT)
    parts["moment"] = dp.AugmentedMoment(np.zeros((4, 4)), constant=CONSTANT)
    assert 1.0 == float(AdaptiveCount(**parts).apply().array)
    np.testing.assert_array_equal(AdaptiveCovariance(**parts).apply().array, np.zeros((3, 3)))
