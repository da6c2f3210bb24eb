"""The smallest budget and the fewest rows that meet targets for columns."""

from __future__ import annotations

import math
from typing import Any

import attrs
import pytest

import dpframe as dp
from dpframe.forecast import column_margins
from dpframe.forecast.column_margins import forecast_columns
from dpframe.forecast.column_target import SPARE, smallest


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is the same with fewer simulated releases, and so is what it is checked by."""
    monkeypatch.setattr(column_margins, "DRAWS", 60)


def plan(**changes: Any) -> dp.Plan:
    given: dict[str, Any] = {
        "rows": dp.Rows(
            columns=[dp.Column("age", 17, 90, sd=13), dp.Column("income", 0, 200_000), dp.Category("sex", ["F", "M"])],
            neighbors="add-remove",
            center=True,
        ),
        "budget": dp.Budget(epsilon=1.0, delta=1e-6),
        "steps": [
            dp.release("moment", "gaussian"),
            dp.derive("mean", "mean", of="moment"),
            dp.derive("covariance", "covariance", of="moment"),
        ],
        **changes,
    }
    return dp.Plan(**given)


def errors(built: dp.Plan, rows: int, confidence: float = 0.95) -> dict[str, float]:
    age = forecast_columns(built, rows, confidence=confidence)["age"]
    return {name: getattr(age, name).error for name in ("mean", "sd", "correlation")}


def test_require_meets_the_target_and_not_much_more() -> None:
    found = plan().require(mean={"age": 0.5}, rows=2000)
    assert 1e-6 == found.budget.delta
    assert 0.5 / SPARE <= errors(found, 2000)["mean"] <= 0.5
    surer = plan().require(mean={"age": 0.5}, rows=2000, confidence=0.99)
    assert surer.budget.epsilon > 1.15 * found.budget.epsilon
    assert 0.5 / SPARE <= errors(surer, 2000, 0.99)["mean"] <= 0.5


def test_the_most_demanding_of_several_targets_counts() -> None:
    found = plan().require(mean={"age": 5.0, "sex=F": 0.5}, sd={"age": 0.8}, correlation=0.4, rows=2000)
    reached = errors(found, 2000)
    assert reached["mean"] < 1.0
    assert 0.8 / SPARE <= reached["sd"] <= 0.8
    assert found == plan().require(sd={"age": 0.8}, rows=2000)


def test_correlations_of_all_columns_or_of_one() -> None:
    everywhere, one = (plan().require(correlation=wanted, rows=2000) for wanted in (0.1, {"age": 0.1}))
    assert one.budget.epsilon <= everywhere.budget.epsilon
    assert errors(one, 2000)["correlation"] <= 0.1


def test_required_rows_meet_the_target_and_are_not_many_more() -> None:
    found = plan().required_rows(mean={"age": 0.4})
    assert 0.4 / SPARE <= errors(plan(), found)["mean"] <= 0.4
    assert found == pytest.approx(10 * plan().required_rows(mean={"age": 4.0}), rel=0.15)


def test_rows_may_be_those_of_the_scenario() -> None:
    assumed = plan(scenario=dp.Scenario(dim=4, n=2000))
    assert plan().require(mean={"age": 1.0}, rows=2000).budget == assumed.require(mean={"age": 1.0}).budget
    with pytest.raises(dp.PlanError, match="source='true'"):
        plan().require(mean={"age": 1.0}, scenario=dp.Scenario(dim=4, n=2000, source="true"))


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"mean": 0.5}, "mean= takes a target for each column, in its own units: mean={'age': ...}; got 0.5."),
        ({"mean": {}}, "mean= takes a target for each column"),
        ({"mean": {"aeg": 1.0}}, "mean= names 'aeg', which is no column; there is: age, income, sex=F, sex=M."),
        ({"mean": {"sex": 0.1}}, "mean= names 'sex', which is no column"),
        ({"sd": {"age": 0}}, "sd= of 'age' must be a number above 0; got 0."),
        ({"sd": {"age": math.nan}}, "sd= of 'age' must be a number above 0"),
        ({"correlation": "small"}, "correlation= of 'age' must be a number above 0; got 'small'."),
        ({"mean": {"age": 1.0}, "frobenius": 3}, "do not go with frobenius="),
        ({"mean": {"age": 1.0}, "step": "mean"}, "do not go with step="),
        ({"mean": {"age": 1.0}, "rows": 1}, "rows must be an integer from 2"),
        ({"mean": {"age": 1.0}, "confidence": 2}, "confidence must be a number from 0.5"),
        (
            {"mean": {"age": 1e-12}, "rows": 50},
            "no epsilon up to 1000 meets mean of 'age' within 1e-12, with confidence",
        ),
    ],
)
def test_impossible_targets(wanted: dict[str, Any], words: str) -> None:
    with pytest.raises(dp.PlanError) as caught:
        plan().require(**{"rows": 2000, **wanted})
    assert words in str(caught.value)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(dp.PlanError, match="need the assumed number of rows: rows="):
        plan().require(mean={"age": 1.0})
    arrays = plan(rows=dp.Rows(norm=1.0, neighbors="replace", dim=2), steps=[dp.release("moment", "gaussian")])
    with pytest.raises(dp.PlanError, match="need public ranges"):
        arrays.require(mean={"age": 1.0}, rows=100)
    without = attrs.evolve(plan(), steps=plan().declared[:2])
    with pytest.raises(dp.PlanError, match="sd= needs a covariance"):
        without.require(sd={"age": 1.0}, rows=100)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("start", [0.01, 1.0, 300.0])
def test_the_search_ends_close_to_the_smallest(power: float, start: float) -> None:
    trials: list[float] = []

    def error(number: float) -> float:
        trials.append(number)
        return float((7.0 / number) ** power)

    found = smallest(error, start, 1e-4, 1e3)
    assert found is not None
    assert 7.0 <= found <= 7.0 * SPARE ** (1 / power) * 1.0001
    assert len(trials) < 20


def test_the_search_ends_at_jumps_and_limits() -> None:
    found = smallest(lambda number: 0.01 if number >= 5.0 else 2.0, 1.0, 1e-4, 1e3)
    assert found is not None
    assert 5.0 <= found <= 5.0 * SPARE
    assert 1e-4 == smallest(lambda number: 0.1, 1.0, 1e-4, 1e3)
    assert smallest(lambda number: 2.0, 1.0, 1e-4, 1e3) is None
    assert smallest(lambda number: math.inf if number < 30.0 else 20 / number, 1.0, 1e-4, 1e3) == pytest.approx(
        30.0, rel=SPARE - 1
    )
