"""Steps of third parties in a plan: mechanisms, accountants, oracles and recipes."""

from collections.abc import Iterator

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.noise import Keystream
from tests.support.plugins import (
    DATA,
    PURE,
    ROWS,
    Both,
    Count,
    Generous,
    Halved,
    LaplaceTrace,
    Nested,
    Oracle,
    Trace,
    pure_plan,
)

PARTS: list[type] = [Trace, LaplaceTrace, Halved, Count, Generous, Oracle, Both, Nested]


@pytest.fixture
def parts() -> Iterator[None]:
    for cls in PARTS:
        dp.register(cls)
    yield
    for cls in PARTS:
        dp.unregister(cls)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("accountant", ["auto", "pure"])
def test_a_pure_mechanism_of_a_third_party(accountant: str) -> None:
    plan = pure_plan(
        dp.release("small", "test-trace"),
        dp.release("large", "test-laplace-trace", weight=3.0),
        dp.derive("half", "test-halved", of="large"),
        accountant=accountant,
    )
    assert 1.0 == pytest.approx(plan.spent.epsilon, rel=1e-12)
    assert plan.spent.epsilon <= 1.0
    assert 0.0 == plan.spent.delta
    levels = plan.pricing.levels
    assert [0.25, 0.75] == pytest.approx([levels["small"], levels["large"]], rel=1e-12)

    result = plan.run(DATA, insecure_seed=7)
    step = ROWS.bind(2).step
    trace = float(np.trace(DATA.T @ DATA))
    for name in ("small", "large"):
        noise = dp.Random(Keystream.insecure(7)).child(name).laplace(Trace.scale(levels[name]), 1)[0] * step**2
        assert trace + noise == pytest.approx(float(result[name]), abs=1e-4)
        assert 1e-3 < abs(noise)
    assert result["large"] / 2 == result["half"]
    assert plan.spent == result.spent
    lines = [result.record(name).line for name in ("small", "large")]
    assert [levels["small"], plan.spent.epsilon] == [line.epsilon_so_far for line in lines]


@pytest.mark.usefixtures("parts")
def test_pure_and_gaussian_losses_in_one_plan() -> None:
    steps = [dp.release("a", "test-trace"), dp.release("b", "gaussian")]
    plan = dp.Plan(rows=ROWS, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps)
    assert 1.0 == pytest.approx(plan.spent.epsilon, rel=1e-9)
    assert plan.spent.epsilon <= 1.0
    assert plan.pricing.levels["a"] == plan.pricing.levels["b"]
    with pytest.raises(dp.PlanError, match="'b' has no pure guarantee"):
        dp.Plan(rows=ROWS, budget=PURE, steps=steps)


def test_a_loss_that_nobody_accepted() -> None:
    @dp.register
    @attrs.frozen(kw_only=True)
    class Modelled(Trace):
        name = "test-modelled"

        def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
            loss = dp.losses.Pure(epsilon=level)
            return dp.losses.ModelBased(loss=loss, model="spiked-covariance", failure="1e-9")

    try:
        with pytest.raises(
            dp.PlanError, match="step 'a' is private only for data drawn from the model 'spiked-covariance'"
        ):
            pure_plan(dp.release("a", "test-modelled"))
    finally:
        dp.unregister(Modelled)


@pytest.mark.usefixtures("parts")
def test_an_accountant_of_a_third_party() -> None:
    named = pure_plan(dp.release("a", "test-trace"), accountant="test-generous")
    assert 0.5 == pytest.approx(named.pricing.levels["a"])
    tightest = pure_plan(dp.release("a", "test-trace"))
    assert 1.0 == pytest.approx(tightest.pricing.levels["a"])


@pytest.mark.usefixtures("parts")
def test_an_oracle_of_a_third_party() -> None:
    told = pure_plan(dp.release("a", "test-trace")).explain(spectrum=[2.0, 1.0])
    assert ["test-oracle"] == [bound.name for bound in told.bounds("a")]
    assert "test-oracle" in str(told)


@pytest.mark.usefixtures("parts")
def test_a_recipe_becomes_dotted_steps() -> None:
    plan = pure_plan(
        dp.release("cov", "test-both", weight=2.0, share=0.25), dp.release("rest", "test-trace", weight=2.0)
    )
    assert ("cov.first", "cov.second", "cov", "rest") == tuple(step.name for step in plan.steps)
    levels = plan.pricing.levels
    assert [0.125, 0.375, 0.5] == pytest.approx([levels["cov.first"], levels["cov.second"], levels["rest"]])
    result = plan.run(DATA, insecure_seed=7)
    assert ["cov.first", "cov.second", "cov", "rest"] == list(result)
    assert result["cov.first"] / 2 == result["cov"]
    assert "cov.second" in str(plan.explain())


@pytest.mark.usefixtures("parts")
def test_a_recipe_of_recipes() -> None:
    plan = pure_plan(dp.release("a", "test-nested"), dp.derive("b", "test-halved", of="a"))
    assert ["a.inner.first", "a.inner.second", "a.inner", "a", "b"] == [step.name for step in plan.steps]


@pytest.mark.usefixtures("parts")
def test_a_recipe_has_no_level() -> None:
    with pytest.raises(dp.PlanError, match=r"'cov'.*weight=, not level="):
        pure_plan(dp.release("cov", "test-both", level=0.5))


@pytest.mark.usefixtures("parts")
def test_names_of_a_recipe_clash_like_any() -> None:
    with pytest.raises(dp.PlanError, match=r"two steps are named 'cov\.first'"):
        pure_plan(dp.release("cov", "test-both"), dp.release("cov.first", "test-trace"))
