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
    """An upper bound on the log covering number of the orbit in spectral norm (Lemma 6.3)."""
    values = _values(spectrum)
    rank = int(np.count_nonzero(values))
    return 2 * len(values) * rank * math.log1p(8 * float(values[0]) / distance)


def explicit_shortfall(gammas: ArrayLike, spectrum: ArrayLike, kappa: float, beta: float) -> float:
    """A τ that Σ γ_i λ_i − ⟨M, H⟩ exceeds with probability at most β (Lemmas 6.3 and 6.4, solved for τ).

    P(shortfall > τ) ≤ N(τ/2Γ)·e^{−κτ/2} with Γ = tr M and N the covering number: matrices within τ/2Γ of the best one
    fall short by at most τ/2, and have at least the share 1/N of the orbit.
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


def rank_k_rate(gammas: ArrayLike, k: int, epsilon: float) -> float:
    """‖M − H‖² of Algorithm 2, private eigenvalues and then the orbit (Theorem 2.3)."""
    values = _values(gammas)
    dim = len(values)
    tail = float(np.sum(values[k:] ** 2))
    return tail + k / epsilon**2 + dim * k / epsilon * (float(values[0]) + 1 / epsilon)


def lower_rate(gammas: ArrayLike, k: int, epsilon: float) -> float:
    """A lower bound on ‖M − H‖² with probability ½, for some M with eigenvalues γ and any private rank-k H.

    Theorem 2.4 for H with the eigenvalues of M, Corollary 2.5 for any H, Corollary 2.6 for H with other eigenvalues.
    """
    values = _values(gammas)
    dim = len(values)
    half = np.arange(1, max(dim // 2, 1) + 1)
    spread = half * (values[half - 1] - values[dim - half]) ** 2
    share = dim / max(float(values[0]) * math.sqrt(epsilon), math.sqrt(dim)) ** 2
    return float(np.sum(values[k:] ** 2)) + share * float(spread.max())


def log_packing(spectrum: ArrayLike, distance: float) -> float:
    """A lower bound on the log packing number of the orbit in Frobenius norm (Theorem 2.7, second inequality)."""
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
    """‖M − H‖² of Amin et al. 2019, one eigenvector after the other (Theorem 3.1), for the best split of the budget.

    d/ε_0² + Σ_i dγ_i/ε_i with Σ ε_i = ε: ε_0 for the eigenvalues, the rest in proportion to √γ_i.
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
