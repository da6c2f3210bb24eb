"""The statistics of an audit: a lower bound on epsilon from two samples of releases.

If a mechanism is (epsilon, delta)-private, then P(A) ≤ e^epsilon Q(A) + delta for every event A, where P and Q are the
distributions of its releases on neighboring data. Counting how often an event happens bounds P(A) from below and Q(A)
from above (Clopper and Pearson 1934), hence epsilon from below by log((P(A) − delta) / Q(A)), except with a probability
fixed in advance. The event, a half-line of some statistic of the release, is chosen on different releases from those
that it is counted on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpframe.lattice import FloatArray

PILOT_DOUBT = 0.05  # error probability of the confidence limits of pilot rates, so that chance extremes are not chosen
PREFERRED = 1.1  # a later event must promise more by this factor, because the maximum of many promises is biased upward
TRUSTED = 2.0  # the same against a known likelihood ratio, which is optimal unless the density is wrong
SINGLES = 4  # numbers that are tried as scores by themselves, in addition to combinations
LEVELS = 400  # the most thresholds that are tried


@attrs.frozen(kw_only=True)
class Terms:
    """What is fixed before the first release.

    Args:
        trials: the number of releases on each data set in which the event is counted.
        delta: the delta of the guarantee.
        false_alarm: the largest probability that the bound is above the truth; half of it for each count.
    """

    trials: int
    delta: float
    false_alarm: float


@attrs.frozen(eq=False)
class Look:
    """Features of each number released, with parameters estimated from the pilot.

    The number itself is the best statistic for a shift of Gaussian noise; the number clipped to the two means, for a
    shift of Laplace noise; its squared distance from the midpoint, for a change of the noise scale.

    Args:
        low: the smaller of the two means of each number.
        high: the larger one.
        unit: the standard deviation of each number.
    """

    low: FloatArray
    high: FloatArray
    unit: FloatArray

    @classmethod
    def of(cls, one: FloatArray, other: FloatArray) -> Look:
        """The features for two samples.

        Args:
            one: (trials, numbers) released on one data set.
            other: the same on the other data set.
        """
        means = np.sort([one.mean(axis=0), other.mean(axis=0)], axis=0)
        spread = np.sqrt((one.var(axis=0) + other.var(axis=0)) / 2)
        return cls(means[0], means[1], np.where(spread > 0, spread, 1.0))

    def __call__(self, numbers: FloatArray) -> FloatArray:
        """The features, (trials, 3 × numbers), of an array (trials, numbers)."""
        middle = (self.low + self.high) / 2
        return np.hstack([numbers, np.clip(numbers, self.low, self.high), ((numbers - middle) / self.unit) ** 2])


@attrs.frozen(eq=False)
class Event:
    """Releases whose score is at least a threshold, more frequent for one data set than for the other.

    Args:
        look: the features of the numbers released.
        weights: the score is the combination of the features with these weights.
        threshold: the smallest score in the event.
        reverse: whether the event is more frequent on the other data set.
        promise: the bound on epsilon that the pilot expects of it.
    """

    look: Look
    weights: FloatArray
    threshold: float
    reverse: bool
    promise: float

    def hits(self, numbers: FloatArray) -> int:
        """The number of releases in the event.

        Args:
            numbers: (trials, numbers) released.
        """
        return int((_score(self.look(numbers), self.weights) >= self.threshold).sum())

    @property
    def first_alone(self) -> bool:
        """Whether the score is the first number alone."""
        return bool(self.weights[0]) and not self.weights[1:].any()


def clopper_pearson(hits: ArrayLike, trials: int, doubt: float) -> tuple[FloatArray, FloatArray]:
    """A lower and an upper bound on a probability, each wrong with probability at most ``doubt``.

    Args:
        hits: how often the event happened.
        trials: the number of independent trials.
        doubt: the error probability of each bound.

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
    """A lower bound on the mechanism's epsilon, wrong with probability at most ``terms.false_alarm``.

    Args:
        hits: how often the event happened on the data set where it is more frequent.
        misses: how often it happened on the other one.
        terms: what was fixed in advance.
    """
    doubt = terms.false_alarm / 2
    lower = _at_least(np.array([hits], dtype=np.float64), terms.trials, doubt)
    upper = _at_most(np.array([misses], dtype=np.float64), terms.trials, doubt)
    return float(_bounds(lower, upper, terms.delta)[0])


def _bounds(lower: FloatArray, upper: FloatArray, delta: float) -> FloatArray:
    bounds: FloatArray = np.log(np.maximum(lower - delta, upper) / upper)  # at least zero
    return bounds


