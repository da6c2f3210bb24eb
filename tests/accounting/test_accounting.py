"""Composition and calibration against closed forms computed elsewhere."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import dpframe.plugin as dp
from dpframe.accounting.calibrate import largest_scale
from dpframe.accounting.gdp import gaussian_delta, gaussian_epsilon

GDP = dp.accountant("gdp")


def reference_delta(mu: float, epsilon: float) -> mpf:
    """Balle and Wang's curve with 80 digits, by a library of its own."""
    with mp.workdps(80):
        m, e = mpf(mu), mpf(epsilon)
        return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize(("epsilon", "multiplier"), [(0.1, 36.304690), (1.0, 4.224679), (4.0, 1.193519)])
def test_noise_multipliers_at_delta_one_in_a_million(epsilon: float, multiplier: float) -> None:
    scale = largest_scale(lambda mu: GDP.epsilon([dp.losses.Gaussian(mu=mu)], 1e-6), epsilon)
    assert scale is not None
    assert multiplier == pytest.approx(1 / scale, abs=5e-7)


@pytest.mark.parametrize(
    ("count", "sigma", "epsilon"), [(1, 10, 0.396857), (10, 5, 2.921601), (1000, 10, 19.423656), (1000, 50, 2.921601)]
)
def test_published_compositions(count: int, sigma: float, epsilon: float) -> None:
    losses = [dp.losses.Gaussian(mu=1 / sigma)] * count
    assert epsilon == pytest.approx(GDP.epsilon(losses, 1e-6), abs=1e-6)


@settings(max_examples=150, deadline=None)
@given(mu=st.floats(1e-4, 20.0), epsilon=st.floats(0.0, 50.0))
def test_delta_is_never_below_the_curve_and_tight_to_rounding(mu: float, epsilon: float) -> None:
    stated = gaussian_delta(Fraction(mu) ** 2, epsilon)
    exact = reference_delta(mu, epsilon)
    assert stated >= exact
    assert stated <= float(exact) * (1 + 1e-14) + 5e-324


@settings(max_examples=100, deadline=None)
@given(mu=st.floats(1e-4, 10.0), log_delta=st.floats(-600.0, -0.1))
def test_epsilon_is_never_below_the_curve_and_tight(mu: float, log_delta: float) -> None:
    delta = math.exp(log_delta)
    epsilon = gaussian_epsilon(Fraction(mu) ** 2, delta)
    assert reference_delta(mu, epsilon) <= delta
    if epsilon > 0.0:
        assert reference_delta(mu, epsilon * (1 - 1e-9)) > delta


def test_gaussian_edges() -> None:
    assert GDP.epsilon([], 1e-6) == 0.0
    assert GDP.epsilon([dp.losses.Gaussian(mu=0.0)], 0.0) == 0.0
    assert math.isinf(GDP.epsilon([dp.losses.Gaussian(mu=1.0)], 0.0))
    assert GDP.epsilon([dp.losses.Gaussian(mu=0.1)], 0.5) == 0.0
    assert GDP.delta([], 1.0) == 0.0


@settings(max_examples=60, deadline=None)
@given(mus=st.lists(st.floats(1e-3, 3.0), min_size=2, max_size=6), data=st.data())
def test_composition_ignores_order_and_grows(mus: list[float], data: st.DataObject) -> None:
    losses = [dp.losses.Gaussian(mu=mu) for mu in mus]
    shuffled = data.draw(st.permutations(losses))
    assert GDP.epsilon(losses, 1e-5) == GDP.epsilon(shuffled, 1e-5)
    assert GDP.epsilon(losses, 1e-5) >= GDP.epsilon(losses[:-1], 1e-5)
    assert GDP.epsilon(losses, 1e-5) <= GDP.epsilon(losses, 1e-6)


def test_pure_losses_add_without_rounding_down() -> None:
    pure = dp.accountant("pure")
    losses = [dp.losses.Pure(epsilon=0.1), dp.losses.Laplace(epsilon=0.2), dp.losses.BoundedRange(epsilon=0.3)]
    total = Fraction(0.1) + Fraction(0.2) + Fraction(0.3)
    assert total <= Fraction(pure.epsilon(losses, 0.0)) <= total + Fraction(2) ** -53
    assert pure.epsilon([dp.losses.Pure(epsilon=1.0)], 0.0) == 1.0
    assert pure.delta([dp.losses.Pure(epsilon=1.0)], 1.0) == 0.0
    # Randomised response: P(1) = e/(1+e) under one input, 1/(1+e) under the other.
    expected = math.e / (1 + math.e) - math.exp(0.5) / (1 + math.e)
    assert expected == pytest.approx(pure.delta([dp.losses.Pure(epsilon=1.0)], 0.5), rel=1e-12)


