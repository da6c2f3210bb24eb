"""Eigenvalues that are within noise of each other: intervals by a test of each, with the others as likely as can be.

Noise that is the same in all directions turns the eigenvectors of such a cluster by any angle, so all that is seen of
its part of the matrix are its noisy eigenvalues x. With the angles averaged over, the eigenvalues λ without noise that
make x likeliest solve, in deviations of the noise,

    λ_i = x_i − Σ_j (x_i − x_j)(1 − c_ij)/n_ij,    c_ij = I₁(y)/I₀(y),    y = (x_i − x_j)|λ_i − λ_j|/n_ij,

where c_ij says how well the directions i and j are told apart, from 0 to 1, and n_ij is the number of eigenvalues that
are mixed with each other about i and j, 2 for a pair alone. Of two eigenvalues that is the exact likelihood (formula of
Harish-Chandra, Itzykson and Zuber); where all are apart it is the push by noise, x_i − λ_i = ½ Σ_j 1/(λ_i − λ_j);
where all are equal, λ_i is the mean. In between it is an approximation: see docs/explanation/error-bars.md.

A value v of eigenvalue i is kept until the likelihood has fallen by z²/2 on the way from the likeliest value to v, with
those before i at least v, those after at most v, and all as likely as that allows.
"""

from __future__ import annotations

import numpy as np

from dpframe.lattice import FloatArray

MOST = 5
"""Eigenvalues of a cluster, above which bounds are used that hold for any: in simulated clusters of up to so many each
number is covered by at least 0.9 of the intervals at 0.95, and in two groups of three at a distance of 4 by 0.82."""

STEP = 0.2  # deviations by which a value is moved at once
SETTLING, FOLLOWING = 100, 12  # steps to the likeliest eigenvalues: at first, and after each move
SLOWER, FULL = 1.75, 5
"""From so many mixed eigenvalues on, c rises from 0 that much more slowly: for a semicircle of them, the response of
the largest to a spread of λ is 4/7 of what pairs by themselves say, by the second moments of orthogonal matrices."""


def limits(values: FloatArray, z: float, widest: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The likeliest eigenvalues of a cluster, and the ends of their intervals.

    Args:
        values: the noisy eigenvalues, in deviations of the noise on a diagonal.
        z: the quantile of the noise.
        widest: how far from the likeliest value the ends are at most.
    """
    size, middle = len(values), float(values.mean())
    x = values - middle
    search = _Search(x)
    best = search.likeliest(x[None], -np.inf, np.inf, SETTLING)[0]
    number, sign = np.tile(np.arange(size), 2), np.repeat([-1.0, 1.0], size)
    before, after = (comparison(np.arange(size), number[:, None]) for comparison in (np.less_equal, np.greater_equal))
    found, reach = best[None].repeat(2 * size, axis=0), np.full(2 * size, widest)
    fallen = np.zeros(2 * size)  # twice the logarithm of the likelihood ratio
    for moved in np.arange(0.0, widest, STEP):
        at = (best[number] + sign * (moved + STEP / 2))[:, None]
        found = search.likeliest(found, np.where(before, at, -np.inf), np.where(after, at, np.inf), FOLLOWING)
        held = np.where(found == at, found - search.free(found), 0.0).sum(axis=1)
        now = fallen + 2 * STEP * np.maximum(sign * held, 0.0)
        crossed = (now >= z**2) & (reach == widest)
        part = (z - np.sqrt(fallen)) / np.maximum(np.sqrt(now) - np.sqrt(fallen), 1e-12)
        reach = np.where(crossed, np.minimum(moved + STEP * part, widest), reach)
        fallen = now
        if (fallen >= z**2).all():
            break
    ends = middle + best[number] + sign * reach
    return middle + best, ends[:size], ends[size:]


class _Search:
    """The likeliest eigenvalues under bounds, for several bounds at once.

    Args:
        x: the noisy eigenvalues, less their mean.
    """

    def __init__(self, x: FloatArray) -> None:
        self.x, self.apart = x, x[:, None] - x
        self._mixed = np.full((1, len(x), len(x)), float(len(x)))

    def likeliest(self, start: FloatArray, low: FloatArray | float, high: FloatArray | float, steps: int) -> FloatArray:
        """The eigenvalues within bounds that make the noisy ones likeliest, one row for each row of bounds.

        Args:
            start: where the search starts.
            low: the lower bounds.
            high: the upper bounds.
            steps: the number of steps.
        """
        found = np.clip(start, low, high)
        for _ in range(steps):
            found = np.minimum(np.maximum(self.free(found), low), high)
        return np.asarray(found)

    def free(self, found: FloatArray) -> FloatArray:
        """One step: the likeliest eigenvalues, if directions are told apart as well as they are with these.

        Args:
            found: eigenvalues, in rows.
        """
        from scipy.special import i0e, i1e

        mixed = self._mixed if len(self._mixed) == len(found) else self._mixed[:1].repeat(len(found), axis=0)
        y = np.abs(self.apart * (found[:, :, None] - found[:, None, :])) / mixed
        told = i1e(y) / i0e(y)
        slower = 1 + (SLOWER - 1) * np.minimum((mixed - 2) / (FULL - 2), 1.0)
        certain = 1 - np.square(1 - told)
        self._mixed = np.maximum(len(self.x) - certain @ certain, 2.0)
        told = told * (1 / slower + y**2) / (1 + y**2)
        return np.asarray(self.x - (self.apart * (1 - told) / mixed).sum(axis=2))
