"""Gaussian differential privacy: exact composition of Gaussian losses.

Gaussian mechanisms with parameters mu_1, mu_2, … compose to exactly one with mu² = Σ mu_i² (Dong, Roth and Su 2022,
Corollary 3.3), whose privacy curve is (Balle and Wang 2018, Theorem 8)

    delta(epsilon) = Φ(mu/2 − epsilon/mu) − e^epsilon Φ(−mu/2 − epsilon/mu).

Both terms are evaluated in ball arithmetic and every answer is the upper end of its ball, so rounding can make a stated
guarantee weaker by a few units in the last place, never stronger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import attrs

from dpframe.accounting.scalar import ScalarAccountant
from dpframe.losses import Gaussian, PrivacyLoss

PRECISIONS = (128, 256, 512, 1024, 4096)
SMALLEST = 5e-324


@attrs.frozen
class GaussianAccountant(ScalarAccountant):
    """Exact accounting of Gaussian losses.

    >>> GaussianAccountant().epsilon([Gaussian(mu=0.1)], delta=1e-6)  # doctest: +ELLIPSIS
    0.396857...
    """

    name = "gdp"

    def cost(self, loss: PrivacyLoss) -> Fraction | None:
        """mu²."""
        return Fraction(loss.mu) ** 2 if isinstance(loss, Gaussian) else None

    def epsilon_of(self, total: Fraction, delta: float) -> float:
        """See :func:`gaussian_epsilon`."""
        return gaussian_epsilon(total, delta)

    def delta(self, losses: Sequence[PrivacyLoss], epsilon: float) -> float:
        """See :func:`gaussian_delta`."""
        return gaussian_delta(self.total(losses), epsilon)


def gaussian_delta(mu_squared: Fraction, epsilon: float) -> float:
    """An upper bound, tight up to rounding, on the delta of a mu-Gaussian mechanism at this epsilon."""
    if mu_squared == 0:
        return 0.0
    return SMALLEST if _negligible(mu_squared, epsilon) else _upper_float(_delta_ball(mu_squared, epsilon))


def least_gaussian_delta(mu_squared: Fraction, epsilon: float) -> float:
    """A lower bound, tight up to rounding, on the delta of a mu-Gaussian mechanism at this epsilon."""
    if mu_squared == 0 or _negligible(mu_squared, epsilon):
        return 0.0
    return max(0.0, math.nextafter(float(_delta_ball(mu_squared, epsilon).lower()), -math.inf))


@lru_cache(maxsize=4096)
def gaussian_epsilon(mu_squared: Fraction, delta: float) -> float:
    """An upper bound, tight up to rounding, on the smallest epsilon of a mu-Gaussian mechanism at this delta."""
    from scipy.optimize import brentq

    if mu_squared == 0:
        return 0.0
    if delta == 0.0:
        return math.inf
    if gaussian_delta(mu_squared, 0.0) <= delta:
        return 0.0
    log_delta = math.log(delta)

    def excess(epsilon: float) -> float:
        return _log_delta(mu_squared, epsilon) - log_delta

    half = float(mu_squared) / 2
    ceiling = half + 2 * math.sqrt(half * -log_delta) + 1e-300  # by concentrated differential privacy
    while excess(ceiling) > 0.0:  # possible only by rounding
        ceiling *= 2.0
    if excess(0.0) <= 0.0:  # delta(0) and delta differ by less than the rounding of their logarithms
        return _bisected(mu_squared, delta, ceiling)
    epsilon = float(brentq(excess, 0.0, ceiling, xtol=1e-300, rtol=1e-14))
    step = 1e-15
    while gaussian_delta(mu_squared, epsilon) > delta:  # increase epsilon until it is certified
        epsilon *= 1.0 + step
        step *= 2
    return epsilon


def _bisected(mu_squared: Fraction, delta: float, ceiling: float) -> float:
    """An epsilon of at least the true one, by bisection; it is certified, and above 0, where it does not hold."""
    low, high = 0.0, ceiling
    while gaussian_delta(mu_squared, high) > delta:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = (low + high) / 2
        if gaussian_delta(mu_squared, middle) > delta:
            low = middle
        else:
            high = middle
    return high


def _negligible(mu_squared: Fraction, epsilon: float) -> bool:
    """Whether epsilon/mu − mu/2 is above 40, so that delta ≤ Φ(−40) is below the smallest double."""
    above = Fraction(epsilon) - mu_squared / 2
    return above > 0 and above**2 > 1600 * mu_squared


def _log_delta(mu_squared: Fraction, epsilon: float) -> float:
    return float(_delta_ball(mu_squared, epsilon).log())


def _delta_ball(mu_squared: Fraction, epsilon: float) -> Any:
    """delta(epsilon) as a ball that is accurate to more than 60 bits."""
    from flint import arb, ctx, fmpq

    before = ctx.prec
    try:
        for precision in PRECISIONS:
            ctx.prec = precision
            mu = arb(fmpq(mu_squared.numerator, mu_squared.denominator)).sqrt()
            loss, root = arb(epsilon), arb(2).sqrt()
            left = ((loss / mu - mu / 2) / root).erfc() / 2
            right = ((loss / mu + mu / 2) / root).erfc() / 2
            ball = left - loss.exp() * right
            if ball.rel_accuracy_bits() > 60:
                return ball
    finally:
        ctx.prec = before
    raise ArithmeticError(f"delta at epsilon={epsilon!r} could not be bounded with {PRECISIONS[-1]} bits")


def _upper_float(ball: Any) -> float:
    """A double certainly above the ball, or 1 if that is less."""
    return min(1.0, math.nextafter(float(ball.upper()), math.inf))