def test_auto_takes_the_tightest_that_supports_all_and_refuses_by_name() -> None:
    auto = dp.accountant("auto")
    assert GDP.epsilon([dp.losses.Gaussian(mu=0.5)], 1e-6) == auto.epsilon([dp.losses.Gaussian(mu=0.5)], 1e-6)
    assert dp.accountant("pure").epsilon([dp.losses.Pure(epsilon=0.5)], 1e-6) == 0.5
    assert auto.epsilon([dp.losses.Pure(epsilon=0.5)], 1e-6) <= 0.5
    assert auto.epsilon([dp.losses.Pure(epsilon=0.5)], 0.0) == 0.5
    mixed = [dp.losses.Gaussian(mu=0.5), dp.losses.Approx(epsilon=1.0, delta=0.1)]
    if not any(plugin.name == "dpframe-pld" for plugin in dp.plugins()):
        with pytest.raises(dp.PlanError, match="no installed accountant composes Approx, Gaussian losses"):
            auto.epsilon(mixed, 1e-6)
    assert not auto.supports(dp.losses.ModelBased(loss=dp.losses.Pure(epsilon=1.0), model="spiked", failure="1/n"))


def implied_rho(loss: dp.PrivacyLoss) -> float:
    (rho,) = [weaker.rho for weaker in loss.implies() if isinstance(weaker, dp.losses.ZCDP)]
    return rho


ORDERS = [mpf(1) + mpf(10) ** (power / mpf(4)) for power in range(-16, 13)]


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 0.5, 1.0, 3.0, 10.0, 40.0])
def test_implied_concentrated_losses_are_above_every_renyi_divergence(epsilon: float) -> None:
    with mp.workdps(60):
        e = mpf(epsilon)
        p, q = mp.exp(e) / (1 + mp.exp(e)), 1 / (1 + mp.exp(e))
        for a in ORDERS:
            response = mp.log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1)
            assert response <= a * implied_rho(dp.losses.Pure(epsilon=epsilon))
            growing, falling = a / (2 * a - 1) * mp.exp((a - 1) * e), (a - 1) / (2 * a - 1) * mp.exp(-a * e)
            assert mp.log(growing + falling) / (a - 1) <= a * implied_rho(dp.losses.Laplace(epsilon=epsilon))
        # Neither has room to spare near order one, so a smaller rho would be caught.
        a = ORDERS[0]
        assert mp.log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1) > 0.999 * implied_rho(
            dp.losses.Pure(epsilon=epsilon)
        )


def reference_zcdp_epsilon(rho: float, delta: float) -> float:
    """The conversion by brute force over orders, then over orders near the best of them."""

    def at(exponent: mpf) -> mpf:
        a = 1 + mpf(10) ** exponent
        return a * rho + (mp.log(1 / mpf(delta)) + (a - 1) * mp.log(1 - 1 / a) - mp.log(a)) / (a - 1)

    with mp.workdps(40):
        best = min((mpf(power) / 20 for power in range(-120, 121)), key=at)
        return float(min(at(best + mpf(step) / 20_000) for step in range(-1000, 1001)))


@pytest.mark.parametrize(("rho", "delta"), [(0.005, 1e-6), (0.2, 1e-6), (5.0, 1e-9), (1e-6, 1e-5), (50.0, 1e-3)])
def test_concentrated_privacy_is_converted_tightly(rho: float, delta: float) -> None:
    zcdp = dp.accountant("zcdp")
    epsilon = zcdp.epsilon([dp.losses.ZCDP(rho=rho / 2), dp.losses.ZCDP(rho=rho / 2)], delta)
    reference = reference_zcdp_epsilon(rho, delta)
    assert reference * (1 - 1e-7) <= epsilon <= reference * (1 + 1e-9)
    assert delta == pytest.approx(zcdp.delta([dp.losses.ZCDP(rho=rho)], epsilon), rel=1e-6)
    assert epsilon < rho + 2 * math.sqrt(rho * math.log(1 / delta))


