"""Solves the one free scalar of a plan so that its composed loss meets the budget from below."""

from __future__ import annotations

import math
from collections.abc import Callable

SMALLEST, LARGEST = 1e-12, 1e12


def largest_scale(epsilon_at: Callable[[float], float], epsilon: float) -> float | None:
    """The largest t with epsilon_at(t) ≤ epsilon, to about 1e-13, never above it.

    Args:
        epsilon_at: the composed epsilon when every free step runs at weight · t; increases with t.
        epsilon: the budget.

    Returns:
        The scale, for which ``epsilon_at(t) <= epsilon`` was evaluated and holds; None where not even the smallest
        scale fits.
    """
    from scipy.optimize import brentq

    low = high = 1.0
    while epsilon_at(low) > epsilon:
        low /= 4
        if low < SMALLEST:
            return None
    high = max(high, low)
    while epsilon_at(high) <= epsilon:
        low, high = high, high * 4
        if high > LARGEST:
            return low

    def excess(log_scale: float) -> float:
        value = epsilon_at(math.exp(log_scale))
        return (value if math.isfinite(value) else 1e300) - epsilon

    scale = math.exp(float(brentq(excess, math.log(low), math.log(high), xtol=1e-14, rtol=1e-14)))
    shrink = 1e-15
    while epsilon_at(scale) > epsilon:
        scale *= 1 - shrink
        shrink *= 2
    return scale
