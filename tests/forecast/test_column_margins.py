"""Forecasts for columns: against the law of the noise, and against the spread of real releases."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe as dp
from dpframe.forecast import column_margins
from dpframe.forecast.column_margins import ColumnForecasts, Margin, forecast_columns
from dpframe.lattice import FloatArray

COLUMNS: list[dp.Column | dp.Category] = [
    dp.Column("age", 17, 90, unit="years", sd=13, mean=40),
    dp.Column("income", 0, 200_000, unit="EUR", sd=30_000, mean=60_000),
    dp.Column("score", -1, 1),
    dp.Column("hours", 0, 100, sd=12),
]
NAMES = [column.name for column in COLUMNS]


def centered(
    mechanism: str = "gaussian", *, neighbors: str = "add-remove", epsilon: float = 1.0, columns: Any = COLUMNS
) -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(columns=columns, neighbors=neighbors, center=True),
        budget=dp.Budget(epsilon=epsilon, delta=1e-6 if mechanism == "gaussian" else 0.0),
        steps=[
            dp.release("moment", mechanism),
            dp.derive("mean", "mean", of="moment"),
            dp.derive("covariance", "covariance", of="moment"),
        ],
    )


def adaptive(*, neighbors: str = "add-remove", columns: Any = COLUMNS) -> dp.Plan:
    """With Gaussian noise; with few columns there is no pilot, and the mean has a sum of its own."""
    return dp.covariance_plan(columns=columns, epsilon=1.0, delta=1e-6, neighbors=neighbors)


def table(columns: Sequence[Any], count: int, seed: int) -> FloatArray:
    """Rows that the assumptions hold for: normal columns that are within their ranges, somewhat correlated."""
    numbers = np.random.default_rng(seed)
    rows = 0.9 * numbers.standard_normal((count, len(columns))) + 0.44 * numbers.standard_normal((count, 1))
    cells = [
        np.clip(column.assumed[0] + column.assumed[1] * values, column.low, column.high)
        for column, values in zip(columns, rows.T / math.hypot(0.9, 0.44), strict=True)
    ]
    return np.asarray(cells).T


def margin(forecasts: ColumnForecasts, column: str, statistic: str) -> Margin:
    found = getattr(forecasts[column], statistic)
    assert isinstance(found, Margin)
    return found


def half_width(figures: NDArray[Any], confidence: float = 0.95) -> FloatArray:
    return np.asarray(np.quantile(np.abs(figures - np.median(figures, axis=0)), confidence, axis=0))


def ratios(plan: dp.Plan, count: int, releases: int) -> dict[str, FloatArray]:
    """The forecast half-widths of each column, and of each pair, of those of real releases."""
    columns: Any = plan.rows.columns
    rows, forecasts = table(columns, count, 1), forecast_columns(plan, count)
    results = [plan.run(rows, insecure_seed=seed) for seed in range(releases)]
    means, covariances = (np.array([result[forecasts.steps[name]] for result in results]) for name in ("mean", "sd"))
    in_units = forecasts.steps["mean"].endswith("in_units")
    scale = np.array([1.0 if in_units else column.half_width for column in columns])
    deviations = np.sqrt(np.einsum("nii->ni", covariances))
    pairs = np.triu_indices(len(columns), 1)
    correlations = (covariances / deviations[:, :, None] / deviations[:, None, :])[:, *pairs]
    assert forecasts.correlations is not None
    found = {
        name: np.array([margin(forecasts, column.name, name).plus_minus for column in columns])
        / (half_width(figures) * scale)
        for name, figures in (("mean", means), ("sd", deviations))
    }
    return {**found, "correlation": forecasts.correlations[pairs] / half_width(correlations)}


# -- against the law of the noise -------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_the_mean_of_a_centered_plan_follows_the_noise_law(neighbors: str) -> None:
    """The deviation of a mean m is √(s²/2 + m²s²/c²)/(cn), by the delta method; n is large.

    A half-width of 800 draws has a deviation of 3.5 percent: the limit is above four of them for each of four columns,
    and with a fixed seed; a scale that is off by 1.3 is refused.
    """
    count = 100_000
    plan = centered(neighbors=neighbors)
    forecasts = plan.explain(rows=count).columns
    assert forecasts is not None
    noise = plan.explain().statement.line("moment").noise
    constant = plan.rows.constant * plan.rows.step
    for column in COLUMNS:
        assert isinstance(column, dp.Column)
        mean = (column.assumed[0] - column.middle) / column.half_width
        deviation = math.hypot(noise["off-diagonal"], mean * noise["diagonal"] / constant) / (constant * count)
        expected = 1.96 * deviation * column.half_width
        found = margin(forecasts, column.name, "mean")
        assert expected == pytest.approx(found.plus_minus, rel=0.15)
        assert 1.3 * expected != pytest.approx(found.plus_minus, rel=0.15)
        assert abs(found.bias) < 0.15 * found.plus_minus


def test_errors_fall_with_rows_and_epsilon_and_grow_with_confidence() -> None:
    base = forecast_columns(centered(), 10_000)
    more = forecast_columns(centered(), 40_000)
    richer = forecast_columns(centered(epsilon=4.0), 10_000)
    surer = forecast_columns(centered(), 10_000, confidence=0.99)
    for name in ("mean", "sd", "correlation"):
        one = margin(base, "age", name).plus_minus
        assert 4.0 == pytest.approx(one / margin(more, "age", name).plus_minus, rel=0.1)
        assert margin(richer, "age", name).plus_minus < one / 2.5
        assert 2.576 / 1.96 == pytest.approx(margin(surer, "age", name).plus_minus / one, rel=0.15)


def test_a_billion_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same random numbers: only the table differs."""
    monkeypatch.setattr(column_margins, "DRAWS", 60)
    few, many = (margin(forecast_columns(centered(), count), "age", "mean") for count in (10**5, 10**9))
    assert 10**4 == pytest.approx(few.plus_minus / many.plus_minus, rel=0.1)


