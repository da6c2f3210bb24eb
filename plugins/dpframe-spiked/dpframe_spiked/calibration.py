"""The noise of each part of a block moment; docs/explanation/spiked.md has the proofs.

With one side of a row clipped to length α and the other to β, the parts are the signal T = Σaaᵀ, the cross part
C = Σabᵀ and the residual τ = Σ‖b‖². Noise of deviations s_T (scaled as in the Gaussian orthogonal ensemble), s_C and
s_τ is a Gaussian release with mu² the largest value of ‖ΔT‖²/s_T² + ‖ΔC‖²/s_C² + Δτ²/s_τ² that one person can cause.

add-remove
    One row reaches α², αβ and β² at once, so mu² = α⁴/s_T² + α²β²/s_C² + β⁴/s_τ². The mean squared error of the
    reassembled matrix, Σ w_i s_i² with w as below, is smallest for mu_i² ∝ Δ_i √w_i.

replace
    s_C = 2αβ/mu is what C alone needs, and s_T = 2√2 α²/mu with s_τ = √2 β²/mu cost nothing in addition: rows that move
    C by 2αβ move neither T nor τ. In units of α², αβ and β², ‖ΔT‖² + 2‖ΔC‖² + 4Δτ² is at most 8
    (`dpframe.sensitivity.blocks_together`), so that deviations of √8, √(8/2) and √(8/4) are a release with mu = 1.
"""

from __future__ import annotations

import math

import dpframe.plugin as dp

LEAST_SHARE = 2.0**-10  # of mu², so that no part is lost in noise and no scale leaves the range of the exact sampler
LARGEST = 33.0
"""An upper bound on the multiples."""

_ROUNDING = 1.0 + 2.0**-40  # far above the rounding error of a few operations


def multiples(neighbors: str, dim: int, rank: int, radii: tuple[float, float]) -> tuple[float, float, float]:
    """Deviations of signal, cross and residual, in units of (the product of its radii) / mu, rounded up."""
    if neighbors == "replace":
        return dp.rounding.sqrt_up(8), 2.0, dp.rounding.sqrt_up(2)
    signal, cross, residual = (_ROUNDING / math.sqrt(share) for share in shares(dim, rank, radii))
    return signal, cross, residual


def shares(dim: int, rank: int, radii: tuple[float, float]) -> tuple[float, float, float]:
    """The shares of mu² for rows added or removed: they add up to 1."""
    alpha, beta = radii
    weights = (rank * (rank + 1) / 2, 2.0 * rank * (dim - rank), 1.0 / (dim - rank))
    wanted = [product * math.sqrt(w) for product, w in zip((alpha / beta, 1.0, beta / alpha), weights, strict=True)]
    floored = [max(each / sum(wanted), LEAST_SHARE) for each in wanted]
    signal, cross, residual = (each / sum(floored) for each in floored)
    return signal, cross, residual
