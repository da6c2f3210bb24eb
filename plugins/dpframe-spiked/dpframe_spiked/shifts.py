"""How far replacing a row by an independent copy moves projector and eigenvalues, under the spiked model."""

from __future__ import annotations

import math

import attrs


@attrs.frozen(kw_only=True)
class Model:
    """The spiked model, with the printed bounds on the shift when a row is replaced by an independent copy.

    Args:
        dim, rows, rank, variance: p, n, r and σ².
        spike: λ_r, the smallest spike.
        largest: λ₁; the same by default.
        constant: C.
    """

    dim: int
    rows: int
    rank: int
    spike: float
    largest: float = attrs.Factory(lambda model: model.spike, takes_self=True)
    variance: float
    constant: float

    @property
    def condition(self) -> float:
        """κ₀ = λ₁/λ_r."""
        return self.largest / self.spike

    @property
    def projector_shift(self) -> float:
        """Δ₁, of ÛÛᵀ (Lemma 3, Corollary 1)."""
        ratio = self.variance / self.spike
        size = math.sqrt(self.dim * (self.rank + math.log(self.rows))) / self.rows
        return self.constant * (ratio + math.sqrt(self.condition * ratio)) * size

    @property
    def eigenvalue_shift(self) -> float:
        """Δ₂, of the eigenvalues of Σ̂ (Lemma 4, Corollary 1)."""
        log = math.log(self.rows)
        signal, residual = self.largest * (self.rank + log), self.variance * (self.dim + log)
        return self.constant * (signal + residual) / self.rows
