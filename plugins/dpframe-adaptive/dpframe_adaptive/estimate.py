"""Count, mean and covariance from the releases of an adaptive release."""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_adaptive.found import FromReleases


@attrs.frozen(kw_only=True)
class AdaptiveCovariance(FromReleases):
    """The covariance of the rows in mapped coordinates, from a sum and moments about a center, corrected for noise.

    Args:
        sum: the released sum.
        moment: the released moment.
        about: the point that its rows were taken about.
        scale: the scales that its rows were divided by, if any.
        linear: the linear map that its rows were multiplied by, if any.
        pilot: a moment of rows about the same point, neither divided nor multiplied, that counts as well.
        offset: the released sum of the rows of the moment, if any.
        goal: how it is corrected for noise; see `denoise`. With "regression" it is not, and stays in the coordinates of
            the moment, divided by the scales: the noise is the same in all directions there, and `regression` takes it
            into account.
    """

    name = "adaptive-covariance"
    gives = dp.Covariance

    goal: str = attrs.field(
        default="covariance", validator=dp.validators.one_of("covariance", "correlation", "regression")
    )

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (rows.dim, rows.dim)

    def apply(self) -> dp.Covariance:
        found = self.found()
        if self.goal == "regression":
            return dp.Covariance(found.multiplied, axes=self.moment.axes)
        return dp.Covariance(found.corrected(self.goal), axes=self.sum.axes)

    def result_law(self, laws: Mapping[str, dp.Law]) -> dp.Law | None:
        law = self.covariance_law(laws)
        return law.scaled(self.found().rates) if law is not None and self.goal == "regression" else law

    def result_noise(self) -> Mapping[str, float]:
        """That of the moment, divided by the count, and on average that of the mean, where it is not corrected."""
        if self.goal != "regression":
            return {}
        found = self.found()
        mean = math.sqrt(found.mean_noise)
        return {name: math.hypot(deviation / found.count, mean) for name, deviation in self.moment_noise.items()}


@attrs.frozen(kw_only=True)
class AdaptiveMean(FromReleases):
    """The mean of the rows in mapped coordinates, from a sum and moments about a center.

    Args:
        sum: the released sum.
        moment: the released moment.
        about: the point that its rows were taken about.
        scale: the scales that its rows were divided by, if any.
        linear: the linear map that its rows were multiplied by, if any.
        pilot: a moment of rows about the same point, neither divided nor multiplied, that counts as well.
        offset: the released sum of the rows of the moment, if any.
    """

    name = "adaptive-mean"
    gives = dp.Mean

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (rows.dim,)

    def apply(self) -> dp.Mean:
        return dp.Mean(self.found().mean, axes=self.sum.axes)

    def result_law(self, laws: Mapping[str, dp.Law]) -> dp.Law | None:
        covariance = self.covariance_law(laws)
        if covariance is None:
            return None
        found = self.found()
        variances = np.square(found.axes) @ found.tilt_variance
        about = dp.EntryLaw(
            center=found.mean - found.about,
            deviation=np.sqrt(variances),
            shape=covariance.shape,
            relative=found.count_deviation / found.count,
            sampling=np.diag(covariance.positive) / found.count,
            words="All releases say where the mean is; their noise has a known law.",
        )
        return dp.AffineLaw(of=about, scale=np.ones(len(variances)), offset=found.about)


@attrs.frozen(kw_only=True)
class AdaptiveCount(FromReleases):
    """The number of rows, from a sum and moments about a center.

    Args:
        sum: the released sum.
        moment: the released moment.
        about: the point that its rows were taken about.
        scale: the scales that its rows were divided by, if any.
        linear: the linear map that its rows were multiplied by, if any.
        pilot: a moment of rows about the same point, neither divided nor multiplied, that counts as well.
        offset: the released sum of the rows of the moment, if any.
    """

    name = "adaptive-count"
    gives = dp.Scalar

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return ()

    def apply(self) -> dp.Scalar:
        return dp.Scalar(self.found().count)

    def result_law(self, laws: Mapping[str, dp.Law]) -> dp.Law | None:
        moment = laws.get("moment")
        if not isinstance(moment, dp.MatrixLaw) or not self.sum_noise:
            return None
        found = self.found()
        count, deviation = np.asarray(found.count), np.asarray(found.count_deviation)
        return dp.EntryLaw(center=count, deviation=deviation, shape=moment.shape, lowest=0.0)
