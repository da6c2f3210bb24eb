"""Intervals for correlations, by inversion of a test over the joint law of a covariance and its two variances.

A correlation ρ is kept if some covariance and variances (x, a, b) with x = ρ√(ab) are within z deviations of the
released ones, in the metric of their joint normal law: the likelihood-ratio test of ρ, whatever the variances are. The
ends of the interval are the extremes of x/√(ab) over that ellipsoid. For given a and b the extremes of x are explicit,
so that a search in two dimensions remains, which is done for all pairs of columns at once. Where the ellipsoid reaches
a variance of zero, an end is at −1 or 1; where it reaches it with both signs of x, nothing is known. If a released
variance is negative, distances are compared with that of the nearest variances that are possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.intervals.interval import Interval
from dpframe.intervals.law import Law, sentences
from dpframe.intervals.matrix import MatrixLaw
from dpframe.intervals.tails import quantile
from dpframe.lattice import FloatArray

WORDS = (
    "Each interval holds the correlations that a likelihood-ratio test does not reject, given the noise of the "
    "covariance and of both variances; an end at -1 or 1 says that a variance may be zero."
)
Places = NDArray[np.intp]

RADII, ANGLES, ZOOMS, ZOOMED = 9, 24, 6, 5
"""The search: points of a polar grid, then finer square grids about the best one."""


@attrs.frozen(kw_only=True, eq=False)
class CorrelationLaw(Law):
    """The correlations of a covariance.

    Args:
        of: the law of the covariance.
    """

    of: MatrixLaw

    def interval(self, confidence: float, *, sampled: bool = False) -> Interval:
        rows, columns = np.triu_indices(self.of.dim, 1)
        z = quantile((1 + confidence) / 2, 2 * self.of.shape)
        values, joint = self._joint(rows, columns, sampled)
        low, high = extremes(values, joint * (1 + beyond(values, joint) / z**2)[:, None, None], z)
        ends = []
        for found in (low, high):
            matrix = np.eye(self.of.dim)
            matrix[rows, columns] = matrix[columns, rows] = found
            ends.append(matrix)
        return Interval(
            low=ends[0],
            high=ends[1],
            confidence=confidence,
            method=sentences(WORDS, sampled),
            determined=ends[1] - ends[0] < 2.0,
        )

    def standard_error(self) -> FloatArray:
        """By the delta method; inf where a variance is within two deviations of zero."""
        own = np.diag(self.of.center)
        rows, columns = np.indices(self.of.center.shape).reshape(2, -1)
        values, joint = self._joint(rows, columns, sampled=False)
        variances = np.maximum(np.outer(own, own), np.finfo(float).tiny).ravel()
        correlations = np.clip(values[:, 0] / np.sqrt(variances), -1.0, 1.0)
        with np.errstate(all="ignore"):
            slopes = np.stack(
                [1 / np.sqrt(variances), -correlations / (2 * values[:, 1]), -correlations / (2 * values[:, 2])], axis=1
            )
            error = np.sqrt(np.maximum(np.einsum("pi,pij,pj->p", slopes, joint, slopes), 0.0)).reshape(len(own), -1)
        known = own > 2 * np.sqrt(np.diag(self.of.variances()))
        np.fill_diagonal(error, 0.0)
        return np.where(np.outer(known, known) | np.eye(len(own), dtype=bool), error, math.inf)

    def _joint(self, rows: Places, columns: Places, sampled: bool) -> tuple[FloatArray, FloatArray]:
        """For pairs of columns: the covariance and both variances, and their 3 × 3 covariance. The count cancels."""
        center, variances = self.of.center, self.of.variances()
        places = [(rows, columns), (rows, rows), (columns, columns)]
        values = np.stack([center[place] for place in places], axis=1)
        joint = np.zeros((len(rows), 3, 3))
        for at, place in enumerate(places):
            joint[:, at, at] = variances[place]
        for one, other in ((0, 1), (0, 2), (1, 2)):
            joint[:, one, other] = joint[:, other, one] = self._shared(places[one], places[other])
        if sampled:
            joint += self._sampling(places)
        return values, joint

    def _shared(self, one: tuple[Places, Places], other: tuple[Places, Places]) -> FloatArray:
        """The covariance of the noise of two entries, which they share through the mean and the count."""
        mean, spread = self.of.mean, self.of.mean_variance
        if mean is None or spread is None:
            return np.zeros(len(one[0]))
        (i, j), (k, l) = one, other  # noqa: E741 - the indices of two entries
        found = (self.of.relative**2) * mean[i] * mean[j] * mean[k] * mean[l]
        for first, second in ((i, j), (j, i)):
            for third, fourth in ((k, l), (l, k)):
                found = found + np.where(second == fourth, mean[first] * mean[third] * spread[second], 0.0)
        return np.asarray(found)

    def _sampling(self, places: Sequence[tuple[Places, Places]]) -> FloatArray:
        """The covariances of entries of a sample covariance of normal rows: (C_ik C_jl + C_il C_jk)/n."""
        self.of.sampling(np.zeros((self.of.dim, 1)))  # raises PlanError if it is not known
        c, joint = self.of.positive, np.empty((len(places[0][0]), 3, 3))
        for one, (i, j) in enumerate(places):
            for other, (k, l) in enumerate(places):  # noqa: E741 - the indices of two entries
                joint[:, one, other] = c[i, k] * c[j, l] + c[i, l] * c[j, k]
        return joint / max(self.of.count or 1.0, 1.0)


def beyond(values: FloatArray, joint: FloatArray) -> FloatArray:
    """The squared distance of released variances from what is possible, in deviations; 0 where both are positive.

    A likelihood ratio compares with the likeliest of the possible matrices, which are all at least that far.

    Args:
        values: the covariance and both variances, for each pair of columns.
        joint: their 3 × 3 covariances.
    """
    noise = np.maximum(np.diagonal(joint, axis1=1, axis2=2)[:, 1:], np.finfo(float).tiny)
    return np.asarray((np.square(np.minimum(values[:, 1:], 0.0)) / noise).sum(axis=1))


def extremes(values: FloatArray, joint: FloatArray, z: float) -> tuple[FloatArray, FloatArray]:
    """The least and the largest correlation of matrices within z deviations.

    Args:
        values: the covariance and both variances, for each pair of columns.
        joint: their 3 × 3 covariances.
        z: the number of deviations.
    """
    scale = np.sqrt(np.maximum(np.diagonal(joint, axis1=1, axis2=2), np.finfo(float).tiny))
    order = [1, 2, 0]  # variances first: given both, the extremes of the covariance are explicit
    inner = (joint / (scale[:, :, None] * scale[:, None, :]))[:, order][:, :, order] + 1e-12 * np.eye(3)
    root = np.linalg.cholesky(inner) * scale[:, order, None]
    high = _largest(values, root, z)
    flipped, negated = values * [-1.0, 1.0, 1.0], root.copy()
    negated[:, 2, :2] *= -1.0
    return -_largest(flipped, negated, z), high


def _largest(values: FloatArray, root: FloatArray, z: float) -> FloatArray:
    """The largest correlation over the ellipsoid, at most 1; also 1 where no variance in it is positive."""
    radii = np.sqrt((np.arange(RADII) + 1) / RADII)
    angles = 2 * np.pi * np.arange(ANGLES) / ANGLES
    disk = np.concatenate(
        [[[0.0, 0.0]], (radii[:, None, None] * np.stack([np.cos(angles), np.sin(angles)], 1)).reshape(-1, 2)]
    )
    points = np.broadcast_to(disk, (len(values), *disk.shape))
    width = 1.0 / RADII
    best = np.zeros((len(values), 2))
    square = np.stack(np.meshgrid(*[np.linspace(-1, 1, ZOOMED)] * 2), axis=-1).reshape(-1, 2)
    top = np.full(len(values), -np.inf)
    for _ in range(1 + ZOOMS):
        found = _correlations(points, values, root, z)
        at = found.argmax(axis=1)
        every = np.arange(len(values))
        better = found[every, at] > top
        best = np.where(better[:, None], points[every, at], best)
        top = np.where(better, found[every, at], top)
        width *= 0.6
        points = best[:, None, :] + width * square
    return np.where(np.isfinite(top), np.clip(top, -1.0, 1.0), 1.0)


def _correlations(points: FloatArray, values: FloatArray, root: FloatArray, z: float) -> FloatArray:
    """The largest correlation for the variances at each point of the unit disk; −inf where there is none."""
    u, w = points[..., 0], points[..., 1]
    inside = 1.0 - u**2 - w**2
    first = values[:, 1, None] + z * root[:, 0, 0, None] * u
    second = values[:, 2, None] + z * (root[:, 1, 0, None] * u + root[:, 1, 1, None] * w)
    covariance = values[:, 0, None] + z * (
        root[:, 2, 0, None] * u + root[:, 2, 1, None] * w + root[:, 2, 2, None] * np.sqrt(np.maximum(inside, 0.0))
    )
    possible = (inside >= -1e-12) & (first > 0.0) & (second > 0.0)
    with np.errstate(all="ignore"):
        found = covariance / np.sqrt(np.where(possible, first * second, 1.0))
    return np.asarray(np.where(possible, found, -np.inf))
