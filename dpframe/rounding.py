"""Conservative rounding: noise is never smaller than its formula, a stated guarantee never stronger than proved."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from functools import lru_cache


def up(value: float) -> float:
    """The next double above a correctly rounded positive result, hence not below the exact value."""
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


def format_up(value: float) -> str:
    """Format a number with six digits, rounded up: a printed guarantee is never stronger than the one that holds.

    >>> format_up(1.0), format_up(1.0000001), format_up(1e-6)
    ('1', '1.00001', '1e-06')
    """
    return _six_digits(value, ROUND_CEILING)


def format_down(value: float) -> str:
    """Format a number with six digits, rounded down: a printed remaining budget is never more than what is left.

    >>> format_down(0.9999999)
    '0.999999'
    """
    return _six_digits(value, ROUND_FLOOR)


def _six_digits(value: float, rounding: str) -> str:
    return f"{float(Context(prec=6, rounding=rounding).create_decimal_from_float(value)):.6g}"