@lru_cache(maxsize=16)
def _expected(pilot: int, trials: int, false_alarm: float) -> tuple[FloatArray, FloatArray]:
    """For each number of hits in a pilot, the expected lower and upper bound of the test with its number of trials."""
    hits, doubt = np.arange(pilot + 1.0), false_alarm / 2
    lower = _at_least(_at_least(hits, pilot, PILOT_DOUBT) * trials, trials, doubt)
    upper = _at_most(_at_most(hits, pilot, PILOT_DOUBT) * trials, trials, doubt)
    return lower, upper


def best_event(one: FloatArray, other: FloatArray, terms: Terms, *, ratio_first: bool = False) -> Event:
    """The event with the largest bound on epsilon that the pilot expects in further releases.

    Combinations are trained on one half of the pilot and evaluated on the other.

    Args:
        one: (pilot trials, numbers) released on one data set. The first number is tried as a score by itself.
        other: the same on the other data set.
        terms: the terms of the test in which the event will be counted.
        ratio_first: whether the first number is the log-likelihood ratio.
    """
    look = Look.of(one, other)
    seen = look(one), look(other)
    training, validation = ([sample[half::2] for sample in seen] for half in (0, 1))
    best: Event | None = None
    tried = [*((each, seen) for each in _single(*seen)), *((each, validation) for each in _trained(*training))]
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
    # Not a matrix product, which may give equal rows different last bits.
    scores: FloatArray = np.add.reduce(numbers * weights, axis=1)
    return scores


def _single(one: FloatArray, other: FloatArray) -> Iterator[FloatArray]:
    """The weights of single numbers: the first one, then those whose means differ most in standard deviations."""
    count = one.shape[1] // 3
    places = np.arange(one.shape[1])
    shift = np.abs(one[:, :count].mean(axis=0) - other[:, :count].mean(axis=0))
    spread = one[:, :count].std(axis=0) + other[:, :count].std(axis=0)
    separation = np.divide(shift, spread, out=np.where(shift > 0, np.inf, 0.0), where=spread > 0)
    for index in [0, *np.argsort(-separation)[:SINGLES].tolist()]:
        yield (places == index).astype(np.float64)


def _trained(one: FloatArray, other: FloatArray) -> Iterator[FloatArray]:
    """The weights of Fisher's linear discriminant for each kind of feature, and for all features together."""
    kind = np.arange(one.shape[1]) // (one.shape[1] // 3)
    for block in (kind == 0, kind == 1, kind == 2, kind >= 0):
        yield _fisher(one, other, block)


def _fisher(one: FloatArray, other: FloatArray, block: NDArray[np.bool_]) -> FloatArray:
    """Fisher's linear discriminant of some columns: the combination whose means differ most in its own deviations."""
    one, other = one[:, block], other[:, block]
    shift = one.mean(axis=0) - other.mean(axis=0)
    spread = np.sqrt((one.var(axis=0) + other.var(axis=0)) / 2)
    unit = np.where(
        spread > 0, spread, np.maximum(np.abs(shift), 1e-300) * 1e-6
    )  # columns without variance get the largest weight
    standard = [(sample - sample.mean(axis=0)) / unit for sample in (one, other)]
    within = sum(sample.T @ sample / len(sample) for sample in standard) / 2
    weights = np.zeros(len(block))
    weights[block] = np.linalg.solve(within + 1e-6 * np.eye(len(shift)), shift / unit) / unit
    return weights if np.isfinite(weights).all() and weights.any() else block.astype(np.float64)


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
    """The bound that the test is expected to give for a mechanism that spends its claim in full.

    Args:
        curve: epsilon ↦ delta as claimed. Its slope gives both probabilities of the event that the log-likelihood ratio
            exceeds a threshold x: Q = −curve′(x) e^−x and P = curve(x) + e^x Q.
        claim: the epsilon claimed at ``terms.delta``.
        terms: what was fixed in advance.
    """
    best = 0.0
    if not claim > 0.0:
        return best
    for x in np.linspace(0.0, 1.0, 41)[1:] * claim:
        step = 1e-3 * claim
        slope = (curve(x + step) - curve(x - step)) / (2 * step)
        misses = min(max(-slope * math.exp(-x), 0.0), 1.0)
        hits = min(curve(x) + math.exp(x) * misses, 1.0)
        best = max(best, lower_bound(hits * terms.trials, misses * terms.trials, terms))
    return min(best, claim)
