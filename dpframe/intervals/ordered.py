"""Intervals for numbers that were released with independent noise and then sorted.

The i-th largest of λ + e exceeds the i-th largest λ by more than t only if i of them are above λ_i + t. Then at least
one is not among the first i − 1, and its noise is above t. So the lower end has the quantile of the largest noise of
those from i on, and the upper end in the same way that of those up to i, both within a cluster of numbers that noise
can have exchanged.
"""

from __future__ import annotations

import attrs
import numpy as np

from dpframe.intervals.interval import Interval
from dpframe.intervals.law import Law, refuse_sampling, sentences
from dpframe.intervals.tails import NORMAL, quantile
from dpframe.lattice import FloatArray

WORDS = "The noise has a known law; numbers that it may have exchanged are bounded together."
APART = 2.0
"""Neighbors farther apart than this many half widths are taken as not exchanged."""


@attrs.frozen(kw_only=True, eq=False)
class OrderedLaw(Law):
    """Numbers from the largest, none negative, with independent noise before they were sorted.

    Args:
        center: the released numbers.
        deviation: that of the noise of each.
        shape: of the law of the noise.
    """

    center: FloatArray
    deviation: float
    shape: float = NORMAL

    def interval(self, confidence: float, *, sampled: bool = False) -> Interval:
        refuse_sampling(sampled, "eigenvalues that were released by themselves")
        alone = self.deviation * quantile((1 + confidence) / 2, self.shape)
        label = np.concatenate([[0], np.cumsum(-np.diff(self.center) > APART * alone)])
        before = np.arange(len(label)) - np.searchsorted(label, label) + 1
        after = np.bincount(label)[label] - before + 1
        below, above = (
            self.deviation * np.array([quantile(((1 + confidence) / 2) ** (1 / size), self.shape) for size in sizes])
            for sizes in (after.tolist(), before.tolist())
        )
        low = np.maximum(self.center - below, 0.0)
        return Interval(
            low=low,
            high=self.center + above,
            confidence=confidence,
            method=sentences(WORDS, sampled),
            determined=np.ones(len(low), dtype=bool),
        )

    def standard_error(self) -> FloatArray:
        return np.full(len(self.center), self.deviation)
