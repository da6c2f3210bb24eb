"""What the accountant accepts, and how its answers depend on what is asked."""

from __future__ import annotations

import math
import subprocess
import sys

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import dpframe.plugin as dp
from dpframe_pld import PldAccountant

PLD = dp.accountant("pld")
ROUNDING = 1 + 1e-7  # rounding, and batches that are cut differently


def scaled(loss: dp.PrivacyLoss, factor: float) -> dp.PrivacyLoss:
    field = "mu" if isinstance(loss, dp.losses.Gaussian) else "epsilon"
    return attrs.evolve(loss, **{field: getattr(loss, field) * factor})


levels = st.floats(math.log(1e-4), math.log(3.0)).map(math.exp)
deltas = st.floats(math.log(1e-14), math.log(0.3)).map(math.exp)
bounded = st.one_of(
    st.builds(dp.losses.Laplace, epsilon=levels),
    st.builds(dp.losses.Pure, epsilon=levels),
    st.builds(dp.losses.BoundedRange, epsilon=levels),
)
any_loss = st.one_of(
    bounded, st.builds(dp.losses.Gaussian, mu=levels), st.builds(dp.losses.Approx, epsilon=levels, delta=st.just(1e-15))
)
mixtures = st.lists(any_loss, min_size=1, max_size=7)


# -- what is accepted ------------------------------------------------------------------------------------------------


def test_it_is_installed_by_name() -> None:
    assert PldAccountant() == PLD
    assert "pld" == PLD.name


