"""Gaussian differential privacy against closed forms computed elsewhere."""

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


@pytest.mark.parametrize("mu", [5e-324, 1e-200, 1e-12, 0.02])
def test_a_delta_below_all_doubles_is_the_smallest(mu: float) -> None:
    assert 5e-324 == GDP.delta([dp.losses.Gaussian(mu=mu)], 1.0)


@pytest.mark.parametrize("delta", [0.5, 0.999999, 1 - 2.0**-50])
@pytest.mark.parametrize("epsilon", [1e-300, 1e-15, 1e-12, 1e-9])
def test_an_epsilon_that_rounding_hides_is_certified(delta: float, epsilon: float) -> None:
    """At a delta near that of epsilon = 0, and near 1, where the curve hardly changes."""
    scale = largest_scale(lambda mu: GDP.epsilon([dp.losses.Gaussian(mu=mu)], delta), epsilon)
    assert scale is not None
    found = GDP.epsilon([dp.losses.Gaussian(mu=scale)], delta)
    assert found <= epsilon
    assert GDP.delta([dp.losses.Gaussian(mu=scale)], found) <= delta


def test_a_mu_whose_square_is_no_double_has_an_epsilon() -> None:
    found = GDP.epsilon([dp.losses.Gaussian(mu=1e-200)], 1e-250)
    assert 1e-200 < found < 1e-197
    assert GDP.delta([dp.losses.Gaussian(mu=1e-200)], found) <= 1e-250
