"""Intervals for matrices that keep the leading eigenvectors of a noisy one, with its own eigenvalues or with others.

To first order, noise e_ab between eigenvectors a and b moves V f(Λ) Vᵀ by e_ab (f_a − f_b)/(λ_a − λ_b) along them. With
f_a = λ_a for the first k and 0 beyond, that is e_ab between two of the first k, e_ab λ_a/(λ_a − λ_b) between one of
them and one beyond, and nothing else; its mean to second order is corrected for. Gaps are narrowed, and refused where
they are not clear, as for subspaces.
"""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from dpframe.intervals.interval import Interval
from dpframe.intervals.law import Law, refuse_sampling, sentences
from dpframe.intervals.matrix import MatrixLaw
from dpframe.intervals.subspace import CLEAR, SubspaceLaw
from dpframe.intervals.tails import quantile
from dpframe.lattice import FloatArray

WORDS = (
    "By the eigenvalues and the known law of the noise, to second order; not determined where noise may have exchanged "
    "directions that are kept with others."
)


@attrs.frozen(kw_only=True, eq=False, slots=False)
class LowRankLaw(Law):
    """The part of a matrix along its k leading eigenvectors, with its own eigenvalues, or with given ones.

    Args:
        of: the law of the matrix.
        k: the number of eigenvectors.
        spectrum: the eigenvalues that they are given; None for their own.
        spectrum_variance: the variance of the noise of each of those.
    """

    of: MatrixLaw
    k: int
    spectrum: FloatArray | None = None
    spectrum_variance: FloatArray | None = None

    @cached_property
    def _known(self) -> tuple[FloatArray, FloatArray, bool]:
        """The center, its standard errors, and whether they are determined."""
        subspace = SubspaceLaw(of=self.of, basis=np.linalg.eigh(self.of.center)[1][:, ::-1][:, : self.k])
        values, vectors = subspace.solved
        inverse, clear = subspace.turns()
        inside = np.arange(len(values)) < self.k
        kept = np.maximum(values[: self.k], 0.0) if self.spectrum is None else self.spectrum
        target = np.concatenate([kept, np.zeros(len(values) - self.k)])
        with np.errstate(all="ignore"):
            weights = (kept[:, None] - target) * inverse  # of the noise between pairs of directions
        if self.spectrum is None:
            weights[:, inside], clear[:, inside] = 1.0, np.inf
        elif self.spectrum_variance is None:  # equal eigenvalues: their directions are of no matter
            equal = kept[:, None] == target
            clear[equal], weights[equal], inverse[equal] = np.inf, 0.0, 0.0
        if clear.min() < CLEAR:
            return np.zeros_like(self.of.center), np.full_like(self.of.center, math.inf), False
        turned = np.where(inside & (self.spectrum is None), 0.0, subspace.noise() * np.square(inverse))
        pushed = (turned * (values[: self.k, None] - values)).sum(axis=1)
        kept = kept - (pushed if self.spectrum is None else 0.0)
        center = _along(vectors[:, : self.k], kept * (1 + turned.sum(axis=1))) - _along(vectors, kept @ turned)
        moved = subspace.noise() * np.square(weights)
        if self.spectrum_variance is not None:
            moved[np.arange(self.k), np.arange(self.k)] = self.spectrum_variance
        variance = self._of_entries(vectors, moved) + self._of_mean(vectors, weights, center)
        return center, np.sqrt(np.maximum(variance, 0.0)), True

    def _of_entries(self, vectors: FloatArray, moved: FloatArray) -> FloatArray:
        """The variance of each entry, from independent noise between pairs of directions."""
        rows = np.arange(self.k)
        moved[rows, rows] /= 2
        squares = np.square(vectors)
        first = squares[:, : self.k] @ moved @ squares.T
        twice = np.where(np.arange(moved.shape[1]) < self.k, 1.0, 2.0)
        found = first + first.T - squares[:, : self.k] @ moved[:, : self.k] @ squares[:, : self.k].T
        for direction, row in zip(vectors.T, moved * twice, strict=False):
            found += np.outer(direction, direction) * _along(vectors, row)
        return np.asarray(found)

    def _of_mean(self, vectors: FloatArray, weights: FloatArray, center: FloatArray) -> FloatArray:
        """The variance of each entry from the noise of the mean and of the count, which entries have in common."""
        if self.of.mean is None or self.of.mean_variance is None:
            return np.square(self.of.relative * center) if self.spectrum is None else np.zeros_like(center)
        tilt = vectors.T @ self.of.mean
        whole = self._spread(vectors, weights * np.outer(tilt[: self.k], tilt))
        found = np.square(self.of.relative * (whole - (center if self.spectrum is None else 0.0)))
        for row, spread in zip(vectors, self.of.mean_variance, strict=True):
            both = np.outer(tilt[: self.k], row) + np.outer(row[: self.k], tilt)
            found += spread * np.square(self._spread(vectors, weights * both))
        return np.asarray(found)

    def _spread(self, vectors: FloatArray, inner: FloatArray) -> FloatArray:
        """The symmetric matrix with these entries between the first k directions and all."""
        half = vectors[:, : self.k] @ inner @ vectors.T
        return np.asarray(half + half.T - vectors[:, : self.k] @ inner[:, : self.k] @ vectors[:, : self.k].T)

    def interval(self, confidence: float, *, sampled: bool = False) -> Interval:
        refuse_sampling(sampled, "the part of a matrix along some directions")
        center, errors, determined = self._known
        reach = quantile((1 + confidence) / 2, self.of.shape) * errors
        return Interval(
            low=center - reach,
            high=center + reach,
            confidence=confidence,
            method=sentences(WORDS, sampled),
            determined=np.full(center.shape, determined),
        )

    def standard_error(self) -> FloatArray:
        return self._known[1]


def _along(vectors: FloatArray, values: FloatArray) -> FloatArray:
    """The symmetric matrix with these values along these directions."""
    return np.asarray((vectors * values) @ vectors.T)