@pytest.mark.parametrize(
    ("loss", "accepted"),
    [
        (dp.losses.Gaussian(mu=1.0), True),
        (dp.losses.Laplace(epsilon=1.0), True),
        (dp.losses.Pure(epsilon=1.0), True),
        (dp.losses.BoundedRange(epsilon=1.0), True),
        (dp.losses.Approx(epsilon=1.0, delta=1e-6), True),
        (dp.losses.ZCDP(rho=1.0), False),
        (dp.losses.ModelBased(loss=dp.losses.Pure(epsilon=1.0), model="m", failure="f"), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_losses_without_a_dominating_pair_are_refused_by_name(loss: dp.PrivacyLoss, accepted: bool) -> None:
    assert accepted == PLD.supports(loss)
    if not accepted:
        with pytest.raises(dp.PlanError, match=f"'pld' cannot compose {type(loss).__name__} losses"):
            PLD.epsilon([dp.losses.Pure(epsilon=1.0), loss], 1e-6)
        with pytest.raises(dp.PlanError, match=f"'pld' cannot compose {type(loss).__name__} losses"):
            PLD.delta([loss], 1.0)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, math.inf])
def test_deltas_that_are_none_are_refused(delta: float) -> None:
    with pytest.raises(dp.PlanError, match="delta"):
        PLD.epsilon([dp.losses.Pure(epsilon=1.0)], delta)


@pytest.mark.parametrize("epsilon", [-1e-9, math.nan, -math.inf])
def test_epsilons_that_are_none_are_refused(epsilon: float) -> None:
    with pytest.raises(dp.PlanError, match="epsilon must be a number of at least 0"):
        PLD.delta([dp.losses.Pure(epsilon=1.0)], epsilon)


# -- closed forms ----------------------------------------------------------------------------------------------------


def test_without_losses_nothing_is_spent() -> None:
    for nothing in (
        [],
        [
            dp.losses.Gaussian(mu=0.0),
            dp.losses.Laplace(epsilon=0.0),
            dp.losses.Pure(epsilon=0.0),
            dp.losses.Approx(epsilon=0.0, delta=0.0),
        ],
    ):
        assert 0.0 == PLD.epsilon(nothing, 0.0) == PLD.epsilon(nothing, 1e-6)
        assert 0.0 == PLD.delta(nothing, 0.0) == PLD.delta(nothing, 1.0)


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("delta", [0.0, 1e-12, 1e-6, 0.1])
def test_gaussian_losses_alone_are_exact(mu: float, delta: float) -> None:
    losses = [dp.losses.Gaussian(mu=0.6 * mu), dp.losses.Gaussian(mu=0.8 * mu)]
    assert dp.accountant("gdp").epsilon(losses, delta) == PLD.epsilon(losses, delta)
    assert dp.accountant("gdp").delta(losses, 1.0) == PLD.delta(losses, 1.0)


@pytest.mark.parametrize(
    "losses",
    [[dp.losses.Pure(epsilon=0.1)] * 7, [dp.losses.Laplace(epsilon=0.1), dp.losses.BoundedRange(epsilon=1 / 3)]],
)
def test_at_delta_zero_bounded_losses_add_up(losses: list[dp.PrivacyLoss]) -> None:
    total = dp.accountant("pure").epsilon(losses, 0.0)
    assert total == PLD.epsilon(losses, 0.0)
    assert 0.0 == PLD.delta(losses, total)
    assert PLD.delta(losses, math.nextafter(total, 0.0)) > 0.0
    assert math.inf == PLD.epsilon([*losses, dp.losses.Gaussian(mu=1e-3)], 0.0)


@pytest.mark.parametrize("epsilon", [1e-9, 0.3, 5.0, 800.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-3, 0.2, 0.6])
@pytest.mark.parametrize("kind", [dp.losses.Laplace, dp.losses.Pure])
def test_a_single_bounded_loss_has_a_closed_form(kind: type[dp.PrivacyLoss], epsilon: float, delta: float) -> None:
    def curve(at: mpf) -> mpf:
        e = mpf(epsilon)
        return 1 - mp.exp((at - e) / 2) if kind is dp.losses.Laplace else (1 - mp.exp(at - e)) / (1 + mp.exp(-e))

    with mp.workdps(50):
        loss = kind(epsilon=epsilon)  # type: ignore[call-arg]
        found = PLD.epsilon([loss], delta)
        assert curve(mpf(found)) <= delta
        assert found == 0.0 or curve(mpf(found) - mpf(epsilon) * 2**-45) >= delta
        for at in (0.0, epsilon / 3, epsilon * 0.999):
            assert curve(mpf(at)) <= PLD.delta([loss], at) <= curve(mpf(at)) * (1 + mpf(2) ** -40)


def test_an_approximate_loss_costs_what_it_says_and_cannot_be_had_for_less() -> None:
    one = dp.losses.Approx(epsilon=0.5, delta=1e-6)
    assert 0.5 == PLD.epsilon([one], 1e-6)
    assert 1e-6 == PLD.delta([one], 0.5) == PLD.delta([one], math.inf)
    assert math.inf == PLD.epsilon([one], 0.999e-6) == PLD.epsilon([one, one], 1e-6)
    ten = [dp.losses.Approx(epsilon=0.5, delta=1e-7)] * 10
    assert PLD.epsilon(ten, 1e-6) <= 5.0
    assert PLD.delta(ten, 5.0) == pytest.approx(1 - (1 - 1e-7) ** 10, rel=1e-8)
    assert math.inf == PLD.epsilon([dp.losses.Approx(epsilon=0.1, delta=0.5)] * 100, 0.99)
    assert 1.0 == PLD.delta([dp.losses.Approx(epsilon=0.1, delta=0.5)] * 100, 20.0)
    without_failure = [dp.losses.Approx(epsilon=0.5, delta=0.0)] * 10
    assert PLD.epsilon([dp.losses.Pure(epsilon=0.5)] * 10, 1e-6) == PLD.epsilon(without_failure, 1e-6)


def test_a_bounded_range_counts_as_pure_and_never_also_as_concentrated() -> None:
    for delta in (1e-3, 1e-6):
        mixed = [dp.losses.Gaussian(mu=0.2), dp.losses.BoundedRange(epsilon=0.1), dp.losses.BoundedRange(epsilon=0.3)]
        pure = [dp.losses.Gaussian(mu=0.2), dp.losses.Pure(epsilon=0.1), dp.losses.Pure(epsilon=0.3)]
        assert PLD.epsilon(pure, delta) == PLD.epsilon(mixed, delta)


@pytest.mark.parametrize("level", [1e-150, 1e-12, 1e3, 1e12, 1e150])
def test_levels_of_all_sizes_are_answered(level: float) -> None:
    losses = [dp.losses.Gaussian(mu=level), dp.losses.Laplace(epsilon=level), *[dp.losses.Pure(epsilon=level / 8)] * 3]
    for delta in (1e-300, 1e-6, 0.5):
        epsilon = PLD.epsilon(losses, delta)
        assert 0.0 <= epsilon < math.inf
        if level <= 1e3:
            assert PLD.delta(losses, epsilon) <= delta * (1 + 1e-6)
    assert dp.accountant("pure").epsilon(losses[1:], 0.0) >= PLD.epsilon(losses[1:], 1e-6)


# -- properties ------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(losses=mixtures, delta=deltas, data=st.data())
def test_order_is_irrelevant(losses: list[dp.PrivacyLoss], delta: float, data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(losses))
    assert PLD.epsilon(losses, delta) == PLD.epsilon(shuffled, delta)
    assert PLD.delta(losses, 0.3) == PLD.delta(shuffled, 0.3)


@settings(max_examples=60, deadline=None)
@given(losses=mixtures, delta=deltas, factor=st.floats(0.0, 8.0).map(lambda x: 1 + 10**-x), data=st.data())
def test_a_larger_level_never_costs_less(
    losses: list[dp.PrivacyLoss], delta: float, factor: float, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(losses) - 1))
    larger = [scaled(loss, factor) if i == index else loss for i, loss in enumerate(losses)]
    before = PLD.epsilon(losses, delta)
    assert before <= PLD.epsilon(larger, delta) * ROUNDING
    assert before <= PLD.epsilon([scaled(loss, factor) for loss in losses], delta) * ROUNDING
    assert PLD.delta(losses, before) <= PLD.delta(larger, before) * (1 + 1e-6)


