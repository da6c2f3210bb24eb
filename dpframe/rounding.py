"""Conservative rounding: noise is never smaller than its formula, a stated guarantee never stronger than proved."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from functools import lru_cache

TYPED = 12  # digits: a number with more was hardly typed by anybody, but computed


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


def format_given(value: float) -> str:
    """Format a number that somebody gave: the shortest decimal that parses back to it, hence what was typed.

    >>> format_given(0.1), format_given(1e-5), format_given(1.0), format_given(1.23456789)
    ('0.1', '1e-05', '1', '1.23456789')
    """
    return repr(float(value)).removesuffix(".0")


def format_up(value: float, limit: float = math.inf) -> str:
    """Format a computed number with six digits, rounded up: a printed guarantee is never stronger than the one that
    holds.

    The text parses to no less than the value; a number of at most twelve digits is not rounded. A value that is not
    above the limit, a given number, is not printed above it either: where six digits would be, the limit is printed.

    >>> format_up(0.1), format_up(2 / 3), format_up(1e-6)
    ('0.1', '0.666667', '1e-06')
    >>> format_up(1.2345678 - 1e-15), format_up(1.2345678 - 1e-15, limit=1.2345678)
    ('1.23457', '1.2345678')
    """
    text = _short(value, ROUND_CEILING)
    return format_given(limit) if value <= limit < float(text) else text


def format_down(value: float) -> str:
    """Format a computed number with six digits, rounded down: a printed remaining budget is never more than what is
    left.

    >>> format_down(2 / 3), format_down(0.3)
    ('0.666666', '0.3')
    """
    return _short(value, ROUND_FLOOR)


def _short(value: float, rounding: str) -> str:
    if float(f"{value:.{TYPED}g}") == value:
        return format_given(value)
    return f"{float(Context(prec=6, rounding=rounding).create_decimal_from_float(value)):.6g}"
