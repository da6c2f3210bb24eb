"""Error bars of the slopes and the intercept of a linear model that is computed from a covariance.

Without noise, slopes w solve C w = c. With what was released, A w − b = N w − n for these same w, where N is the noise
of A and n that of b: for any row u of A⁻¹ the error of that slope is uᵀ(N w − n), the noise of the whole matrix between
the directions u and v = [w, −1], whose variance the law of the matrix knows. Least squares A⁻¹b is also biased to
second order, by τ²(K² + tr K · K)w with K = A⁻¹, which is subtracted.

This holds while the noise is small against every eigenvalue of A that a slope depends on; a slope that depends on
others is not determined.
"""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from dpframe.intervals.interval import Interval
from dpframe.intervals.law import Law, refuse_sampling, sentences
from dpframe.intervals.matrix import MatrixLaw
from dpframe.intervals.tails import quantile
from dpframe.lattice import FloatArray

APART = 2.0
"""Eigenvalues of A below this many times the usual largest eigenvalue 2τ√p of the noise are not told from zero."""

TOUCHED = 0.02
"""A slope is not determined if more than this share of its direction is in eigenvectors of such eigenvalues."""

WORDS = (
    "The slopes of least squares without noise solve equations whose coefficients have noise of a known law; to first "
    "order, with the bias of second order removed. They are not those of the model, which are shrunk."
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
        center, error = self._found
        reach = quantile((1 + confidence) / 2) * error
        return Interval(
            low=center - reach,
            high=center + reach,
            confidence=confidence,
            method=sentences(WORDS, sampled),
            determined=np.isfinite(error),
        )

    def standard_error(self) -> FloatArray:
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[FloatArray, FloatArray]:
        """Slopes and intercept in units, and their standard errors."""
        matrix, features = self.of.center, self.features
        values, vectors = np.linalg.eigh(matrix[np.ix_(features, features)])
        variances = self.of.variances()
        count = len(features)
        noise = float(np.median(variances[features, self.target]))
        known = values > APART * 2 * math.sqrt(noise * count)
        inverse = np.where(known, 1.0 / np.where(known, values, 1.0), 0.0)
        plain = inverse * (vectors.T @ matrix[features, self.target])
        slopes = vectors @ (plain - noise * (inverse**2 + inverse.sum() * inverse) * plain)
        in_units = self.scale[self.target] / self.scale[features]
        # The slopes, and their sum weighted by the means, which the intercept needs.
        wanted = np.column_stack([np.eye(count), in_units * self.mean[features]])
        solved = vectors @ (inverse[:, None] * (vectors.T @ wanted))
        directions = np.zeros((self.of.dim, count + 2))
        directions[features, :-1] = solved
        directions[features, -1], directions[self.target, -1] = slopes, -1.0
        error = np.sqrt(np.maximum(self.of.variances(directions)[:-1, -1], 0.0))
        hidden = np.square(vectors[:, ~known].T @ wanted).sum(axis=0)
        error = np.where(hidden > TOUCHED * np.square(wanted).sum(axis=0), np.inf, error)
        slopes, errors = slopes * in_units, error[:-1] * in_units
        intercept = self.mean[self.target] - slopes @ self.mean[features]
        last = math.inf
        if self.mean_deviation is not None:
            own = np.append(slopes * self.mean_deviation[features], self.mean_deviation[self.target])
            last = math.hypot(float(error[-1]), float(np.linalg.norm(own)))
        return np.append(slopes, intercept), np.append(errors, last)


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
