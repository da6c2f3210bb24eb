"""Filters: never over the budget whatever is asked, and what they state is what the accountant computes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpframe as dp
from dpframe.ledger.filters import ACCOUNTANTS, Filter, read, written
from dpframe.losses import ZCDP, BoundedRange, Gaussian, Laplace, ModelBased, PrivacyLoss, Pure
from tests.support.ledgers import plan

SIZES = st.one_of(st.floats(1e-3, 3.0), st.floats(0.0, 1e-12), st.just(1e-300), st.just(5e-324))
LOSSES: dict[str, st.SearchStrategy[PrivacyLoss]] = {
    "pure": st.builds(lambda cls, size: cls(epsilon=size), st.sampled_from([Pure, Laplace, BoundedRange]), SIZES),
    "zcdp": st.one_of(
        st.builds(lambda cls, size: cls(epsilon=size), st.sampled_from([Pure, Laplace, BoundedRange]), SIZES),
        st.builds(lambda size: Gaussian(mu=size), SIZES),
        st.builds(lambda size: ZCDP(rho=size), SIZES),
    ),
    "gdp": st.builds(lambda size: Gaussian(mu=size), SIZES),
}
each_accountant = pytest.mark.parametrize("name", ACCOUNTANTS)


@each_accountant
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_what_a_filter_lets_pass_composes_to_no_more_than_the_budget(name: str, data: st.DataObject) -> None:
    budget = dp.Budget(epsilon=data.draw(st.floats(0.01, 8.0)), delta=data.draw(st.sampled_from([1e-3, 1e-6, 1e-12])))
    asked = data.draw(st.lists(LOSSES[name], min_size=1, max_size=12))
    limit, total = Filter.of(budget, name), Fraction(0)
    passed: list[PrivacyLoss] = []
    for loss in asked:
        after = total + limit.accountant.total([loss])
        if limit.fits(after):
            total, passed = after, [*passed, loss]
    composed = dp.accountant(name).epsilon(passed, budget.delta)
    assert composed <= budget.epsilon or total <= limit.capacity  # the second: over it by rounding only
    assert composed <= budget.epsilon * (1 + 1e-11)
    assert min(composed, budget.epsilon) == limit.spent(total).epsilon
    assert not limit.fits(limit.capacity * (1 + Fraction(1, 10**9)))


@each_accountant
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_the_whole_budget_can_be_spent_at_once_and_so_can_the_rest(name: str, data: st.DataObject) -> None:
    """A plan with all of the budget fits a new data set, and one with what is said to remain fits a used one."""
    epsilon = data.draw(st.floats(0.05, 5.0))
    budget = dp.Budget(epsilon=epsilon, delta=1e-6)
    limit = Filter.of(budget, name)
    step = dp.release("spectrum", "laplace-eigenvalues", k=2) if name == "pure" else dp.release("moment", "gaussian")

    def cost(epsilon: float) -> Fraction:
        return limit.accountant.total(plan(epsilon, step, accountant=name).pricing.all_losses)

    assert budget == limit.remaining(Fraction(0))
    assert limit.fits(cost(epsilon))
    first = cost(epsilon * data.draw(st.floats(0.1, 0.9)))
    rest = limit.remaining(first)
    if rest.epsilon > 0.0:
        assert limit.fits(first + cost(rest.epsilon))
        assert not limit.fits(first + cost(rest.epsilon * 1.001))


def test_the_capacity_meets_the_budget_from_below() -> None:
    for name in ACCOUNTANTS:
        limit = Filter.of(dp.Budget(epsilon=1.0, delta=1e-6), name)
        reached = limit.accountant.epsilon_of(limit.capacity, 1e-6)
        assert 1.0 - 1e-11 < reached <= 1.0


@pytest.mark.parametrize(
    ("budget", "accountant", "message"),
    [
        (dp.Budget(epsilon=1.0), "gdp", "'gdp' needs delta above 0"),
        (dp.Budget(epsilon=1.0), "zcdp", "'zcdp' needs delta above 0"),
        (dp.Budget(epsilon=1.0, delta=1e-6), "pld", "one of 'pure', 'zcdp', 'gdp'; got 'pld'"),
        (dp.Budget(epsilon=1.0, delta=1e-6), "auto", "got 'auto'"),
        (dp.Budget(epsilon=0.0, delta=1e-6), "zcdp", "epsilon above 0"),
    ],
)
def test_terms_without_a_proved_filter_are_refused(budget: dp.Budget, accountant: str, message: str) -> None:
    with pytest.raises(dp.PlanError, match=message):
        Filter.of(budget, accountant)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-9, 999_999.0])
@each_accountant
def test_extreme_budgets_have_a_filter(name: str, epsilon: float) -> None:
    limit = Filter.of(dp.Budget(epsilon=epsilon, delta=1e-9), name)
    assert limit.fits(limit.capacity)
    assert not limit.fits(limit.capacity * 2 + 1)


@pytest.mark.parametrize(
    "loss",
    [
        Gaussian(mu=0.1),
        Laplace(epsilon=1e-300),
        Pure(epsilon=0.3),
        ModelBased(loss=ZCDP(rho=0.1), model="spiked", failure="0.01"),
    ],
)
def test_losses_are_written_and_read_back(loss: PrivacyLoss) -> None:
    assert loss == read(written(loss, ACCOUNTANTS["zcdp"]))


def test_a_loss_of_a_third_party_is_written_as_what_it_implies() -> None:
    @attrs.frozen(kw_only=True)
    class Theirs(PrivacyLoss):
        size: float

        def implies(self) -> tuple[PrivacyLoss, ...]:
            return (Pure(epsilon=self.size), ZCDP(rho=self.size**2))

    found: Any = read(written(Theirs(size=0.5), ACCOUNTANTS["zcdp"]))
    assert ZCDP(rho=0.25) == found


def test_a_loss_that_costs_less_than_the_one_it_derives_from_is_written_as_what_it_implies() -> None:
    @attrs.frozen(kw_only=True)
    class Truncated(Laplace):
        def implies(self) -> tuple[PrivacyLoss, ...]:
            return (ZCDP(rho=self.epsilon**2 / 8),)

    found: Any = read(written(Truncated(epsilon=0.5), ACCOUNTANTS["zcdp"]))
    assert ZCDP(rho=0.03125) == found


@each_accountant
def test_a_loss_that_cannot_be_composed_is_refused_by_name(name: str) -> None:
    with pytest.raises(dp.PlanError, match=f"'{name}' cannot compose a ModelBased loss"):
        dp.accountant(name).epsilon([ModelBased(loss=Pure(epsilon=1), model="any", failure="0.1")], delta=1e-6)
