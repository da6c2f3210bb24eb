"""The numerical slack of a plan follows from the guarantee that is stated for all of it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.plan.slack import LARGEST, slack
from tests.support.mechanisms import Floating, registered

PURE = dp.Budget(epsilon=8.0)


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    with registered(Floating):
        yield


def plan(count: int, *, budget: dp.Budget = PURE, dim: int | None = 2, error: float = 1e-10) -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="replace", dim=dim),
        budget=budget,
        steps=[dp.release(f"s{number}", "test-floating", error=error) for number in range(count)],
    )


@pytest.mark.parametrize("budget", [PURE, dp.Budget(epsilon=8.0, delta=1e-6)], ids=str)
def test_each_release_is_multiplied_by_the_epsilon_of_the_whole_plan(budget: dp.Budget) -> None:
    """Forty releases: with a delta each has a level of about 1, and without one of 0.2, but all have epsilon = 8."""
    told = plan(40, budget=budget, error=1e-11).explain().statement
    factor = 1 + math.exp(8.0)
    assert [line.slack for line in told.lines] == pytest.approx([2e-11 * factor] * 40)
    total = 40 * 2e-11 * factor
    assert f"with a numerical slack of about {total:.1e} in delta" in told.strength


def test_the_limit_is_on_the_plan_and_not_on_a_step() -> None:
    one = 2e-10 * (1 + math.exp(8.0))
    most = int(LARGEST / one)
    assert plan(most).spent.epsilon <= 8.0
    with pytest.raises(dp.PlanError, match=r"'s0', .* numerical slack of 1.0e-05 in delta, more than 1e-05"):
        plan(most + 1)
    assert plan(most + 1, budget=dp.Budget(epsilon=7.0)).spent.epsilon <= 7.0


def test_a_plan_is_refused_before_the_charge_once_its_dimension_is_known() -> None:
    unbound = plan(1, dim=None, error=1e-9)
    assert unbound.explain().statement.line("s0").slack is None
    with pytest.raises(dp.PlanError, match=r"numerical slack of .* Nothing was charged"):
        unbound.run(np.zeros((3, 4)))


def test_the_bound_of_the_slack_holds_for_every_pair_of_laws() -> None:
    """Two laws with log-likelihood ratios within epsilon, each moved by tau the worst way, are told apart no better."""
    rng = np.random.default_rng(3)
    for epsilon in (0.1, 1.0, 4.0):
        for _ in range(50):
            q = rng.dirichlet(np.ones(4))
            p = q * np.exp(rng.uniform(-epsilon / 2, epsilon / 2, 4))
            p /= p.sum()
            tau = float(rng.uniform(0.0, 0.5) * min(p.min(), q.min()))
            moved_p, moved_q = p.copy(), q.copy()
            moved_p[0], moved_p[1] = p[0] + tau, p[1] - tau
            moved_q[0], moved_q[1] = q[0] - tau, q[1] + tau
            delta = float(np.maximum(moved_p - np.exp(epsilon) * moved_q, 0.0).sum())
            assert delta <= slack(epsilon, tau) * (1 + 1e-12)


@pytest.mark.parametrize("error", [math.nan, math.inf, -1e-9, 0.7])
def test_a_law_error_that_is_no_distance_is_refused(error: float) -> None:
    with pytest.raises(dp.PlanError, match="step 's0': the law error of 'test-floating' must be from 0 to 1"):
        plan(1, error=error)


def test_slack_is_at_most_one() -> None:
    assert 1.0 == slack(1e5, 1e-300)
    assert 0.0 == slack(1e5, 0.0)
