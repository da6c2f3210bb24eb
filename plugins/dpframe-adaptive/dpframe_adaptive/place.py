"""Where the rows of an adaptive release lie, chosen from released values: how many to keep, scales, ball or box."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_adaptive.denoise import corrected
from dpframe_adaptive.shares import CONSTANT

MOST_KEPT = 1 - 1e-6
"""The largest quantile that can be released."""

SMALLEST_SCALE = 1 / 32
"""Of the largest scale. It bounds how far rows are stretched, and so the grid of radii."""

MEAN_LEFT, COUNT_LEFT = 1 / 2, 1 / 8
"""The variances of mean and count from moment and sum together, in units of those from the moment of the box alone: the
sum has a tenth of the budget, and its constant coordinate is larger."""


@attrs.frozen(kw_only=True)
class KeptShare(dp.PostProcessor):
    """The share of rows that a radius leaves as they are, so that a number of rows is beyond it that suits the noise.

    Noise on the sum and on the moment grow and shrink together, so the number of rows beyond the radius is stated for
    each unit of noise on the sum. At least half of the rows are kept, and at least one is beyond: radii that no row
    exceeds are all alike to a quantile.

    Args:
        of: the released sum, with the number of rows.
        beyond_per_noise: the number of rows beyond the radius, for each unit of deviation of the noise on the sum.
    """

    name = "kept-share"
    gives = dp.Scalar

    of: Any = dp.input(dp.AugmentedSum)
    beyond_per_noise: float = attrs.field(converter=dp.validators.as_float, validator=dp.validators.number(above=0.0))
    of_noise: Any = dp.noise_of("of")

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return ()

    def apply(self) -> dp.Scalar:
        return dp.Scalar(self._kept)

    def choice(self) -> str:
        return f"A share of {1 - self._kept:.2g} of the rows is to be beyond the radius, which suits the noise."

    @property
    def _kept(self) -> float:
        count = float(dp.postprocess.CountOf(of=self.of).apply().array)
        beyond = max(self.beyond_per_noise * float(self.of_noise.get("each", 0.0)), 1.0)
        return min(max(1 - beyond / count, 0.5), MOST_KEPT)


def column_deviations(pilot: dp.AugmentedMoment, noise: Mapping[str, float]) -> dp.FloatArray:
    """The deviation of each coordinate; one that is within noise of zero is replaced by that of the noise.

    Args:
        pilot: a moment of rows about any center.
        noise: that on its entries.
    """
    covariance = dp.postprocess.CovarianceOf(of=pilot, of_noise=noise)
    deviation = float(covariance.result_noise().get("off-diagonal", 0.0))
    variances = np.diag(corrected(covariance.apply().array, "covariance", deviation))
    return np.asarray(np.sqrt(np.maximum(variances, max(deviation, 1e-300))))


def relative_scales(scales: dp.FloatArray) -> dp.FloatArray:
    """Scales as a share of the largest, none below a 32nd of it."""
    return np.asarray(np.maximum(scales / scales.max(), SMALLEST_SCALE))


@attrs.frozen(kw_only=True)
class ColumnScales(dp.PostProcessor):
    """The deviation of each coordinate from a pilot moment, as a share of the largest, by which rows are divided.

    A deviation that is within noise of zero is replaced by that of the noise, so that no column is stretched for its
    noise alone; none is below a 32nd of the largest.

    Args:
        of: the pilot moment, augmented, about any center.
    """

    name = "column-scales"
    gives = dp.Scales

    of: Any = dp.input(dp.AugmentedMoment)
    of_noise: Any = dp.noise_of("of")

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (rows.dim,)

    def apply(self) -> dp.Scales:
        return dp.Scales(relative_scales(column_deviations(self.of, self.of_noise)))


@attrs.frozen(kw_only=True)
class _BallOrBox(dp.PostProcessor):
    """What ball and box have in common.

    A box of ranges about its middle clips nothing; a ball about the center is shorter, but scales rows down. Noise is
    in proportion to the squared radius of the ball, or to the squared length of the longest row of the box. About the
    middle, noise of mean and count adds to it, the more the farther the center is from there. The ball is taken where
    its noise, times a margin for what scaling down costs, is smaller.

    Args:
        center: the released center.
        radius: the released radius about it.
        scale: the released scales, if rows are divided by them.
        columns: the number of coordinates of each column, if some have several.
        margin: the margin.
    """

    center: Any = dp.input(dp.Mean)
    radius: Any = dp.input(dp.Scalar)
    scale: Any = dp.input(dp.Scales, default=None)
    columns: tuple[int, ...] | None = attrs.field(
        default=None,
        converter=dp.validators.as_tuple,
        validator=attrs.validators.optional(dp.validators.positive_ints),
    )
    margin: float = attrs.field(
        default=1.0, converter=dp.validators.as_float, validator=dp.validators.number(at_least=1.0)
    )

    def check(self, rows: dp.Rows) -> None:
        if rows.columns is None:
            raise dp.PlanError(f"{self.name!r} needs dp.Rows(columns=[...]), whose ranges make the box.")
        if (self.columns or (1,) * rows.known_dim) != rows.widths:
            raise dp.PlanError(f"{self.name!r} needs columns={rows.widths}, the number of coordinates of each column.")

    @property
    def _box(self) -> float:
        """The squared length of the longest row about the middle of the ranges: each column contributes at most 1."""
        dim = len(self.center.array)
        rates = np.ones(dim) if self.scale is None else 1 / self.scale.array**2
        starts = np.cumsum([0, *(self.columns or (1,) * dim)])[:-1]
        return float(np.maximum.reduceat(rates, starts).sum())

    @property
    def _off_center(self) -> float:
        """How many times more noise a covariance has about the middle of the ranges than the moment it comes from.

        Let t be the mean, R the length of the longest row, γR the constant coordinate and σ the noise on the diagonal
        of the moment. The mean square of its noise, in Frobenius norm, is σ²d(d + 1)/2. The square of the mean is
        subtracted from it, which adds σ²(d + 1)|t|²/(γR)² by noise of the mean, and σ²|t|⁴/(γR)⁴ by noise of the count.
        """
        center, dim = np.clip(self.center.array, -1.0, 1.0), len(self.center.array)
        placed = center if self.scale is None else center / self.scale.array
        far = float(placed @ placed) / (min(CONSTANT, 1 / dim) * self._box)
        return math.sqrt(1 + (MEAN_LEFT * (dim + 1) * far + COUNT_LEFT * far**2) / (dim * (dim + 1) / 2))

    @property
    def _is_ball(self) -> bool:
        return self.margin * float(self.radius.array) ** 2 < self._box * self._off_center


@attrs.frozen(kw_only=True)
class BallOrBoxCenter(_BallOrBox):
    """The point that rows are taken about: the released center for a ball, the middle of the ranges for the box.

    The ball is taken where noise on the covariance, times a margin for what scaling down rows costs, is smaller than
    with the box: for that, the squared radius counts, the squared length of the longest row of the box, and how far the
    center is from the middle.

    Args:
        center: the released center.
        radius: the released radius about it.
        scale: the released scales, if rows are divided by them.
        columns: the number of coordinates of each column, if some have several.
        margin: the margin.
    """

    name = "ball-or-box-center"
    gives = dp.Mean

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (rows.dim,)

    def apply(self) -> dp.Mean:
        inside = np.clip(self.center.array, -1.0, 1.0)
        return dp.Mean(inside if self._is_ball else np.zeros_like(inside), axes=self.center.axes)


@attrs.frozen(kw_only=True)
class BallOrBoxNorm(_BallOrBox):
    """The length that rows are scaled down to: the released radius for a ball, that of the longest row for the box.

    The choice is that of `ball-or-box-center`.

    Args:
        center: the released center.
        radius: the released radius about it.
        scale: the released scales, if rows are divided by them.
        columns: the number of coordinates of each column, if some have several.
        margin: the margin.
    """

    name = "ball-or-box-norm"
    gives = dp.Scalar

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return ()

    def apply(self) -> dp.Scalar:
        return dp.Scalar(float(self.radius.array) if self._is_ball else math.sqrt(self._box))

    def choice(self) -> str:
        radius, box = float(self.radius.array), math.sqrt(self._box)
        if self._is_ball:
            return (
                f"Rows are taken about the released center and scaled down to length {radius:.3g}, since the longest "
                f"row about the middle of the ranges has {box:.3g}: noise of the covariance is about "
                f"{(box / radius) ** 2 * self._off_center:.2g} times smaller."
            )
        return (
            f"Rows are taken about the middle of the ranges, and none is scaled down, since the released radius of "
            f"{radius:.3g} about the center is not enough below the longest row, {box:.3g}, to pay for it."
        )
