"""Where the rows of an adaptive release lie, chosen from released values: how many to keep, scales, ball or box."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_adaptive.shrinkage import rotation_invariant

MOST_KEPT = 1 - 1e-6
"""The largest quantile that can be released."""

SMALLEST_SCALE = 1 / 32
"""Of the largest scale. It bounds how far rows are stretched, and so the grid of radii."""


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


def target_weight(dim: int, targets: int) -> float:
    """β, the variance of a target in the scaled coordinates, where that of a feature is 1: √(p/q), at least 1.

    For p features and q targets the squared length of a row is about p + qβ, and noise on the moment is in proportion
    to it. Slopes are wrong by noise on the covariances with the target, which costs (p + qβ)²·p/β of its variance, and
    by noise on those among features, which costs (p + qβ)²·pρ, ρ being the squared length of the slopes. Without the
    second, β = p/q is best, and without the first, β = 0. At √(p/q) the sum is at most 1.11 times what it is at 1 for
    ρ up to 1 and one target; where ρ is near zero, it is 0.65 of it for 5 features, and 0.29 for 22.

    Args:
        dim: the number of all coordinates.
        targets: how many of them are predicted.
    """
    return max(math.sqrt((dim - targets) / targets), 1.0) if targets else 1.0


def check_targets(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Validate a list of coordinates."""
    if not isinstance(value, tuple) or not all(dp.validators.is_int(each) and each >= 0 for each in value):
        raise dp.validators.refuse(owner, attribute.name, "a list of coordinates, from 0 on", value)


@attrs.frozen(kw_only=True)
class ColumnScales(dp.PostProcessor):
    """The deviation of each coordinate from a pilot moment, as a share of the largest, by which rows are divided.

    A deviation that is within noise of zero is replaced by that of the noise, so that no column is stretched for its
    noise alone; none is below a 32nd of the largest. Coordinates that a regression predicts are divided by less, see
    `target_weight`.

    Args:
        of: the pilot moment, augmented, about any center.
        targets: the coordinates that are predicted, if any.
    """

    name = "column-scales"
    gives = dp.Scales

    of: Any = dp.input(dp.AugmentedMoment)
    targets: tuple[int, ...] = attrs.field(default=(), converter=dp.validators.as_tuple, validator=check_targets)
    of_noise: Any = dp.noise_of("of")

    def check(self, rows: dp.Rows) -> None:
        if self.targets and max(self.targets) >= rows.known_dim:
            raise dp.PlanError(f"targets of {self.name!r} must be below {rows.known_dim}, the number of coordinates.")

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (rows.dim,)

    def apply(self) -> dp.Scales:
        covariance = dp.postprocess.CovarianceOf(of=self.of, of_noise=self.of_noise)
        deviation = float(covariance.result_noise().get("off-diagonal", 0.0))
        variances = np.diag(rotation_invariant(covariance.apply().array, deviation))
        deviations = np.sqrt(np.maximum(variances, max(deviation, 1e-300)))
        deviations[list(self.targets)] /= math.sqrt(target_weight(len(deviations), len(self.targets)))
        return dp.Scales(np.maximum(deviations / deviations.max(), SMALLEST_SCALE))


@attrs.frozen(kw_only=True)
class _BallOrBox(dp.PostProcessor):
    """What ball and box have in common.

    A box of ranges about its middle clips nothing; a ball about the center is shorter, but scales rows down. The ball
    is taken where its squared radius, times a margin for what scaling down costs, is below the squared length of the
    longest row of the box.

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
    def _is_ball(self) -> bool:
        return self.margin * float(self.radius.array) ** 2 < self._box


@attrs.frozen(kw_only=True)
class BallOrBoxCenter(_BallOrBox):
    """The point that rows are taken about: the released center for a ball, the middle of the ranges for the box.

    The ball is taken where its squared radius, times a margin for what scaling down rows costs, is below the squared
    length of the longest row of the box.

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
                f"row about the middle of the ranges has {box:.3g}: noise is {(box / radius) ** 2:.2g} times smaller."
            )
        return (
            f"Rows are taken about the middle of the ranges, and none is scaled down, since the released radius of "
            f"{radius:.3g} about the center is not enough below the longest row, {box:.3g}, to pay for it."
        )
