"""Intervals for eigenvalues.

With u the eigenvector of eigenvalue λ of the matrix without noise, e = uᵀEu and w the rest of Eu, the noisy eigenvalue
x in its place solves x = λ + e + wᵀ(x − B)⁻¹w, where B is the noisy matrix on the complement of u, which is independent
of e and w. So λ = x − Q, with Q a normal variable plus Σ v_j χ²/(x − μ_j) over the eigenvalues μ of B, exactly. Those
are estimated by the other noisy eigenvalues, which are between them: accurate where they are some deviations apart.

Eigenvalues within noise of each other are found together (:mod:`dpframe.intervals.cluster`). Within a cluster too large
for that, whose noisy eigenvalues are less than `APART` deviations from the next, bounds by interlacing are used:
eigenvalue number i of a cluster of m exceeds its noisy one by at most the largest eigenvalue of i × i noise, and is
below it by at most that of (m − i + 1) × (m − i + 1) noise.
"""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.intervals.cluster import MOST, limits
from dpframe.intervals.interval import Interval
from dpframe.intervals.law import Law, ratio, sentences
from dpframe.intervals.matrix import MatrixLaw
from dpframe.intervals.tails import LARGE, largest_eigenvalue, quantile
from dpframe.lattice import FloatArray

APART = 2.5
"""Deviations between neighboring eigenvalues below which they count as one cluster; chosen on simulated spectra."""

APART_WISHART = 4.0
"""The same for matrix Laplace noise, whose outer eigenvalues are farther from each other."""

APART_TOGETHER = 4.0
"""The same for clusters of at most `MOST`: what is found for these is also right for eigenvalues that are apart."""

WORDS = (
    "Noise pushes eigenvalues apart, which is corrected for; where eigenvalues are within a few deviations of each "
    "other, the interval holds what a likelihood-ratio test does not reject, or, of many, what holds for any so close."
)


