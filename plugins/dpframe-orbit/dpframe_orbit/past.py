"""Coupling from the past: exact draws of a pattern.

Patterns of a Hermitian matrix H with spectrum Λ, in a basis where M = diag(γ), γ_1 ≥ … ≥ γ_d, are uniform under the
invariant measure, and H_jj is the difference of the sums of rows j and j − 1. So the density exp(⟨M, H⟩) makes the
pattern's ∏_j exp(c_j Σ_l x_{j,l}) with c_j = γ_j − γ_{j+1} ≥ 0.

Imagine sweeps at all times …, −3, −2, −1, each a random map with this law as its fixed point. The state at time 0 of a
chain started in the infinite past has the law exactly, and it is known as soon as all starts at some time −T lead to
the same state (Propp and Wilson 1996). Sweeps at times −T, …, −2 are monotone: every start stays between the shallowest
and the deepest pattern. They come close but never meet; the sweep at time −1 is coalescing, and where both bounds agree
after it, so does everything between them: the point that both intervals kept is the first to fall into their hull,
hence the one that every interval between them keeps. Otherwise T is increased, and the same uniforms are read again for
the same times.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import attrs

import dpframe.plugin as dp
from dpframe_orbit.pattern import Chain, Floats, Pattern

BLOCK = 1 << 17  # words at a time; a second thread pays from there on
FIRST_LEVELS = 16  # uniforms per entry that the coalescing sweep reads at first
SHORTEST = 32  # sweeps of the first horizon, or d² where that is more: mixing takes a few d² where the density is flat
WANTED = 0.005  # entries that may be expected to differ at the next horizon


@attrs.frozen(kw_only=True, eq=False)
class Draw:
    """An exact draw of a pattern.

    Args:
        depths: the pattern.
        horizon: how many sweeps it took. It depends on the data: never release it.
    """

    depths: Floats
    horizon: int


def draw_pattern(pattern: Pattern, rates: Floats, random: dp.Random, *, horizon: int | None = None) -> Draw:
    """A pattern of density ∝ ∏ exp(−rates[j]·y_{j,l}) over its free entries.

    Args:
        pattern: the shape.
        rates: c_j at index j, from 1 to d − 1; none negative.
        random: uniforms of the sweep at time −t are at the same place whatever the horizon.
        horizon: the first to try; any gives the same draw.
    """
    if pattern.size == 0:
        return Draw(depths=pattern.shallowest(), horizon=0)
    sweeps = max(SHORTEST, pattern.dim**2) if horizon is None else horizon
    while True:
        shallow, deep = before_the_last_sweep(pattern, rates, random, sweeps)
        depths = last_sweep(pattern, rates, random, shallow, deep)
        if depths is not None:
            return Draw(depths=depths, horizon=sweeps)
        sweeps = next_horizon(pattern.chain(rates), sweeps, shallow, deep)


def next_horizon(chain: Chain, horizon: int, shallow: Floats, deep: Floats) -> int:
    """A horizon at which the last sweep will probably agree, as the distance of the two falls off exponentially.

    Only the time depends on it: the draw is the same for every horizon that is long enough.
    """
    from dpframe_orbit.sweeps import expected_disagreements

    expected, apart = expected_disagreements(shallow, deep, chain)
    if apart >= 1.0:
        return 8 * horizon
    decay = -math.log(apart) / horizon  # equal patterns would have agreed, so they are apart
    more = math.log(max(expected, WANTED) / WANTED) / decay
    return int(min(max(horizon + more, 1.25 * horizon), 8.0 * horizon)) + 1


def before_the_last_sweep(pattern: Pattern, rates: Floats, random: dp.Random, horizon: int) -> tuple[Floats, Floats]:
    """The lowest and the highest of all starts, just before the sweep at time −1."""
    from dpframe_orbit.sweeps import monotone

    uniforms = random.child("sweeps")
    first, second = pattern.shallowest(), pattern.deepest()
    block = max(1, BLOCK // pattern.size)
    chain = pattern.chain(rates)
    end = horizon
    pool = ThreadPoolExecutor(1) if horizon * pattern.size >= BLOCK else None  # the two do not depend on each other
    with pool or nullcontext():
        while end > 1:
            start = max(1, end - block)
            uniforms.seek((start - 1) * pattern.size)  # the sweep at time −t reads from (t − 2)·size
            words = uniforms.words((end - start) * pattern.size).reshape(-1, pattern.size)
            waiting = pool.submit(monotone, first, chain, words) if pool else None
            monotone(second, chain, words)
            if waiting is None:
                monotone(first, chain, words)
            else:
                waiting.result()
            end = start
    return first, second


def last_sweep(pattern: Pattern, rates: Floats, random: dp.Random, first: Floats, second: Floats) -> Floats | None:
    """The pattern that both lead to by the coalescing sweep at time −1, or None where they lead to different ones."""
    from dpframe_orbit.sweeps import AGREED, MORE, coalescing

    uniforms = random.child("last sweep")
    chain = pattern.chain(rates)
    levels = FIRST_LEVELS
    while True:
        uniforms.seek(0)
        words = uniforms.words(levels * pattern.size).reshape(levels, pattern.size)
        one, other = first.copy(), second.copy()
        outcome = coalescing(one, other, chain, words)
        if outcome != MORE:
            return one if outcome == AGREED else None
        levels *= 2
