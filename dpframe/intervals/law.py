"""Laws: what is known about a value without noise, given what was released.

A law is computed from released values and public noise alone. That of a mechanism follows from its noise, and that of a
derivation from the laws of its inputs (`PostProcessor.result_law`); each turns into intervals by itself.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import attrs
import numpy as np

from dpframe.errors import PlanError
from dpframe.intervals.interval import Interval
from dpframe.intervals.tails import NORMAL, quantile
from dpframe.lattice import FloatArray

NOT_INCLUDED = "Rows that were clipped or scaled down count as such: what that changed is not included."
SAMPLED = (
    "The sampling error of rows that are drawn independently from a normal population is included; that they are is an "
    "assumption."
)


class Law(ABC):
    """What is known about a value without noise."""

    @abstractmethod
    def interval(self, confidence: float, *, sampled: bool = False) -> Interval:
        """Intervals at a confidence.

        Args:
            confidence: the confidence, between 0 and 1.
            sampled: whether the sampling error of a normal population is included.
        """

    @abstractmethod
    def standard_error(self) -> FloatArray:
        """The standard deviation of the error that noise makes, for each number; inf where it is not determined."""


def refuse_sampling(sampled: bool, what: str) -> None:
    """Raise PlanError if the sampling error of a population is asked for and is not known.

    Args:
        sampled: whether it is asked for.
        what: the value in words.
    """
    if sampled:
        raise PlanError(
            f"the sampling error of {what} is not known: sampling='normal' needs a covariance, or what is derived from "
            "one, with a released number of rows. Leave sampling= out for the error of the noise alone."
        )


def ratio(value: Any, variance: Any, shared: Any, relative: float, z: Any) -> tuple[FloatArray, FloatArray]:
    """Fieller's interval for a quotient: all x with (value − x)² ≤ z²·(variance − 2·shared·x + relative²·x²).

    The numerator, divided by the released denominator, is `value`, of that variance; the denominator has a relative
    deviation, and `shared` is its covariance with the numerator. Exact for normal noise; infinite where the denominator
    is not told from zero.

    Args:
        value: the released quotient.
        variance: of the numerator.
        shared: the covariance of the numerator and the denominator.
        relative: the relative deviation of the denominator.
        z: the quantile of the noise.
    """
    square = 1.0 - np.square(z * min(relative, 1e6))
    known = np.asarray(square > 0.0)
    square = np.where(known, square, 1.0)
    middle = (value - np.square(z) * shared) / square
    half = np.sqrt(np.maximum(middle**2 - (np.square(value) - np.square(z) * variance) / square, 0.0))
    return np.where(known, middle - half, -np.inf), np.where(known, middle + half, np.inf)


@attrs.frozen(kw_only=True, eq=False)
class EntryLaw(Law):
    """Numbers with noise of known deviations, possibly divided by a number that has noise too.

    Args:
        center: the numbers, without bias.
        deviation: the deviation of the noise of each.
        shape: of the law of the noise; see :mod:`dpframe.intervals.tails`.
        relative: the relative deviation of the number that they are divided by; 0 if there is none.
        sampling: the variance of the sampling error of each, for rows from a population; None if it is not known.
        lowest: a bound that holds for all data.
        words: how the interval was found.
    """

    center: FloatArray
    deviation: FloatArray
    shape: float = NORMAL
    relative: float = 0.0
    sampling: FloatArray | None = None
    lowest: float = -math.inf
    words: str = "The noise has a known law; each interval is its quantiles."

    def interval(self, confidence: float, *, sampled: bool = False) -> Interval:
        if sampled and self.sampling is None:
            refuse_sampling(sampled, "this value")
        variance = np.square(self.deviation) + (0.0 if not sampled or self.sampling is None else self.sampling)
        z = quantile((1 + confidence) / 2, self.shape)
        low, high = ratio(self.center, variance, np.zeros_like(variance), self.relative, z)
        return Interval(
            low=np.maximum(low, self.lowest),
            high=np.maximum(high, self.lowest),
            confidence=confidence,
            method=sentences(self.words, sampled),
            determined=np.isfinite(low) & np.isfinite(high),
        )

    def standard_error(self) -> FloatArray:
        error = np.sqrt(np.square(self.deviation) + np.square(self.relative * self.center))
        return np.where(self.relative * quantile(0.975) < 1.0, error, np.inf)


@attrs.frozen(kw_only=True, eq=False)
class AffineLaw(Law):
    """A law in other units: offset + scale · value.

    Args:
        of: the law.
        scale: the positive factor of each number.
        offset: what is added to each.
    """

    of: Law
    scale: FloatArray
    offset: Any = 0.0

    def interval(self, confidence: float, *, sampled: bool = False) -> Interval:
        found = self.of.interval(confidence, sampled=sampled)
        return attrs.evolve(found, low=self.offset + self.scale * found.low, high=self.offset + self.scale * found.high)

    def standard_error(self) -> FloatArray:
        return np.asarray(self.scale * self.of.standard_error())


def sentences(words: str, sampled: bool) -> str:
    """The words of a method with what it includes and does not include.

    Args:
        words: how an interval was found.
        sampled: whether sampling error is included.
    """
    return " ".join([words, *([SAMPLED] if sampled else []), NOT_INCLUDED])
