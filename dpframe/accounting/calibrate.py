"""Solves for the one free scalar of a plan, so that its composed loss is at most the budget."""

from __future__ import annotations

import math
from collections.abc import Callable

SMALLEST, LARGEST = 1e-12, 1e12


def largest_scale(epsilon_at: Callable[[float], float], epsilon: float) -> float | None:
    """The largest t with epsilon_at(t) ≤ epsilon, accurate to about 1e-13 and never above it.

    Args:
        epsilon_at: the composed epsilon when every free step runs at weight · t; increases with t.
        epsilon: the budget.

    Returns:
        The scale t, for which ``epsilon_at(t) <= epsilon`` was evaluated and holds; None if not even the smallest
        scale fits.
    """
    from scipy.optimize import brentq

    low = high = 1.0
    if epsilon_at(1.0) > epsilon:
        while epsilon_at(low := low / 4) > epsilon:
            if low < SMALLEST:
                return None
        high = 4 * low
    else:
        while epsilon_at(high := 4 * high) <= epsilon:
            if high > LARGEST:
                return high
        low = high / 4

    def excess(log_scale: float) -> float:
        value = epsilon_at(math.exp(log_scale)) / epsilon  # its logarithm is nearly linear in log_scale
        return math.log(value) if 0.0 < value < math.inf else math.copysign(700.0, value - 1.0)

    first, last = math.log(low), math.log(high)
    if excess(first) >= 0.0:  # equality, up to the rounding of the logarithm
        return low
    scale = math.exp(last if excess(last) <= 0.0 else float(brentq(excess, first, last, xtol=1e-14, rtol=1e-14)))
    shrink = 1e-15
    while epsilon_at(scale) > epsilon:
        scale *= 1 - shrink
        shrink *= 2
    return scale
