"""How much worse than the best a noisy projector or rank-k part is, by its score or its distance from M, for any gap.

These are errors of the objective, not of the result: they stay small where eigenvectors are not determined. All
constants are proved, from E‖N‖ in spectral norm and the trace inequality of [Re-Analyze Gauss: Appendix C, (36)].
"""

from __future__ import annotations

import math

from dpframe_gaussian import kth_gap
from dpframe_gaussian.noise import Noise
from dpframe_gaussian.target import Target


def inner_product(target: Target, noise: Noise) -> float:
    """An upper bound on E⟨P − P̂, M⟩, by how much the captured variance falls short of the best.

    Since P̂ is best for M + N, ⟨P − P̂, M⟩ ≤ ⟨P̂ − P, N⟩; and P̂ − P has eigenvalues ± sin θ_i for at most m = min(k, d−k)
    angles, so this is at most Σ sin θ_i times the spread of N: m · 2s√(2d) in the mean, and √(m/2) times the error of
    the projector times the spread. The rate k√d is that of Dwork et al. 2014, Theorem 3, as is the gain from a gap;
    their Theorem 18 shows that k√d cannot be improved for all M.
    """
    angles = min(target.k, target.dim - target.k)
    most = angles * noise.least_width(target.dim)
    near = kth_gap.frobenius(target, noise) if kth_gap.applies(target, noise) else None
    return most if near is None else min(most, math.sqrt(angles / 2) * near * noise.spread(target.dim))


def excess_squares(target: Target, noise: Noise) -> float:
    """An upper bound on E[‖M − M̂_k‖_F² − ‖M − M_k‖_F²]: 8k(σ_{k+1} E‖N‖ + E‖N‖²).

    As M̂_k is nearest to M + N, the difference is at most 2⟨N, M̂_k − M_k⟩. The second factor has rank at most 2k and
    spectral norm at most 2(σ_{k+1} + ‖N‖), and ⟨N, X⟩ ≤ rank(X)‖N‖‖X‖. [Re-Analyze Gauss: Appendix C, (36)] prints the
    same with O(·).
    """
    return (
        8
        * target.k
        * (float(target.eigenvalues[target.k]) * mean_norm(target, noise) + noise.spectral(target.dim) ** 2)
    )


def excess(target: Target, noise: Noise) -> float:
    """An upper bound on E[‖M − M̂_k‖_F − ‖M − M_k‖_F]: 4k E‖N‖, whatever M is (Dwork et al. 2014, Theorem 7).

    With y = ‖M − M_k‖_F ≥ σ_{k+1}, ‖M − M̂_k‖² ≤ y² + 8k(y‖N‖ + ‖N‖²) ≤ (y + 4k‖N‖)².
    """
    return 4 * target.k * mean_norm(target, noise)


def mean_norm(target: Target, noise: Noise) -> float:
    """E‖N‖ ≤ s(√(2d) + √(2/π)) in spectral norm, by Sudakov–Fernique."""
    return noise.scale * (noise.edge(target.dim) + math.sqrt(2 / math.pi))
