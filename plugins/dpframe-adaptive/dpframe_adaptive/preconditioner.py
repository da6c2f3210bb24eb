"""The linear map that rows are multiplied by before the last moment, from the pilot.

Noise on the moment of T(z − a), clipped to r, is isotropic and in proportion to r². Taken back by T⁻¹, its deviation
between directions i and j of V is in proportion to r²/(tᵢtⱼ), and r² grows with Σ tᵢ²λᵢ, λ being the variances along V.
So t decides where the noise goes. With t = λ^(−p):

- The sum of all squared deviations, the error of the covariance, is in proportion to (Σ t²λ · Σ t⁻²)², and smallest for
  p = 1/4: (Σ √λ)⁴ instead of (d Σ λ)².
- Relative to √(λᵢλⱼ), as correlations and slopes want it, it is (Σ t²λ · Σ 1/(t²λ))², and smallest for p = 1/2.
- For the leading k directions only noise between them and the others matters, over the gaps. To first order their
  squared error is in proportion to (Σ t²λ)² · Σ 1/(tᵢtⱼ(λᵢ − λⱼ))², i among the k and j not. No power is best for
  that: it is convex in log t, and its minimum is computed. Directions that are long and far from the gap are shrunk,
  since they make rows long for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_adaptive.found import FromReleases

ROUNDS = 100
"""Of the iteration for the map of components: each halves what is left, or nearly so."""

SMALLEST = 1e-6
"""Of the largest variance: no direction is stretched for a smaller one."""

RESOLVED = 1e-6
"""Of the largest variance: no gap counts as smaller."""

SPREADS = 2.0
"""A long row has a squared length this many deviations above the mean, if rows are normal."""


@attrs.frozen(kw_only=True)
class Preconditioner(FromReleases):
    """A linear map that takes noise where it does least harm, given the covariance that a pilot shows.

    It is a power −p of that covariance, or the map that is best for leading components: to first order in the noise,
    for rows whose squared length is in proportion to the sum of their variances. Where the forecast of the error is not
    smaller with it, rows are left as they are. Variances are corrected for noise, and none is taken to be smaller than
    the noise may hide, so that no direction is stretched for its noise alone. The map keeps the sum of the variances.

    Args:
        sum: the released sum.
        moment: the pilot, a moment of rows about the center.
        about: the center.
        scale: the scales that the rows of the pilot were divided by, if any.
        linear: the linear map that they were multiplied by, if any.
        pilot: an earlier moment of rows about the center, that counts as well, if any.
        offset: the released sum of the rows of the pilot, if any.
        power: p, from 0 to 1/2; None for the map that is best for components.
        components: the numbers of leading directions whose errors count, all alike, where power is None.
        gain: the level of the moment to come, in units of that of the pilot.
    """

    name = "preconditioner"
    gives = dp.LinearMap

    power: float | None = attrs.field(
        default=None,
        converter=dp.validators.as_float,
        validator=attrs.validators.optional(dp.validators.number(at_least=0.0, below=0.5 + 1e-9)),
    )
    components: tuple[int, ...] = attrs.field(
        default=(1,), converter=dp.validators.as_tuple, validator=dp.validators.positive_ints
    )
    gain: float = attrs.field(default=1.0, converter=dp.validators.as_float, validator=dp.validators.number(above=0.0))

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (rows.dim, rows.dim)

    def apply(self) -> dp.LinearMap:
        _, rates, axes = self._chosen()
        return dp.LinearMap(triangular(axes * rates))

    def choice(self) -> str:
        variances, rates, _ = self._chosen()
        most = float((rates.max() / rates.min()) ** 2)
        if self.power is None and most == 1.0:
            return "Rows are not turned or stretched: for the leading components the noise is best the same everywhere."
        if self.power is None:
            return (
                "Rows are multiplied by the linear map that is best for the leading components and the gaps that the "
                f"pilot shows: noise is up to {most:.2g} times smaller along some directions than along others."
            )
        return (
            f"Rows are multiplied by the covariance that the pilot shows to the power {-self.power:g}, so that noise "
            f"is {(variances[-1] / variances[0]) ** (2 * self.power):.2g} times smaller along the weakest direction "
            "than along the strongest."
        )

    def _chosen(self) -> tuple[dp.FloatArray, dp.FloatArray, dp.FloatArray]:
        """Variances along the directions of the pilot, ascending; how much each is stretched; and the directions."""
        found = self.found()
        values, axes = np.linalg.eigh(found.corrected("covariance"))
        hidden = found.deviation * math.sqrt(len(values))  # half of the usual largest eigenvalue of the noise
        variances = np.maximum(values, max(hidden, SMALLEST * values[-1], 1e-200))
        if self.power is not None:
            return variances, _same_sum(variances ** (-self.power), variances), axes
        candidates = np.ones(len(values)), components_rates(variances, found.deviation, self.components)
        return variances, min(candidates, key=lambda rates: self._forecast(variances, found.deviation, rates)), axes

    def _forecast(self, variances: dp.FloatArray, deviation: float, rates: dp.FloatArray) -> float:
        """The squared error of the leading directions, of both moments together."""
        squares = rates**2
        longer = _squared_length(squares * variances) / _squared_length(variances)
        ours = (deviation / self.gain * longer) ** 2 / np.outer(squares, squares)
        noise = 1 / (1 / np.maximum(ours, 1e-300) + 1 / max(deviation**2, 1e-300))
        errors = noise / (np.square(variances[:, None] - variances) + noise)
        return float(np.sum(errors * _counts(len(variances), self.components)))


def components_rates(variances: dp.FloatArray, deviation: float, components: Iterable[int]) -> dp.FloatArray:
    """Half the power of the best rates: what is stretched has longer tails than the variances say.

    Args:
        variances: λ, ascending.
        deviation: of the noise; gaps that are smaller count as this large.
        components: the numbers of leading directions whose errors count, all alike.
    """
    return _same_sum(np.sqrt(best_rates(variances, deviation, components)), variances)


def best_rates(variances: dp.FloatArray, deviation: float, components: Iterable[int]) -> dp.FloatArray:
    """How much each direction is stretched for the smallest error of leading components, to first order.

    With x = t² and W the sum of wᵢⱼ/(xᵢxⱼ) over pairs, the minimum of (Σ xλ)²·W has
    xᵢλᵢ/Σ xλ = Σⱼ wᵢⱼ/(xᵢxⱼ) / 2W for every i: each direction has the share in the squared length of rows that it has
    in the error. The iteration takes the geometric mean of x and what this equation gives for it.

    Args:
        variances: λ, ascending.
        deviation: of the noise; gaps that are smaller count as this large.
        components: the numbers of leading directions whose errors count, all alike.
    """
    lengths = variances / variances[-1]
    least = (deviation / variances[-1]) ** 2 + RESOLVED**2
    weights = _counts(len(lengths), components) / (np.square(lengths[:, None] - lengths) + least)
    weights = weights + weights.T
    weights /= weights.max() or 1.0
    lengths /= lengths.sum()
    squares = np.ones(len(lengths))
    for _ in range(ROUNDS):
        pulls = weights @ (1 / squares)
        total = float((pulls / squares).sum())
        if total == 0.0:  # all directions are wanted: there is nothing to tell apart
            break
        wanted = np.sqrt(np.maximum(pulls / total / lengths, SMALLEST**2))
        squares = np.sqrt(squares * wanted)
        squares /= float(squares @ lengths)
    return np.sqrt(squares)


def components_gain(dim: int, components: Iterable[int]) -> float:
    """How many times smaller the map makes the error of leading components, if the i-th variance is 1/i of the first.

    Args:
        dim: the number of directions.
        components: the numbers of leading directions whose errors count, all alike.
    """
    variances = 1 / np.arange(dim, 0.0, -1.0)
    counts = _counts(dim, components)
    gaps = np.square(variances[:, None] - variances)
    weights = np.where(counts > 0.0, counts / np.where(gaps > 0.0, gaps, 1.0), 0.0)
    inverse = components_rates(variances, 0.0, components) ** -2.0  # the sum of variances is the same with and without
    best = float(inverse @ weights @ inverse)
    return math.sqrt(float(weights.sum()) / best) if best > 0.0 else 1.0


def triangular(matrix: dp.FloatArray) -> dp.FloatArray:
    """The upper triangular matrix which is this one followed by a rotation: rows have the same lengths after both.

    Noise is the same in all directions, so a rotation changes nothing but the work: half the numbers are 0.

    Args:
        matrix: square.

    >>> triangular(np.array([[0.0, 2.0], [1.0, 0.0]])).tolist()
    [[2.0, 0.0], [0.0, 1.0]]
    """
    backwards = np.linalg.qr(matrix[::-1].T)[1]  # the matrix upside down is Rᵀ times a rotation
    found = backwards.T[::-1, ::-1]
    return np.asarray(np.triu(found * np.where(np.diag(found) < 0.0, -1.0, 1.0)))


def _counts(dim: int, components: Iterable[int]) -> dp.FloatArray:
    """For each pair of directions, the first of which is wanted and the second is not, for how many k that is so."""
    counts = np.zeros((dim, dim))
    for k in components:
        counts[dim - min(k, dim - 1) :, : dim - min(k, dim - 1)] += 1.0
    return counts


def _same_sum(rates: dp.FloatArray, variances: dp.FloatArray) -> dp.FloatArray:
    """These rates times a number, such that the sum of the variances is kept."""
    return np.asarray(rates * math.sqrt(float(variances.sum() / (rates**2 @ variances))))


def _squared_length(variances: dp.FloatArray) -> float:
    """The squared length of a long row: its mean, and some of its deviations √(2 Σ λ²) for normal rows."""
    return float(variances.sum() + SPREADS * math.sqrt(2 * np.square(variances).sum()))
