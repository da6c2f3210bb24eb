"""The quantile function of a law in floats, with an error that is proved when its table is made.

x(u) is the point above which the law has probability u, for u from 2⁻¹⁶ to 1/2. The floats of each octave are divided
into 2⁶ intervals by their leading bits. On an interval with middle c, x is evaluated as a polynomial of degree 6 in
t = u − c, the Taylor polynomial whose coefficients are computed in ball arithmetic and rounded to floats. Since u and c
share their leading bits, t is exact.

`table` bounds, in ball arithmetic, how far the result may be from x at any U of the cell that u stands for. With
e = 2⁻⁵³ (one rounding), r half the width of the interval and a_j, ĉ_j the coefficients and their floats, the sum of

    the cell, and two roundings of u        (e·2·u + 2⁻⁶⁵)·max|x′|          u stands for [k, k+1]·2⁻⁶⁴
    rounding of the coefficients            Σ |a_j − ĉ_j|·rʲ
    Horner's rule                           e·Σ (2j + 1)·|ĉ_j|·rʲ           also if products and sums are fused
    the remainder                           max|a_7|·r⁷                     Lagrange's form, over the whole interval

is proved to be at most (RELATIVE − 6e)·x + 0.999·absolute on every interval. `absolute` is the smallest number for
which that is so: nothing here is measured. The rest of the allowance, 6e·x + 0.001·absolute, is what
:mod:`dpframe.noise.rounded` needs for the product with the scale and for its comparison. What is assumed: balls contain
the true values, and floats are added and multiplied as IEEE 754 says, to the nearest.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

__all__ = ["RELATIVE", "SMALLEST", "Floats", "Quantiles", "Series", "table"]

Floats = npt.NDArray[np.float64]
Series = Callable[[Any, int], list[Any]]
"""The first coefficients of the Taylor series of x at a ball (flint.arb) of u; each contains those at all of its u."""

SMALLEST = 2.0**-16
"""The table begins here; farther out in the tail a cell is wide compared with its probability."""
RELATIVE = 2.0**-49
"""The allowed error per unit of x."""

_DEGREE = 6
_LEADING = 6  # bits of the mantissa that choose the interval in its octave
_PRECISION = 128  # bits of the balls
_ROUNDING = 2.0**-53


@attrs.frozen
class Quantiles:
    """A table of polynomials.

    Args:
        coefficients: of each degree, from 0, for each interval.
        shift: u, as the bits of a float, has its interval above this many bits.
        absolute: x is within RELATIVE·x + absolute of every x in the cell, with room for a product and a comparison.
    """

    coefficients: Floats
    shift: int
    absolute: float

    def __call__(self, u: Floats) -> Floats:
        """The approximate x at each u from SMALLEST to 1/2, and arbitrary finite numbers below; overwrites u."""
        bits = u.view(np.int64)
        interval = bits >> self.shift
        middle = interval << self.shift
        middle |= 1 << (self.shift - 1)
        u -= middle.view(np.float64)
        interval -= _bits(SMALLEST) >> self.shift
        *lower, highest = self.coefficients
        x, each = np.take(highest, interval, mode="clip"), np.empty_like(u)
        for coefficients in reversed(lower):
            x *= u
            x += np.take(coefficients, interval, out=each, mode="clip")
        return x


@lru_cache(maxsize=8)
def table(series: Series) -> Quantiles:
    """The table of a law, with its proved error. It takes about a fifth of a second, once in a process."""
    from flint import arb, ctx

    shift = 52 - _LEADING
    first, last = (_bits(end) >> shift for end in (SMALLEST, 0.5))  # the last one holds u = 1/2 alone
    numbers = np.arange(first, last + 1)
    lows = (numbers << shift).view(np.float64).tolist()
    middles = (numbers << shift | 1 << (shift - 1)).view(np.float64).tolist()
    rows, absolute = [], 0.0
    with ctx.workprec(_PRECISION):
        for low, middle in zip(lows, middles, strict=True):
            half = middle - low
            exact = series(arb(middle), _DEGREE + 1)
            floats = [float(each.mid()) for each in exact]
            wider = arb(middle, half * (1 + 2.0**-20))  # than the interval, by more than a cell
            whole = series(wider, _DEGREE + 2)
            error = _error(exact, floats, whole, arb(middle) + half, arb(half))
            beyond = (error - (arb(RELATIVE) - 6 * _ROUNDING) * whole[0]) / arb("0.999")
            rows.append(floats)
            absolute = max(absolute, _above(beyond))
    return Quantiles(np.array(rows).T.copy(), shift, absolute)


def _error(exact: list[Any], floats: list[float], whole: list[Any], high: Any, half: Any) -> Any:
    """A ball whose upper end bounds the error on one interval."""
    from flint import arb

    cell = (2 * _ROUNDING * (1 + _ROUNDING) * high + arb((1, -65))) * abs(whole[1])
    rounding, horner = arb(0), arb(0)
    for degree, (coefficient, rounded) in enumerate(zip(exact, floats, strict=True)):
        rounding += abs(coefficient - rounded) * half**degree
        horner += (2 * degree + 1) * abs(arb(rounded)) * half**degree
    remainder = abs(whole[-1]) * half ** (_DEGREE + 1)
    return cell + rounding + _ROUNDING * (1 + 2.0**-40) * horner + remainder


def _above(ball: Any) -> float:
    """A float that is not below any number of the ball; infinite where the ball is."""
    return float(np.nextafter(float(ball.upper()), np.inf)) if ball.is_finite() else float("inf")


def _bits(number: float) -> int:
    return int(np.float64(number).view(np.int64))
