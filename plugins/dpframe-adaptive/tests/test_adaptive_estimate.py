"""Count, mean and covariance from a sum and a moment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
        found.append(step.found().multiplied)
    truth = np.cov(((ROWS - ABOUT) / SCALE).T, bias=True)
    spread = np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - truth) < 6 * spread).all()  # below 1e-6 in all for normal errors


def test_a_count_of_nothing_is_one() -> None:
    parts = released()
    parts["sum"] = dp.AugmentedSum(np.zeros(4), constant=CONSTANT)
    parts["moment"] = dp.AugmentedMoment(np.zeros((4, 4)), constant=CONSTANT)
    assert 1.0 == float(AdaptiveCount(**parts).apply().array)
    np.testing.assert_allclose(AdaptiveCovariance(**parts).apply().array, np.zeros((3, 3)), atol=1e-12)


LINEAR = np.array([[1.0, 0.2, -0.1], [0.0, 2.0, 0.3], [0.5, 0.0, 4.0]])


def with_pilot(noise: float = 0.0, seed: int = 0, *, pilot: float = 1.0) -> dict[str, Any]:
    """A sum, a pilot about its mean and a moment after a linear map, with noise, so many times that on the pilot."""
    random = np.random.default_rng(seed)
    total = np.append(ROWS.sum(axis=0), CONSTANT * len(ROWS)) + noise * random.standard_normal(4)
    about = total[:-1] / (total[-1] / CONSTANT)
    return {
        "sum": dp.AugmentedSum(total, constant=CONSTANT),
        "about": dp.Mean(about),
        "pilot": _moment(ROWS - about, pilot * noise, random),
        "linear": dp.LinearMap(LINEAR),
        "moment": _moment((ROWS - about) @ LINEAR, noise, random),
        "sum_noise": {"each": noise} if noise else {},
        "pilot_noise": _law(pilot * noise),
        "moment_noise": _law(noise),
    }


def _moment(rows: Any, noise: float, random: np.random.Generator) -> dp.AugmentedMoment:
    placed = np.column_stack([rows, np.full(len(rows), CONSTANT)])
    square = placed.T @ placed / 2 + random.standard_normal((4, 4)) * noise / 2
    return dp.AugmentedMoment(square + square.T, constant=CONSTANT)


def _law(noise: float) -> dict[str, float]:
    return {"diagonal": noise, "off-diagonal": noise / np.sqrt(2)} if noise else {}


def test_without_noise_a_linear_map_is_undone() -> None:
    parts = with_pilot()
    np.testing.assert_allclose(AdaptiveMean(**parts).apply().array, ROWS.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(AdaptiveCount(**parts).apply().array, 400.0, rtol=1e-12)
    found = AdaptiveCovariance(**parts).apply().array
    np.testing.assert_allclose(found, np.cov(ROWS.T, bias=True), rtol=1e-9, atol=1e-15)


def test_all_estimates_of_the_mean_count() -> None:
    """Weighted by precision, the mean is closer to the truth than any release alone says."""
    errors: dict[str, list[float]] = {"all": [], "sum": [], "pilot": [], "moment": []}
    for seed in range(60):
        parts = with_pilot(5.0, seed)
        about, unit = parts["about"].array, CONSTANT * 400
        alone = {
            "all": AdaptiveMean(**parts).apply().array,
            "sum": parts["sum"].array[:-1] / 400,
            "pilot": about + parts["pilot"].array[:-1, -1] / unit,
            "moment": about + np.linalg.solve(LINEAR.T, parts["moment"].array[:-1, -1] / unit),
        }
        for name, mean in alone.items():
            errors[name].append(float(np.linalg.norm(mean - ROWS.mean(axis=0))))
    together, *others = (np.mean(each) for each in errors.values())
    assert together < 0.95 * min(others)


def test_a_sum_about_the_center_counts() -> None:
    """With half the noise of the other sum; without noise, it changes nothing."""
    placed = np.column_stack([(ROWS - with_pilot()["about"].array) @ LINEAR, np.full(len(ROWS), CONSTANT)])
    exact = with_pilot() | {"offset": dp.AugmentedSum(placed.sum(axis=0), constant=CONSTANT)}
    np.testing.assert_allclose(AdaptiveMean(**exact).apply().array, ROWS.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(AdaptiveCount(**exact).apply().array, 400.0, rtol=1e-12)
    errors, random = {"with": 0.0, "without": 0.0}, np.random.default_rng(9)
    for seed in range(60):
        without = with_pilot(5.0, seed)
        about = without["about"].array
        placed = np.column_stack([(ROWS - about) @ LINEAR, np.full(len(ROWS), CONSTANT)])
        noisy = placed.sum(axis=0) + random.standard_normal(4) * 2.0
        offset = {"offset": dp.AugmentedSum(noisy, constant=CONSTANT), "offset_noise": {"each": 2.0}}
        for name, parts in (("without", without), ("with", without | offset)):
            errors[name] += float(np.linalg.norm(AdaptiveMean(**parts).apply().array - ROWS.mean(axis=0))) ** 2
    assert errors["with"] < 0.6 * errors["without"]


def test_both_moments_count() -> None:
    """A pilot with half the noise of the moment: together they are closer to the truth than each of them."""
    truth, errors = np.cov(ROWS.T, bias=True), {"both": 0.0, "moment": 0.0, "pilot": 0.0}
    for seed in range(60):
        parts = with_pilot(2.0, seed, pilot=0.5)
        alone = {
            "both": parts,
            "moment": {**parts, "pilot": None},
            "pilot": {**parts, "pilot": None, "linear": None, "moment": parts["pilot"], "moment_noise": _law(1.0)},
        }
        for name, each in alone.items():
            errors[name] += float(np.linalg.norm(AdaptiveCovariance(**each).found().raw - truth)) ** 2
    assert errors["both"] < 0.9 * min(errors["moment"], errors["pilot"])


@pytest.mark.parametrize("piloted", [False, True])
def test_with_a_linear_map_too_the_square_of_an_uncertain_mean_is_not_taken_for_variance(piloted: bool) -> None:
    """The mean of many covariances is the truth, and their variances are those that are stated."""
    found, stated = [], []
    for seed in range(400):
        parts = with_pilot(8.0, seed)
        if not piloted:
            parts["pilot"] = None
        step = AdaptiveCovariance(**parts)
        found.append(step.found().raw)
        law = dp.MatrixLaw.of_noise(parts["moment"].array, 8.0, 8.0 / np.sqrt(2))
        stated.append(step.result_law({"moment": law}).variances())  # type: ignore[union-attr]
    truth, observed = np.cov(ROWS.T, bias=True), np.var(found, axis=0)
    away = np.abs(np.mean(found, axis=0) - truth)
    assert (away < 6 * np.sqrt(observed / 400)).all()  # below 1e-6 in all for normal errors
    ratios = observed / np.mean(stated, axis=0)
    assert (np.abs(ratios - 1) < 0.4).all()  # a deviation of a variance is 0.07 here


@pytest.mark.parametrize(
    ("linear", "words"),
    [
        ([[1.0]], "must be a square matrix with one row"),
        ([[0.0, 0.0], [0.0, 0.0]], "is singular"),
        ([[1.0, 1.0], [1.0, 1.0]], "is singular"),
        ([[1e-160, 0.0], [0.0, 1e-160]], "is singular"),
    ],
)
def test_a_linear_map_that_cannot_be_undone_is_refused_in_the_plan(linear: list[list[float]], words: str) -> None:
    rows = dp.Rows(columns=[dp.Column("a", -1, 1), dp.Column("b", -1, 1)], neighbors="add-remove")
    known = {"sum": "sum", "moment": "moment", "about": "center"}
    place = {"about": dp.ref("center"), "linear": [[1.0, 0.0], [0.0, 1.0]], "norm": 1.0, "center": True}
    steps = [
        dp.release("sum", "gaussian-sum"),
        dp.derive("center", "mean", of="sum"),
        dp.release("moment", "gaussian", rows=place),
        dp.derive("covariance", "adaptive-covariance", **known, linear=linear),
    ]
    with pytest.raises(dp.PlanError, match=words):
        dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps)


def test_the_estimate_uses_the_linear_map_that_the_rows_were_multiplied_by() -> None:
    released = dp.LinearMap(LINEAR * 1e7)
    columns = [dp.Column(name, -1, 1) for name in "abc"]
    rows = dp.Rows(columns=columns, neighbors="replace", linear=dp.ref("linear"), norm=1.0)
    used = rows.with_released({"linear": released}).multiplied
    assert used.max() == 1e6
    found = AdaptiveCovariance(**{**with_pilot(), "linear": released}).found()
    np.testing.assert_allclose((found.axes * found.rates**2) @ found.axes.T, used @ used.T, rtol=1e-9, atol=1e-3)
