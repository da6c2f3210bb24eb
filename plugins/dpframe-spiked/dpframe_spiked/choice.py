"""How `spiked-block` divides a budget among its rounds, from public values before any data is read.

All variances below are those of one entry of the block between signal and residual, to first order in the noise. With
the moment about n(λUUᵀ + σ²I), noise z in such an entry rotates the subspace by z/(nλ), so that a variance v leads to
E‖ŨŨᵀ − UUᵀ‖² ≈ 2r(p−r)·v/(nλ)². The part of the signal that leaks into the residual of a row adds λr(p−r)·v/(nλ)² to
its mean squared length, and the radius of the next round has to allow for it. With unequal spikes λ_i, r/λ² stands for
Σ1/λ_i² and r/λ for Σ1/λ_i, and the squared length of the signal, a sum of (λ_i + σ²)χ²₁, is taken to have the Gamma
law of its mean and variance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import lru_cache

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_spiked.calibration import multiples
from dpframe_spiked.clipping import gamma_law, gamma_quantile, power_mean, remaining, remaining_cross

WORTHWHILE = 0.85
"""If the forecast error of the rounds is above this share of that of one Gaussian release, the latter is used."""

STEEPEST = 0.12
"""No round starts from a basis with a mean squared sine per direction above this: first order is inaccurate there."""

FARTHEST = 1e50  # the largest ratio between two of the values that a choice rests on
MOST_ROUNDS = 3
GRID = tuple(0.02 * 1.35**power for power in range(13))  # shares of the budget, from 2 to 73 percent


@attrs.frozen(kw_only=True)
class Assumed:
    """The public values that a choice rests on, in units in which σ² is 1.

    Args:
        dim, rank, rows, spikes: p, r, n and λ₁, …, λ_r of the spiked model.
        neighbors: the neighboring relation.
        norm: the length to which rows are scaled down.
        quantile: the share of rows that radii should leave unclipped.
        mu: the Gaussian level of all rounds together, divided by the contributions of one person.
    """

    dim: int
    rank: int
    rows: int
    spikes: tuple[float, ...]
    neighbors: str
    norm: float
    quantile: float
    mu: float

    @classmethod
    def of(cls, scenario: dp.Scenario, rows: dp.Rows, *, rank: int, mu: float, quantile: float = 0.95) -> Assumed:
        """From a spiked scenario and a promise; for a released norm, the value expected under the scenario is used."""
        assert scenario.n is not None  # a spiked scenario has both
        assert scenario.noise is not None
        spikes = tuple(spike / scenario.noise for spike in _spikes(scenario, rank))
        unit, degrees = gamma_law([spike + 1.0 for spike in spikes])
        norm = math.sqrt(unit * gamma_quantile(degrees, degrees / 2, quantile) + scenario.dim - rank)
        if not rows.awaited:
            norm = rows.length / math.sqrt(scenario.noise)
        if not all(1 / FARTHEST < each < FARTHEST for each in (*spikes, norm)):
            raise dp.PlanError("the spike, the noise and the norm of the rows are too far apart to choose rounds.")
        return cls(
            dim=scenario.dim,
            rank=rank,
            rows=scenario.n,
            spikes=spikes,
            neighbors=str(rows.neighbors),
            norm=norm,
            quantile=quantile,
            mu=mu / rows.contributions,
        )

    @property
    def entries(self) -> int:
        """The number of entries that rotate the subspace."""
        return self.rank * (self.dim - self.rank)

    def turn(self, variance: float) -> float:
        """‖sin Θ‖² caused by a variance of the entries, to first order."""
        return self.entries * variance / (self.rows * power_mean(self.spikes, -2.0)) ** 2

    def error(self, variance: float) -> float:
        """‖ŨŨᵀ − UUᵀ‖ in Frobenius norm, to first order; capped at √(2r), the largest possible distance."""
        return math.sqrt(2 * min(self.turn(variance), float(self.rank)))

    def moment_variance(self, share: float) -> float:
        """The variance of an off-diagonal entry of the released moment, rescaled for what clipping removes."""
        pairs = 2 if self.neighbors == "replace" else 1
        unit, degrees = self._signal
        signal = (self.norm**2 - (self.dim - self.rank)) / unit
        left = remaining(degrees, max(signal, 0.05))
        return pairs * self.norm**4 / (2 * share * self.mu**2 * left**2)

    @property
    def signal_radius(self) -> float:
        """The quantile of the signal's length, at most the norm."""
        unit, degrees = self._signal
        return min(math.sqrt(gamma_quantile(unit * degrees, degrees / 2, self.quantile)), self.norm)

    def residual_radius(self, variance: float) -> float:
        """A radius for the residual's mean square, which varies little, plus a quantile of the signal's leak."""
        turning, degrees = power_mean(self.spikes, -2.0), gamma_law([1.0 / spike for spike in self.spikes])[1]
        leak = turning * (turning / power_mean(self.spikes, -1.0)) * self.turn(variance)
        square = self.dim - self.rank + gamma_quantile(leak, degrees / 2, self.quantile)
        return min(math.sqrt(square), self.norm)

    def left(self, radii: tuple[float, float]) -> tuple[float, float, float]:
        """The shares of signal, cross part and residual that remain after clipping Gaussian rows."""
        unit, degrees = self._signal
        signal = radii[0] ** 2 / unit
        residual = remaining(self.dim - self.rank, radii[1] ** 2)
        return remaining(degrees, signal), remaining_cross(degrees, signal), residual

    @property
    def _signal(self) -> tuple[float, float]:
        """The Gamma law of the signal's squared length."""
        return gamma_law([spike + 1.0 for spike in self.spikes])


