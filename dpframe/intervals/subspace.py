"""Intervals for principal components: the largest angle of their span, and every loading.

With eigenvalues λ and eigenvectors u of the matrix without noise E, noisy eigenvector i is, to first order, u_i plus
Σ_j u_j e_ij/(λ_i − λ_j) with e_ij = u_iᵀEu_j, divided by its length. Its loadings then have known variances, and the
tangents of the angles between spans are the singular values of the matrix of e_ij/(λ_i − λ_j) with i among the first k
and j beyond, whose largest one has a simulated quantile. Noise pushes eigenvalues apart, so every gap is taken to be
smaller than it looks by `NARROWED` deviations of the noise of the gap. Where the smallest gap that matters is then less
than `CLEAR` deviations, higher orders matter, and nothing is determined.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from dpframe.intervals.interval import Interval
from dpframe.intervals.law import Law, sentences
from dpframe.intervals.matrix import MatrixLaw
from dpframe.intervals.tails import LARGE, quantile
from dpframe.lattice import FloatArray

NARROWED = 0.5
CLEAR = 2.5
"""Deviations, chosen on simulated spectra."""

LOST = 0.2  # of the length of a drawn direction: then it may have turned by half a right angle and more
DRAWS = 1000  # of the matrix whose singular values are tangents of angles

WORDS = (
    "By the eigenvalues and the known law of the noise, to second order; each loading is compared with that of the "
    "direction without noise whose sign agrees. Directions whose eigenvalues noise may have exchanged are not "
    "determined, and neither is a span whose last eigenvalue is so close to the next."
)


@attrs.frozen(kw_only=True, eq=False, slots=False)
class SubspaceLaw(Law):
    """The k leading eigenvectors of a matrix.

    Args:
        of: the law of the matrix.
        basis: the released eigenvectors, in columns, which may be those of a corrected matrix.
    """

    of: MatrixLaw
    basis: FloatArray

    @cached_property
    def solved(self) -> tuple[FloatArray, FloatArray]:
        """All eigenvalues from the largest, and eigenvectors, with the signs of the released ones."""
        values, vectors = np.linalg.eigh(self.of.center)
        values, vectors = values[::-1], vectors[:, ::-1].copy()
        k = self.basis.shape[1]
        signs = np.where(np.einsum("ij,ij->j", vectors[:, :k], self.basis) < 0.0, -1.0, 1.0)
        vectors[:, :k] *= signs
        return values, vectors

    def turns(self, *, sampled: bool = False) -> tuple[FloatArray, FloatArray]:
        """For each of the k directions and every other one: 1/(λ_i − λ_j), and the gap in deviations of its noise.

        Both are for narrowed gaps.

        Args:
            sampled: whether the sampling error of a normal population is included.
        """
        values, vectors = self.solved
        k = self.basis.shape[1]
        own = np.diag(self.of.variances(vectors)) + (np.diag(self.of.sampling(vectors)) if sampled else 0.0)
        noise = np.sqrt(own[:k, None] + own)
        apart = values[:k, None] - values
        gaps = np.maximum(np.abs(apart) - NARROWED * noise, 0.0)
        with np.errstate(all="ignore"):
            inverse, clear = np.sign(apart) / gaps, gaps / noise
        rows = np.arange(k)
        inverse[rows, rows], clear[rows, rows] = 0.0, np.inf
        return inverse, clear

    def noise(self, *, sampled: bool = False) -> FloatArray:
        """The variances of independent noise between each of the k directions and every other one.

        Args:
            sampled: whether the sampling error of a normal population is included.
        """
        _, vectors = self.solved
        return (self.of.independent(vectors) + (self.of.sampling(vectors) if sampled else 0.0))[: self.basis.shape[1]]

    def _loadings(self, sampled: bool) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The least and the largest centers of loadings, their standard errors, and which directions are determined.

        Direction i moves by R E u_i, with R the sum of u_j u_jᵀ/(λ_i − λ_j); E has independent noise, and noise that
        the mean and the count have in common for all entries.
        """
        (_, vectors), k = self.solved, self.basis.shape[1]
        inverse, clear = self.turns(sampled=sampled)
        known = clear.min(axis=1) >= CLEAR
        inverse = np.where(known[:, None], inverse, 0.0)
        turned = self.noise(sampled=sampled) * np.square(inverse)
        variance = np.square(vectors) @ turned.T
        if self.of.mean is not None and self.of.mean_variance is not None:
            variance = variance + self._of_mean(inverse, self.of.mean, self.of.mean_variance)
        variance = variance + np.square(vectors[:, :k]) * np.square(turned).sum(axis=1) / 2
        lost = turned.sum(axis=1) / 2  # what the length of the projection on the true direction loses
        if not self.of.drawn:
            center = vectors[:, :k] * (1 + lost)
            return center, center, np.sqrt(variance), known
        known = known & (lost < LOST)
        ends = np.array([np.ones(k), 1 / np.cos(_drawn_angle(np.sqrt(2 * np.minimum(lost, LOST))))])
        low, high = np.sort(vectors[:, :k] * ends[:, None], axis=0)
        return low, high, np.sqrt(variance), known

    def _of_mean(self, inverse: FloatArray, mean: FloatArray, spread: FloatArray) -> FloatArray:
        """The variances of the loadings from the noise of the mean and of the count."""
        _, vectors = self.solved
        tilt = vectors.T @ mean
        found = np.empty((len(vectors), len(inverse)))
        for at, row in enumerate(inverse):
            own, resolvent = vectors[:, at], (vectors * row) @ vectors.T
            moved = resolvent @ mean
            along = float(np.square(own) @ spread)
            found[:, at] = moved**2 * (along + (self.of.relative * tilt[at]) ** 2)
            found[:, at] += tilt[at] ** 2 * (np.square(resolvent) @ spread)
            found[:, at] += 2 * tilt[at] * moved * (resolvent @ (spread * own))
        return np.maximum(found, 0.0)

    def interval(self, confidence: float, *, sampled: bool = False) -> Interval:
        least, most, errors, known = self._loadings(sampled)
        reach = quantile((1 + confidence) / 2, 2 * self.of.shape) * errors
        return Interval(
            low=np.where(known, np.clip(least - reach, -1.0, 1.0), -1.0),
            high=np.where(known, np.clip(most + reach, -1.0, 1.0), 1.0),
            confidence=confidence,
            method=sentences(WORDS, sampled),
            determined=np.broadcast_to(known, errors.shape),
            angle_degrees=self.angle_degrees(confidence, sampled=sampled),
        )

    def angle_degrees(self, confidence: float, *, sampled: bool = False) -> float:
        """An upper limit of the largest angle between the released span and the one without noise, in degrees.

        Args:
            confidence: the probability that the angle is below it.
            sampled: whether the sampling error of a normal population is included.
        """
        (_, vectors), k = self.solved, self.basis.shape[1]
        if k == len(vectors):
            return 0.0
        inverse, clear = (part[:, k:] for part in self.turns(sampled=sampled))
        if clear.min() < CLEAR:
            return 90.0
        drawn = self._drawn(sampled) * inverse
        tangents = np.linalg.svd(drawn, compute_uv=False)[:, 0] if k > 1 else np.linalg.norm(drawn, axis=(1, 2))
        moved = np.linalg.svd(vectors[:, :k].T @ self.basis, compute_uv=False).min()
        beyond = 2 * math.sqrt(confidence * (1 - confidence) / DRAWS)  # two deviations of the simulated quantile
        largest = float(np.quantile(tangents, min(confidence + beyond, 1.0)))
        angle = float(_drawn_angle(largest)) if self.of.drawn else math.atan(largest)
        return min(math.degrees(angle + math.acos(min(float(moved), 1.0))), 90.0)

    def _drawn(self, sampled: bool) -> FloatArray:
        """Draws of the noise between the first k directions and the others."""
        (_, vectors), k = self.solved, self.basis.shape[1]
        random = np.random.default_rng(0)  # post-processing: the seed need not be secret
        deviations = np.sqrt(self.noise(sampled=sampled)[:, k:])
        drawn = random.standard_normal((DRAWS, *deviations.shape)) * deviations
        if self.of.shape < LARGE:  # the noise about one direction is normal with one random variance
            shape = 2 * self.of.shape
            drawn *= np.sqrt(random.standard_gamma(shape, (DRAWS, k, 1)) / shape)
        if self.of.mean is not None and self.of.mean_variance is not None:
            tilt = vectors.T @ self.of.mean
            sums = random.standard_normal((DRAWS, len(tilt))) * np.sqrt(self.of.mean_variance) @ vectors
            count = self.of.relative * random.standard_normal((DRAWS, 1, 1))
            drawn += count * np.outer(tilt[:k], tilt[k:])
            drawn -= tilt[:k, None] * sums[:, None, k:] + tilt[k:] * sums[:, :k, None]
        return np.asarray(drawn)

    def standard_error(self) -> FloatArray:
        _, _, errors, known = self._loadings(sampled=False)
        return np.where(known, errors, math.inf)


def _drawn_angle(sine: Any) -> FloatArray:
    """The angle of a drawn direction, some of whose length may be in imaginary parts that are as long as the sine."""
    return np.asarray(np.arcsin(np.minimum(sine / np.sqrt(np.maximum(1 - np.square(sine), 0.5)), 1.0)))
