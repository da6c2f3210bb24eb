"""Count, mean and covariance from one augmented moment; count and mean also from an augmented sum.

With rows [x, c] the released matrix A estimates Σ [x, c][x, c]ᵀ, so the count is A_cc / c², the mean A_xc / (c · count)
and the covariance A_xx / count − mean meanᵀ. A sum of such rows is the last column of A divided by c. A noisy count
below one is replaced by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from dpframe.interfaces import PostProcessor
from dpframe.intervals import Law
from dpframe.intervals.centered import count_law, covariance_law, mean_law, scales_law
from dpframe.intervals.correlation import CorrelationLaw
from dpframe.intervals.matrix import MatrixLaw
from dpframe.kinds import AugmentedMoment, AugmentedSum, Covariance, Mean, Scalar, Scales, SymmetricMatrix
from dpframe.lattice import FloatArray
from dpframe.spec.refs import Shape, input, noise_of
from dpframe.spec.rows import Rows


def count_and_mean(released: AugmentedMoment | AugmentedSum) -> tuple[float, FloatArray]:
    """The noisy count, at least one, and the mean computed with it.

    Args:
        released: a moment or a sum of rows with a constant coordinate.
    """
    array, constant = released.array, released.constant
    if isinstance(released, AugmentedSum):
        count = max(float(array[-1]) / constant, 1.0)
        return count, array[:-1] / count
    count = max(float(array[-1, -1]) / constant**2, 1.0)
    return count, array[:-1, -1] / (constant * count)


@attrs.frozen(kw_only=True)
class CountOf(PostProcessor):
    """The number of rows, from an augmented moment or sum.

    Args:
        of: the augmented moment or sum.
    """

    name = "count"
    gives = Scalar

    of: Any = input(AugmentedMoment, AugmentedSum)

    def apply(self) -> Scalar:
        return Scalar(count_and_mean(self.of)[0])

    def result_law(self, laws: Mapping[str, Law]) -> Law | None:
        return count_law(laws.get("of"), self.of.constant)


@attrs.frozen(kw_only=True)
class MeanOf(PostProcessor):
    """The mean of the rows, from an augmented moment or sum.

    Args:
        of: the augmented moment or sum.
    """

    name = "mean"
    gives = Mean

    of: Any = input(AugmentedMoment, AugmentedSum)

    def apply(self) -> Mean:
        return Mean(count_and_mean(self.of)[1], axes=self.of.axes)

    def result_law(self, laws: Mapping[str, Law]) -> Law | None:
        return mean_law(laws.get("of"), self.of.constant)


@attrs.frozen(kw_only=True)
class CovarianceOf(PostProcessor):
    """The covariance of the rows, from an augmented moment.

    Args:
        of: the augmented moment.
    """

    name = "covariance"
    gives = Covariance

    of: Any = input(AugmentedMoment)
    of_noise: Any = noise_of("of")

    def apply(self) -> Covariance:
        count, mean = count_and_mean(self.of)
        return Covariance(self.of.array[:-1, :-1] / count - np.outer(mean, mean), axes=self.of.axes)

    def result_noise(self) -> Mapping[str, float]:
        """That of the moment, divided by the count; the noise of the mean is left out."""
        count = count_and_mean(self.of)[0]
        return {name: deviation / count for name, deviation in self.of_noise.items()}

    def result_law(self, laws: Mapping[str, Law]) -> Law | None:
        return covariance_law(laws.get("of"), self.of.constant)


@attrs.frozen(kw_only=True)
class ScalesOf(PostProcessor):
    """The standard deviation of each coordinate, by which rows can be divided: ``dp.Rows(scale=dp.ref(...))``.

    A noisy variance that is not positive is replaced by the smallest one that is, or by 1 where none is.

    Args:
        of: the covariance.
    """

    name = "scales"
    gives = Scales

    of: Any = input(Covariance)

    def output_shape(self, rows: Rows) -> Shape:
        return (rows.dim,)

    def apply(self) -> Scales:
        variances = np.diag(self.of.array)
        least = variances[variances > 0.0].min(initial=np.inf)
        usable = np.where(variances > 0.0, variances, least if np.isfinite(least) else 1.0)
        return Scales(np.sqrt(usable), axes=self.of.axes)

    def result_law(self, laws: Mapping[str, Law]) -> Law | None:
        return scales_law(laws.get("of"))


@attrs.frozen(kw_only=True)
class Correlation(PostProcessor):
    """The correlation matrix of a covariance; a coordinate whose noisy variance is not positive has correlation 0.

    Args:
        of: the covariance.
    """

    name = "correlation"
    gives = SymmetricMatrix

    of: Any = input(Covariance)

    def apply(self) -> SymmetricMatrix:
        variances = np.diag(self.of.array)
        inverse = np.where(variances > 0.0, 1.0 / np.sqrt(np.where(variances > 0.0, variances, 1.0)), 0.0)
        correlations = np.clip(self.of.array * np.outer(inverse, inverse), -1.0, 1.0)
        np.fill_diagonal(correlations, 1.0)
        axes = None if self.of.axes is None else self.of.axes.in_units
        return SymmetricMatrix(correlations, axes=axes)

    def result_law(self, laws: Mapping[str, Law]) -> Law | None:
        of = laws.get("of")
        return CorrelationLaw(of=of) if isinstance(of, MatrixLaw) else None
