"""Plans for common tasks: what they expand to, columns by name, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import dpframe as dp
from dpframe import registry

COLUMNS = [dp.Column("age", 17, 90), dp.Column("hours", 1, 99), dp.Category("sex", ["F", "M"])]
BY_NAME: dict[str, Any] = {"age": (17, 90), "hours": (1, 99), "sex": ["F", "M"]}
STEPS: dict[Callable[..., dp.Plan], list[dp.Step]] = {
    dp.covariance_plan: [
        dp.release("covariance", "adaptive", goal="covariance"),
        dp.derive("covariance_in_units", "to-units", of="covariance"),
        dp.derive("mean_in_units", "to-units", of="covariance.mean"),
    ],
    dp.pca_plan: [
        dp.release("covariance", "adaptive", goal="components"),
        dp.derive("components", "top-subspace", of="covariance", k=3),
        dp.derive("explained_variance", "explained-variance", of="covariance", components="components"),
        dp.derive("loadings", "to-units", of="components"),
    ],
    dp.correlation_plan: [
        dp.release("covariance", "adaptive", goal="correlation"),
        dp.derive("correlation", "correlation", of="covariance"),
    ],
    partial(dp.regression_plan, target="hours"): [
        dp.release("covariance", "adaptive", goal="regression", target="hours"),
        dp.derive("model", "regression", of="covariance", target="hours"),
    ],
}
each_plan = pytest.mark.parametrize("make", STEPS, ids=lambda make: getattr(make, "__name__", "regression_plan"))


@each_plan
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_it_is_the_plan_that_one_would_write(make: Callable[..., dp.Plan], delta: float, relation: str) -> None:
    written = dp.Plan(
        rows=dp.Rows(columns=COLUMNS, neighbors=relation, person="id", contributions=2),
        budget=dp.Budget(epsilon=1.0, delta=delta),
        steps=STEPS[make],
    )
    arguments = {"epsilon": 1.0, "delta": delta, "neighbors": relation, "person": "id", "contributions": 2}
    plan = make(columns=COLUMNS, **arguments)
    assert written == plan == make(columns=BY_NAME, **arguments) == make(columns=tuple(COLUMNS), **arguments)
    assert written.content_hash == plan.content_hash
    assert plan == dp.Plan.loads(plan.dumps())
    assert 0.99 < plan.spent.epsilon <= 1.0
    assert delta == plan.budget.delta


@each_plan
def test_without_a_delta_the_guarantee_is_pure(make: Callable[..., dp.Plan]) -> None:
    plan = make(columns=BY_NAME, epsilon=0.5, neighbors="replace")
    assert dp.Budget(epsilon=0.5) == plan.budget
    assert 0.0 == plan.spent.delta
    assert dp.accountant("pure").epsilon(plan.pricing.all_losses, 0.0) <= 0.5


def test_the_number_of_components() -> None:
    plan = dp.pca_plan(columns=BY_NAME, epsilon=1.0, neighbors="replace", k=2)
    assert (4, 2) == plan.shapes["components"]
    with pytest.raises(dp.PlanError, match="step 'components': k=3 is more than the 2 coordinates of the rows"):
        dp.pca_plan(columns=COLUMNS[:2], epsilon=1.0, neighbors="replace")


def test_features_of_a_regression() -> None:
    plan = dp.regression_plan(columns=BY_NAME, target="hours", features=["sex"], epsilon=1.0, neighbors="replace")
    assert plan == dp.regression_plan(columns=COLUMNS[1:], target="hours", epsilon=1.0, neighbors="replace")
    with pytest.raises(dp.PlanError, match="features and target must be among the columns; 'wage' is not"):
        dp.regression_plan(columns=BY_NAME, target="hours", features=["wage"], epsilon=1.0, neighbors="replace")
    with pytest.raises(dp.PlanError, match="target='wage' is not a column of the rows"):
        dp.regression_plan(columns=BY_NAME, target="wage", epsilon=1.0, neighbors="replace")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"neighbors": None}, r"Rows\.neighbors must be 'add-remove' .* or 'replace' .*; none was given"),
        ({"neighbors": "remove"}, r"Rows\.neighbors must be .*; got 'remove'"),
        ({"columns": None}, "Rows needs a public bound"),
        ({"columns": []}, r"Rows\.columns must be a list of at least one dp\.Column"),
        ({"columns": {}}, r"Rows\.columns must be a list of at least one dp\.Column"),
        ({"columns": ["age"]}, r"Rows\.columns must be a list of at least one dp\.Column"),
        ({"columns": {"age": (90, 17)}}, "column 'age' must have low < high; got low=90, high=17"),
        ({"columns": {"age": (17, "x")}}, r"Column\.high must be a finite number; got 'x'"),
        ({"columns": {"sex": ["F", "F"]}}, "category 'sex' must have a list of distinct levels"),
        ({"columns": {"sex": []}}, "category 'sex' must have a list of distinct levels"),
        ({"columns": {"age": [17, 90]}}, r"columns\['age'\] must be a range, .*; got \[17, 90\]\. For levels that are"),
        ({"columns": {"age": (1, 2, 3)}}, r"columns\['age'\] must be a range"),
        ({"columns": {"age": dp.Column("age", 17, 90)}}, r"columns\['age'\] must be a range"),
        ({"columns": {7: (0, 1)}}, r"Column\.name must be"),
        ({"person": "age"}, r"Rows\.person='age' is one of Rows\.columns"),
        ({"contributions": 0}, r"Rows\.contributions must be a positive integer; got 0"),
        ({"epsilon": 0.0}, r"Plan\.budget must have epsilon above 0"),
        ({"epsilon": "1"}, r"Budget\.epsilon must be"),
        ({"delta": 2.0}, r"Budget\.delta must be"),
    ],
    ids=str,
)
@each_plan
def test_what_is_refused(make: Callable[..., dp.Plan], changes: dict[str, Any], message: str) -> None:
    arguments = {"columns": BY_NAME, "epsilon": 1.0, "delta": 1e-6, "neighbors": "add-remove", **changes}
    with pytest.raises(dp.PlanError, match=message):
        make(**arguments)


@each_plan
def test_a_missing_plugin_is_named(make: Callable[..., dp.Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPFRAME_DISABLE_PLUGINS", "dpframe-adaptive")
    monkeypatch.setattr(registry, "_registry", registry.Registry())
    with pytest.raises(dp.PluginError, match=r"needs the recipe 'adaptive': install dpframe-adaptive\.") as caught:
        make(columns=BY_NAME, epsilon=1.0, neighbors="add-remove")
    assert "Not in use: dpframe-adaptive (named in DPFRAME_DISABLE_PLUGINS)" in str(caught.value)
