"""How much two samples of releases prove about epsilon.

If a mechanism is (epsilon, delta)-private, then P(A) ≤ e^epsilon Q(A) + delta for every event A, P and Q being the laws
of its releases on neighbouring data. Counting how often an event happens bounds P(A) from below and Q(A) from above
(Clopper and Pearson 1934), hence epsilon from below by log((P(A) − delta) / Q(A)), except with a probability fixed in
advance. The event, a half-line of some statistic of the release, is chosen on other releases than it is counted on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpframe.lattice import FloatArray

PILOT_DOUBT = 0.05  # pilot rates are taken this pessimistically, so that a lucky tail is not chosen
PREFERRED = 1.1  # a later candidate must promise more by this factor: the largest of many promises is a lucky one
TRUSTED = 2.0  # the same against a known likelihood ratio, which nothing beats unless it is wrong
SINGLES = 4  # coordinates that are tried on their own, besides their best combination
LEVELS = 400  # thresholds that are tried


@attrs.frozen(kw_only=True)
class Terms:
    """What is fixed before the first release.

    Args:
        trials: how many releases on either data set the event is counted on.
        delta: the delta of the guarantee.
        false_alarm: the largest probability that the bound is above the truth; half of it for either count.
    """

    trials: int
    delta: float
    false_alarm: float


@attrs.frozen(eq=False)
class Look:
    """Functions of each number released, learnt from the pilot.

    The number itself tells a shift of Gaussian noise best; cut off at the two means, one of Laplace noise; its squared
    distance from the middle, a change of the noise.

    Args:
        low: the smaller mean of each number.
        high: the larger one.
        unit: the spread of each number.
    """

    low: FloatArray
    high: FloatArray
    unit: FloatArray

    @classmethod
    def of(cls, one: FloatArray, other: FloatArray) -> Look:
        means = np.sort([one.mean(axis=0), other.mean(axis=0)], axis=0)
        spread = np.sqrt((one.var(axis=0) + other.var(axis=0)) / 2)
        return cls(means[0], means[1], np.where(spread > 0, spread, 1.0))

    def __call__(self, numbers: FloatArray) -> FloatArray:
        """(trials, 3 × numbers)."""
        middle = (self.low + self.high) / 2
        return np.hstack([numbers, np.clip(numbers, self.low, self.high), ((numbers - middle) / self.unit) ** 2])


@attrs.frozen(eq=False)
class Event:
    """Releases whose score is at least a threshold, more frequent for one data set than for the other.

    Args:
        look: functions of the numbers released.
        weights: the score is this combination of them.
        threshold: where the event begins.
        reverse: whether it is the other data set that it speaks for.
        promise: the bound on epsilon that the pilot expects of it.
    """

    look: Look
    weights: FloatArray
    threshold: float
    reverse: bool
    promise: float

    def hits(self, numbers: FloatArray) -> int:
        return int((_score(self.look(numbers), self.weights) >= self.threshold).sum())

    @property
    def first_alone(self) -> bool:
        """Whether the first of the numbers decides by itself."""
        return bool(self.weights[0]) and not self.weights[1:].any()


def clopper_pearson(hits: ArrayLike, trials: int, doubt: float) -> tuple[FloatArray, FloatArray]:
    """A lower and an upper bound on a probability, each wrong with probability at most ``doubt``.

    >>> [round(float(bound), 4) for bound in clopper_pearson(3, 10, 0.025)]
    [0.0667, 0.6525]
    """
    counts = np.asarray(hits, dtype=np.float64)
    return _at_least(counts, trials, doubt), _at_most(counts, trials, doubt)


def _at_least(hits: FloatArray, trials: int, doubt: float) -> FloatArray:
    from scipy.special import betaincinv

    return np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), trials - hits + 1, doubt), 0.0)


def _at_most(hits: FloatArray, trials: int, doubt: float) -> FloatArray:
    from scipy.special import betainccinv

    return np.where(hits < trials, betainccinv(hits + 1, np.maximum(trials - hits, 1e-9), doubt), 1.0)


def lower_bound(hits: float, misses: float, terms: Terms) -> float:
    """An epsilon that the mechanism exceeds, except with probability ``terms.false_alarm``.

    Args:
        hits: how often the event happened on the data set it speaks for.
        misses: how often it happened on the other one.
        terms: what was fixed in advance.
    """
    doubt = terms.false_alarm / 2
    lower = _at_least(np.array([hits], dtype=np.float64), terms.trials, doubt)
    upper = _at_most(np.array([misses], dtype=np.float64), terms.trials, doubt)
    return float(_bounds(lower, upper, terms.delta)[0])


def _bounds(lower: FloatArray, upper: FloatArray, delta: float) -> FloatArray:
    bounds: FloatArray = np.log(np.maximum(lower - delta, upper) / upper)  # never below zero
    return bounds


@lru_cache(maxsize=16)
def _expected(pilot: int, trials: int, false_alarm: float) -> tuple[FloatArray, FloatArray]:
    """By the number of hits in a pilot: the lower and the upper bound to be expected of so many trials."""
    hits, doubt = np.arange(pilot + 1.0), false_alarm / 2
    lower = _at_least(_at_least(hits, pilot, PILOT_DOUBT) * trials, trials, doubt)
    upper = _at_most(_at_most(hits, pilot, PILOT_DOUBT) * trials, trials, doubt)
    return lower, upper


def best_event(one: FloatArray, other: FloatArray, terms: Terms, *, ratio_first: bool = False) -> Event:
    """The event that the pilot expects to prove most in further releases.

    Combinations are learnt from one half of the pilot and judged on the other.

    Args:
        one: (pilot trials, numbers) released on one data set. The first number is tried as a score of its own.
        other: the same on the other data set.
        terms: for the releases it will be counted on.
        ratio_first: whether the first number is the log-likelihood ratio.
    """
    look = Look.of(one, other)
    seen = look(one), look(other)
    learnt, kept = ([sample[half::2] for sample in seen] for half in (0, 1))
    best: Event | None = None
    tried = [*((each, seen) for each in _single(*seen)), *((each, kept) for each in _trained(*learnt))]
    for number, (weights, samples) in enumerate(tried):
        scores = [_score(sample, weights) for sample in samples]
        for reverse in (False, True):
            toward, away = (-scores[1], -scores[0]) if reverse else scores
            threshold, promise = _threshold(toward, away, terms)
            trusted = ratio_first and best is not None and best.first_alone
            needed = 1.0 if number == 0 else TRUSTED if trusted else PREFERRED
            if best is None or promise > needed * best.promise:
                best = Event(look, -weights if reverse else weights, threshold, reverse, promise)
    assert best is not None
    return best


def _score(numbers: FloatArray, weights: FloatArray) -> FloatArray:
    # Entry by entry: a matrix product may give equal rows different last bits.
    scores: FloatArray = np.add.reduce(numbers * weights, axis=1)
    return scores


def _single(one: FloatArray, other: FloatArray) -> Iterator[FloatArray]:
    """Numbers by themselves: the first one, then those whose means lie farthest apart."""
    count = one.shape[1] // 3
    places = np.arange(one.shape[1])
    shift = np.abs(one[:, :count].mean(axis=0) - other[:, :count].mean(axis=0))
    spread = one[:, :count].std(axis=0) + other[:, :count].std(axis=0)
    told = np.divide(shift, spread, out=np.where(shift > 0, np.inf, 0.0), where=spread > 0)
    for index in [0, *np.argsort(-told)[:SINGLES].tolist()]:
        yield (places == index).astype(np.float64)


def _trained(one: FloatArray, other: FloatArray) -> Iterator[FloatArray]:
    """Fisher's combinations of each kind of look, and of all of them."""
    kind = np.arange(one.shape[1]) // (one.shape[1] // 3)
    for block in (kind == 0, kind == 1, kind == 2, kind >= 0):
        yield _fisher(one, other, block)


