"""The passes over the data, and a price that is computed once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.plan import plan as plan_module
from dpframe.plan.pricing import priced

BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
DATA = np.random.default_rng(0).standard_normal((50, 3))


def plan(rows: dp.Rows, *steps: dp.Step) -> dp.Plan:
    return dp.Plan(rows=rows, budget=BUDGET, steps=steps)


TWO_PASSES = plan(
    dp.Rows(norm=dp.ref("radius"), neighbors="add-remove"),
    dp.derive("public", "eigenvalues", of=[[1.0, 0.0], [0.0, 2.0]]),
    dp.release("radius", "private-quantile", quantile=0.9, high=4.0),
    dp.release("moment", "gaussian"),
    dp.derive("values", "eigenvalues", of="moment"),
)


def test_each_step_is_due_after_the_pass_it_needs() -> None:
    found = {due.number: [step.name for step in due.steps] for due in TWO_PASSES.schedule()}
    assert {0: ["public"], 1: ["radius"], 2: ["moment", "values"]} == found
    assert {"public": 0, "radius": 1, "moment": 2, "values": 2} == TWO_PASSES.passes


def test_a_statistic_is_read_once_for_all_steps() -> None:
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=2)
    (due,) = plan(rows, dp.release("a", "gaussian"), dp.release("b", "gaussian")).schedule()
    assert (dp.Moment(),) == due.statistics(rows, {})


@pytest.fixture
def prices(monkeypatch: pytest.MonkeyPatch) -> list[dp.Plan]:
    """Every plan that is priced."""
    found: list[dp.Plan] = []

    def watched(subject: dp.Plan) -> Any:
        found.append(subject)
        return priced(subject)

    monkeypatch.setattr(plan_module, "priced", watched)
    return found


def test_a_plan_is_priced_when_it_is_built_and_not_again_by_a_run(prices: list[dp.Plan]) -> None:
    built = plan(dp.Rows(norm=1.0, neighbors="add-remove"), dp.release("moment", "gaussian"))
    assert 1 == len(prices)
    built.run(DATA)
    assert 1 == len(prices)
    bound = built.bind(3)
    assert (bound.pricing, bound) == (built.pricing, plan(bound.rows, *built.declared))


def test_a_run_against_a_ledger_is_priced_once(prices: list[dp.Plan], tmp_path: Path) -> None:
    ledger = dp.Ledger.create(tmp_path / "budget.db")
    ledger.add("clinic", budget=dp.Budget(epsilon=3.0, delta=1e-6), neighbors="add-remove")
    built = plan(dp.Rows(norm=1.0, neighbors="add-remove"), dp.release("moment", "gaussian"))
    prices.clear()
    built.run(DATA, ledger=ledger, dataset="clinic")
    assert 1 == len(prices)  # by the accountant of the data set


def test_a_released_norm_is_no_reason_to_price_again(prices: list[dp.Plan]) -> None:
    TWO_PASSES.run(DATA)
    assert [] == prices


@attrs.frozen(kw_only=True)
class PricedByDimension(dp.Mechanism):
    """Its loss grows with the dimension, which is not known at first."""

    name = "priced-by-dimension"
    unit = "epsilon"
    gives = dp.Scalar

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Pure(epsilon=level * (rows.dim or 1))

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        return dp.Scalar(level)


def test_a_loss_that_depends_on_the_dimension_is_priced_again() -> None:
    dp.register(PricedByDimension)
    try:
        built = plan(dp.Rows(norm=1.0, neighbors="add-remove"), dp.release("level", "priced-by-dimension"))
        bound = built.bind(4)
    finally:
        dp.unregister(PricedByDimension)
    assert built.pricing.levels["level"] == pytest.approx(4 * bound.pricing.levels["level"])
    assert bound.spent.epsilon <= BUDGET.epsilon
    assert bound.pricing.losses == {"level": (dp.losses.Pure(epsilon=4 * bound.pricing.levels["level"]),)}


@attrs.frozen(kw_only=True)
class NeedsRoom(dp.PostProcessor):
    """A third party's step, of which no error can be forecast in few dimensions."""

    name = "needs-room"
    gives = dp.Scalar
    of: Any = dp.input(dp.SymmetricMatrix)

    def apply(self) -> dp.Kind:
        return dp.Scalar(0.0)

    def check_forecast(self, dim: int) -> None:
        if dim < 5:
            raise dp.PlanError("no forecast below five coordinates.")


def test_any_post_processor_may_refuse_a_forecast() -> None:
    dp.register(NeedsRoom)
    try:
        rows = dp.Rows(norm=1.0, neighbors="add-remove")
        built = plan(rows, dp.release("moment", "gaussian"), dp.derive("room", "needs-room", of="moment"))
        built.explain(dim=5, spectrum=[5, 4, 3, 2, 1])
        with pytest.raises(dp.PlanError, match="step 'room': no forecast below five coordinates"):
            built.explain(dim=3, spectrum=[3, 2, 1])
    finally:
        dp.unregister(NeedsRoom)