# -- against real releases --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "plan", [centered(), centered("matrix-laplace", neighbors="replace")], ids=["gaussian", "matrix-laplace"]
)
def test_forecasts_of_centered_plans_are_the_spread_of_real_releases(plan: dp.Plan) -> None:
    """80 releases: a half-width has a deviation of 11 percent, a geometric mean of four of about 6.

    The limits are five of these; a forecast that is off by a factor of two fails.
    """
    for found in ratios(plan, 4000, 80).values():
        assert math.log(1.3) > abs(np.log(found).mean())
        assert math.log(1.75) > np.abs(np.log(found)).max()


@pytest.mark.long
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("kind", ["gaussian", "matrix-laplace", "adaptive", "adaptive-wide"])
def test_forecasts_are_within_15_percent_of_the_spread_of_200_releases(kind: str, neighbors: str) -> None:
    """In the geometric mean over columns, and over pairs; each within what chance explains.

    A half-width of 200 releases has a deviation of 7 percent if noise is normal, and of 12 if a tenth of the releases
    has a radius that is far too long. The limit for each is five of them.
    """
    if kind == "adaptive-wide":
        plan = adaptive(neighbors=neighbors, columns=[dp.Column(f"x{i}", 0, 100, sd=10 + i / 2) for i in range(20)])
    else:
        plan = adaptive(neighbors=neighbors) if kind == "adaptive" else centered(kind, neighbors=neighbors)
    for found in ratios(plan, 50_000, 200).values():
        assert 0.15 > abs(np.exp(np.log(found).mean()) - 1)
        assert math.log(1.8) > np.abs(np.log(found)).max()


def test_an_adaptive_plan_beats_a_centered_one_as_in_reality(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_margins, "DRAWS", 60)
    wide, narrow = (forecast_columns(plan, 50_000) for plan in (centered("matrix-laplace"), adaptive()))
    for statistic in (
        "sd",
        "correlation",
    ):  # single columns may lose: rows that are scaled down bias some more than others
        ratios = [margin(narrow, name, statistic).error / margin(wide, name, statistic).error for name in NAMES]
        assert np.exp(np.mean(np.log(ratios))) < 0.95


# -- what is said -----------------------------------------------------------------------------------------------------


def test_the_report_states_units_confidence_and_assumptions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    columns = [*COLUMNS, dp.Category("sex", ["F", "M"])]
    told = str(centered(columns=columns).explain(rows=50_000, confidence=0.9))
    words = " ".join(told.split())
    assert "Error to expect in each column, for 50000 rows: ± holds 90 % of releases" in words
    assert {"(years)", "years", "EUR", "sex=F"} <= set(words.split())
    assert "The number of rows is private (add-remove), so this must be your own guess" in words
    assert "0 * 0.33 *" in words  # the defaults of 'score' are marked
    assert "* by default: the middle of the range, and a sixth of it." in words
    assert "correlations of about 0.2 in size" in words
    assert "no data was read" in words
    given = [dp.Column("x", 0, 1, mean=0.4, sd=0.1), dp.Column("y", 0, 1, mean=0.4, sd=0.1)]
    public = " ".join(str(centered(columns=given, neighbors="replace").explain(rows=50)).split())
    assert "The number of rows is public (replace)." in public
    assert "by default" not in public


