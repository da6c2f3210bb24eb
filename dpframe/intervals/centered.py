"""Laws of the count, the mean, the covariance and the scales that follow from an augmented moment or sum.

With rows [x, c] the released matrix A is a moment: the count is A_cc/c², and mean and covariance are quotients by it.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from dpframe.intervals.interval import Interval
from dpframe.intervals.law import EntryLaw, Law
from dpframe.intervals.matrix import MatrixLaw
from dpframe.lattice import FloatArray

QUOTIENT = "Sum and count have noise of a known law; the interval of their quotient is Fieller's."


def count_law(of: Law | None, constant: float) -> Law | None:
    """The law of the number of rows; None if that of the release is not known.

    Args:
        of: the law of an augmented moment or sum.
        constant: the constant coordinate of its rows.
    """
    last = _last(of, constant)
    if last is None:
        return None
    _, _, count, deviation, shape = last
    return EntryLaw(center=np.asarray(count), deviation=np.asarray(deviation), shape=shape, lowest=0.0)


def mean_law(of: Law | None, constant: float) -> Law | None:
    """The law of the mean; None if that of the release is not known.

    Args:
        of: the law of an augmented moment or sum.
        constant: the constant coordinate of its rows.
    """
    last = _last(of, constant)
    if last is None:
        return None
    sums, deviations, count, deviation, shape = last
    covariance = covariance_law(of, constant)
    known = max(count, 1.0)
    return EntryLaw(
        center=sums / known,
        deviation=deviations / known,
        shape=shape,
        relative=deviation / known,
        sampling=None if covariance is None else np.diag(covariance.positive) / known,
        words=QUOTIENT,
    )


def covariance_law(of: Law | None, constant: float) -> MatrixLaw | None:
    """The law of the covariance; None if that of the release is not known, or is not that of a moment.

    Args:
        of: the law of an augmented moment.
        constant: the constant coordinate of its rows.
    """
    last = _last(of, constant)
    if last is None or not isinstance(of, MatrixLaw) or of.rotation is not None:
        return None
    sums, deviations, count, deviation, _ = last
    known = max(count, 1.0)
    mean, spread = sums / known, np.square(deviations / known)
    relative = deviation / known
    moment = of.divided(known, relative).without_last
    # The square of the mean is too large by the variance of its noise, and by that of the count, on average.
    center = moment.center - (1 - min(relative, 1.0) ** 2) * np.outer(mean, mean) + np.diag(spread)
    return attrs.evolve(moment, center=center, mean=mean, mean_variance=spread)


def _last(of: Law | None, constant: float) -> tuple[FloatArray, FloatArray, float, float, float] | None:
    """Sums and count with their deviations, and the shape of the noise of the sums."""
    if isinstance(of, EntryLaw):
        center, deviation = of.center, of.deviation
        return center[:-1], deviation[:-1], float(center[-1]) / constant, float(deviation[-1]) / constant, of.shape
    if not isinstance(of, MatrixLaw):
        return None
    column, errors = of.center[:, -1] / constant, np.sqrt(of.variances()[:, -1]) / constant
    return column[:-1], errors[:-1], float(column[-1]) / constant, float(errors[-1]) / constant, of.shape


@attrs.frozen(kw_only=True, eq=False)
class ScalesLaw(Law):
    """Standard deviations: roots of the variances of a covariance.

    Args:
        of: the law of the covariance.
    """

    of: MatrixLaw

    def interval(self, confidence: float, *, sampled: bool = False) -> Interval:
        found = self.of.interval(confidence, sampled=sampled)
        low, high = (np.sqrt(np.diag(end)) for end in (found.low, found.high))
        return attrs.evolve(found, low=low, high=high, determined=np.isfinite(high))

    def standard_error(self) -> FloatArray:
        variances, errors = np.diag(self.of.center), np.diag(self.of.standard_error())
        known = variances > 2 * errors
        return np.where(known, errors / (2 * np.sqrt(np.where(known, variances, 1.0))), math.inf)


def scales_law(of: Law | None) -> Law | None:
    """The law of the standard deviations of a covariance; None if that of the covariance is not known.

    Args:
        of: the law of the covariance.
    """
    return ScalesLaw(of=of) if isinstance(of, MatrixLaw) else None
