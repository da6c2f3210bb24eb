"""How far rounds of blocks are from the true subspace under the spiked model, proved with all constants.

The guarantee of `spiked-block` needs no model; its error does. One round turns a basis whose largest angle has the sine
θ into one whose sine is at most [c + (1 + θ²)‖N_C‖ + θ(‖N_T‖ + ‖tI − B‖)]/(nλ_r − z), for rows that no radius
shortens. The leading term, ‖N_C‖/(nλ), is the cost of privacy in [Spiked covariance: Theorem 3.2 (components)]:
√(σ²(λ+σ²))/λ · p√(r + ln n)/(nμ). Statement and proof: docs/explanation/spiked-block-rate.md. Rounds here take neither
averages with earlier ones nor corrections for clipping.
"""

from __future__ import annotations

import math

import attrs


@attrs.frozen(kw_only=True)
class Model:
    """Normal rows with covariance UΛUᵀ + σ²I, and what holds for all of them except with a small probability.

    Args:
        dim, rows, rank: p, n and r.
        smallest, largest: λ_r and λ₁.
        noise: σ².
        failure: η; everything below fails with probability at most 8η for the rows and 3η for the noise of each round.
    """

    dim: int
    rows: int
    rank: int
    smallest: float
    largest: float
    noise: float
    failure: float = 1e-6

    @property
    def _tail(self) -> float:
        return math.sqrt(2 * math.log(1 / self.failure))

    @property
    def _sides(self) -> float:
        """A bound on the spectral norm of an r × (p − r) matrix of standard normal entries."""
        return math.sqrt(self.rank) + math.sqrt(self.dim - self.rank) + self._tail

    @property
    def lengths(self) -> tuple[float, float]:
        """Upper bounds on ‖Uᵀx‖ and ‖U⊥ᵀx‖, for all rows at once."""
        tail = math.sqrt(2 * math.log(self.rows / self.failure))
        inside = math.sqrt(self.largest + self.noise) * (math.sqrt(self.rank) + tail)
        return inside, math.sqrt(self.noise) * (math.sqrt(self.dim - self.rank) + tail)

    @property
    def cross(self) -> float:
        """A bound on c = ‖UᵀΔU⊥‖, for Δ = Σ xxᵀ − nΣ."""
        inside = math.sqrt(self.largest + self.noise) * (math.sqrt(self.rows) + math.sqrt(self.rank) + self._tail)
        return inside * math.sqrt(self.noise) * self._sides

    @property
    def within(self) -> tuple[float, float]:
        """Bounds on ‖UᵀΔU‖ and ‖U⊥ᵀΔU⊥‖."""
        shares = [(math.sqrt(k) + self._tail) / math.sqrt(self.rows) for k in (self.rank, self.dim - self.rank)]
        grown = [share * (2 + share) for share in shares]
        return self.rows * (self.largest + self.noise) * grown[0], self.rows * self.noise * grown[1]

    def radii(self, sine: float) -> tuple[float, float]:
        """α and β that shorten no row, in a basis whose largest angle has at most this sine."""
        inside, outside = self.lengths
        return inside + sine * outside, outside + sine * inside

    def first(self, mu: float) -> float:
        """The sine after a Gaussian release of the whole moment at level μ, under replaced rows."""
        inside, outside = self.lengths
        scale = math.sqrt(2) * (inside**2 + outside**2) / mu
        noise = scale * math.sqrt(2) * (math.sqrt(self.rank) + math.sqrt(self.dim - self.rank) + 2 * self._tail)
        left = self.rows * self.smallest - sum(self.within) - noise
        return min((self.cross + scale / math.sqrt(2) * self._sides) / left, 1.0) if left > 0.0 else 1.0

    def round(self, sine: float, mu: float) -> float:
        """The sine after a round of blocks at level μ, from a basis with at most this sine, under replaced rows."""
        alpha, beta = self.radii(sine)
        crossing = 2 * alpha * beta / mu * self._sides
        signal = 2 * math.sqrt(2) * alpha**2 / mu * (math.sqrt(2 * self.rank) + math.sqrt(2) * self._tail)
        residual = math.sqrt(2) * beta**2 / mu * self._tail / (self.dim - self.rank)
        own, rest = self.within
        seen = self.rows * self.largest * sine**2 + rest + 2 * sine * self.cross + sine**2 * own
        replaced = 2 * seen + residual
        left = self.rows * self.smallest - own - rest - (1 + sine**2) * (signal + replaced) - 4 * sine * crossing
        error = self.cross + (1 + sine**2) * crossing + sine * (signal + replaced)
        return min(error / left, 1.0) if left > 0.0 else 1.0

    def rounds(self, levels: tuple[float, ...]) -> list[float]:
        """The sine after the first release and after each round."""
        sines = [self.first(levels[0])]
        for mu in levels[1:]:
            sines.append(self.round(sines[-1], mu))
        return sines

    def rate(self, mu: float) -> float:
        """What the sine is of the order of, in the end: √(σ²(λ+σ²))/λ · (√(p/n) + 2p√(r + 2 ln(n/η))/(nμ))."""
        share = math.sqrt(self.noise * (self.largest + self.noise)) / self.smallest
        cost = 2 * self.dim * math.sqrt(self.rank + 2 * math.log(self.rows / self.failure)) / (self.rows * mu)
        return share * (math.sqrt(self.dim / self.rows) + cost)
