"""Count, mean and covariance from the two releases of an adaptive release: the sum, and the moment about a center.

With z the mapped rows, a the point that they were taken about and s the scales, the moment is that of [u, c] with
u = (z − a)/s. Both releases say where the mean is and how many rows there are; each estimate has noise of a known size,
and the two are weighted by their precision. The moment about a is the covariance plus the square of the mean of u.

If a is the released center, that mean is the noise of the sum, with the opposite sign, and its law is known: its square
is taken at its mean given both releases, the square of the weighted mean plus the variance. If a is a fixed point, the
square of the weighted mean is too large by that variance on average, which is subtracted from it.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_adaptive.denoise import corrected


@attrs.frozen(kw_only=True, eq=False)
class Found:
    """What the two releases say, in mapped coordinates unless said otherwise.

    Args:
        count: the number of rows.
        mean: their mean.
        covariance: their covariance, divided by the scales.
        deviation: that of the noise of that covariance, off its diagonal.
        scale: the scales.
    """

    count: float
    mean: dp.FloatArray
    covariance: dp.FloatArray
    deviation: float
    scale: dp.FloatArray


@attrs.frozen(kw_only=True)
class _FromTwo(dp.PostProcessor):
    """What the post-processors of both releases have in common.

    Args:
        sum: the released sum.
        moment: the released moment.
        about: the point that its rows were taken about.
        scale: the scales that its rows were divided by, if any.
    """

    sum: Any = dp.input(dp.AugmentedSum)
    moment: Any = dp.input(dp.AugmentedMoment)
    about: Any = dp.input(dp.Mean)
    scale: Any = dp.input(dp.Scales, default=None)
    sum_noise: Any = dp.noise_of("sum")
    moment_noise: Any = dp.noise_of("moment")

    def found(self) -> Found:
        """What both releases say together."""
        total, moment, constant = self.sum.array, self.moment.array, self.moment.constant
        each = float(self.sum_noise.get("each", 0.0))
        diagonal, off_diagonal = (float(self.moment_noise.get(name, 0.0)) for name in ("diagonal", "off-diagonal"))
        scale = np.ones(len(total) - 1) if self.scale is None else self.scale.array
        about = np.clip(self.about.array, -1.0, 1.0)

        counts = total[-1] / self.sum.constant, moment[-1, -1] / constant**2
        count, _ = _weighted(counts[0], each / self.sum.constant, counts[1], diagonal / constant**2)
        count = max(float(count), 1.0)
        by_sum = (np.clip(total[:-1] / count, -1.0, 1.0) - about) / scale
        by_moment = moment[:-1, -1] / (constant * count)
        mean, variance = _weighted(by_sum, each / count / scale, by_moment, off_diagonal / (constant * count))
        center = np.clip(dp.postprocess.MeanOf(of=self.sum).apply().array, -1.0, 1.0)
        uncertain = np.diag(np.broadcast_to(variance, mean.shape)) * (1 if np.array_equal(about, center) else -1)
        return Found(
            count=count,
            mean=about + scale * mean,
            covariance=moment[:-1, :-1] / count - np.outer(mean, mean) - uncertain,
            deviation=off_diagonal / count,
            scale=scale,
        )


def _weighted(one: Any, one_deviation: Any, other: Any, other_deviation: float) -> tuple[Any, Any]:
    """Two estimates of the same, weighted by their precision, and the variance of the result; the second is preferred.

    Without noise both variances are zero, and the second estimate counts alone.
    """
    first, second = np.square(one_deviation), other_deviation**2
    total = first + second
    weight = np.where(total > 0.0, first / np.where(total > 0.0, total, 1.0), 1.0)
    return one + weight * (other - one), weight * second


@attrs.frozen(kw_only=True)
class AdaptiveCovariance(_FromTwo):
    """The covariance of the rows in mapped coordinates, from a sum and a moment about a center, corrected for noise.

    Args:
        sum: the released sum.
        moment: the released moment.
        about: the point that its rows were taken about.
        scale: the scales that its rows were divided by, if any.
        goal: how it is corrected for noise; see `denoise`.
    """

    name = "adaptive-covariance"
    gives = dp.Covariance

    goal: str = attrs.field(default="covariance", validator=dp.validators.one_of("covariance", "correlation"))

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (rows.dim, rows.dim)

    def apply(self) -> dp.Covariance:
        found = self.found()
        steady = corrected(found.covariance, self.goal, found.deviation)
        return dp.Covariance(steady * np.outer(found.scale, found.scale), axes=self.sum.axes)


@attrs.frozen(kw_only=True)
class AdaptiveMean(_FromTwo):
    """The mean of the rows in mapped coordinates, from a sum and a moment about a center.

    Args:
        sum: the released sum.
        moment: the released moment.
        about: the point that its rows were taken about.
        scale: the scales that its rows were divided by, if any.
    """

    name = "adaptive-mean"
    gives = dp.Mean

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (rows.dim,)

    def apply(self) -> dp.Mean:
        return dp.Mean(self.found().mean, axes=self.sum.axes)


@attrs.frozen(kw_only=True)
class AdaptiveCount(_FromTwo):
    """The number of rows, from a sum and a moment about a center.

    Args:
        sum: the released sum.
        moment: the released moment.
        about: the point that its rows were taken about.
        scale: the scales that its rows were divided by, if any.
    """

    name = "adaptive-count"
    gives = dp.Scalar

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return ()

    def apply(self) -> dp.Scalar:
        return dp.Scalar(self.found().count)