def _fisher(one: FloatArray, other: FloatArray, block: NDArray[np.bool_]) -> FloatArray:
    """The linear combination of some columns whose means lie farthest apart in its own deviations."""
    one, other = one[:, block], other[:, block]
    shift = one.mean(axis=0) - other.mean(axis=0)
    spread = np.sqrt((one.var(axis=0) + other.var(axis=0)) / 2)
    unit = np.where(spread > 0, spread, np.maximum(np.abs(shift), 1e-300) * 1e-6)  # certain ones outweigh all others
    standard = [(sample - sample.mean(axis=0)) / unit for sample in (one, other)]
    within = sum(sample.T @ sample / len(sample) for sample in standard) / 2
    found = np.zeros(len(block))
    found[block] = np.linalg.solve(within + 1e-6 * np.eye(len(shift)), shift / unit) / unit
    return found if np.isfinite(found).all() and found.any() else block.astype(np.float64)


def _threshold(toward: FloatArray, away: FloatArray, terms: Terms) -> tuple[float, float]:
    levels = np.unique(np.concatenate([toward, away]))
    if len(levels) > LEVELS:
        levels = levels[np.linspace(0, len(levels) - 1, LEVELS).astype(int)]
    hits = len(toward) - np.searchsorted(np.sort(toward), levels, side="left")
    misses = len(away) - np.searchsorted(np.sort(away), levels, side="left")
    lower, _ = _expected(len(toward), terms.trials, terms.false_alarm)
    _, upper = _expected(len(away), terms.trials, terms.false_alarm)
    promised = _bounds(lower[hits], upper[misses], terms.delta)
    best = int(np.argmax(promised))
    return float(levels[best]), float(promised[best])


def visible(curve: Callable[[float], float], claim: float, terms: Terms) -> float:
    """The bound that so many releases are expected to give for a mechanism that spends all it claims.

    Args:
        curve: epsilon ↦ delta as claimed. Its slope gives both probabilities of the likeliest event of each threshold
            x of the log-likelihood ratio: Q = −curve′(x) e^−x and P = curve(x) + e^x Q.
        claim: the epsilon claimed at ``terms.delta``.
        terms: what was fixed in advance.
    """
    found = 0.0
    if not claim > 0.0:
        return found
    for x in np.linspace(0.0, 1.0, 41)[1:] * claim:
        step = 1e-3 * claim
        slope = (curve(x + step) - curve(x - step)) / (2 * step)
        misses = min(max(-slope * math.exp(-x), 0.0), 1.0)
        hits = min(curve(x) + math.exp(x) * misses, 1.0)
        found = max(found, lower_bound(hits * terms.trials, misses * terms.trials, terms))
    return min(found, claim)
