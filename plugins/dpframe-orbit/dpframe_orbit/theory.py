"""Published bounds on private matrices with a given spectrum, for rows of length at most 1.

γ are the eigenvalues of the second moment, λ those of the released matrix, from the largest, both with all d entries.
Bounds that the papers prove up to a constant are given with that constant set to one, and without their logarithms:
they are rates. Section and theorem numbers are those of Mangoubi, Wu, Kale, Thakurta and Vishnoi 2022 unless stated.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def _values(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


def dimension(spectrum: ArrayLike) -> int:
    """The real dimension of the orbit: two for each pair of unequal eigenvalues.

    >>> dimension([1.0, 1.0, 0.0, 0.0])
    8
    """
    values = _values(spectrum)
    return int(np.count_nonzero(values[:, None] != values[None, :]))


def first_order_shortfall(spectrum: ArrayLike, kappa: float) -> float:
    """The mean of Σ γ_i λ_i − ⟨M, H⟩ to first order in 1/κ: half of 1/κ for each real dimension of the orbit.

    Near its maximum the score falls off like a quadratic form on the orbit, so that κ times the shortfall has the law
    of half a χ² variable; the gaps of γ do not matter as long as they are large.
    """
    return dimension(spectrum) / (2 * kappa)


def log_covering(spectrum: ArrayLike, distance: float) -> float:
    """An upper bound on the log covering number of the orbit in spectral norm [Unitary orbits: Lemma 6.3]."""
    values = _values(spectrum)
    rank = int(np.count_nonzero(values))
    return 2 * len(values) * rank * math.log1p(8 * float(values[0]) / distance)


def explicit_shortfall(gammas: ArrayLike, spectrum: ArrayLike, kappa: float, beta: float) -> float:
    """A τ that Σ γ_i λ_i − ⟨M, H⟩ exceeds with probability at most β: a bound that is solved for τ.

    P(shortfall > τ) ≤ N(τ/2Γ)·e^{−κτ/2} with Γ = tr M and N the covering number: matrices within τ/2Γ of the best one
    fall short by at most τ/2, and have at least the share 1/N of the orbit [Unitary orbits: Theorem 5.4, Lemma 6.4].
    """
    trace = float(_values(gammas).sum())
    if trace == 0.0 or not np.any(spectrum):
        return 0.0

    def excess(tau: float) -> float:
        return log_covering(spectrum, tau / (2 * trace)) - kappa * tau / 2 - math.log(beta)

    high = 1.0 / kappa
    while excess(high) > 0.0:  # decreases in tau
        high *= 2
    low = high / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return high


def closed_shortfall(gammas: ArrayLike, spectrum: ArrayLike, kappa: float, beta: float) -> float:
    """The same in closed form, never smaller: max(λ₁, (2/κ)(2dk ln(1 + 16Γ) + ln(1/β))) [Unitary orbits: Lemma 6.5].

    For τ ≥ λ₁ the covering number is at most (1 + 16Γ)^{2dk}. The lemma prints O((λ₁/ε)(dk ln Γ + ln(1/β))) for
    κ = ε/(4λ₁).
    """
    values, trace = _values(spectrum), float(_values(gammas).sum())
    rank = int(np.count_nonzero(values))
    covering = 2 * len(values) * rank * math.log1p(16 * trace)
    return max(float(values[0]), 2 / kappa * (covering - math.log(beta)))


def largest_laplace(k: int, beta: float) -> float:
    """What the largest of k standard Laplace variables exceeds in absolute value with probability β."""
    return -math.log(-math.expm1(math.log1p(-beta) / k))


def rank_k_bound(gammas: ArrayLike, k: int, *, scale: float, offset: float, strength: float, beta: float) -> float:
    """A bound that ‖M − H‖² of Algorithm 2 exceeds with probability at most β [Unitary orbits: Theorem 2.3].

    ‖M − H‖² = Σ_{i>k} γ_i² + Σ_{i≤k} (λ̃_i − γ_i)² + 2(Σ λ̃_i γ_i − ⟨M, H⟩) for released eigenvalues λ̃. With β/2 each, no
    |λ̃_i − γ_i| exceeds t, and the shortfall is at most λ̃₁ ≤ γ₁ + t times that for the largest eigenvalue 1: the theorem
    with all its constants. Taking the real part of H brings it no farther from a real M.

    Args:
        gammas: the eigenvalues of M.
        k: the rank.
        scale: of the Laplace noise on each eigenvalue.
        offset: the most that a solver may be off.
        strength: κλ̃₁, which does not depend on λ̃.
        beta: the probability with which the bound may fail.
    """
    values = _values(gammas)
    apart = scale * largest_laplace(k, beta / 2) + offset
    ones = np.where(np.arange(len(values)) < k, 1.0, 0.0)
    short = (float(values[0]) + apart) * explicit_shortfall(values, ones, strength, beta / 2)
    return float(np.sum(values[k:] ** 2)) + k * apart**2 + 2 * short


def rank_k_rate(gammas: ArrayLike, k: int, epsilon: float) -> float:
    """‖M − H‖² of Algorithm 2, private eigenvalues and then the orbit [Unitary orbits: Theorem 2.3]."""
    values = _values(gammas)
    dim = len(values)
    tail = float(np.sum(values[k:] ** 2))
    return tail + k / epsilon**2 + dim * k / epsilon * (float(values[0]) + 1 / epsilon)


def lower_rate(gammas: ArrayLike, k: int, epsilon: float) -> float:
    """A lower bound on ‖M − H‖² with probability ½, for some M with eigenvalues γ and any private rank-k H.

    [Unitary orbits: Theorem 2.4] for H with the eigenvalues of M, [Unitary orbits: Corollary 2.5] for any H,
    [Unitary orbits: Corollary 2.6] for H with other eigenvalues.
    """
    values = _values(gammas)
    dim = len(values)
    half = np.arange(1, max(dim // 2, 1) + 1)
    spread = half * (values[half - 1] - values[dim - half]) ** 2
    share = dim / max(float(values[0]) * math.sqrt(epsilon), math.sqrt(dim)) ** 2
    return float(np.sum(values[k:] ** 2)) + share * float(spread.max())


def log_packing(spectrum: ArrayLike, distance: float) -> float:
    """A lower bound on the log packing number of the orbit in Frobenius norm [Unitary orbits: Theorem 2.7, (3)]."""
    values = _values(spectrum)
    dim = len(values)
    best = 0.0
    for i in range(1, dim):
        for j in range(i + 1, dim + 1):
            scale = min(math.sqrt(i), math.sqrt(dim - j + 1)) * float(values[i - 1] - values[j - 1])
            if scale > distance:
                best = max(best, 2 * i * (dim - j + 1) * math.log(scale / distance))
    return best


def amin_rate(gammas: ArrayLike, epsilon: float) -> float:
    """‖M − H‖² of Amin et al. 2019, one eigenvector after the other, for the best split of the budget.

    d/ε_0² + Σ_i dγ_i/ε_i with Σ ε_i = ε: ε_0 for the eigenvalues, the rest in proportion to √γ_i
    [Unitary orbits: Theorem 3.1, Section 3].
    """
    from scipy.optimize import minimize_scalar

    values = _values(gammas)
    roots = float(np.sum(np.sqrt(values))) ** 2

    def error(share: float) -> float:
        return 1 / (share * epsilon) ** 2 + roots / ((1 - share) * epsilon)

    best = minimize_scalar(
        lambda log: error(math.exp(log)), bounds=(math.log(1e-9), math.log(1 - 1e-9)), method="bounded"
    )
    return len(values) * float(best.fun)


def kapralov_talwar_lower(largest: float, dim: int, k: int, epsilon: float) -> float:
    """The lower bound of Kapralov and Talwar 2013 on ‖M − H‖ in spectral norm, for rank k, as quoted in §2.3."""
    return largest * math.exp(-largest * epsilon / (k * (dim - k))) if k < dim else 0.0


def spectral_lower_rate(gammas: ArrayLike, k: int, epsilon: float) -> float:
    """A lower bound on ‖M − H‖ in spectral norm from `lower_rate`, for M and H of rank k (§2.3)."""
    values = _values(gammas)
    return math.sqrt(lower_rate(gammas, k, epsilon) / min(2 * k, len(values)))
