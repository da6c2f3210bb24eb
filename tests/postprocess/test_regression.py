"""Regression from a released covariance: against least squares, in units, and where noise breaks those."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.postprocess.regression import Regression

NAMES = ("age", "hours", "sex=F", "sex=M", "income")


def table(count: int = 400) -> NDArray[np.float64]:
    random = np.random.default_rng(1)
    rows = random.standard_normal((count, 5)) @ random.standard_normal((5, 5)) * 10 + [40, 38, 3, 2, 100]
    return np.asarray(rows)


def least_squares(rows: NDArray[Any], target: int, features: list[int]) -> tuple[NDArray[Any], float]:
    """Slopes and intercept, and R²."""
    design = np.column_stack([rows[:, features], np.ones(len(rows))])
    found = np.linalg.lstsq(design, rows[:, target], rcond=None)[0]
    return found, 1 - float(np.var(rows[:, target] - design @ found) / np.var(rows[:, target]))


def covariance_and_mean(rows: NDArray[Any]) -> dict[str, Any]:
    """Both in coordinates of their own, which differ."""
    scale, offset = np.array([2.0, 0.5, 3.0, 1.0, 7.0]), np.array([1.0, 2.0, 0.0, 0.0, -3.0])
    one = dp.Axes(NAMES, tuple(scale), tuple(offset))
    other = dp.Axes(NAMES, tuple(10 * scale), tuple(offset + 1))
    covariance = np.cov(rows.T, bias=True) / np.outer(scale, scale)
    return {
        "of": dp.Covariance((covariance + covariance.T) / 2, axes=one),
        "mean": dp.Mean((rows.mean(axis=0) - offset - 1) / (10 * scale), axes=other),
    }


@pytest.mark.parametrize(
    ("features", "places"), [(None, [0, 1, 2, 3]), (["hours", "sex"], [1, 2, 3]), (["sex=M", "age"], [3, 0])]
)
def test_without_noise_and_penalty_it_is_least_squares_in_units(features: list[str] | None, places: list[int]) -> None:
    rows = table()
    model = Regression(**covariance_and_mean(rows), target="income", features=features, penalty=0.0).apply()
    expected, explained = least_squares(rows, 4, places)
    assert np.allclose(expected, model.array, rtol=1e-9)
    assert np.array_equal(model.array[:-1], model.slopes)
    assert model.array[-1] == model.intercept
    assert math.isclose(explained, model.r_squared, rel_tol=1e-9)
    assert model.axes is not None
    assert (*(NAMES[place] for place in places), "intercept") == model.axes.labels
    assert ("income", 0.0) == (model.target, model.penalty)


def test_an_augmented_moment_has_its_own_mean() -> None:
    rows, constant = table(), 3.0
    augmented = np.column_stack([rows, np.full(len(rows), constant)])
    moment = augmented.T @ augmented
    of = dp.AugmentedMoment((moment + moment.T) / 2, constant=constant)
    model = Regression(of=of, target=1, features=[0, 4], penalty=0.0).apply()
    assert np.allclose(least_squares(rows, 1, [0, 4])[0], model.array, rtol=1e-6)
    assert "1" == model.target


def test_units_of_slopes() -> None:
    axes = dp.Axes(("age", "group", "income"), (1.0,) * 3, (0.0,) * 3, ("years", "", "EUR"))
    of, mean = dp.Covariance(np.eye(3), axes=axes), dp.Mean(np.zeros(3), axes=axes)
    model = Regression(of=of, mean=mean, target="income").apply()
    assert model.axes is not None
    assert ("EUR/years", "EUR", "EUR") == model.axes.unit
    other = Regression(of=of, mean=mean, target="group").apply()
    assert other.axes is not None
    assert ("1/years", "1/EUR", "") == other.axes.unit


def noisy(covariance: NDArray[Any], deviation: float, random: np.random.Generator) -> NDArray[Any]:
    square = random.standard_normal(covariance.shape)
    return np.asarray(covariance + deviation / math.sqrt(2) * (square + square.T))


def explained_by(model: dp.LinearModel, covariance: NDArray[Any]) -> float:
    slopes = model.slopes
    gain = 2 * slopes @ covariance[:-1, -1] - slopes @ covariance[:-1, :-1] @ slopes
    return float(gain / covariance[-1, -1])


def test_automatic_penalties_survive_noise_that_breaks_least_squares() -> None:
    random = np.random.default_rng(11)
    loadings = random.standard_normal((20, 3))
    covariance = loadings @ loadings.T + 0.05 * np.eye(20)
    best, plain, estimated = [], [], []
    for _ in range(400):
        of, mean = dp.Covariance(noisy(covariance, 0.3, random)), dp.Mean(np.zeros(20))
        noise = {"diagonal": 0.3 * math.sqrt(2), "off-diagonal": 0.3}
        auto = Regression(of=of, mean=mean, target=19, of_noise=noise).apply()
        best.append(explained_by(auto, covariance))
        estimated.append(auto.r_squared)
        plain.append(explained_by(Regression(of=of, mean=mean, target=19, penalty=0.0).apply(), covariance))
    assert np.quantile(best, 0.05) > 0.85
    assert np.quantile(plain, 0.05) < 0.0
    assert abs(np.median(estimated) - np.median(best)) < 0.05


def test_what_is_hidden_in_noise_is_shrunk_and_said() -> None:
    of, mean = dp.Covariance(np.diag([4.0, 1.0, 2.0])), dp.Mean(np.zeros(3))
    step = Regression(of=of, mean=mean, target=2, of_noise={"off-diagonal": 0.5})
    assert "hidden in noise" in step.choice()
    assert step.apply().penalty == 20.0
    unknown = Regression(of=of, mean=mean, target=2)
    assert "not known" in unknown.choice()
    assert 0.0 == unknown.apply().penalty
    assert "R²" in attrs.evolve(unknown, penalty=1.0).choice()


@pytest.mark.parametrize("penalty", ["auto", 0.0, 1e300])
@pytest.mark.parametrize("entry", [0.0, -1.0, 1e300, 5e-324])
def test_odd_covariances_fail_no_paid_run(penalty: Any, entry: float) -> None:
    of, mean = dp.Covariance(np.full((3, 3), entry)), dp.Mean(np.zeros(3))
    for noise in ({}, {"off-diagonal": 1e-3}):
        with np.errstate(all="ignore"):
            Regression(of=of, mean=mean, target=0, penalty=penalty, of_noise=noise).apply()


ROWS = dp.Rows(
    columns=[dp.Column("age", 0, 100), dp.Category("sex", ["F", "M"]), dp.Column("income", 0, 10)], neighbors="replace"
)


def plan(rows: dp.Rows = ROWS, **parameters: Any) -> dp.Plan:
    steps = [dp.release("cov", "adaptive"), dp.derive("model", "regression", of="cov", **parameters)]
    return dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0), steps=steps)


def test_the_mean_of_a_recipe_is_found_by_its_name() -> None:
    found = plan(target="income")
    assert found == dp.Plan.loads(found.dumps())
    assert dp.ref("cov.mean") == found.steps[-1].action.mean  # type: ignore[union-attr]
    assert None is found.declared[-1].action.mean  # type: ignore[union-attr]
    assert dp.ref("cov.center") == plan(target="income", mean="cov.center").steps[-1].action.mean  # type: ignore[union-attr]
    assert (4,) == found.shapes["model"]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"target": "wage"}, "target='wage' is not a column of the rows; there is: age, sex=F, sex=M, income"),
        ({"target": "sex"}, "target='sex' is a category; name one of its levels: sex=F, sex=M"),
        ({"target": "age", "features": ["wage"]}, "features='wage' is not a column"),
        ({"target": "age", "features": ["age", "sex"]}, "the target 'age' is among the features"),
        ({"target": "age", "features": []}, "Regression.features must be a list of names"),
        ({"target": "age", "penalty": -1.0}, "Regression.penalty must be 'auto' or a number of at least 0; got -1.0"),
        ({"target": "age", "penalty": "best"}, "Regression.penalty must be 'auto' or a number"),
        ({"target": 1.5}, "Regression.target must be the name or the index of a coordinate"),
    ],
)
def test_refusals(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(dp.PlanError) as caught:
        plan(**parameters)
    assert words in str(caught.value)


def test_a_covariance_without_a_mean_is_refused() -> None:
    steps = [
        dp.release("moment", "gaussian"),
        dp.derive("covariance", "covariance", of="moment"),
        dp.derive("model", "regression", of="covariance", target="age"),
    ]
    rows, budget = attrs.evolve(ROWS, center=True), dp.Budget(epsilon=1.0, delta=1e-6)
    with pytest.raises(dp.PlanError, match="needs the mean of the same rows"):
        dp.Plan(rows=rows, budget=budget, steps=steps)
    by_moment = dp.derive("model", "regression", of="moment", target="age")
    assert (4,) == dp.Plan(rows=rows, budget=budget, steps=[steps[0], by_moment]).shapes["model"]


@pytest.mark.parametrize(
    "changed", [{"target": ""}, {"penalty": -1.0}, {"penalty": math.nan}, {"r_squared": 1.5}, {"r_squared": -0.1}]
)
def test_a_linear_model_is_checked(changed: dict[str, Any]) -> None:
    with pytest.raises(dp.PlanError, match="a linear model must have"):
        dp.LinearModel([1.0, 2.0], **{"target": "y", "penalty": 0.0, "r_squared": 0.5, **changed})
    with pytest.raises(dp.PlanError, match="one slope at least"):
        dp.LinearModel([1.0], target="y", penalty=0.0, r_squared=0.5)
