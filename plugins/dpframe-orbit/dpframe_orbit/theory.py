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


def _padded(spectrum: ArrayLike, gammas: ArrayLike) -> Floats:
    """The spectrum, with zeros up to the dimension of M."""
    values = _values(spectrum)
    return np.pad(values, (0, len(_values(gammas)) - len(values)))


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
    trace, values = float(_values(gammas).sum()), _padded(spectrum, gammas)
    if trace == 0.0 or not values.any():
        return 0.0

    def excess(tau: float) -> float:
        return log_covering(values, tau / (2 * trace)) - kappa * tau / 2 - math.log(beta)

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
    values, trace = _padded(spectrum, gammas), float(_values(gammas).sum())
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
    [Unitary orbits: Corollary 2.6] for H with other eigenvalues. They hold for ε up to the order of `lower_reach`.
    """
    values = _values(gammas)
    dim = len(values)
    share = dim / max(float(values[0]) * math.sqrt(epsilon), math.sqrt(dim)) ** 2
    return float(np.sum(values[k:] ** 2)) + share * float(_spreads(values).max())


def _spreads(values: Floats) -> Floats:
    """i(γ_i − γ_{d−i+1})² for i up to d/2."""
    half = np.arange(1, max(len(values) // 2, 1) + 1)
    found: Floats = half * (values[half - 1] - values[len(values) - half]) ** 2
    return found


def lower_reach(gammas: ArrayLike) -> float:
    """The order of the largest ε for which `lower_rate` is proved: i·d/min(d, 2 rank M), for the i that it is from.

    Printed for every ε, which is false: docs/explanation/unitary-orbits-errata.md has a private algorithm whose error
    falls like e^{−ε/2}. A lower bound from a packing needs more points than e^{ε h} where h rows lead from one to
    another, and the difference of two matrices takes a row for each eigenvalue that is not zero.

    >>> lower_reach([9.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    4.0
    """
    values = _values(gammas)
    dim, rank = len(values), int(np.count_nonzero(values))
    return (int(np.argmax(_spreads(values))) + 1) * dim / max(min(dim, 2 * rank), 1)


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


def repetition_bound(nodes: ArrayLike, spectrum: ArrayLike, *, bits: int = 16, accuracy: int = 96) -> float:
    """An upper bound on the probability that a draw of `orbit` is repeated at twice the accuracy.

    For the real part, and rows whose precision suffices; docs/explanation/orbit.md#how-rare-repetitions-are has the
    proof.

    Args:
        nodes: κγ, all d of them.
        spectrum: from 1 to 0, all d values.
        bits: of the grid.
        accuracy: P, the bits of an entry of the pattern.
    """
    eigenvalues = _values(spectrum)
    dim, rank = len(eigenvalues), min(np.count_nonzero(eigenvalues > 0), np.count_nonzero(eigenvalues < 1))
    off = dim * rank * 2.0 ** (1 - accuracy)  # of the difference of two entries
    relative = 2 * dim * rank**2 * closeness_rate(nodes, eigenvalues) * off * (1.0 + math.log(1.0 / off))
    numbers = dim * (dim + 1) / 2
    return float(min(1.0, relative * (30 * rank**1.5 * numbers * 2.0 ** (bits + 1) + 5000 * math.sqrt(rank))))


def closeness_rate(nodes: ArrayLike, spectrum: ArrayLike) -> float:
    """A c with P(φ < δ) ≤ cδ for each difference φ ≥ 0 of two entries of a pattern that is not always the same.

    c = 2(m + K)/Δ: m free entries, K the range of the logarithm of the density, Δ the least distance of two different
    values of the spectrum.
    """
    values, eigenvalues = np.sort(_values(nodes))[::-1], np.sort(_values(spectrum))[::-1]
    spread = float(values @ (eigenvalues - eigenvalues[::-1]))
    gaps = -np.diff(eigenvalues)
    return (dimension(eigenvalues) / 2 + spread) * 2.0 / float(gaps[gaps > 0].min())
