"""Compiled sweeps over a pair of patterns.

Given all other entries, the depth y of an entry has density ∝ e^{−cy} on an interval [low, high] (`pattern` has the
bounds), with c = c_j ≥ 0 of its row. Two updates have that law:

* `monotone` takes the inverse of the distribution function at a uniform U. It increases with both ends of the interval,
  so that patterns that lie one below the other stay so when they share U.
* `coalescing` draws points of density ∝ e^{−cy}, the first on the whole range of the entry, until one is in the
  interval; a point that is not cuts the range down to the side of it on which the interval lies. Each point that is
  kept has the law of a point given that it is in the interval. Two intervals that share the uniforms see the same
  points until one falls into their hull, and give the same depth if it falls into their overlap: with probability
  Z(overlap)/Z(hull), for Z the integral of e^{−cy}.

A uniform is a 64-bit word: U = (word + ½)·2⁻⁶⁴, and 1 − U from the complement of the word, so that both have their
relative precision near zero.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe_orbit.pattern import Chain, Floats

Words = NDArray[np.uint64]

AGREED, DISAGREED, MORE = 0, 1, 2
UNIT = 2.0**-64
SLIGHT = 2.0**-8  # tilt up to which six terms of a series are exact to 1e-19; most entries are below


_VECTOR, _INTEGERS = types.float64[::1], types.int64[::1]
_DEPTHS = types.float64[:, ::1]
_WORDS = types.Array(types.uint64, 2, "C", readonly=True)
_CHAIN = types.NamedTuple((_VECTOR, _VECTOR, _INTEGERS, _INTEGERS, _VECTOR), Chain)  # type: ignore[no-untyped-call]


@dp.compiled(types.float64, types.float64, types.float64, types.uint64)
def depth(low: float, high: float, rate: float, word: np.uint64) -> float:
    """The inverse of the distribution function of density ∝ e^{−rate·y} on [low, high], at a word's uniform."""
    width = high - low
    if not width > 0.0:
        return low
    upper = (np.float64(word) + 0.5) * UNIT
    tilt = rate * width
    if tilt < SLIGHT:
        # −log(1 − U(1 − e^{−t}))/t = Σ κ_n (−t)^{n−1}/n!, with κ_n the cumulants of a Bernoulli variable of mean U.
        s, v = upper * (1.0 - upper), 1.0 - 2.0 * upper
        fifth = v * (1.0 - 12.0 * s) * (1 / 120) - tilt * (1.0 - 30.0 * s + 120.0 * s * s) * (1 / 720)
        third = v * (1 / 6) - tilt * ((1.0 - 6.0 * s) * (1 / 24) - tilt * fifth)
        return min(low + width * (upper - s * tilt * (0.5 - tilt * third)), high)
    mass = -math.expm1(-tilt)
    share = mass * upper
    if tilt <= 1.0 or share <= 0.5:
        return min(low - math.log1p(-share) / rate, high)
    rest = (np.float64(~word) + 0.5) * UNIT
    return min(low - math.log(mass * rest + math.exp(-tilt)) / rate, high)


@dp.compiled(_DEPTHS, _VECTOR, types.int64, types.int64)
def bounds(depths: Floats, gaps: Floats, j: int, column: int) -> tuple[float, float]:
    """The interval of one depth given the others."""
    low = depths[j + 1, column]
    if column > 1:
        low = max(low, depths[j - 1, column - 1] - gaps[column - 1])
    high = depths[j + 1, column + 1] + gaps[column]
    if column < j:
        high = min(high, depths[j - 1, column])
    return low, max(low, high)  # rounding may reverse the ends of a tiny interval


@dp.compiled(_DEPTHS, _CHAIN, _WORDS)
def monotone(depths: Floats, chain: Chain, words: Words) -> None:
    """Sweep a pattern, one sweep for each row of words, the last row first."""
    for time in range(words.shape[0] - 1, -1, -1):
        for i in range(len(chain.rows)):
            j, column = chain.rows[i], chain.columns[i]
            low, high = bounds(depths, chain.gaps, j, column)
            depths[j, column] = depth(low, high, chain.rates[j], words[time, i])


@dp.compiled(_DEPTHS, _DEPTHS, _CHAIN)
def expected_disagreements(first: Floats, second: Floats, chain: Chain) -> tuple[float, float]:
    """About how many entries a coalescing sweep leaves different, and the largest distance of the two patterns."""
    expected, largest = 0.0, 0.0
    for i in range(len(chain.rows)):
        j, column = chain.rows[i], chain.columns[i]
        low, high = bounds(first, chain.gaps, j, column)
        other_low, other_high = bounds(second, chain.gaps, j, column)
        apart, hull = abs(other_low - low) + abs(other_high - high), max(high, other_high) - min(low, other_low)
        expected += min(1.0, apart / hull) if hull > 0.0 else 0.0
        largest = max(largest, abs(first[j, column] - second[j, column]))
    return expected, largest


@dp.compiled(_DEPTHS, _DEPTHS, _CHAIN, _WORDS)
def coalescing(first: Floats, second: Floats, chain: Chain, words: Words) -> int:
    """Sweep two patterns, `first` nowhere deeper, until an entry differs; uniform number n of entry i is words[n, i].

    Returns:
        AGREED where the patterns have become one; DISAGREED where an entry differs; MORE where words ran out.
    """
    for i in range(len(chain.rows)):
        j, column = chain.rows[i], chain.columns[i]
        least, most = bounds(first, chain.gaps, j, column)
        other_least, other_most = bounds(second, chain.gaps, j, column)
        outer_low, inner_low = min(least, other_least), max(least, other_least)
        inner_high, outer_high = min(most, other_most), max(most, other_most)
        if inner_low > inner_high:
            return DISAGREED
        if outer_low == outer_high:
            first[j, column] = second[j, column] = outer_low
            continue
        low, high = 0.0, chain.ranges[i]
        point = -1.0
        for n in range(words.shape[0]):
            found = depth(low, high, chain.rates[j], words[n, i])
            if found < outer_low:
                low = found
            elif found > outer_high:
                high = found
            elif inner_low <= found <= inner_high:
                point = found
                break
            else:
                return DISAGREED
        if point < 0.0:
            return MORE
        first[j, column] = second[j, column] = point
    return AGREED
