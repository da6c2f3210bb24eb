"""The law of a symmetric matrix: its noise in every direction, and what follows for its entries.

The error of a released moment, and of the covariance computed from it, is to first order

    E = G − m hᵀ − h mᵀ + ν m mᵀ,   divided by 1 + ν,

with independent noise G on the entries, h the noise of the mean m and ν the relative noise of the count. The variance
of uᵀEv follows for any two directions u and v. The quotient is kept as it is (Fieller); products of two noises are
counted in the variance.
"""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from dpframe.intervals.interval import Interval
from dpframe.intervals.law import Law, ratio, refuse_sampling, sentences
from dpframe.intervals.tails import NORMAL, quantile
from dpframe.lattice import FloatArray

WORDS = "The noise of each entry has a known law; noise of the count and of the mean is included (Fieller)."


@attrs.frozen(kw_only=True, eq=False, slots=False)
class MatrixLaw(Law):
    """A symmetric matrix with noise of known size in every direction.

    Args:
        center: the matrix before any correction for noise, without bias.
        parts: groups of coordinates, one per column, with the weight of each coordinate.
        levels: for each pair of groups, the variance of an entry off the diagonal, for weights of 1. An entry on the
            diagonal has twice that.
        beside: what the variance on the diagonal has besides, one number per coordinate.
        rotation: the basis of the groups, in columns; None for the coordinates themselves.
        mean: m, for a covariance; None for no noise of a mean.
        mean_variance: the variance of h, one number per coordinate.
        relative: the relative deviation of the count.
        count: the number of rows, if the matrix is a covariance; None otherwise.
        shape: of the law of entries on the diagonal; those off it have twice the shape.
        semidefinite: whether the matrix without noise has no negative eigenvalues, as a sum over rows.
        drawn: whether the eigenvectors were drawn with densities that fall with their distance: the noise then stands
            for the sines of rotations, and is at most as large as stated.
    """

    center: FloatArray
    parts: FloatArray
    levels: FloatArray
    beside: FloatArray | None = None
    rotation: FloatArray | None = None
    mean: FloatArray | None = None
    mean_variance: FloatArray | None = None
    relative: float = 0.0
    count: float | None = None
    shape: float = NORMAL
    semidefinite: bool = True
    drawn: bool = False

    @classmethod
    def of_noise(
        cls,
        center: FloatArray,
        diagonal: float,
        off_diagonal: float,
        shape: float = NORMAL,
        *,
        semidefinite: bool = True,
    ) -> MatrixLaw:
        """The law of a matrix with independent noise on its entries.

        Args:
            center: the released matrix.
            diagonal: the deviation on the diagonal.
            off_diagonal: the deviation off the diagonal.
            shape: of the law of entries on the diagonal.
            semidefinite: whether the matrix without noise has no negative eigenvalues.
        """
        dim = len(center)
        return cls(
            center=center,
            parts=np.ones((dim, 1)),
            levels=np.array([[off_diagonal**2]]),
            beside=np.full(dim, diagonal**2 - 2 * off_diagonal**2),
            shape=shape,
            semidefinite=semidefinite,
        )

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.center)

    def scaled(self, scale: FloatArray) -> MatrixLaw:
        """The law after each coordinate was multiplied by a number.

        Args:
            scale: the positive factors.
        """
        if self.rotation is not None:
            raise ValueError("a law in a rotated basis has no factors of coordinates")
        return attrs.evolve(
            self,
            center=self.center * np.outer(scale, scale),
            parts=self.parts * np.square(scale)[:, None],
            beside=None if self.beside is None else self.beside * scale**4,
            mean=None if self.mean is None else self.mean * scale,
            mean_variance=None if self.mean_variance is None else self.mean_variance * scale**2,
        )

    @property
    def without_last(self) -> MatrixLaw:
        """The law without the last coordinate, the constant one of an augmented moment."""
        return attrs.evolve(
            self,
            center=self.center[:-1, :-1],
            parts=self.parts[:-1],
            beside=None if self.beside is None else self.beside[:-1],
        )

    def divided(self, count: float, relative: float) -> MatrixLaw:
        """The law after the matrix was divided by a released number.

        Args:
            count: the number.
            relative: its relative deviation.
        """
        return attrs.evolve(
            self,
            center=self.center / count,
            levels=self.levels / count**2,
            beside=None if self.beside is None else self.beside / count**2,
            relative=relative,
            count=count,
        )

    def variances(self, directions: FloatArray | None = None) -> FloatArray:
        """The variance of uᵀEv, before the count, for each pair of directions; of the entries without directions.

        Args:
            directions: vectors in columns.
        """
        if directions is None and self.rotation is None:
            return self._entry_variances
        vectors = np.eye(self.dim) if directions is None else directions
        return self.independent(vectors) + self._mean_part(vectors)

    def independent(self, vectors: FloatArray) -> FloatArray:
        """The part of the variance of uᵀEv that the noise of the entries contributes, for each pair of directions.

        Args:
            vectors: the directions, in columns.
        """
        inner = vectors if self.rotation is None else self.rotation.T @ vectors
        squares = np.square(inner)
        along = squares.T @ self.parts
        found = along @ self.levels @ along.T
        mixed = np.stack([inner.T @ (part[:, None] * inner) for part in self.parts.T])
        found += (mixed * np.tensordot(self.levels, mixed, axes=1)).sum(axis=0)
        if self.beside is not None:
            found += squares.T @ (self.beside[:, None] * squares)
        return np.asarray(found)

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """The variance of uᵀEv, before the count, for a direction u and the direction v in the same place.

        Args:
            left: the directions u, in columns.
            right: as many directions v.
        """
        inner, outer = (each if self.rotation is None else self.rotation.T @ each for each in (left, right))
        along, across = np.square(inner).T @ self.parts, np.square(outer).T @ self.parts
        mixed = (inner * outer).T @ self.parts
        found = (along @ self.levels * across + mixed @ self.levels * mixed).sum(axis=1)
        if self.beside is not None:
            found += np.square(inner * outer).T @ self.beside
        if self.mean is None or self.mean_variance is None:
            return np.asarray(found)
        one, other = self.mean @ left, self.mean @ right
        spread, first, second = (self.mean_variance @ each for each in (left * right, left**2, right**2))
        count = self.relative**2 + 2 * self.relative**4
        found += one**2 * second + other**2 * first + 2 * one * other * spread + first * second + spread**2
        return np.asarray(found + count * (one * other) ** 2)

    def _mean_part(self, vectors: FloatArray) -> FloatArray:
        """The part of the variance that the mean and the count contribute."""
        if self.mean is None or self.mean_variance is None:
            return np.zeros((vectors.shape[1],) * 2)
        tilt = vectors.T @ self.mean
        spread = vectors.T @ (self.mean_variance[:, None] * vectors)
        own = np.diag(spread)
        first = np.outer(tilt**2, own)
        square = np.outer(tilt, tilt)
        second = np.outer(own, own) + spread**2
        count = self.relative**2 + 2 * self.relative**4  # to first and to second order
        return np.asarray(first + first.T + 2 * square * spread + second + count * square**2)

    @cached_property
    def _entry_variances(self) -> FloatArray:
        found = self.parts @ self.levels @ self.parts.T
        diagonal = 2 * np.diag(found) + (0.0 if self.beside is None else self.beside)
        np.fill_diagonal(found, diagonal)
        return np.asarray(found + self._mean_part(np.eye(self.dim)))

    def shared(self, directions: FloatArray | None = None) -> FloatArray:
        """The covariance of uᵀEv, before the count, with the relative noise of the count.

        Args:
            directions: vectors in columns.
        """
        if self.mean is None:
            return np.zeros((self.dim if directions is None else directions.shape[1],) * 2)
        tilt = self.mean if directions is None else directions.T @ self.mean
        return np.asarray(self.relative**2 * np.outer(tilt, tilt))

    def trace_noise(self, directions: FloatArray) -> tuple[FloatArray, float]:
        """The covariances of uᵀEu with the trace of E, before the count, for each direction, and the trace's variance.

        Args:
            directions: vectors in columns.
        """
        inner = directions if self.rotation is None else self.rotation.T @ directions
        diagonal = 2 * np.einsum("ij,jk,ik->i", self.parts, self.levels, self.parts)
        diagonal = diagonal + (0.0 if self.beside is None else self.beside)
        along, whole = np.square(inner).T @ diagonal, float(diagonal.sum())
        if self.mean is not None and self.mean_variance is not None:
            tilt, length = directions.T @ self.mean, float(self.mean @ self.mean)
            weighted = self.mean * self.mean_variance
            along = along + 4 * tilt * (directions.T @ weighted) + self.relative**2 * tilt**2 * length
            whole += 4 * float(self.mean @ weighted) + (self.relative * length) ** 2
        return np.asarray(along), whole

    @cached_property
    def positive(self) -> FloatArray:
        """The center without its negative eigenvalues, for the sampling error of a population."""
        values, vectors = np.linalg.eigh(self.center)
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)

    def sampling(self, directions: FloatArray | None = None) -> FloatArray:
        """The variance of the sampling error of uᵀCv for rows from a normal population; raises PlanError if unknown.

        Args:
            directions: vectors in columns.
        """
        if self.count is None or self.mean is None:
            refuse_sampling(True, "a moment")
        vectors = np.eye(self.dim) if directions is None else directions
        inner = vectors.T @ self.positive @ vectors
        own = np.diag(inner)
        return np.asarray((np.outer(own, own) + inner**2) / max(self.count or 1.0, 1.0))

    def quantiles(self, confidence: float) -> FloatArray:
        """The quantile of the noise of each entry, in deviations.

        Args:
            confidence: that of a two-sided interval.
        """
        probability = (1 + confidence) / 2
        found = np.full((self.dim, self.dim), quantile(probability, 2 * self.shape))
        np.fill_diagonal(found, quantile(probability, self.shape))
        return found

    def interval(self, confidence: float, *, sampled: bool = False) -> Interval:
        variances = self.variances() + (self.sampling() if sampled else 0.0)
        low, high = np.empty_like(self.center), np.empty_like(self.center)
        diagonal = np.eye(self.dim, dtype=bool)
        for places, shape in ((diagonal, self.shape), (~diagonal, 2 * self.shape)):
            z = quantile((1 + confidence) / 2, shape)
            low[places], high[places] = ratio(
                self.center[places], variances[places], self.shared()[places], self.relative, z
            )
        if self.semidefinite:
            np.fill_diagonal(low, np.maximum(np.diag(low), 0.0))
            np.fill_diagonal(high, np.maximum(np.diag(high), 0.0))
        return Interval(
            low=low,
            high=high,
            confidence=confidence,
            method=sentences(WORDS, sampled),
            determined=np.isfinite(low) & np.isfinite(high),
        )

    def standard_error(self) -> FloatArray:
        if self.relative * quantile(0.975) >= 1.0:
            return np.full_like(self.center, math.inf)
        variance = self.variances() - 2 * self.shared() * self.center + np.square(self.relative * self.center)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))