def test_plain_data_and_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_margins, "DRAWS", 20)
    explained = centered().explain(rows=5000)
    content = json.loads(explained.to_json())["columns"]
    assert (5000, True, 0.95) == (content["rows"], content["private_rows"], content["confidence"])
    assert {"mean": "mean", "sd": "covariance", "correlation": "covariance"} == content["steps"]
    assert NAMES == [column["name"] for column in content["columns"]]
    age, score = content["columns"][0], content["columns"][2]
    assert ("years", 40.0, 13.0, []) == (age["unit"], age["assumed_mean"], age["assumed_sd"], age["by_default"])
    assert ["mean", "sd"] == score["by_default"]
    assert {"plus_minus", "bias"} == set(age["mean"]) == set(age["sd"]) == set(age["correlation"])
    assert (4, 4) == np.shape(content["correlations"])
    assert age["correlation"]["plus_minus"] in content["correlations"][0]
    assert 4 == len(content["assumptions"])
    assert explained.columns is not None
    assert age["mean"]["plus_minus"] == margin(explained.columns, "age", "mean").plus_minus
    assert json.loads(centered().explain().to_json())["columns"] is None


def test_what_a_plan_does_not_give_is_not_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_margins, "DRAWS", 20)
    only = dp.Plan(
        rows=dp.Rows(columns=COLUMNS, neighbors="replace", center=True),
        budget=dp.Budget(epsilon=1.0),
        steps=[dp.release("moment", "matrix-laplace"), dp.derive("mean", "mean", of="moment")],
    )
    age = forecast_columns(only, 1000)["age"]
    assert age.mean is not None
    assert (None, None) == (age.sd, age.correlation)
    alone = forecast_columns(centered(columns=[dp.Column("x", 0, 1)]), 1000)["x"]
    assert alone.sd is not None
    assert alone.correlation is None


def test_levels_of_one_category_are_not_correlated_with_each_other() -> None:
    """The correlation of two levels is -1: the least precise one of a column is with another column."""
    forecasts = forecast_columns(centered(columns=[dp.Category("sex", ["F", "M"]), dp.Column("x", 0, 1)]), 1000)
    assert ["sex=F", "sex=M", "x"] == list(forecasts)
    assert all(margin(forecasts, name, "correlation").plus_minus > 0.0 for name in forecasts)


def test_too_much_noise_determines_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    told = str(forecast_columns(centered(epsilon=0.01), 50))
    assert "not determined" in told


def test_wide_tables_take_fewer_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_margins, "WIDE", 1)
    assert 200 == forecast_columns(centered(), 1000).draws
    monkeypatch.setattr(column_margins, "FEWEST_DRAWS", 300)
    assert 300 == forecast_columns(centered(), 1000).draws


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [0, 1, -5, 10**13, 2.5, "50000", True, math.nan])
def test_impossible_numbers_of_rows(rows: Any) -> None:
    with pytest.raises(dp.PlanError, match="rows must be an integer from 2 to"):
        centered().explain(rows=rows)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 0.995, 95, "0.9", math.nan])
def test_impossible_confidences(confidence: Any) -> None:
    with pytest.raises(dp.PlanError, match=r"confidence must be a number from 0\.5 to 0\.99"):
        centered().explain(rows=100, confidence=confidence)


def test_plans_without_columns_means_or_covariances() -> None:
    arrays = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="replace", dim=3),
        budget=dp.Budget(epsilon=1.0),
        steps=[dp.release("moment", "matrix-laplace")],
    )
    with pytest.raises(dp.PlanError, match=r"need public ranges, dp\.Rows\(columns="):
        arrays.explain(rows=100)
    moment = dp.Plan(
        rows=dp.Rows(columns=COLUMNS, neighbors="replace"),
        budget=dp.Budget(epsilon=1.0),
        steps=[dp.release("moment", "matrix-laplace")],
    )
    with pytest.raises(dp.PlanError, match="neither a mean nor a covariance"):
        moment.explain(rows=100)


def test_an_unknown_column() -> None:
    forecasts: ColumnForecasts = forecast_columns(centered(), 100)
    with pytest.raises(dp.PlanError, match="there is no column 'aeg'; there is: age, income"):
        _ = forecasts["aeg"]
    assert 4 == len(forecasts)
