"""Exact samples of round(scale·X) for a symmetric law X, from the words of a keystream.

A sample is a sign and a tail probability U = P(X > x), uniform on [0, 1/2]; the result is ±round(scale·x). U is a
binary expansion that is read only as far as needed: one word gives the sign and the 63-bit k of the first cell
[k, k+1]·2⁻⁶⁴, and `Keystream.extension` of the word's position gives the rest. The result is a function of this one U,
however many of its bits are read, so the way it is computed has no influence on the law:

1. `guess` computes x at the middle of the cell in floats, and keeps round(scale·x) if an error bound shows that every U
   in the cell gives that integer. It decides all but a few draws.
2. `decide` proves the integer in ball arithmetic, and appends 64 bits to U while the cell contains more than one.
   Drawing a new U instead would bias the law: the undecided cells lie at the boundaries and far out in the tail.

The float path works for k ≥ 2⁴⁸. :mod:`dpframe.noise.quantiles` proves of its x that every x of the cell is within
E ≤ (RELATIVE − 6e)·x + 0.999·absolute of it, where e = 2⁻⁵³. With y = scale·x as computed, n = rint(y) and d = |y − n|,
a draw is accepted if d + RELATIVE·y < 1/2 − absolute·scale, as computed. Allowing for the roundings, this shows that

    d < 1/2 + 1.01·e − absolute·scale − RELATIVE·y·(1 − e),

while scale·x is within scale·E + 1.01·e·y of y for every x of the cell. So scale·x is within 1/2 of n: if y ≥ 1/4,
because 1.01·e ≤ 4.04·e·y; if y < 1/4, where n = 0, because absolute·scale is either below 1/8, and scale·x < 1/2 by
far, or so large that a thousandth of it is far above e. Acceptance needs RELATIVE·y < 1/2, hence y < 2⁴⁸, so that
rint(y) and y − n are exact; a larger scale sends more draws to `decide`. Ties have probability zero; `decide` would
round them away from zero.
"""

import numbers
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from dpframe.noise.keystream import Keystream, Words
from dpframe.noise.quantiles import RELATIVE, SMALLEST, Series, table

__all__ = ["Law", "decide", "guess", "sample"]

Integers = npt.NDArray[np.int64]

_BLOCK = 2**15  # samples at a time: the arrays of one block stay in the second-level cache
_MAGNITUDE = np.uint64(2**63 - 1)  # the word without its sign bit: k


@attrs.frozen(kw_only=True)
class Law:
    """A law symmetric about zero, given by the point x above which it has probability u ≤ 1/2.

    Args:
        draws: the name of the public function, for messages.
        scale: the name of its argument for the scale, for messages.
        largest: the scale is at most 2**largest, so that |result| < 2**62 except with probability below 2**-1400.
        ball: x for a ball (flint.arb) of u.
        series: the Taylor series of x at a ball of u.
    """

    draws: str
    scale: str
    largest: int
    ball: Callable[[Any], Any]
    series: Series


def sample(law: Law, stream: Keystream, scale: float, size: int) -> Integers:
    """Independent samples of round(scale·X), one for each of the next `size` words of the stream."""
    scale = _checked_scale(law, scale)
    size = _checked_size(law, size)
    out = np.empty(size, np.int64)
    for start in range(0, size, _BLOCK):
        part = out[start : start + _BLOCK]
        position, words = stream.take(len(part))
        rest = guess(law, scale, words, part)
        if rest.size:
            more = [stream.extension(position + i) for i in rest.tolist()]
            part[rest] = decide(law, scale, words[rest].tolist(), more)
    return out


def guess(law: Law, scale: float, words: Words, out: Integers) -> npt.NDArray[np.intp]:
    """Write to `out` the samples that floats can prove; return the indices of the others, written arbitrarily."""
    quantiles = table(law.series)
    u = (words & _MAGNITUDE).view(np.int64).astype(np.float64)
    u += 0.5
    u *= 2.0**-64
    near = u >= SMALLEST
    x = quantiles(u)
    x *= scale
    nearest = np.rint(x)
    # A word is negative as a float when its sign bit, the highest, is set.
    np.copyto(out, np.copysign(nearest, words.view(np.float64)), casting="unsafe")
    # Accept if |x − nearest| + RELATIVE·x < 1/2 − absolute·scale; NaN is not accepted.
    nearest -= x
    np.abs(nearest, out=nearest)
    x *= RELATIVE
    nearest += x
    near &= nearest < 0.5 - quantiles.absolute * scale
    return np.flatnonzero(~near)


def decide(law: Law, scale: float, words: Sequence[int], more: Sequence[Iterator[int]]) -> list[int]:
    """The rounded samples of the words; each cell is extended by its own `more` words until it gives one integer."""
    from flint import arb, ctx

    values = [0] * len(words)
    cells = {i: word & int(_MAGNITUDE) for i, word in enumerate(words)}  # of the undecided words
    bits = 64
    while cells:
        with ctx.workprec(bits + 64):
            half_cell, exact_scale = arb((1, -bits - 1)), arb(scale)
            for i, cell in list(cells.items()):
                u = arb(2 * cell + 1, 1) * half_cell  # the ball [cell, cell + 1]·2^−bits
                nearest = (exact_scale * law.ball(u) + 0.5).floor().unique_fmpz()
                if nearest is None:
                    cells[i] = cell << 64 | next(more[i])
                else:
                    del cells[i]
                    values[i] = _wrapped(-int(nearest) if words[i] >> 63 else int(nearest))
        bits += 64
    return values


def _wrapped(value: int) -> int:
    # Adding noise modulo 2^64 to an integer is post-processing of the exact sum; clipping the noise would not be.
    return (value + 2**63) % 2**64 - 2**63


def _checked_scale(law: Law, scale: float) -> float:
    if not isinstance(scale, numbers.Real) or not 0 < scale <= 2**law.largest or float(scale) != scale:
        allowed = f"a finite number in (0, 2**{law.largest}]"
        raise ValueError(f"{law.draws}: {law.scale} must be {allowed}; got {scale!r}.")
    return float(scale)


def _checked_size(law: Law, size: int) -> int:
    try:
        count = operator.index(size)
    except TypeError:
        count = -1
    if count < 0:
        raise ValueError(f"{law.draws}: size must be a non-negative integer; got {size!r}.")
    return count