@settings(max_examples=60, deadline=None)
@given(losses=mixtures, delta=deltas, further=any_loss, copies=st.integers(1, 40))
def test_a_further_step_never_costs_less(
    losses: list[dp.PrivacyLoss], delta: float, further: dp.PrivacyLoss, copies: int
) -> None:
    before = PLD.epsilon(losses, delta)
    assert before <= PLD.epsilon([*losses, further], delta) * ROUNDING
    assert before <= PLD.epsilon([*losses, *[further] * copies], delta) * ROUNDING


@settings(max_examples=60, deadline=None)
@given(
    losses=mixtures, delta=deltas, factor=st.floats(0.0, 8.0).map(lambda x: 1 + 10**-x), epsilon=st.floats(0.0, 20.0)
)
def test_epsilon_falls_with_delta_and_delta_with_epsilon(
    losses: list[dp.PrivacyLoss], delta: float, factor: float, epsilon: float
) -> None:
    assert PLD.epsilon(losses, delta * factor) <= PLD.epsilon(losses, delta) * ROUNDING
    assert PLD.delta(losses, epsilon * factor) <= PLD.delta(losses, epsilon) * (1 + 1e-6)


@settings(max_examples=60, deadline=None)
@given(losses=mixtures, delta=deltas)
@example(
    losses=[
        dp.losses.Laplace(epsilon=1.0),
        dp.losses.Laplace(epsilon=math.exp(-3.5)),
        dp.losses.Gaussian(mu=math.exp(-7.46875)),
    ],
    delta=math.exp(-32),
)  # whose tilts must agree: rough ones gave 1.8e-6
def test_epsilon_and_delta_are_inverse(losses: list[dp.PrivacyLoss], delta: float) -> None:
    epsilon = PLD.epsilon(losses, delta)
    assert PLD.delta(losses, epsilon) <= delta * (1 + 1e-6)
    if epsilon > 0.0:
        assert PLD.delta(losses, epsilon * (1 - 1e-4)) >= delta