@attrs.frozen(kw_only=True, eq=False, slots=False)
class SpectrumLaw(Law):
    """The k largest eigenvalues of a matrix; with `of_trace`, as shares of its trace.

    Args:
        of: the law of the matrix.
        k: the number of eigenvalues; all by default.
        of_trace: whether they are divided by the trace.
    """

    of: MatrixLaw
    k: int | None = None
    of_trace: bool = False

    @cached_property
    def _solved(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues from the largest, and eigenvectors."""
        values, vectors = np.linalg.eigh(self.of.center)
        return values[::-1], vectors[:, ::-1]

    def interval(self, confidence: float, *, sampled: bool = False) -> Interval:
        values, vectors = self._solved
        variances = self.of.variances(vectors) + (self.of.sampling(vectors) if sampled else 0.0)
        shared, relative = np.diag(self.of.shared(vectors)), self.of.relative
        if self.of_trace:
            values, variances, shared, relative = self._shares(values, vectors, variances, sampled)
        low, high = ends(values, variances, shared, relative, confidence, self.of.shape, self.k)
        highest = 1.0 if self.of_trace else math.inf
        low, high = (np.clip(end, 0.0, highest)[: self.k] for end in (low, high))
        return Interval(
            low=low,
            high=high,
            confidence=confidence,
            method=sentences(WORDS, sampled),
            determined=(high < highest) | (low > 0.0),
        )

    def _shares(
        self, values: FloatArray, vectors: FloatArray, variances: FloatArray, sampled: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Eigenvalues, variances and covariances, all divided by the trace, whose noise takes the place of the count's.

        λ/t < p where λ − p·t < 0. The count cancels.
        """
        trace = float(values.sum())
        shared, whole = self.of.trace_noise(vectors)
        if trace <= 0.0:
            return values, variances, shared, math.inf
        if sampled:
            own = np.diag(self.of.sampling(vectors))
            shared, whole = shared + own, whole + float(own.sum())
        return values / trace, variances / trace**2, shared / trace**2, math.sqrt(whole) / trace

    def standard_error(self) -> FloatArray:
        values, vectors = self._solved
        variances = self.of.variances(vectors)
        shared, relative = np.diag(self.of.shared(vectors)), self.of.relative
        if self.of_trace:
            values, variances, shared, relative = self._shares(values, vectors, variances, sampled=False)
        if relative * quantile(0.975) >= 1.0:
            return np.full(len(values[: self.k]), math.inf)
        spread = moments(values, variances)[1] - 2 * shared * values + np.square(relative * values)
        return np.asarray(np.sqrt(np.maximum(spread, 0.0))[: self.k])


def moments(values: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, variance and third cumulant of Q for each eigenvalue; neighbors nearer than half a deviation count as that.

    Args:
        values: noisy eigenvalues, from the largest.
        variances: of the noise for each pair of eigenvectors.
    """
    own = np.diag(variances)
    apart = values[:, None] - values
    least = np.sqrt(variances) / 2
    pull = np.where(apart < 0.0, -1.0, 1.0) * variances / np.maximum(np.maximum(np.abs(apart), least), 1e-300)
    np.fill_diagonal(pull, 0.0)
    return pull.sum(axis=1), own + 2 * np.square(pull).sum(axis=1), 8 * (pull**3).sum(axis=1)


def ends(  # noqa: PLR0917 - what is known about all eigenvalues, in one call
    values: FloatArray,
    variances: FloatArray,
    shared: FloatArray,
    relative: float,
    confidence: float,
    shape: float,
    k: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """The ends of the intervals of all eigenvalues; those beyond the first k may be wider than they need be.

    Args:
        values: noisy eigenvalues, from the largest.
        variances: of the noise for each pair of eigenvectors.
        shared: the covariances of the noise of each with that of what it is divided by.
        relative: the relative deviation of that.
        confidence: the confidence.
        shape: of the noise of each.
        k: how many are asked for; all by default.
    """
    dim, deviations, tail = len(values), np.sqrt(np.diag(variances)), (1 + confidence) / 2
    z = quantile(tail, shape)
    mean, variance, cumulant = moments(values, variances)
    skew = cumulant / np.maximum(variance, 1e-300) * (z**2 - 1) / 6
    low, high = ratio(values - mean - skew, variance, shared, relative, z)

    place = np.arange(dim)

    def beyond(sizes: NDArray[np.intp], deviation: FloatArray, about: FloatArray) -> tuple[FloatArray, FloatArray]:
        scale = np.array([largest_eigenvalue(int(size), tail, shape) for size in sizes])
        return ratio(about, deviation**2, shared, relative, scale)

    first, last, outside, spread = _clusters(values, variances, APART if shape > LARGE else APART_WISHART)
    low = np.where(last > first, beyond(last - place + 1, spread, outside)[0], low)
    high = np.where(last > first, beyond(place - first + 1, spread, outside)[1], high)
    first, last, outside, spread = _clusters(values, variances, APART_TOGETHER)
    clusters = dict(zip(first[:k].tolist(), (last + 1).tolist(), strict=False))
    for start, end in clusters.items():
        if not 1 < end - start <= MOST:
            continue
        part = slice(start, end)
        unit = float(spread[start]) * (1 + 0.2 * min((end - start) / (2 * shape), 1))
        reach = 2 * largest_eigenvalue(end - start, tail, shape)
        best, least, most = (each * unit for each in limits(outside[part] / unit, z, reach))
        low[part] = ratio(best, np.square((best - least) / z), shared[part], relative, z)[0]
        high[part] = ratio(best, np.square((most - best) / z), shared[part], relative, z)[1]
    below, above = np.maximum.accumulate(deviations[::-1])[::-1], np.maximum.accumulate(deviations)
    low = np.maximum(low, beyond(dim - place, below, values)[0])
    high = np.minimum(high, beyond(place + 1, above, values)[1])
    return np.asarray(low), np.asarray(high)


def _clusters(
    values: FloatArray, variances: FloatArray, apart_by: float
) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray, FloatArray]:
    """The first and the last member of the cluster of each eigenvalue, its value less the push of others, its noise.

    Args:
        values: noisy eigenvalues, from the largest.
        variances: of the noise for each pair of eigenvectors.
        apart_by: the distance in deviations from which neighbors are in different clusters.
    """
    deviations = np.sqrt(np.diag(variances))
    near = np.abs(np.diff(values)) < apart_by * np.maximum(deviations[:-1], deviations[1:])
    label = np.concatenate([[0], np.cumsum(~near)])
    first, last = np.searchsorted(label, label), np.searchsorted(label, label, side="right") - 1
    with np.errstate(all="ignore"):
        apart = np.where(label[:, None] == label, np.inf, values[:, None] - values)
        outside = values - (variances / apart).sum(axis=1)
    return first, last, outside, np.maximum.reduceat(deviations, np.unique(first))[label]
