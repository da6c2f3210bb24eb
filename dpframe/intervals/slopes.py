"""Error bars of the slopes and the intercept of a linear model that is computed from a covariance.

Without noise, slopes w solve C w = c. With what was released, A w − b = N w − n for these same w, where N is the noise
of A and n that of b: a vector whose law is known for every w, as Anderson and Rubin (1949) have it for instruments. So
slopes are tested instead of estimated, and an interval holds those that are not rejected. In coordinates in which noise
off the diagonal has the deviation 1, A w − b has about the variance 1 + |w|² in every direction. That some w with
e·w = t makes |A w − b|² ≤ κ²(1 + |w|²) is a quadratic inequality in t, whose solution is

    t = eᵀG A b ± κ √(eᵀG e · (1 + bᵀG b)),    G = (A² − κ²)⁻¹,

if every eigenvalue of A is above κ, and every t otherwise (docs/explanation/regression.md). κ is the quantile of the
noise, times the deviation of that noise in the direction of the error, which the law of the matrix knows exactly.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from dpframe.intervals.interval import Interval
from dpframe.intervals.law import Law, refuse_sampling, sentences
from dpframe.intervals.matrix import MatrixLaw
from dpframe.intervals.tails import quantile
from dpframe.lattice import FloatArray

APART = 2.0
"""Where noise hides an eigenvalue of A, those below this many times the usual largest eigenvalue 2√p of the noise are
left out: they are not told from it."""

TOUCHED = 0.001
"""A slope is not determined if more than this share of its direction is in eigenvectors that were left out. Slopes
along those are supposed to be no longer than along all others, which no release says."""

CONFIDENCE = 0.95
"""The confidence at which standard errors are half the length of an interval, in quantiles."""

ROUNDS = 3
"""How often the deviation along the error is computed at the ends that were found with it; it changes little."""

WORDS = (
    "The slopes of least squares without noise solve equations whose coefficients have noise of a known law; the "
    "interval holds those that it does not rule out (Anderson and Rubin). They are not those of the model, which are "
    "shrunk."
)


@attrs.frozen(kw_only=True, eq=False, slots=False)
class SlopesLaw(Law):
    """The slopes of least squares without noise, and the intercept.

    Args:
        of: the law of the covariance.
        target: the coordinate that is predicted.
        features: the coordinates that it is predicted from.
        scale: the scale of each coordinate, in its units.
        mean: the mean of the rows, in units.
        mean_deviation: the deviation of its noise, in units; None if it is not known.
    """

    of: MatrixLaw
    target: int
    features: list[int]
    scale: FloatArray
    mean: FloatArray
    mean_deviation: FloatArray | None

    def interval(self, confidence: float, *, sampled: bool = False) -> Interval:
        refuse_sampling(sampled, "a linear model")
        low, high = self._ends(quantile((1 + confidence) / 2))
        return Interval(
            low=low,
            high=high,
            confidence=confidence,
            method=sentences(WORDS, sampled),
            determined=np.isfinite(low) & np.isfinite(high),
        )

    def standard_error(self) -> FloatArray:
        z = quantile((1 + CONFIDENCE) / 2)
        low, high = self._ends(z)
        return np.where(np.isfinite(high), (high - np.where(np.isfinite(low), low, 0.0)) / (2 * z), np.inf)

    def _ends(self, z: float) -> tuple[FloatArray, FloatArray]:
        """The lower and upper ends of slopes and intercept, in units, for a quantile z of the noise."""
        features, count = self.features, len(self.features)
        in_units = self.scale[self.target] / self.scale[features]
        # The slopes, and their sum weighted by the means, which the intercept needs.
        wanted = in_units[:, None] * np.column_stack([np.eye(count), self.mean[features]])
        equations = _Equations.of_law(self.of, self.target, features, z)
        low, high = equations.ends(wanted, z)
        own = math.inf
        if self.mean_deviation is not None:
            noise = np.append(
                equations.least_squares * in_units * self.mean_deviation[features], self.mean_deviation[self.target]
            )
            own = z * float(np.linalg.norm(noise))
        known = math.isfinite(own) and math.isfinite(high[-1] - low[-1])
        middle, half = ((low[-1] + high[-1]) / 2, (high[-1] - low[-1]) / 2) if known else (0.0, math.inf)
        last, reach = self.mean[self.target] - middle, math.hypot(half, own)
        return np.append(low[:-1], last - reach), np.append(high[:-1], last + reach)


@attrs.frozen(kw_only=True, eq=False)
class _Equations:
    """A w = b in the eigenvectors of A, in coordinates in which noise off the diagonal has about the deviation 1.

    Args:
        of: the law of the covariance.
        places: the coordinates of the features and, last, of the target.
        units: what each of these was divided by.
        values: the eigenvalues of A, without those that were left out.
        vectors: their eigenvectors, in columns.
        products: b in these coordinates.
    """

    of: MatrixLaw
    places: list[int]
    units: FloatArray
    values: FloatArray
    vectors: FloatArray
    products: FloatArray

    @classmethod
    def of_law(cls, of: MatrixLaw, target: int, features: list[int], z: float) -> _Equations:
        """Those of one target, without eigenvalues that noise hides.

        Args:
            of: the law of the covariance.
            target: the coordinate that is predicted.
            features: the coordinates that it is predicted from.
            z: the quantile of the noise.
        """
        places = [*features, target]
        variances = np.diag(of.variances())[places] / 2
        units = np.where(variances > 0.0, variances, 1.0) ** 0.25
        matrix = of.center[np.ix_(places, places)] / np.outer(units, units)
        values, vectors = np.linalg.eigh(matrix[:-1, :-1])
        least = math.sqrt(2) * z  # symmetric noise has a variance of at most 2 between two directions
        if values[0] <= least:
            least = max(least, APART * 2 * math.sqrt(len(features)))
        known = values > least
        kept = vectors[:, known]
        return cls(
            of=of, places=places, units=units, values=values[known], vectors=kept, products=kept.T @ matrix[:-1, -1]
        )

    @property
    def least_squares(self) -> FloatArray:
        """The slopes of least squares, in the coordinates of the law."""
        return np.asarray(self.vectors @ (self.products / self.values) * (self.units[-1] / self.units[:-1]))

    def ends(self, wanted: FloatArray, z: float) -> tuple[FloatArray, FloatArray]:
        """The lower and the upper end of sums of slopes, infinite where one is not determined.

        Args:
            wanted: the weights of each sum, in a column.
            z: the quantile of the noise.
        """
        weights = wanted * (self.units[-1] / self.units[:-1])[:, None]
        lengths = np.linalg.norm(weights, axis=0)
        weights = np.where(lengths > 0.0, weights / np.where(lengths > 0.0, lengths, 1.0), 1 / math.sqrt(len(weights)))
        directions = self.vectors.T @ weights
        determined = np.square(directions).sum(axis=0) >= 1 - TOUCHED
        hidden = np.sqrt(np.maximum(1 - np.square(directions).sum(axis=0), 0.0)) * self._hidden
        low, high = ((self._end(directions, determined, z, sign) + sign * hidden) * lengths for sign in (-1.0, 1.0))
        known = np.isfinite(low) & np.isfinite(high)
        return np.where(known, low, -np.inf), np.where(known, high, np.inf)

    @property
    def _hidden(self) -> float:
        """How long slopes along eigenvectors that were left out may be: as long as along all others."""
        return 0.0 if len(self.values) == len(self.vectors) else float(np.linalg.norm(self.products / self.values))

    def _end(self, directions: FloatArray, determined: FloatArray, z: float, sign: float) -> FloatArray:
        """One end of the slope along each direction; infinite or NaN where it is not determined."""
        found, reach = np.full(directions.shape[1], math.inf), np.full(directions.shape[1], z)
        for _ in range(ROUNDS):
            usable = determined & (reach < self.values.min(initial=math.inf))
            found[~usable] = math.inf
            if not usable.any():
                break
            e, kappa = directions[:, usable], reach[usable]
            values, products = self.values[:, None], self.products[:, None]
            inverse = 1 / (values**2 - kappa**2)  # G
            squares = (inverse * e**2).sum(axis=0)
            root = sign * np.sqrt((1 + self._hidden**2 + (inverse * products**2).sum(axis=0)) / squares)
            found[usable] = end = (inverse * values * e * products).sum(axis=0) + kappa * squares * root
            # The error A w − b at that end, divided by κ, and w.
            error = inverse * (values * e * (root + kappa * end) - kappa * (values * e * end - products))
            slopes = (products + kappa * error) / values
            reach[usable] = z * self._deviation(error, slopes)
        return found

    def _deviation(self, errors: FloatArray, slopes: FloatArray) -> FloatArray:
        """The deviation of A w − b along its own direction, in units of √(1 + |w|²)."""
        left, right = (np.zeros((self.of.dim, errors.shape[1])) for _ in range(2))
        left[self.places[:-1]] = self.vectors @ errors / self.units[:-1, None]
        right[self.places[:-1]] = self.vectors @ slopes / self.units[:-1, None]
        right[self.places[-1]] = -1 / self.units[-1]
        lengths = np.linalg.norm(errors, axis=0) ** 2 * (1 + np.square(slopes).sum(axis=0))
        return np.asarray(np.sqrt(self.of.between(left, right) / lengths))


def slopes_law(
    of: Law | None, mean: Law | None, *, target: int, features: list[int], scale: FloatArray, at: FloatArray
) -> Law | None:
    """The law of a linear model; None if that of its covariance is not known.

    Args:
        of: the law of the covariance.
        mean: the law of the mean, in units.
        target: the coordinate that is predicted.
        features: the coordinates that it is predicted from.
        scale: the scale of each coordinate, in its units.
        at: the released mean, in units.
    """
    if not isinstance(of, MatrixLaw):
        return None
    deviation = mean.standard_error() if mean is not None else None
    return SlopesLaw(of=of, target=target, features=features, scale=scale, mean=at, mean_deviation=deviation)
