"""What the releases of an adaptive release say together: the sum, moments about a center, and a sum about it.

With z the mapped rows and a the point that they were taken about, the moment is that of [T(z − a), c], T = U diag(t) Vᵀ
being a linear map, or T = diag(1/s) for scales s, or nothing. A pilot is the moment of [z − a, c]. In the directions V,
which T turns to U, the noise of every release is known, entry by entry: τ for the pilot, τ'/(tᵢtⱼ) for the moment. So
each entry is the average of both, weighted by precision; mean and count are averages of all releases, with the sum, and
with the offset, the sum of [T(z − a), c], where there is one. The moment about a is the covariance plus δδᵀ, δ being
the distance of the mean from a.

If a is the released center, δ is the noise of the sum, with the opposite sign, and its law is known: δδᵀ is taken at
its mean given all releases, the square of the average plus its variance. If a is a fixed point, the square of the
average is too large by that variance on average, which is subtracted from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_adaptive.denoise import corrected

LEAST = 1e-300
"""Stands for a variance of zero, of which nothing is the inverse."""

LARGEST_ENTRY = 1e6
"""Of a linear map: the promise moves larger entries of a released one to it, and so does the estimate."""

SMALLEST_RATE = 1e-9
"""A linear map that multiplies a direction by less cannot be undone."""


@attrs.frozen(kw_only=True, eq=False)
class Found:
    """What the releases say together.

    Args:
        count: the number of rows.
        count_deviation: that of the noise of the count.
        about: the point that rows were taken about, in mapped coordinates.
        axes: the directions V, in columns.
        rates: t, by which rows were multiplied along each.
        tilt: the mean about that point, in these directions.
        tilt_variance: the variance of its noise.
        covariance: of the rows, in these directions.
        variances: of the noise on each entry of it, off the diagonal.
    """

    count: float
    count_deviation: float
    about: dp.FloatArray
    axes: dp.FloatArray
    rates: dp.FloatArray
    tilt: dp.FloatArray
    tilt_variance: dp.FloatArray
    covariance: dp.FloatArray
    variances: dp.FloatArray

    @property
    def mean(self) -> dp.FloatArray:
        """The mean of the rows, in mapped coordinates."""
        return np.asarray(self.about + self.axes @ self.tilt)

    @property
    def deviation(self) -> float:
        """That of the noise, the root of its mean square, in mapped coordinates."""
        return math.sqrt(float(np.mean(self.variances)))

    @property
    def mean_noise(self) -> float:
        """The variance that noise of the mean adds to an entry of the covariance, in the coordinates of the moment.

        It is that of tᵢhⱼ + hᵢtⱼ + hᵢhⱼ, h being the noise of the mean t, averaged over all i and j.
        """
        squares, variances = self.rates**2 * self.tilt**2, self.rates**2 * self.tilt_variance
        return float(2 * squares.mean() * variances.mean() + variances.mean() ** 2)

    @property
    def raw(self) -> dp.FloatArray:
        """The covariance in mapped coordinates, not corrected for noise."""
        return self._mapped(self.covariance)

    @property
    def multiplied(self) -> dp.FloatArray:
        """The covariance along V in the coordinates of the moment, not corrected for noise."""
        return np.asarray(self.covariance * self._products)

    def corrected(self, goal: str) -> dp.FloatArray:
        """The covariance in mapped coordinates, corrected for noise; see `denoise`.

        Correlations are corrected in the coordinates of the moment, where columns vary alike; a covariance as a whole
        in mapped coordinates, in which its error counts, though the noise is not quite the same in all directions.
        """
        if goal != "correlation":
            return corrected(self.raw, goal, self.deviation)
        deviation = math.sqrt(float(np.mean(self.variances * self._products**2)))
        return self._mapped(corrected(self.multiplied, goal, deviation) / self._products)

    def _mapped(self, matrix: dp.FloatArray) -> dp.FloatArray:
        turned = self.axes @ matrix @ self.axes.T
        return np.asarray((turned + turned.T) / 2)

    @property
    def _products(self) -> dp.FloatArray:
        return np.outer(self.rates, self.rates)


@attrs.frozen(kw_only=True)
class FromReleases(dp.PostProcessor):
    """What the post-processors of all releases have in common.

    Args:
        sum: the released sum.
        moment: the released moment.
        about: the point that its rows were taken about.
        scale: the scales that its rows were divided by, if any.
        linear: the linear map that its rows were multiplied by, if any.
        pilot: a moment of rows about the same point, neither divided nor multiplied, that counts as well.
        offset: the released sum of the rows of the moment, if any.
    """

    sum: Any = dp.input(dp.AugmentedSum)
    moment: Any = dp.input(dp.AugmentedMoment)
    about: Any = dp.input(dp.Mean)
    scale: Any = dp.input(dp.Scales, default=None)
    linear: Any = dp.input(dp.LinearMap, default=None)
    pilot: Any = dp.input(dp.AugmentedMoment, default=None)
    offset: Any = dp.input(dp.AugmentedSum, default=None)
    sum_noise: Any = dp.noise_of("sum")
    moment_noise: Any = dp.noise_of("moment")
    pilot_noise: Any = dp.noise_of("pilot")
    offset_noise: Any = dp.noise_of("offset")

    def check(self, rows: dp.Rows) -> None:
        if not isinstance(self.linear, dp.LinearMap):  # there is none, or it is a result that is yet to come
            return
        matrix = self.linear.array
        if matrix.shape != (rows.known_dim, rows.known_dim):
            raise dp.PlanError(
                f"linear of {self.name!r} must be a square matrix with one row for each of the {rows.known_dim} "
                "coordinates."
            )
        if np.linalg.svd(matrix, compute_uv=False).min() < SMALLEST_RATE:
            raise dp.PlanError(
                f"linear of {self.name!r} is singular, or nearly so: all its singular values must be at least "
                f"{SMALLEST_RATE:g}, or what it does to the rows cannot be undone."
            )

    def found(self) -> Found:
        """What the releases say together."""
        total, about = self.sum.array, np.clip(self.about.array, -1.0, 1.0)
        each = float(self.sum_noise.get("each", 0.0))
        rates, axes, turned = np.ones(len(about)), np.eye(len(about)), np.eye(len(about))
        if self.linear is not None:
            axes, rates, turned = _svd(np.clip(self.linear.array, -LARGEST_ENTRY, LARGEST_ENTRY))
        elif self.scale is not None:
            rates = 1 / self.scale.array
        moments = [_Moment(self.moment, self.moment_noise, turned, rates)]
        if self.pilot is not None:
            moments.append(_Moment(self.pilot, self.pilot_noise, axes, np.ones(len(about))))
        readings: list[_Moment | _Offset] = [*moments]
        if self.offset is not None:
            readings.append(_Offset(self.offset, self.offset_noise, turned, rates))

        by_sum = total[-1] / self.sum.constant, (each / self.sum.constant) ** 2
        count, count_variance = _average([by_sum, *(reading.count for reading in readings)])
        count = max(float(count), 1.0)
        by_sum = axes.T @ (np.clip(total[:-1] / count, -1.0, 1.0) - about), np.full(len(about), (each / count) ** 2)
        tilt, uncertain = _average([by_sum, *(reading.mean(count) for reading in readings)])
        moment, variances = _average([reading.moment(count) for reading in moments])
        center = np.clip(dp.postprocess.MeanOf(of=self.sum).apply().array, -1.0, 1.0)
        sign = 1 if np.array_equal(about, center) else -1
        return Found(
            count=count,
            count_deviation=math.sqrt(float(count_variance)),
            about=about,
            axes=axes,
            rates=rates,
            tilt=tilt,
            tilt_variance=uncertain,
            covariance=moment - np.outer(tilt, tilt) - sign * np.diag(uncertain),
            variances=variances,
        )

    def covariance_law(self, laws: Mapping[str, dp.Law]) -> dp.MatrixLaw | None:
        """The law of the covariance before it is corrected for noise, in mapped coordinates."""
        moment = laws.get("moment")
        if not isinstance(moment, dp.MatrixLaw) or not self.sum_noise:
            return None
        found = self.found()
        relative = found.count_deviation / found.count
        if self.linear is None:
            inner = attrs.evolve(
                moment.divided(found.count, relative).without_last,
                center=found.multiplied,
                mean=found.tilt * found.rates,
                mean_variance=found.tilt_variance * found.rates**2,
            )
            return inner.scaled(1 / found.rates)
        return dp.MatrixLaw(
            center=found.raw,
            parts=np.eye(len(found.rates)),
            levels=found.variances,
            rotation=found.axes,
            mean=found.axes @ found.tilt,
            mean_variance=np.square(found.axes) @ found.tilt_variance,
            relative=relative,
            count=found.count,
            shape=moment.shape,
        )


@attrs.frozen(eq=False)
class _Moment:
    """A moment about a point, in the directions V; estimates come with their variances.

    Args:
        released: the moment.
        noise: its deviations.
        axes: the directions that the linear map turns V to, in columns.
        rates: t.
    """

    released: Any
    noise: Any
    axes: dp.FloatArray
    rates: dp.FloatArray

    @property
    def count(self) -> tuple[float, float]:
        square = self.released.constant**2
        return self.released.array[-1, -1] / square, (float(self.noise.get("diagonal", 0.0)) / square) ** 2

    def mean(self, count: float) -> tuple[dp.FloatArray, dp.FloatArray]:
        unit = self.rates * (self.released.constant * count)
        return self.axes.T @ self.released.array[:-1, -1] / unit, (self._off_diagonal / unit) ** 2

    def moment(self, count: float) -> tuple[dp.FloatArray, dp.FloatArray]:
        unit = np.outer(self.rates, self.rates) * count
        return self.axes.T @ self.released.array[:-1, :-1] @ self.axes / unit, (self._off_diagonal / unit) ** 2

    @property
    def _off_diagonal(self) -> float:
        return float(self.noise.get("off-diagonal", 0.0))


@attrs.frozen(eq=False)
class _Offset:
    """A sum about a point, in the directions V; estimates come with their variances. See `_Moment`."""

    released: Any
    noise: Any
    axes: dp.FloatArray
    rates: dp.FloatArray

    @property
    def count(self) -> tuple[float, float]:
        return self.released.array[-1] / self.released.constant, (self._each / self.released.constant) ** 2

    def mean(self, count: float) -> tuple[dp.FloatArray, dp.FloatArray]:
        unit = self.rates * count
        return self.axes.T @ self.released.array[:-1] / unit, (self._each / unit) ** 2

    @property
    def _each(self) -> float:
        return float(self.noise.get("each", 0.0))


def _svd(linear: dp.FloatArray) -> tuple[dp.FloatArray, dp.FloatArray, dp.FloatArray]:
    """V, t and U of a linear map, by which rows are multiplied from the right: V diag(t) Uᵀ."""
    axes, rates, turned = np.linalg.svd(linear)
    return axes, rates, turned.T


def _average(estimates: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Estimates of the same, each with its variance, weighted by precision; and the variance of the result."""
    precisions = [1 / np.maximum(variance, LEAST) for _, variance in estimates]
    total = sum(precisions)
    weights = [precision / total for precision in precisions]
    average = sum(weight * value for weight, (value, _) in zip(weights, estimates, strict=True))
    return average, np.where(total < 1 / LEAST, 1 / total, 0.0)
