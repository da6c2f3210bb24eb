"""Arithmetic that rounds away from zero, so that noise is never smaller than its formula."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache


def up(value: float) -> float:
    """The next double above a correctly rounded positive result: certainly not below the exact one."""
    return math.nextafter(value, math.inf)


@lru_cache(maxsize=256)
def sqrt_up(square: int) -> float:
    """The smallest double whose square is not below an integer.

    >>> sqrt_up(4), sqrt_up(2) ** 2 >= 2
    (2.0, True)
    """
    root = math.sqrt(square)
    while Fraction(root) ** 2 < square:
        root = up(root)
    while Fraction(math.nextafter(root, 0.0)) ** 2 >= square > 0:
        root = math.nextafter(root, 0.0)
    return root
