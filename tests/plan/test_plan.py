"""Plans: checked and priced when built, frozen, explained without data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

import dpframe.plugin as dp
from tests.support.mechanisms import Failing, NoisySignal, NoisyTrace, TwoRounds, registered

ROWS = dp.Rows(norm=1.0, neighbors="add-remove")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
RELATIONS = ("add-remove", "replace")


@pytest.fixture(autouse=True)
def _third_parties() -> Iterator[None]:
    with registered(NoisyTrace, NoisySignal, Failing, TwoRounds):
        yield


def plan(*steps: dp.Step, budget: dp.Budget = BUDGET, rows: dp.Rows = ROWS, accountant: str = "auto") -> dp.Plan:
    return dp.Plan(rows=rows, budget=budget, steps=list(steps), accountant=accountant)


def test_one_gaussian_spends_the_budget_from_below() -> None:
    one = plan(dp.release("moment", "gaussian"))
    assert 1 / 4.224679 == pytest.approx(one.pricing.levels["moment"], rel=1e-6)
    assert 1.0 - 1e-9 < one.spent.epsilon <= 1.0


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("noise", ["goe", "triangular", "paper"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_stated_epsilon_is_what_the_accountant_computes(relation: str, noise: str, epsilon: float) -> None:
    budget = dp.Budget(epsilon=epsilon, delta=1e-6)
    rows = dp.Rows(norm=2.0, neighbors=relation)
    stated = plan(
        dp.release("a", "gaussian", noise=noise), dp.release("b", "gaussian", weight=2), budget=budget, rows=rows
    )
    losses = [dp.losses.Gaussian(mu=level) for level in stated.pricing.levels.values()]
    assert losses == [mechanism.loss(rows, stated.pricing.levels[step.name]) for step, mechanism in stated.releases]
    assert stated.pricing.all_losses == tuple(losses)
    assert dp.accountant("gdp").epsilon(losses, 1e-6) == stated.spent.epsilon
    explanation = stated.explain(dim=4).statement
    assert stated.spent == explanation.spent
    assert stated.spent.epsilon == explanation.lines[-1].epsilon_so_far
    alone = dp.accountant("gdp").epsilon(losses[:1], 1e-6)
    assert alone == explanation.line("a").epsilon_alone == explanation.line("a").epsilon_so_far


def test_weights_share_levels_and_fixed_levels_come_first() -> None:
    shared = plan(dp.release("a", "gaussian", weight=1), dp.release("b", "gaussian", weight=3))
    assert 3.0 == pytest.approx(shared.pricing.levels["b"] / shared.pricing.levels["a"], rel=1e-12)
    fixed = plan(dp.release("a", "gaussian", level=0.1), dp.release("b", "gaussian"))
    assert 0.1 == fixed.pricing.levels["a"]
    alone = plan(dp.release("b", "gaussian")).pricing.levels["b"]
    assert alone**2 == pytest.approx(0.1**2 + fixed.pricing.levels["b"] ** 2, rel=1e-9)


def test_without_a_free_step_the_budget_is_a_cap() -> None:
    small = plan(dp.release("a", "gaussian", level=0.01))
    assert small.spent.epsilon < 0.1
    with pytest.raises(dp.BudgetExceeded, match=r"'a'.*cost epsilon=.*the budget is epsilon=1\.") as caught:
        plan(dp.release("a", "gaussian", level=1.0), dp.release("b", "gaussian"))
    assert 1.0 == caught.value.allowed
    assert dp.accountant("gdp").epsilon([dp.losses.Gaussian(mu=1.0)], 1e-6) == caught.value.asked


def test_pure_plans_need_no_delta() -> None:
    pure = plan(dp.release("a", "noisy-trace"), dp.release("b", "noisy-trace", weight=3), budget=dp.Budget(epsilon=2.0))
    assert [0.5, 1.5] == pytest.approx(list(pure.pricing.levels.values()), rel=1e-12)
    assert pure.spent.epsilon <= 2.0
    with pytest.raises(dp.PlanError, match="step 'm' has no pure guarantee"):
        plan(dp.release("m", "gaussian"), budget=dp.Budget(epsilon=1.0))


def test_mixtures_are_composed_by_the_tightest_accountant_or_refused_by_name() -> None:
    mixed = plan(dp.release("a", "noisy-trace"), dp.release("b", "gaussian"))
    assert 0.99 < mixed.spent.epsilon <= 1.0
    assert mixed.spent.epsilon <= dp.accountant("zcdp").epsilon(mixed.pricing.all_losses, 1e-6)
    with pytest.raises(dp.PlanError, match="accountant 'gdp' cannot compose the Laplace loss of step 'a'"):
        plan(dp.release("a", "noisy-trace"), accountant="gdp")


def test_a_recipe_is_written_out_into_steps() -> None:
    recipe = plan(dp.release("cov", "two-rounds", k=2, weight=2))
    assert ["cov.moment", "cov.basis", "cov"] == [step.name for step in recipe.steps]
    assert 2.0 == pytest.approx(recipe.pricing.levels["cov"] / recipe.pricing.levels["cov.moment"])
    assert {"cov.moment": 1, "cov.basis": 1, "cov": 2} == recipe.passes
    with pytest.raises(dp.PlanError, match="recipe of several releases takes weight="):
        plan(dp.release("cov", "two-rounds", k=2, level=1.0))


def test_passes_are_counted_from_references() -> None:
    steps = [
        dp.release("moment", "gaussian"),
        dp.derive("basis", "top-subspace", of="moment", k=2),
        dp.release("signal", "noisy-signal", basis=dp.ref("basis")),
        dp.derive("inner", "eigenvalues", of="signal"),
        dp.release("again", "gaussian"),
    ]
    assert {"moment": 1, "basis": 1, "signal": 2, "inner": 2, "again": 1} == plan(*steps).passes
    assert "the data is read 2 times" in str(plan(*steps).explain())


def test_plans_are_frozen_values() -> None:
    one, two = plan(dp.release("moment", "gaussian")), plan(dp.release("moment", "gaussian"))
    assert one == two
    assert hash(one) == hash(two)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        one.budget = dp.Budget(epsilon=9.0)  # type: ignore[misc]


def test_centered_plans_refuse_components_until_centered() -> None:
    centered = dp.Rows(norm=1.0, neighbors="replace", center=True)
    with pytest.raises(dp.PlanError, match=r"needs a Hermitian matrix.*gives an augmented moment.*Center it first"):
        plan(dp.release("moment", "gaussian"), dp.derive("u", "top-subspace", of="moment", k=1), rows=centered)
    good = plan(
        dp.release("moment", "gaussian"),
        dp.derive("covariance", "covariance", of="moment"),
        dp.derive("u", "top-subspace", of="covariance", k=1),
        rows=centered,
    )
    assert dp.Subspace is good.kinds["u"]


def test_explain_shows_price_noise_and_forecast_without_data() -> None:
    explained = plan(
        dp.release("moment", "gaussian"), dp.derive("components", "top-subspace", of="moment", k=3)
    ).explain(dim=6, spectrum=[1195, 996, 507, 282, 178, 168])
    text = str(explained)
    assert text.index("Protected") < text.index("Releases") < text.index("Error to expect")
    noise = explained.statement.line("moment").noise
    assert {"diagonal": 4.2252, "off-diagonal": 2.9877} == pytest.approx(noise, abs=1e-3)
    assert "4.225" in text
    bound = explained.bounds("components")[0]
    assert ("first-order", "forecast") == (bound.name, bound.kind)
    with pytest.raises(dp.PlanError, match="there is no step 'nothing'"):
        explained.bounds("nothing")


def test_explain_refuses_a_spectrum_that_does_not_fit() -> None:
    one = plan(dp.release("moment", "gaussian"))
    for spectrum in ([1.0, 2.0], [2.0, -1.0], []):
        with pytest.raises(dp.PlanError, match="a spectrum must have"):
            one.explain(spectrum=spectrum)
    with pytest.raises(dp.PlanError, match="has 2 values, but the rows have 3"):
        one.explain(dim=3, spectrum=[2.0, 1.0])


def test_many_steps_are_priced_quickly_and_exactly() -> None:
    many = plan(*[dp.release(f"m{i}", "gaussian", weight=1 + i % 3) for i in range(200)])
    total = sum(level**2 for level in many.pricing.levels.values()) ** 0.5
    assert plan(dp.release("m", "gaussian")).pricing.levels["m"] == pytest.approx(total, rel=1e-9)


@attrs.frozen(kw_only=True)
class Settling(dp.Recipe):
    """As many traces as the budget and the assumed rows suggest; none of it is known before there is a plan."""

    name = "settling"
    count: int | None = None

    def settled(self, rows: dp.Rows, budget: dp.Budget, scenario: dp.Scenario | None, accountant: str) -> dp.Recipe:
        if rows.center:
            raise dp.PlanError("no constant coordinate here.")
        n = 0 if scenario is None or scenario.n is None else scenario.n
        found = 1 + (budget.epsilon > 1.0) + (n > 100) + (rows.norm == 2.0)
        return attrs.evolve(self, count=found) if self.count is None else self

    def steps(self, name: str, weight: float) -> list[dp.Step]:
        assert self.count is not None
        names = [*(f"{name}.{number}" for number in range(1, self.count)), name]
        return [dp.release(each, "noisy-trace", weight=weight) for each in names]


def test_a_recipe_is_settled_from_the_plan() -> None:
    with registered(Settling):
        step = dp.release("t", "settling")
        assert 1 == len(plan(step).releases)
        assert 2 == len(plan(step, budget=dp.Budget(epsilon=2.0)).releases)
        assumed = dp.Scenario(dim=2, n=1000)
        many = dp.Plan(rows=ROWS, budget=BUDGET, steps=[step], scenario=assumed)
        assert ["t.1", "t"] == [each.name for each in many.steps]
        assert 3 == len(dp.release("t", "settling", count=3).expanded(ROWS, BUDGET, assumed, "auto"))
        with pytest.raises(dp.PlanError, match="step 't': no constant coordinate here"):
            plan(step, rows=attrs.evolve(ROWS, center=True))


def test_a_norm_that_is_released_does_not_settle_recipes_again() -> None:
    with registered(Settling):
        rows = dp.Rows(norm=dp.ref("radius"), neighbors="add-remove")
        radius = dp.release("radius", "private-quantile", quantile=0.9, high=4.0)
        found = plan(radius, dp.release("t", "settling"), rows=rows)
        assert ["radius", "t"] == [step.name for step in found.with_released({"radius": dp.Scalar(2.0)}).steps]
        assert 2 == len(plan(dp.release("t", "settling"), rows=dp.Rows(norm=2.0, neighbors="add-remove")).releases)


def test_a_budget_that_allows_almost_everything_is_solved_too() -> None:
    built = plan(dp.release("a", "gaussian"), budget=dp.Budget(epsilon=1e-12, delta=0.999999))
    assert 0.0 < built.spent.epsilon <= 1e-12
    assert 0.999999 >= dp.accountant("gdp").delta(built.pricing.all_losses, 1e-12)


@pytest.mark.parametrize("error", [ZeroDivisionError("float division by zero"), ValueError("math domain error")])
def test_numbers_that_floats_cannot_hold_are_a_plan_error(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise error

    plan = dp.Plan(rows=ROWS, budget=BUDGET, steps=[dp.release("moment", "gaussian")])
    for method in ("law_error", "loss"):
        monkeypatch.setattr(type(plan.steps[0].action), method, failing)
        with pytest.raises(dp.PlanError, match=f"{type(error).__name__}: {error}.* Nothing was charged"):
            dp.Plan(rows=ROWS, budget=BUDGET, steps=[dp.release("moment", "gaussian")]).explain(dim=2)
