"""Plans as measurements of OpenDP: their maps are the plan's guarantee, and every invocation is a run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as opendp
import pytest

import dpframe.plugin as dp
from dpframe_opendp import as_measurement
from dpframe_opendp.plans import group_privacy, steps_between

X = np.random.default_rng(4).standard_normal((400, 3)) / 2


@pytest.fixture(autouse=True)
def consent() -> Iterator[None]:
    from opendp import mod

    before = set(mod.GLOBAL_FEATURES)
    opendp.enable_features("contrib", "honest-but-curious")
    yield
    mod.disable_features(*(set(mod.GLOBAL_FEATURES) - before))


def plan(neighbors: str = "replace", delta: float = 1e-6, mechanism: str = "gaussian", **rows: Any) -> dp.Plan:
    promise = {"norm": 1.0, "dim": 3} | rows
    return dp.Plan(
        rows=dp.Rows(neighbors=neighbors, **promise),
        budget=dp.Budget(epsilon=0.5, delta=delta),
        steps=[dp.release("moment", mechanism), dp.derive("top", "top-subspace", of="moment", k=1)],
    )


@pytest.mark.parametrize(("neighbors", "metric"), [("add-remove", "Symmetric"), ("replace", "ChangeOne")])
def test_the_map_is_the_guarantee_of_the_plan(neighbors: str, metric: str) -> None:
    approximate = plan(neighbors)
    made = as_measurement(approximate)
    assert f"{metric}Distance()" == str(made.input_metric)
    assert (approximate.spent.epsilon, 1e-6) == made.map(1)
    assert made.check(1, (0.5, 1e-6))
    assert not made.check(1, (0.49, 1e-6))
    pure = plan(neighbors, delta=0.0, mechanism="matrix-laplace")
    assert "MaxDivergence" == str(as_measurement(pure).output_measure)
    assert pure.spent.epsilon == as_measurement(pure).map(1)


def test_a_mechanism_of_opendp_in_a_plan_in_a_measurement_has_the_same_map_as_in_opendp() -> None:
    """There and back: zCDP of the measurement, as (epsilon, delta) by OpenDP and by the plan."""
    inner = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="replace", dim=3),
        budget=dp.Budget(epsilon=0.5, delta=1e-6),
        steps=[dp.release("moment", "opendp-gaussian", neighbors="replace")],
        accountant="zcdp",
    )
    (step, mechanism), *_ = inner.releases
    level = inner.pricing.levels[step.name]
    assert hasattr(mechanism, "measurement")
    theirs = opendp.c.make_zCDP_to_approxDP(mechanism.measurement(mechanism.scale(inner.rows, level)))  # type: ignore[attr-defined]
    moved = math.sqrt(dp.Moment().sensitivity(inner.rows)["moment"].l2_squared)
    epsilon, delta = as_measurement(inner).map(1)
    assert theirs.map(moved).epsilon(delta) == pytest.approx(epsilon, rel=1e-4)


def test_an_invocation_is_a_run_that_is_charged(tmp_path: Path) -> None:
    ledger = dp.Ledger.create(tmp_path / "ledger.db")
    ledger.add("clinic", budget=dp.Budget(epsilon=2.0, delta=1e-5), neighbors="replace")
    made = as_measurement(plan(), ledger=ledger, dataset="clinic")
    result = made(X)
    assert isinstance(result, dp.Result)
    assert made.map(1)[0] >= plan().budget.epsilon >= result.spent.epsilon  # the ledger's accountant scales the plan
    assert result.charge is not None
    assert "clinic" == result.charge.dataset
    first = (made >> (lambda released: float(released["top"][0, 0])))(X)
    assert -1.0 <= first <= 1.0


def test_plans_compose_in_opendp() -> None:
    one, other = as_measurement(plan()), as_measurement(plan(delta=1e-7))
    both = opendp.c.make_composition([one, other])
    epsilon, delta = both.map(1)
    assert (1.0, 1.1e-6) == pytest.approx((epsilon, delta), rel=1e-9)
    assert [dp.Result, dp.Result] == [type(value) for value in both(X)]


def test_steps_between_data_sets_are_counted_one_by_one() -> None:
    for rows, add_remove, distance in itertools.product((1, 2, 3, 5), (False, True), range(14)):
        counted = -(-distance // rows)
        if add_remove:  # some are added, the others removed
            counted = max(-(-added // rows) + -(-(distance - added) // rows) for added in range(distance + 1))
        assert counted == steps_between(distance, rows, add_remove)


def test_distances_of_several_people_cost_what_a_group_does() -> None:
    assert (0.0, 0.0) == as_measurement(plan()).map(0)
    made = as_measurement(plan(contributions=2))
    assert made.map(1) == made.map(2)
    assert 3 == steps_between(5, 2, False)
    epsilon, delta = made.map(5)
    expected = 1e-6 * (1 + math.exp(0.5) + math.exp(1.0))
    assert (1.5, expected) == pytest.approx((epsilon, delta), rel=1e-9)
    assert delta > expected
    assert 1.0 == as_measurement(plan()).map(10_000)[1]
    assert 0.0 == group_privacy(0.5, 0.0, 3)[1]


def test_the_numerical_slack_is_part_of_delta() -> None:
    floating = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="replace", dim=3),
        budget=dp.Budget(epsilon=0.5, delta=1e-6),
        steps=[dp.release("frame", "spiked-block", rank=1, shares=(0.25, 0.25, 0.5), radii=(1.0, 0.5))],
    )
    slack = sum(line.slack or 0.0 for line in floating.explain().statement.lines)
    assert as_measurement(floating).map(1)[1] >= 1e-6 + slack


def test_plans_that_opendp_cannot_express_are_refused() -> None:
    columns = [dp.Column("a", 0.0, 1.0)]
    with pytest.raises(dp.PlanError, match="count rows, not people"):
        as_measurement(plan(columns=columns, person="id", norm=None, dim=None))
    model = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="replace", dim=3),
        budget=dp.Budget(epsilon=0.5, delta=1e-6),
        steps=[dp.release("value", "spiked", rank=1, n=50, spike=4.0, noise=1.0)],
        accept=[dp.model("spiked-covariance")],
    )
    with pytest.raises(dp.PlanError, match="rests on a model"):
        as_measurement(model)


def test_opendp_asks_for_consent_by_itself() -> None:
    opendp.disable_features("honest-but-curious")
    with pytest.raises(opendp.OpenDPException, match="honest-but-curious"):
        as_measurement(plan())