@settings(max_examples=50, deadline=None)
@given(mu=st.floats(1e-3, 5.0), delta=st.floats(1e-12, 0.1))
def test_concentrated_accounting_of_a_gaussian_is_never_below_the_exact_curve(mu: float, delta: float) -> None:
    loss = [dp.losses.Gaussian(mu=mu)]
    assert dp.accountant("zcdp").epsilon(loss, delta) >= GDP.epsilon(loss, delta)


def test_concentrated_accounting_of_mixtures() -> None:
    zcdp = dp.accountant("zcdp")
    mixture = [dp.losses.Gaussian(mu=0.1), dp.losses.Laplace(epsilon=0.1), dp.losses.BoundedRange(epsilon=0.2)]
    rho = 0.005 + (0.1 + math.expm1(-0.1)) + 0.04 / 8
    assert zcdp.epsilon([dp.losses.ZCDP(rho=rho)], 1e-6) == pytest.approx(zcdp.epsilon(mixture, 1e-6), rel=1e-9)
    assert not zcdp.supports(dp.losses.Approx(epsilon=1.0, delta=0.1))
    assert math.isinf(zcdp.epsilon(mixture, 0.0))
    assert (0.0, 0.0) == (zcdp.epsilon([], 0.0), zcdp.delta([], 1.0))


Z, G, L, P, B = dp.losses.ZCDP, dp.losses.Gaussian, dp.losses.Laplace, dp.losses.Pure, dp.losses.BoundedRange
WITH_ZCDP: list[tuple[list[dp.PrivacyLoss], float]] = [
    ([Z(rho=0.01)], 1e-6),
    ([Z(rho=0.01), G(mu=0.1)], 1e-6),
    ([Z(rho=0.001)] * 10 + [L(epsilon=0.1)] * 10, 1e-9),
    ([Z(rho=0.0005)] * 100 + [P(epsilon=0.02)] * 100, 1e-5),
    ([Z(rho=1e-5)] * 400 + [B(epsilon=0.01)] * 300 + [G(mu=0.02)] * 300, 1e-6),
    ([Z(rho=0.5), P(epsilon=1.0), B(epsilon=2.0), L(epsilon=1.0), G(mu=1.0)], 1e-3),
]


@pytest.mark.parametrize(("losses", "delta"), WITH_ZCDP)
def test_mixtures_with_concentrated_losses_match_the_reference(losses: list[dp.PrivacyLoss], delta: float) -> None:
    with mp.workdps(40):
        rho = mpf(0)
        for loss in losses:
            if isinstance(loss, Z):
                rho += mpf(loss.rho)
            elif isinstance(loss, G):
                rho += mpf(loss.mu) ** 2 / 2
            elif isinstance(loss, L):
                rho += mpf(loss.epsilon) + mp.exp(-mpf(loss.epsilon)) - 1
            elif isinstance(loss, P):
                rho += mpf(loss.epsilon) * mp.tanh(mpf(loss.epsilon) / 2)
            elif isinstance(loss, B):
                rho += mpf(loss.epsilon) ** 2 / 8
        reference = reference_zcdp_epsilon(float(rho), delta)
    for stated in (dp.accountant("zcdp").epsilon(losses, delta), dp.accountant("auto").epsilon(losses[::-1], delta)):
        assert reference * (1 - 1e-7) <= stated <= reference * (1 + 1e-9)


def test_implied_pure_losses() -> None:
    for loss in (dp.losses.Laplace(epsilon=1.5), dp.losses.BoundedRange(epsilon=1.5)):
        assert dp.losses.Pure(epsilon=1.5) in loss.implies()


@pytest.mark.parametrize("slope", [1e-6, 1.0, 1e6])
def test_the_largest_scale_meets_the_budget_from_below(slope: float) -> None:
    scale = largest_scale(lambda t: slope * t, 0.7)
    assert scale is not None
    assert slope * scale <= 0.7
    assert slope * scale * (1 + 1e-12) > 0.7


@pytest.mark.parametrize("budget", [2.0**power for power in range(-20, 21)])
def test_a_budget_that_a_tried_scale_meets_exactly_is_solved(budget: float) -> None:
    scale = largest_scale(lambda t: t, budget)
    assert scale is not None
    assert budget * (1 - 1e-12) < scale <= budget


def test_no_scale_fits_where_every_one_is_too_expensive() -> None:
    assert largest_scale(lambda t: 1.0 + t, 0.5) is None
    assert largest_scale(lambda t: math.inf, 0.5) is None