def _spikes(scenario: dp.Scenario, rank: int) -> tuple[float, ...]:
    """The spikes of as many directions: several have to be as many, one stands for any number."""
    if isinstance(scenario.spike, tuple) and len(scenario.spike) != rank:
        raise dp.PlanError(f"the scenario has {len(scenario.spike)} spikes, but 'spiked-block' has rank={rank}.")
    return scenario.spikes[:1] * rank if not isinstance(scenario.spike, tuple) else scenario.spike


@attrs.frozen(kw_only=True)
class Round:
    """One round of blocks.

    Args:
        share: the share of the budget, in mu².
        radii: the lengths to which the two sides of a row are clipped.
        kept: the weights of the new signal, cross and residual parts in the estimate; the rest is the earlier
            estimate's.
        left: the shares of these parts expected to remain after clipping.
    """

    share: float
    radii: tuple[float, float]
    kept: tuple[float, float, float]
    left: tuple[float, float, float]


@attrs.frozen(kw_only=True)
class Layout:
    """How the budget is spent: on the moment, then on rounds of blocks; without rounds, on one Gaussian release.

    Args:
        first: the share of the moment.
        rounds: the rounds of blocks.
        forecast: the first-order error of the subspace, and that of the Gaussian release alone.
    """

    first: float
    rounds: tuple[Round, ...]
    forecast: tuple[float, float]


def plain(assumed: Assumed) -> Layout:
    """The layout of one Gaussian release."""
    error = assumed.error(assumed.moment_variance(1.0))
    return Layout(first=1.0, rounds=(), forecast=(error, error))


def laid_out(assumed: Assumed, shares: tuple[float, ...], radii: tuple[float, float] | None = None) -> Layout | None:
    """The layout with these shares, or None if a round would start from too inaccurate a basis."""
    cross = assumed.moment_variance(shares[0])
    known = np.array([math.inf, cross, math.inf])  # only the cross part of the moment is used
    rounds = []
    for share in shares[1:]:
        if assumed.turn(float(known[1])) > STEEPEST * assumed.rank:
            return None
        sides = radii or (assumed.signal_radius, assumed.residual_radius(float(known[1])))
        left = assumed.left(sides)
        drawn = variances(assumed, sides, share) / np.square(left)
        kept = 1.0 / (1.0 + drawn / known)
        known = kept * drawn
        rounds.append(Round(share=share, radii=sides, kept=_three(kept), left=left))
    alone = assumed.error(assumed.moment_variance(1.0))
    return Layout(first=shares[0], rounds=tuple(rounds), forecast=(assumed.error(float(known[1])), alone))


def _three(values: dp.lattice.FloatArray) -> tuple[float, float, float]:
    signal, cross, residual = values.tolist()
    return signal, cross, residual


def variances(assumed: Assumed, radii: tuple[float, float], share: float) -> dp.lattice.FloatArray:
    """The variances of one entry of each part: signal (on the diagonal), cross, and the residual sum."""
    alpha, beta = radii
    sensitivities = np.array([alpha**2, alpha * beta, beta**2])
    factors = np.array(multiples(assumed.neighbors, assumed.dim, assumed.rank, radii))
    entry_variances: dp.lattice.FloatArray = (sensitivities * factors) ** 2 / (share * assumed.mu**2)
    return entry_variances


def in_units(layout: Layout, unit: float) -> Layout:
    """The layout with radii in the units of the rows."""
    rounds = (attrs.evolve(each, radii=(each.radii[0] * unit, each.radii[1] * unit)) for each in layout.rounds)
    return attrs.evolve(layout, rounds=tuple(rounds))


@lru_cache(maxsize=256)
def best(assumed: Assumed, radii: tuple[float, float] | None = None) -> Layout:
    """The layout with the smallest forecast error, or one Gaussian release if rounds do not improve it enough."""
    feasible = [layout for shares in _candidates() if (layout := laid_out(assumed, shares, radii)) is not None]
    fewest = sorted(feasible, key=lambda layout: len(layout.rounds))
    chosen = min(fewest, key=lambda layout: layout.forecast[0], default=None)
    if chosen is None or chosen.forecast[0] > WORTHWHILE * chosen.forecast[1]:
        return plain(assumed)
    return chosen


def _candidates() -> Iterator[tuple[float, ...]]:
    for count in range(1, MOST_ROUNDS + 1):
        for shares in itertools.product(GRID, repeat=count):
            if sum(shares) < 1.0 - GRID[0]:
                yield (*shares, 1.0 - sum(shares))
