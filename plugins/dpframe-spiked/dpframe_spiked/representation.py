"""The projector on the leading eigenvectors of a perturbed spiked covariance, as a series in the perturbation.

For Σ = UΛUᵀ + σ²I and a symmetric Δ let Û be the r leading eigenvectors of Σ + Δ. Then ÛÛᵀ − UUᵀ = Σ_k S_k(Δ), with
S_k = −Σ_{s₁+…+s_{k+1}=k} (−1)^{τ(s)} Q_{s₁} Δ Q_{s₂} … Δ Q_{s_{k+1}}, where Q₀ = I − UUᵀ, Q_s = UΛ⁻ˢUᵀ, and τ counts
positive s [Spiked covariance: Lemma 5]. The sum is the coefficient of zᵏ in −G(z)(ΔG(z))ᵏ with G(z) = Q₀ − Σ zˢ Q_s.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def terms(basis: Floats, spikes: Floats, change: Floats, order: int) -> list[Floats]:
    """S₁, …, S_order of the series.

    Args:
        basis: U, with orthonormal columns.
        spikes: λ₁ ≥ … ≥ λ_r > 0, by which the leading eigenvalues of Σ exceed σ².
        change: Δ.
        order: how many terms.
    """
    powers = [np.eye(len(basis)) - basis @ basis.T]
    powers += [-(basis * spikes**-s) @ basis.T for s in range(1, order + 1)]
    product, found = list(powers), []
    for k in range(1, order + 1):
        turned = [change @ power for power in powers]
        product = [
            np.sum([product[i] @ turned[total - i] for i in range(total + 1)], axis=0) for total in range(order + 1)
        ]
        found.append(-product[k])
    return found


def term_bound(k: int, relative: float) -> float:
    """‖S_k‖ ≤ C(2k, k) (‖Δ‖/λ_r)ᵏ [Spiked covariance: Lemma 5]: a sum of so many products."""
    return math.comb(2 * k, k) * relative**k


def projector_bound(smallest: float, change: float, cross: float, first: float) -> float:
    """A bound on ‖ÛÛᵀ − UUᵀ‖ in spectral norm [Spiked covariance: Lemma 10]; infinite unless λ_r > 4‖Δ‖.

    ‖Λ⁻¹UᵀΔU⊥‖ + 6xy/(1 − 4x) with x = ‖Δ‖/λ_r and y = ‖UᵀΔU⊥‖/λ_r: every product in S_k, k ≥ 2, has a factor UᵀΔU⊥, and
    C(2k, k) ≤ 6·4^{k−2}. The lemma prints the first term twice as large, with 4 + δ for λ_r/‖Δ‖ at least.

    Args:
        smallest: λ_r.
        change: ‖Δ‖.
        cross: ‖UᵀΔU⊥‖.
        first: ‖Λ⁻¹UᵀΔU⊥‖.
    """
    x, y = change / smallest, cross / smallest
    return first + 6 * x * y / (1 - 4 * x) if x < 0.25 else math.inf
