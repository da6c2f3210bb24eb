"""Ball arithmetic: what the certified samplers share.

A ball is a real number that is known up to a radius, computed by Arb (python-flint): every operation returns a ball
that contains the exact result for all numbers in the balls that it was given. A comparison of two balls is true only
where it holds for all their numbers. Where balls are too wide for a decision, `Undecided` is raised, and the
computation is repeated at a higher precision, on the same random bits: never with new ones, which would change the law.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb, fmpq

ZERO, ONE = arb(0), arb(1)


class Undecided(Exception):
    """The balls at hand are too wide to decide what comes next; internal, and caught where precision is chosen."""


def rational(value: float | Fraction) -> Any:
    """A float or a fraction, exactly."""
    exact = Fraction(value)
    return fmpq(exact.numerator, exact.denominator)


@lru_cache(maxsize=4096)
def power_of_two(exponent: int) -> Any:
    """2^exponent, exactly."""
    return arb((1, exponent))


def around_zero(radius: float) -> Any:
    """The ball [−radius, radius]."""
    return arb(0, radius)


def exponent(ball: Any) -> int | None:
    """The e with 2^(e−1) ≤ |m| < 2^e for the midpoint m of a ball; None if it is zero."""
    if not ball.mid().is_finite():
        raise Undecided("not finite")
    mantissa, shift = ball.mid().man_exp()
    return int(shift) + int(abs(mantissa)).bit_length() if mantissa else None


def upper(ball: Any) -> float:
    """A float that no |x| of the ball exceeds."""
    bound = float(ball.abs_upper())
    return math.nextafter(bound, math.inf) if bound < math.inf else math.inf


def radius_norm(balls: list[Any]) -> float:
    """A bound on the Euclidean norm of the differences between these balls' numbers and their midpoints."""
    return math.hypot(*(float(ball.rad()) for ball in balls)) * (1.0 + 1e-12) + 1e-300  # squares might underflow
