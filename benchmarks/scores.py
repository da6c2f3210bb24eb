"""Errors of a released covariance, of components and of slopes, against those of the rows without noise."""

from __future__ import annotations

import math

import attrs
import numpy as np

from dpframe.lattice import FloatArray

RANKS = (1, 3, 5)
COVARIANCE, CORRELATION, EIGENVALUES, REGRESSION = "covariance", "correlation", "eigenvalues", "regression"
SUBSPACES = {k: f"subspace, k = {k}" for k in RANKS}
TASKS = (COVARIANCE, CORRELATION, EIGENVALUES, *SUBSPACES.values(), REGRESSION)
STEADY = 0.01  # columns of a smaller deviation, in coordinates from −1 to 1, are left out of correlations


@attrs.frozen(kw_only=True, eq=False)
class Truth:
    """What is to be found.

    Args:
        covariance: of the rows.
        target: the column that regression predicts; None where there is none.
    """

    covariance: FloatArray
    target: int | None
    values: FloatArray = attrs.field(init=False)
    vectors: FloatArray = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        values, vectors = np.linalg.eigh(self.covariance)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "vectors", vectors)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The numbers of components that are fewer than the columns."""
        return tuple(k for k in RANKS if k < len(self.covariance))

    def of_covariance(self, found: FloatArray, penalty: FloatArray) -> dict[str, float]:
        """The error of a covariance in every task."""
        values, vectors = np.linalg.eigh(found)
        scores = {
            COVARIANCE: float(np.linalg.norm(found - self.covariance) / np.linalg.norm(self.covariance)),
            CORRELATION: self._correlation(found),
            EIGENVALUES: float(np.linalg.norm(values - self.values) / np.linalg.norm(self.values)),
        }
        scores |= {SUBSPACES[k]: self.of_components(vectors[:, -k:]) for k in self.ranks}
        if self.target is not None:
            scores[REGRESSION] = self.of_slopes(ridge(found, self.target, penalty))
        return scores

    def of_components(self, basis: FloatArray) -> float:
        """‖ÛÛᵀ − UUᵀ‖ in Frobenius norm."""
        true = self.vectors[:, -basis.shape[1] :]
        return float(np.linalg.norm(basis @ basis.T - true @ true.T))

    def of_slopes(self, slopes: FloatArray) -> float:
        """How much R² is lost against least squares, both with the best intercept for these rows."""
        assert self.target is not None
        features, products, variance = _parts(self.covariance, self.target)
        best = np.linalg.lstsq(features, products, rcond=1e-10)[0]
        away = slopes - best
        return max(float(away @ features @ away) / variance, 1e-12)

    def _correlation(self, found: FloatArray) -> float:
        """Root mean square over pairs of columns that vary."""
        varying = np.diag(self.covariance) > STEADY**2
        difference = (_correlations(found) - _correlations(self.covariance))[np.ix_(varying, varying)]
        upper = difference[np.triu_indices(len(difference), 1)]
        return math.sqrt(float(np.mean(upper**2)))


def ridge(covariance: FloatArray, target: int, penalty: FloatArray) -> FloatArray:
    """Slopes of a column on the others, with a penalty, from a covariance without its negative eigenvalues.

    Least squares on a noisy covariance is a trap: an eigenvalue near zero may be of either sign.
    """
    features, products, _ = _parts(covariance, target)
    weights = np.delete(np.delete(penalty, target, 0), target, 1)
    values, vectors = np.linalg.eigh(features)
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return np.asarray(np.linalg.lstsq(positive + weights, products, rcond=1e-10)[0])


def _parts(covariance: FloatArray, target: int) -> tuple[FloatArray, FloatArray, float]:
    """Covariance of the other columns, their covariances with the target, and its variance."""
    others = np.delete(np.arange(len(covariance)), target)
    return covariance[np.ix_(others, others)], covariance[others, target], float(covariance[target, target])


def _correlations(covariance: FloatArray) -> FloatArray:
    """A column whose variance is not positive has correlation 0 with all others, as in the post-processor."""
    variances = np.diag(covariance)
    inverse = np.where(variances > 0.0, 1.0 / np.sqrt(np.where(variances > 0.0, variances, 1.0)), 0.0)
    return np.asarray(np.clip(covariance * np.outer(inverse, inverse), -1.0, 1.0))
