"""Rates of convergence under the spiked model, as printed by Cai, Xia and Zha (2024), with unknown constants.

Every rate is for the Schatten-q norm itself: the printed ones are divided by r^{1/q}, which is multiplied in here.
"""

from __future__ import annotations

import math
from typing import Any

import attrs

import dpframe.plugin as dp


@attrs.frozen(kw_only=True)
class Setting:
    """The quantities that a rate depends on.

    Args:
        dim, rows, rank, spike, noise: p, n, r, λ and σ².
        epsilon, delta: the budget.
        condition: κ₀, the largest spike divided by the smallest; ``spike`` is the smallest.
    """

    dim: int
    rows: int
    rank: int
    spike: float
    noise: float
    epsilon: float
    delta: float
    condition: float = 1.0

    @classmethod
    def of(cls, scenario: dp.Scenario, budget: dp.Budget) -> Setting:
        """From a spiked scenario."""
        model: dict[str, Any] = {name: getattr(scenario, name) for name in ("dim", "rank", "noise")}
        largest, smallest = scenario.spikes[0], scenario.spikes[-1]
        spikes = {"spike": smallest, "condition": largest / smallest}
        return cls(**model | spikes | {"rows": scenario.n}, epsilon=budget.epsilon, delta=budget.delta)

    def _schatten(self, q: float) -> float:
        return float(self.rank ** (1.0 / q))

    @property
    def _turning(self) -> float:
        ratio = self.noise / self.spike
        return ratio + math.sqrt(self.condition * ratio)

    @property
    def _mixing(self) -> float:
        return math.sqrt(self.noise * (self.condition * self.spike + self.noise))

    @property
    def _equal(self) -> Setting:
        """The setting with all spikes equal to the smallest, for which the lower bounds are stated."""
        return attrs.evolve(self, condition=1.0)

    @property
    def _tail(self) -> float:
        return math.sqrt(math.log(2.5 / self.delta))

    @property
    def _turn_cost(self) -> float:
        """The cost of privacy for directions: p√(r + ln n)/(nε) · √ln(2.5/δ)."""
        return self.dim * math.sqrt(self.rank + math.log(self.rows)) / (self.rows * self.epsilon) * self._tail

    def projector(self, q: float, *, sub_gaussian: bool = False) -> float:
        """Upper rate for UUᵀ: Theorem 3.2, Corollary 1 (condition number), Corollary 2 (sub-Gaussian rows)."""
        log = math.log(self.dim) if sub_gaussian else 1.0
        statistical = math.sqrt(self.dim * log / self.rows)
        return self._schatten(q) * self._turning * (statistical + self._turn_cost)

    def covariance(self, q: float, *, sub_gaussian: bool = False) -> float:
        """Upper rate for Σ: the second Theorem 3.2, Corollary 1, Corollary 2."""
        log = math.log(self.dim) if sub_gaussian else 1.0
        rank_cost = math.sqrt(self.rank) * (self.rank + math.log(self.rows)) / (self.rows * self.epsilon) * self._tail
        values = self.condition * self.spike * (math.sqrt(self.rank / self.rows) + rank_cost)
        vectors = self._mixing * (math.sqrt(self.dim * log / self.rows) + self._turn_cost)
        return self._schatten(q) * (values + vectors)

    def projector_minimax(self, q: float) -> float:
        """Minimax lower rate for UUᵀ (Theorem 4.2), as δ → 0."""
        cost = self.dim * math.sqrt(self.rank) / (self.rows * self.epsilon)
        return self._schatten(q) * min(self._equal._turning * (math.sqrt(self.dim / self.rows) + cost), 1.0)

    def covariance_minimax(self, q: float) -> float:
        """Minimax lower rate for Σ (the second Theorem 4.2), as δ → 0."""
        cost = self.dim * math.sqrt(self.rank) / (self.rows * self.epsilon)
        values = self.spike * (math.sqrt(self.rank / self.rows) + math.pow(self.rank, 1.5) / (self.rows * self.epsilon))
        vectors = self._equal._mixing * (math.sqrt(self.dim / self.rows) + cost)
        return self._schatten(q) * min(values + vectors, self.spike)

    def oja(self) -> float:
        """DP-Oja for one direction, in spectral norm, without logarithms (Remark 2; Liu et al. 2022)."""
        cost = self.dim * math.sqrt(math.log(1 / self.delta)) / (self.epsilon * self.rows)
        return (1 + self.noise / self.spike) * (math.sqrt(self.dim / self.rows) + cost)

    def gauss(self) -> float:
        """DP-Gauss for the low-rank part of Σ, in Frobenius norm: the cost of privacy alone (Remark 3)."""
        longest = self.rank * self.condition * self.spike + self.dim * self.noise
        spread = 1 + self.noise / self.spike
        size = math.sqrt(self.rank * self.dim) / (self.rows * self.epsilon)
        return longest * spread * size * math.sqrt(math.log(1 / self.delta))

    # -- conditions, with constants taken as 1 ------------------------------------------------------------------------

    def conditions(self, *, sub_gaussian: bool = False) -> tuple[dp.Assumption, ...]:
        """The conditions of the upper rates."""
        log, ratio = math.log(self.rows), self.spike / self.noise
        both = math.log(self.dim + self.rows)
        enough = self.condition**2 * self.rank * log + log**2
        strong = self.condition * self.dim / self.rows + math.sqrt(self.dim / self.rows)
        equal: tuple[dp.Assumption, ...] = ()
        if sub_gaussian:
            enough, strong = self.rank * both * math.log(max(self.rank, 2)) ** 2 + log**2, strong * both
            equal = (dp.Assumption(text="the spikes are equal, up to a constant", holds=self.condition <= 1.0),)
        return (
            dp.Assumption(text="enough rows: n ≥ κ²r ln n + ln² n, up to a constant", holds=self.rows >= enough),
            dp.Assumption(text="the rank is at most half the dimension", holds=2 * self.rank <= self.dim),
            dp.Assumption(text="the signal is strong: λ/σ² ≥ κp/n + √(p/n), up to a constant", holds=ratio >= strong),
            *equal,
        )

    def lower_conditions(self) -> tuple[dp.Assumption, ...]:
        """The conditions of the lower bounds."""
        exponent = 2 * self.epsilon - (
            self.epsilon * math.sqrt(self.rows * self.dim * self.rank) + self.dim * self.rank
        )
        tiny = self.delta == 0.0 or math.log(self.delta) <= exponent
        return (
            dp.Assumption(text="δ ≤ exp(2ε − ε√(npr) − pr), up to constants: nearly pure privacy", holds=tiny),
            dp.Assumption(text="the rank is at most half the dimension", holds=2 * self.rank <= self.dim),
        )
