"""Covariance, components, correlations and regression in one call: the same as the plan, run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe as dp
from dpframe.kinds import LinearModel
from dpframe.run import one_call
from tests.support.ledgers import NAME, kinds, make

COLUMNS: dict[str, Any] = {"age": (17, 90), "hours": (1, 99), "income": (0, 1e6), "sex": ["F", "M"]}
CALLS: dict[str, tuple[Callable[..., dp.Result], Callable[..., dp.Plan]]] = {
    "covariance": (dp.covariance, dp.covariance_plan),
    "pca": (dp.pca, dp.pca_plan),
    "correlation": (dp.correlation, dp.correlation_plan),
    "regression": (dp.regression, dp.regression_plan),
}
OWN: dict[str, dict[str, Any]] = {"regression": {"target": "age"}}
"""Arguments that a call needs beside those of all."""

each_call = pytest.mark.parametrize("name", CALLS)


def table(count: int) -> dict[str, Any]:
    random = np.random.default_rng(3)
    age = random.normal(40.0, 6.0, count)
    return {
        "age": age,
        "hours": 0.8 * age + random.normal(20.0, 5.0, count),
        "income": random.gamma(4.0, 10_000.0, count),
        "sex": random.choice(["F", "M"], count),
        "id": np.arange(count) // 2,
    }


@each_call
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_it_is_the_plan_run_once(name: str, delta: float) -> None:
    call, plan = CALLS[name]
    promise = {"columns": COLUMNS, "epsilon": 2.0, "delta": delta, "neighbors": "add-remove", "person": "id"}
    promise |= OWN.get(name, {})
    made, data = plan(**promise), table(500)
    result, expected = call(data, **promise, insecure_seed=5), made.run(data, insecure_seed=5)
    assert list(expected) == list(result)
    for step in expected:
        assert np.array_equal(expected[step], result[step]), step
    assert made.content_hash == result.statement.plan
    assert made.spent == result.spent
    assert not result.private
    assert call(data, **promise).private


@each_call
def test_every_argument_of_the_plan_and_of_its_run_is_passed_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call, plan = CALLS[name]
    of_plan = inspect.signature(plan).parameters
    of_run = {key: each for key, each in inspect.signature(dp.Plan.run).parameters.items() if key != "self"}
    taken = inspect.signature(call).parameters
    assert {*of_plan, *of_run} == set(taken)
    for key, each in {**of_plan, **of_run}.items():
        assert (each.default, each.annotation) == (taken[key].default, taken[key].annotation), key
    assert ["data"] == [key for key, each in taken.items() if each.kind is not inspect.Parameter.KEYWORD_ONLY]

    passed: dict[str, Any] = {}

    class Recorded:
        def run(self, data: Any, **arguments: Any) -> str:
            passed.update(arguments, data=data)
            return "the result"

    def recorded(**arguments: Any) -> Recorded:
        passed.update(arguments)
        return Recorded()

    monkeypatch.setattr(one_call, plan.__name__, recorded)
    given = {key: object() for key in taken}
    assert "the result" == call(given["data"], **{key: each for key, each in given.items() if key != "data"})  # type: ignore[comparison-overlap]
    assert given == passed


def test_values_are_near_the_truth_and_in_units() -> None:
    data = table(40_000)
    given: dict[str, Any] = {"columns": COLUMNS, "epsilon": 20.0, "neighbors": "replace", "insecure_seed": 1}
    numbers = np.stack([data["age"], data["hours"], data["income"]])
    covariance = dp.covariance(data, **given)
    assert numbers.mean(axis=1) == pytest.approx(covariance["mean_in_units"][:3], rel=0.02)
    assert np.cov(numbers)[:2, :2] == pytest.approx(covariance["covariance_in_units"][:2, :2], rel=0.1)
    assert 40_000 == pytest.approx(float(covariance["covariance.count"]), rel=0.01)
    assert ("age", "hours", "income", "sex=F", "sex=M") == covariance.record("covariance_in_units").columns

    correlation = dp.correlation(data, **given)
    assert np.corrcoef(numbers)[0, 1] == pytest.approx(correlation["correlation"][0, 1], abs=0.05)

    regression = dp.regression(data, target="hours", features=["age", "income"], **given).record("model").value
    assert isinstance(regression, LinearModel)
    design = np.column_stack([data["age"], data["income"], np.ones(40_000)])
    found = np.linalg.lstsq(design, data["hours"], rcond=None)[0]
    assert found[0] == pytest.approx(regression.slopes[0], rel=0.05)
    assert found[2] == pytest.approx(regression.intercept, rel=0.05)
    assert np.corrcoef(numbers)[0, 1] ** 2 == pytest.approx(regression.r_squared, abs=0.05)

    components = dp.pca(data, k=2, **given)
    mapped = np.column_stack([(numbers[0] - 53.5) / 36.5, (numbers[1] - 50) / 49, numbers[2] / 5e5 - 1])
    mapped = np.column_stack([mapped, data["sex"] == "F", data["sex"] == "M"])
    values, vectors = np.linalg.eigh(np.cov(mapped, rowvar=False))
    overlap = np.linalg.svd(vectors[:, -2:].T @ components["components"])[1]
    assert overlap.min() > 0.99
    assert values[:-3:-1] / values.sum() == pytest.approx(components["explained_variance"], abs=0.03)
    assert components["loadings"][:, 0] / components["components"][:, 0] == pytest.approx([36.5, 49, 5e5, 1, 1])


@each_call
def test_a_run_is_charged_to_a_ledger(name: str, tmp_path: Path) -> None:
    call, plan = CALLS[name]
    ledger = make(tmp_path / "ledger.db")
    promise = {"columns": COLUMNS, "epsilon": 0.5, "delta": 1e-7, "neighbors": "add-remove", **OWN.get(name, {})}
    result = call(table(100), **promise, ledger=ledger, dataset=NAME, note="a first look")
    assert result.charge is not None
    assert NAME == result.charge.dataset
    assert plan(**promise).content_hash == result.statement.plan
    assert "a first look" == ledger.history()[2].content["details"]["note"]
    with pytest.raises(dp.BudgetExceeded, match="Nothing was charged"):
        call(table(100), **{**promise, "epsilon": 5.0}, ledger=ledger, dataset=NAME)


class Untouched:
    """Data that nobody may look at."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} of the data was looked at")


