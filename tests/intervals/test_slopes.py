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


def coverage(stated: float, actual: float, draws: int, *, most: float = 0.0) -> NDArray[np.float64]:
    """The share of intervals that cover least squares without noise, for each slope and the intercept.

    At most a share of `most` of all is not determined; these count as covering.
    """
    random, true = np.random.default_rng(5), covariance()
    slopes = np.linalg.solve(true[:5, :5], true[:5, 5]) * SCALE[5] / SCALE[:5]
    expected = np.append(slopes, MEAN[5] - slopes @ MEAN[:5])
    hits, determined = np.zeros(DIM), 0
    for _ in range(draws):
        square = random.standard_normal((DIM, DIM))
        noisy = true + actual / math.sqrt(2) * (square + square.T)
        found = law(noisy, stated, MEAN + 0.01 * random.standard_normal(DIM), 0.01).interval(0.95)
        determined += int(found.determined.sum())
        hits += (found.low <= expected) & (expected <= found.high)
    assert determined >= (1 - most) * DIM * draws
    return hits / draws


def test_intervals_cover_least_squares_without_noise() -> None:
    found = coverage(0.008, 0.008, 4000)  # a standard error of 0.0034; six of them to each side
    assert found.min() > 0.93
    assert found.max() < 0.97


def test_they_cover_where_noise_is_nearly_as_large_as_eigenvalues() -> None:
    """The smallest eigenvalue is 1.6 times the usual largest one of the noise, and nearly all is determined."""
    smallest = float(np.linalg.eigvalsh(covariance()[:5, :5])[0])
    deviation = smallest / (1.6 * 2 * math.sqrt(5))
    found = coverage(deviation, deviation, 4000, most=0.1)
    assert found.min() > 0.93
    assert found.max() < 0.99


@pytest.mark.parametrize("deviation", [1e-6, 0.02, 0.05])
def test_ends_are_where_the_best_slopes_that_have_them_begin_to_be_rejected(deviation: float) -> None:
    """Against a singular value for each number t on a grid: of the best slopes w with w₀ = t, in units of the noise."""
    matrix = covariance()
    found = law(matrix, deviation, MEAN, 0.0).interval(0.95)
    in_units = SCALE[5] / SCALE[0]
    for end, inside in ((found.low[0] / in_units, 1), (found.high[0] / in_units, -1)):
        width = float(found.high[0] - found.low[0]) / in_units
        assert deviation * 1.96 == pytest.approx(_least(matrix, end, deviation), rel=2e-3)
        assert _least(matrix, end + inside * 0.02 * width, deviation) < deviation * 1.96
        assert _least(matrix, end - inside * 0.02 * width, deviation) > deviation * 1.96


def _least(matrix: NDArray[Any], slope: float, deviation: float) -> float:
    """The smallest |A w − b|/√(1 + |w|²) for w with this first slope, over the deviation of the noise along A w − b."""
    first = (slope * matrix[:5, 0] - matrix[:5, 5]) / math.sqrt(1 + slope**2)
    left, values, right = np.linalg.svd(np.column_stack([matrix[:5, 1:5], first]))
    rest = right[-1, :4] / right[-1, 4] * math.sqrt(1 + slope**2)
    along = np.append(slope, rest) @ left[:, -1]
    return float(values[-1] / math.sqrt(1 + along**2 / (1 + slope**2 + rest @ rest)))


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


def test_a_slope_that_is_partly_hidden_is_covered_if_slopes_along_what_is_hidden_are_no_longer_than_others() -> None:
    """A direction that noise hides is turned a little to the first feature, whose slope has a part along it."""
    random, share, deviation = np.random.default_rng(8), 3e-4, 0.02
    hidden = np.array([math.sqrt(share), 0.0, 0.0, 0.0, math.sqrt(1 - share)])
    features = 4 * np.eye(5) - 3.998 * np.outer(hidden, hidden)
    slopes = np.array([1.0, 1.0, -1.0, 1.0, 0.0])
    slopes += 1.9 * hidden - (slopes @ hidden) * hidden
    true = np.zeros((DIM, DIM))
    true[:5, :5], true[:5, 5], true[5, :5], true[5, 5] = features, features @ slopes, features @ slopes, 40.0
    hits, determined, draws = 0, 0, 400
    for _ in range(draws):
        square = random.standard_normal((DIM, DIM))
        noisy = true + deviation / math.sqrt(2) * (square + square.T)
        found = law(noisy, deviation, MEAN, 0.01).interval(0.95)
        determined += int(found.determined[0])
        hits += int(found.low[0] <= slopes[0] * SCALE[5] / SCALE[0] <= found.high[0])
    assert determined > 0.95 * draws
    assert hits / draws > 0.93


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
