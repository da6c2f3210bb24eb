"""Coupling from the past: the eigenvalues of leading blocks of an orbit's matrix, by a Markov chain, in floats.

The sampler that `orbit` had before its direct draw, kept to be compared with it. Row j of a pattern holds the
eigenvalues x_{j,1} ≥ … ≥ x_{j,j} of the leading block of size j of H, in eigenvectors of M; rows interlace. Their
density is ∝ exp(Σ_j c_j Σ_l x_{j,l}) with c_j = κ(γ_j − γ_{j+1}) ≥ 0, so that each entry given all others has a
truncated exponential law. Entries are held as depths y_{j,l} = λ_l − x_{j,l}, small where the density is large.

Imagine sweeps over all entries at times …, −2, −1. A chain started in the infinite past has the law at time 0, and its
state there is known once all starts at some time −T lead to it (Propp and Wilson 1996). Sweeps before the last one are
monotone, so that every start stays between the shallowest and the deepest pattern; the last one coalesces: an entry is
the first of common points that falls into the hull of its two intervals, if that lies in both. Otherwise T is
increased, and the same uniforms are read again. That T is long enough can be seen; how long it must be is not known.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.lattice import FloatArray

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

BLOCK = 1 << 17  # words at a time
POINTS = 16  # for an entry of the last sweep at first
AGREED, DISAGREED, MORE = 0, 1, 2
UNIT = 2.0**-64


class Chain(NamedTuple):
    """A density over the patterns below one spectrum, as compiled code takes it.

    Args:
        gaps: λ_l − λ_{l+1} at index l, from 1 to k.
        rates: c_j at index j, from 1 to d − 1.
        rows, columns: j and l of each entry that is not fixed, in the order of a sweep.
        ranges: the largest depth of each.
    """

    gaps: FloatArray
    rates: FloatArray
    rows: Integers
    columns: Integers
    ranges: FloatArray


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
    if tilt < 1e-8:
        return min(low + width * upper, high)
    mass = -math.expm1(-tilt)
    share = mass * upper
    if tilt <= 1.0 or share <= 0.5:
        return min(low - math.log1p(-share) / rate, high)
    rest = (np.float64(~word) + 0.5) * UNIT
    return min(low - math.log(mass * rest + math.exp(-tilt)) / rate, high)


@dp.compiled(_DEPTHS, _VECTOR, types.int64, types.int64)
def bounds(depths: FloatArray, gaps: FloatArray, j: int, column: int) -> tuple[float, float]:
    """The interval of one depth given the others."""
    low = depths[j + 1, column]
    if column > 1:
        low = max(low, depths[j - 1, column - 1] - gaps[column - 1])
    high = depths[j + 1, column + 1] + gaps[column]
    if column < j:
        high = min(high, depths[j - 1, column])
    return low, max(low, high)  # rounding may reverse the ends of a tiny interval


@dp.compiled(_DEPTHS, _CHAIN, _WORDS)
def monotone(depths: FloatArray, chain: Chain, words: Words) -> None:
    """Sweep a pattern, one sweep for each row of words, the last row first."""
    for time in range(words.shape[0] - 1, -1, -1):
        for i in range(len(chain.rows)):
            j, column = chain.rows[i], chain.columns[i]
            low, high = bounds(depths, chain.gaps, j, column)
            depths[j, column] = depth(low, high, chain.rates[j], words[time, i])


@dp.compiled(_DEPTHS, _DEPTHS, _CHAIN, _WORDS)
def coalescing(first: FloatArray, second: FloatArray, chain: Chain, words: Words) -> int:
    """Sweep two patterns, `first` nowhere deeper, until an entry differs or words run out."""
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
        outcome = MORE
        for n in range(words.shape[0]):
            found = depth(low, high, chain.rates[j], words[n, i])
            if found < outer_low:
                low = found
            elif found > outer_high:
                high = found
            else:
                outcome = AGREED if inner_low <= found <= inner_high else DISAGREED
                first[j, column] = second[j, column] = found
                break
        if outcome != AGREED:
            return outcome
    return AGREED


def shape(spectrum: FloatArray, rates: FloatArray) -> tuple[Chain, FloatArray]:
    """The density with these c_j at 1, …, d − 1, for eigenvalues from 1 to 0; and the deepest pattern."""
    dim, rank = len(spectrum), int(np.count_nonzero(spectrum))
    padded = np.concatenate([spectrum, np.zeros(rank + 1)])
    free = [
        (j, column)
        for parity in (1, 0)  # rows of one parity depend on rows of the other alone
        for j in range(dim - 1, 0, -1)
        if j % 2 == parity
        for column in range(1, min(j, rank) + 1)
        if padded[column - 1] > padded[column - 1 + dim - j]  # otherwise it lies between equal eigenvalues
    ]
    rows, columns = (part.copy() for part in np.array(free, dtype=np.int64).reshape(-1, 2).T)
    gaps = np.zeros(rank + 2)
    gaps[1:-1] = padded[:rank] - padded[1 : rank + 1]
    deepest = np.zeros((dim + 1, rank + 2))
    deepest[rows, columns] = padded[columns - 1] - padded[columns - 1 + dim - rows]
    return Chain(gaps, rates, rows, columns, deepest[rows, columns]), deepest


def draw(
    spectrum: FloatArray, rates: FloatArray, random: dp.Random, horizon: int | None = None
) -> tuple[FloatArray, int]:
    """Row j of a pattern, for j from 0 to d: its first k entries, 0 beyond the j-th; and the T that sufficed.

    Args:
        spectrum, rates: as `shape` takes them.
        random: uniforms of the sweep at time −t are at the same place whatever T is.
        horizon: the first T; any gives the same draw.
    """
    chain, deepest = shape(spectrum, rates)
    size, horizon = len(chain.rows), horizon or len(spectrum) ** 2
    uniforms, last, points = random.child("sweeps"), random.child("last sweep"), POINTS
    while True:
        first, second, end = np.zeros_like(deepest), deepest.copy(), horizon
        while end > 1:
            start = max(1, end - max(1, BLOCK // size))
            uniforms.seek((start - 1) * size)  # a sweep at time −t is made from the same words for all horizons
            words = uniforms.words((end - start) * size).reshape(-1, size)
            monotone(first, chain, words)
            monotone(second, chain, words)
            end = start
        outcome = MORE
        while outcome == MORE:
            last.seek(0)
            words, one, other = last.words(points * size).reshape(points, size), first.copy(), second.copy()
            outcome = coalescing(one, other, chain, words)
            points = 2 * points if outcome == MORE else points
        if outcome == AGREED:
            found: FloatArray = np.tril(spectrum[: len(chain.gaps) - 2] - one[:, 1:-1], -1)
            return found, horizon
        horizon = 3 * horizon // 2
