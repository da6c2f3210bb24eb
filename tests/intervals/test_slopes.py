"""Error bars of linear models: their coverage of least squares without noise, and what is not determined."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.intervals.matrix import MatrixLaw
from dpframe.intervals.slopes import SlopesLaw

DIM, FEATURES = 6, [0, 1, 2, 3, 4]
SCALE = np.array([2.0, 0.5, 3.0, 1.0, 7.0, 4.0])
MEAN = np.array([1.0, -2.0, 0.5, 3.0, 0.0, 10.0])


def covariance() -> NDArray[np.float64]:
    root = np.random.default_rng(2).standard_normal((DIM, DIM))
    return np.asarray(root @ root.T / DIM + 0.3 * np.eye(DIM))


def law(matrix: NDArray[Any], deviation: float, mean: NDArray[Any], mean_deviation: float) -> SlopesLaw:
    return SlopesLaw(
        of=MatrixLaw.of_noise(matrix, math.sqrt(2) * deviation, deviation),
        target=5,
        features=FEATURES,
        scale=SCALE,
        mean=mean,
        mean_deviation=np.full(DIM, mean_deviation),
    )


def coverage(stated: float, actual: float, draws: int) -> NDArray[np.float64]:
    """The share of intervals that cover least squares without noise, for each slope and the intercept."""
    random, true = np.random.default_rng(5), covariance()
    slopes = np.linalg.solve(true[:5, :5], true[:5, 5]) * SCALE[5] / SCALE[:5]
    expected = np.append(slopes, MEAN[5] - slopes @ MEAN[:5])
    hits = np.zeros(DIM)
    for _ in range(draws):
        square = random.standard_normal((DIM, DIM))
        noisy = true + actual / math.sqrt(2) * (square + square.T)
        found = law(noisy, stated, MEAN + 0.01 * random.standard_normal(DIM), 0.01).interval(0.95)
        assert found.determined.all()
        hits += (found.low <= expected) & (expected <= found.high)
    return hits / draws


def test_intervals_cover_least_squares_without_noise() -> None:
    found = coverage(0.008, 0.008, 4000)  # a standard error of 0.0034; six of them to each side
    assert found.min() > 0.93
    assert found.max() < 0.97


def test_a_wrong_deviation_is_noticed() -> None:
    assert coverage(0.005, 0.008, 500).max() < 0.88


def test_slopes_that_noise_hides_are_not_determined() -> None:
    matrix = np.diag([4.0, 4.0, 4.0, 4.0, 0.01, 4.0])
    found = law(matrix, 0.05, MEAN, 0.01).interval(0.95)
    assert [True, True, True, True, False] == found.determined[:5].tolist()
    assert math.inf == law(matrix, 0.05, MEAN, 0.01).standard_error()[4]
    assert "shrunk" in found.method
    with pytest.raises(dp.PlanError, match="the sampling error of a linear model is not known"):
        law(matrix, 0.05, MEAN, 0.01).interval(0.95, sampled=True)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_run_has_them(delta: float) -> None:
    random = np.random.default_rng(3)
    age, hours = random.uniform(20, 70, 50_000), random.normal(38, 8, 50_000)
    data = {"age": age, "hours": hours, "income": 400 * age + 300 * hours + random.normal(0, 8000, 50_000)}
    ranges = {"age": (17, 90), "hours": (1, 99), "income": (0, 100_000)}
    given: dict[str, Any] = {"columns": ranges, "epsilon": 4.0, "delta": delta, "neighbors": "replace"}
    found = dp.regression(data, target="income", **given, insecure_seed=1).interval("model", confidence=0.999999)
    expected = np.linalg.lstsq(np.column_stack([age, hours, np.ones(50_000)]), data["income"], rcond=None)[0]
    assert found.determined.all()
    assert (found.low[:2] <= expected[:2]).all()
    assert (expected[:2] <= found.high[:2]).all()
    assert ((found.high - found.low)[:2] < [200, 400]).all()

    rows = dp.Rows(columns=[dp.Column(name, *ends) for name, ends in ranges.items()], neighbors="replace", center=True)
    steps = [dp.release("moment", "gaussian"), dp.derive("model", "regression", of="moment", target="income")]
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=8.0, delta=1e-6), steps=steps)
    plain = plan.run(data, insecure_seed=1).interval("model", confidence=0.999999)
    assert plain.determined.all()
    assert (plain.low <= expected).all()
    assert (expected <= plain.high).all()
