"""Published error rates, with constants that the papers leave open set to one.

Eigenvalues are in units of the sensitivity of the moment, which is 1 in the paper (rows of length 1, added or removed).
Theorem, corollary and equation numbers are those of Mangoubi and Vishnoi 2022 unless stated otherwise. Where a paper
writes O(·) or hides logarithms, its argument is given times √log(1/δ)/ε: these are rates, to compare spectra, not
bounds.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

import dpframe.plugin as dp
from dpframe_gaussian.target import Floats, check_k, spectrum


def factor(epsilon: float, delta: float) -> float:
    """√log(1/δ)/ε, the factor by which all rates depend on privacy."""
    if not (epsilon > 0.0 and 0.0 < delta < 1.0):
        raise dp.PlanError(f"rates need epsilon above 0 and delta between 0 and 1; got {epsilon!r}, {delta!r}.")
    return math.sqrt(math.log(1 / delta)) / epsilon


def needed_gap(dim: int, k: int, largest: float, *, epsilon: float, delta: float) -> float:
    """The least that Assumption 2.1 requires of the first k gaps: 8 √log(1.25/δ) √d/ε + 3 √log(λ_1 k).

    The second term counts as zero where λ_1 k is below 1.

    >>> round(needed_gap(6, 4, 1195.0, epsilon=1.0, delta=0.01), 2)
    51.79
    """
    factor(epsilon, delta)
    logarithm = math.log(max(largest * k, 1.0))
    return 8 * math.sqrt(math.log(1.25 / delta)) * math.sqrt(dim) / epsilon + 3 * math.sqrt(logarithm)


def smallest_gap(eigenvalues: ArrayLike, k: int) -> tuple[int, float]:
    """The number of the eigenvalue above the smallest of the first k gaps, and that gap; σ_{d+1} is zero."""
    sigma = spectrum(eigenvalues)
    check_k(k, len(sigma))
    gaps = sigma[:k] - np.append(sigma, 0.0)[1 : k + 1]
    at = int(np.argmin(gaps))
    return at + 1, float(gaps[at])


def assumption_2_1(eigenvalues: ArrayLike, k: int, largest: float, *, epsilon: float, delta: float) -> bool:
    """[Re-Analyze Gauss: Assumption 2.1] for (M, k, λ_1, ε, δ): whether the first k gaps are as large as it requires.

    Also [Slides of Re-Analyze Gauss: Assumption].
    """
    needed = needed_gap(len(spectrum(eigenvalues)), k, largest, epsilon=epsilon, delta=delta)
    return smallest_gap(eigenvalues, k)[1] >= needed


def theorem_2_2(eigenvalues: ArrayLike, values: ArrayLike, *, epsilon: float, delta: float) -> float:
    """√(Σ_{i≤k} Σ_{j>i} (λ_i − λ_j)²/(σ_i − max(σ_j, σ_{k+1}))²) √log(1/δ)/ε; infinite where such a gap is 0.

    [Re-Analyze Gauss: Theorem 2.2] [Slides of Re-Analyze Gauss: Theorem]
    """
    sigma, wanted = spectrum(eigenvalues), spectrum(values)
    k, dim = int(np.count_nonzero(wanted)), len(sigma)
    check_k(len(wanted), dim)
    falls = np.maximum(wanted[:k, None] - np.pad(wanted, (0, dim - len(wanted)))[None, :], 0.0)
    floor = sigma[k] if k < dim else 0.0
    apart = np.where(falls > 0, sigma[:k, None] - np.maximum(sigma, floor)[None, :], np.inf)
    with np.errstate(divide="ignore", over="ignore"):
        return math.sqrt(float(np.square(falls / apart).sum())) * factor(epsilon, delta)


def corollary_2_3(eigenvalues: ArrayLike, k: int, *, epsilon: float, delta: float) -> float:
    """√(kd) σ_k/(σ_k − σ_{k+1}) √log(1/δ)/ε, for the rank-k part; the fraction is 1 for k = d.

    [Re-Analyze Gauss: Corollary 2.3] [Slides of Re-Analyze Gauss: Corollary (covariance approximation)]
    """
    sigma = spectrum(eigenvalues)
    check_k(k, len(sigma))
    share = 1.0 if k == len(sigma) else _divided(float(sigma[k - 1]), _gap(sigma, k))
    return math.sqrt(k * len(sigma)) * share * factor(epsilon, delta)


def corollary_2_4(eigenvalues: ArrayLike, k: int, *, epsilon: float, delta: float) -> float:
    """√(kd)/(σ_k − σ_{k+1}) √log(1/δ)/ε, for the projector: the first case.

    [Re-Analyze Gauss: Corollary 2.4]. Dwork et al. 2014, Theorem 6, implies the same with high probability.
    """
    gap = _gap(spectrum(eigenvalues), k)
    return math.sqrt(k * len(spectrum(eigenvalues))) * _divided(1.0, gap) * factor(epsilon, delta)


def corollary_2_4_even(eigenvalues: ArrayLike, k: int, *, epsilon: float, delta: float) -> float:
    """√d/(σ_k − σ_{k+1}) √log(1/δ)/ε, the second case: no gap among the first k is smaller than the last of them."""
    return corollary_2_4(eigenvalues, k, epsilon=epsilon, delta=delta) / math.sqrt(k)


def analyze_gauss_low_rank(dim: int, k: int, *, epsilon: float, delta: float) -> float:
    """k√d √log(1/δ)/ε, for ‖M̂_k − M‖ − ‖M_k − M‖ (Dwork et al. 2014, Theorem 7) and ⟨P − P̂, M⟩ (Theorems 3 and 18).

    For the inner product of a projector it is an upper and, for some M, a lower bound, up to constants and logarithms.
    """
    return k * math.sqrt(dim) * factor(epsilon, delta)


def telescoped(eigenvalues: ArrayLike, k: int, *, epsilon: float, delta: float) -> float:
    """(k^1.5 √d + √(kd) σ_k/(σ_k − σ_{k+1})) √log(1/δ)/ε: Davis–Kahan, one projector after the other.

    [Re-Analyze Gauss: (42)]
    """
    sigma = spectrum(eigenvalues)
    first = math.sqrt(k**3 * len(sigma)) * factor(epsilon, delta)
    return first + corollary_2_3(sigma, k, epsilon=epsilon, delta=delta)


def _gap(sigma: Floats, k: int) -> float:
    if not 1 <= k < len(sigma):
        raise dp.PlanError(f"k must be at least 1 and below the {len(sigma)} eigenvalues there are; got k={k}.")
    return float(sigma[k - 1] - sigma[k])


def _divided(value: float, gap: float) -> float:
    return value / gap if gap > 0.0 else math.inf