@each_call
def test_a_plan_that_is_refused_has_not_looked_at_the_data(name: str, tmp_path: Path) -> None:
    call, _ = CALLS[name]
    ledger = make(tmp_path / "ledger.db")
    given: dict[str, Any] = {"columns": COLUMNS, "epsilon": 0.5, "ledger": ledger, "dataset": NAME}
    given |= OWN.get(name, {})
    for changes, message in (
        ({}, "none was given"),
        ({"neighbors": "add-remove", "columns": {"age": [17, 90]}}, "must be a range"),
        ({"neighbors": "add-remove", "epsilon": 0.0}, "epsilon above 0"),
    ):
        with pytest.raises(dp.PlanError, match=message):
            call(Untouched(), **{**given, **changes})
    assert [] == kinds(ledger)


@each_call
def test_data_that_does_not_fit_is_refused_before_the_charge(name: str, tmp_path: Path) -> None:
    call, _ = CALLS[name]
    ledger = make(tmp_path / "ledger.db")
    promise = {"epsilon": 0.5, "delta": 1e-7, "neighbors": "add-remove", "ledger": ledger, "dataset": NAME}
    promise |= OWN.get(name, {})
    with pytest.raises(dp.DataError, match="'weight'"):
        call(
            table(100), columns={"age": (17, 90), "weight": (0, 200)}, **({"k": 1} if name == "pca" else {}), **promise
        )
    with pytest.raises(dp.DataError, match=r"can be read only once\. Nothing was charged"):
        call(iter([table(50), table(50)]), columns=COLUMNS, **promise)
    assert [] == kinds(ledger)


def test_progress_is_reported() -> None:
    seen: list[dp.Progress] = []
    dp.correlation(table(100), columns=COLUMNS, epsilon=1.0, neighbors="replace", progress=seen.append)
    assert seen
