"""What a loss implies is never smaller than what its formula gives, and the formulas bound every Rényi divergence."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from mpmath import mp, mpf

import dpframe.plugin as dp

TINY = [scale * 10.0**-power for power in range(155, 164) for scale in (1.0, 1.7, 2.3, 3.1, 4.9, 7.7)]
"""Levels whose squares are below 2^−1022, where a double has few digits."""


def rho(loss: dp.PrivacyLoss) -> float:
    return next(weaker.rho for weaker in loss.implies() if isinstance(weaker, dp.losses.ZCDP))


def exact(loss: dp.PrivacyLoss) -> mpf:
    match loss:
        case dp.losses.Gaussian(mu=mu):
            return mpf(mu) ** 2 / 2
        case dp.losses.BoundedRange(epsilon=epsilon):
            return mpf(epsilon) ** 2 / 8
        case dp.losses.Pure(epsilon=epsilon):
            return mpf(epsilon) * mp.tanh(mpf(epsilon) / 2)
        case dp.losses.Laplace(epsilon=epsilon):
            return mpf(epsilon) + mp.expm1(-mpf(epsilon))
    raise AssertionError(loss)


@pytest.mark.parametrize(
    "make",
    [
        lambda level: dp.losses.Gaussian(mu=level),
        lambda level: dp.losses.Pure(epsilon=level),
        lambda level: dp.losses.Laplace(epsilon=level),
        lambda level: dp.losses.BoundedRange(epsilon=level),
    ],
    ids=["Gaussian", "Pure", "Laplace", "BoundedRange"],
)
def test_rho_is_rounded_up_at_every_size(make: Callable[[float], dp.PrivacyLoss]) -> None:
    with mp.workdps(400):
        for level in (*TINY, 5e-324, 1e-300, 1e-12, 1e-3, 0.2, 0.25, 1.0, 3.0, 40.0):
            truth, found = exact(make(level)), rho(make(level))
            assert truth <= mpf(found) <= truth * (1 + mpf(2) ** -43) + mpf(2) ** -1069


def test_a_total_of_subnormal_costs_is_rounded_up() -> None:
    from dpframe.accounting.zcdp import _rounded_up

    assert 0.0 == _rounded_up(Fraction(0))
    for total in (Fraction(5e-324) / 3, Fraction(5e-324), Fraction(1, 3) * Fraction(1e-320), Fraction(1, 3)):
        assert Fraction(_rounded_up(total)) >= total


def response_moment(epsilon: mpf, t: mpf) -> mpf:
    """E e^(tL) of randomized response."""
    right = 1 / (1 + mp.exp(-epsilon))
    return right * mp.exp(t * epsilon) + (1 - right) * mp.exp(-t * epsilon)


def laplace_moment(epsilon: mpf, t: mpf) -> mpf:
    """E e^(tL) of a Laplace variable: L is ±epsilon, or has the density e^((l − epsilon)/2)/4 between."""
    ends = mp.exp(t * epsilon) / 2 + mp.exp(-epsilon - t * epsilon) / 2
    return ends + mp.quad(lambda loss: mp.exp((loss - epsilon) / 2 + t * loss) / 4, [-epsilon, 0, epsilon])


@pytest.mark.parametrize(
    ("make", "moment", "ratio"),
    [
        (dp.losses.Pure, response_moment, lambda e, s: mp.cosh(e * s) / mp.cosh(e / 2)),
        (
            dp.losses.Laplace,
            laplace_moment,
            lambda e, s: (mp.cosh(e * s) + mp.sinh(e * s) / (2 * s)) / mp.exp(e / 2),
        ),
    ],
    ids=["Pure", "Laplace"],
)
def test_rho_is_the_smallest_that_bounds_every_divergence(
    make: Callable[..., dp.PrivacyLoss],
    moment: Callable[[mpf, mpf], mpf],
    ratio: Callable[[mpf, mpf], mpf],
) -> None:
    with mp.workdps(40):
        for epsilon in (0.01, 0.3, 1.0, 4.0, 15.0):
            stated = mpf(rho(make(epsilon=epsilon)))
            for t in map(mpf, ("1e-9", "0.01", "0.5", "1", "3", "20", "400")):
                value = moment(mpf(epsilon), t)
                assert abs(value / ratio(mpf(epsilon), t + mpf("0.5")) - 1) < mpf("1e-25")  # the form of the proof
                assert mp.log(value) / t <= (1 + t) * stated
            assert mp.log(moment(mpf(epsilon), mpf("1e-9"))) / mpf("1e-9") >= stated * (1 - mpf("1e-7"))
            assert math.isclose(float(stated), float(exact(make(epsilon=epsilon))), rel_tol=1e-12)
