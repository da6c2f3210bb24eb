"""Concentrated differential privacy against closed forms computed elsewhere."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import dpframe.plugin as dp

GDP = dp.accountant("gdp")


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