@settings(max_examples=60, deadline=None)
@given(losses=st.lists(bounded, min_size=1, max_size=7), delta=deltas)
def test_bounded_losses_never_cost_more_than_their_sum(losses: list[dp.PrivacyLoss], delta: float) -> None:
    pure = dp.accountant("pure")
    assert PLD.epsilon(losses, delta) <= pure.epsilon(losses, 0.0)
    assert PLD.delta(losses, 0.5) <= pure.delta(losses, 0.5) * ROUNDING


@settings(max_examples=40, deadline=None)
@given(
    losses=st.lists(st.one_of(bounded, st.builds(dp.losses.Gaussian, mu=levels)), min_size=1, max_size=7), delta=deltas
)
def test_never_above_concentrated_accounting_of_the_same_pairs(losses: list[dp.PrivacyLoss], delta: float) -> None:
    pairs = [
        dp.losses.Pure(epsilon=loss.epsilon) if isinstance(loss, dp.losses.BoundedRange) else loss for loss in losses
    ]
    assert PLD.epsilon(losses, delta) <= dp.accountant("zcdp").epsilon(pairs, delta) * ROUNDING


# -- in plans --------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Stated(dp.Mechanism):
    """Costs what the test says."""

    name = "pld-test-stated"
    unit = "epsilon"
    gives = dp.Scalar

    kind: str

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        found: dp.PrivacyLoss = getattr(dp.losses, self.kind)(**{"mu" if self.kind == "Gaussian" else "epsilon": level})
        return found

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        return dp.Scalar(0.0)


def hundred_steps(kinds: list[str], relation: str, accountant: str) -> dp.Plan:
    dp.register(Stated)
    try:
        weights = [1 + (i * 37 % 100) / 50 for i in range(100)]
        return dp.Plan(
            rows=dp.Rows(norm=1.0, neighbors=relation),
            budget=dp.Budget(epsilon=1.0, delta=1e-6),
            steps=[
                dp.release(f"step{i}", Stated.name, kind=kinds[i % len(kinds)], weight=weight)
                for i, weight in enumerate(weights)
            ],
            accountant=accountant,
        )
    finally:
        dp.unregister(Stated)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_a_plan_of_a_hundred_mixed_steps_meets_its_budget_from_below(relation: str) -> None:
    plan = hundred_steps(["Gaussian", "Laplace", "Pure", "BoundedRange"], relation, "pld")
    assert plan.spent.epsilon == PLD.epsilon(plan.pricing.all_losses, 1e-6)
    assert 1 - 1e-9 <= plan.spent.epsilon <= 1.0


def test_plans_take_it_where_it_is_the_tightest() -> None:
    plan = hundred_steps(["Gaussian", "Laplace", "Pure"], "add-remove", "auto")
    losses = plan.pricing.all_losses
    assert plan.spent.epsilon == PLD.epsilon(losses, 1e-6)
    assert 1 - 1e-9 <= plan.spent.epsilon <= 1.0
    assert dp.accountant("zcdp").epsilon(losses, 1e-6) > 1.05


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = """
import sys
import dpframe.plugin as dp
import dpframe_pld
heavy = ("dp_accounting", "scipy.stats", "numba")
assert not [name for name in heavy if name in sys.modules]
pld = dp.accountant("pld")
pld.epsilon([dp.losses.Gaussian(mu=1.0)], 1e-6)
pld.epsilon([dp.losses.Pure(epsilon=1.0), dp.losses.Laplace(epsilon=1.0)], 0.0)
pld.epsilon([dp.losses.Laplace(epsilon=1.0)], 1e-6)
assert "dp_accounting" not in sys.modules
pld.epsilon([dp.losses.Pure(epsilon=1.0), dp.losses.Laplace(epsilon=1.0)], 1e-6)
assert "dp_accounting" in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
