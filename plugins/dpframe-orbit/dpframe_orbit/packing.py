"""Packing and covering numbers of unitary orbits, and what they say about every private algorithm.

Section, lemma and theorem numbers are those of Mangoubi, Wu, Kale, Thakurta and Vishnoi 2022. Bounds that are proved up
to universal constants have these set to one: they are rates. docs/explanation/unitary-orbits-errata.md lists what is
corrected here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpframe_orbit.theory import Floats


def diameter(dim: int, k: int) -> float:
    """The largest Frobenius distance of two projectors of rank k: √(2 min(k, d − k)).

    [Unitary orbits: Lemma 8.1] prints min(√k, √(d − k)), without the factor √2.
    """
    return math.sqrt(2 * min(k, dim - k))


def log_grassmannian(dim: int, k: int, distance: float) -> float:
    """The log covering number of projectors of rank k, in Frobenius norm, up to constants [Unitary orbits: Lemma 8.1].

    It is 2k(d − k) ln(D/ζ), from above and from below with different constants in place of 1.
    """
    return 2 * k * (dim - k) * max(math.log(diameter(dim, k) / distance), 0.0)


def sine_bound(difference: float, gap: float, *, separated_both_ways: bool) -> float:
    """A bound on ‖P − P̂‖_F for spectral projectors of Hermitian matrices A and Â [Unitary orbits: Lemma 8.2].

    If the eigenvalues inside P are a gap apart from those of  outside P̂, ‖P P̂⊥‖ ≤ ‖A − Â‖/gap; and ‖P − P̂‖² is
    ‖P P̂⊥‖² + ‖P⊥ P̂‖², of equal summands. So the bound is √2 ‖A − Â‖/gap; it is ‖A − Â‖/gap, as printed, if those of Â
    inside P̂ are a gap apart from those of A outside P as well. Where the paper uses it, A and  have equal spectra.
    """
    return difference / gap * (1.0 if separated_both_ways else math.sqrt(2))


def nearest_frame(projector: ArrayLike) -> NDArray[Any]:
    """The d × k matrix W with WWᴴ = P that is nearest to the first k columns of I [Unitary orbits: Lemma 8.3].

    With the angles θ between P and the first k coordinates, ‖W − I‖² = 2Σ(1 − cos θ) ≤ 2Σ(1 − cos² θ) = ‖P − I_k‖².
    """
    matrix = np.asarray(projector)
    k = round(float(np.trace(matrix).real))
    basis = np.linalg.eigh(matrix)[1][:, -k:]
    left, _, right = np.linalg.svd(basis[:k])
    frame: NDArray[Any] = basis @ right.conj().T @ left.conj().T
    return frame


def log_packing_of_ball(log_packing: float, log_covering: float) -> float:
    """A lower bound on the log packing number of a ball [Unitary orbits: Lemma 8.4].

    Args:
        log_packing: of the whole orbit, at the same distance.
        log_covering: of the whole orbit, by balls of the same radius.
    """
    return max(log_packing - log_covering, 0.0)


def log_packing_within(spectrum: ArrayLike, radius: float, distance: float) -> float:
    """A lower bound on the log packing number of a ball of the orbit, in Frobenius norm, up to constants.

    max_{i<j} 2i(d − j + 1) ln(min(ω, λ₁√i, λ₁√(d − j + 1)) (λ_i − λ_j)/(λ₁ζ)) [Unitary orbits: Theorem 2.7, (2)].
    """
    values: Floats = np.asarray(spectrum, dtype=np.float64)
    dim, largest, best = len(values), float(values[0]), 0.0
    for i in range(1, dim):
        for j in range(i + 1, dim + 1):
            size = min(radius, largest * math.sqrt(i), largest * math.sqrt(dim - j + 1))
            share = size * float(values[i - 1] - values[j - 1]) / (largest * distance) if largest > 0.0 else 0.0
            if share > 1.0:
                best = max(best, 2 * i * (dim - j + 1) * math.log(share))
    return best


def squared_distance(spectrum: ArrayLike, score: float) -> float:
    """‖M − H‖² = 2(Σλ² − ⟨M, H⟩) for M and H of the same orbit [Unitary orbits: Lemma 9.1]."""
    values: Floats = np.asarray(spectrum, dtype=np.float64)
    return 2 * (float(values @ values) - score)


def exchanges(squared: float, rank: int) -> float:
    """How many rows of length at most 1 need to be added or removed to lead from M to M′: at most ‖M − M′‖² + rank.

    An eigenvalue ν ≠ 0 of M′ − M takes ⌈|ν|⌉ ≤ ν² + 1 rows. Those added come first and those removed last, so that all
    matrices on the way are moments; the mechanism depends on the moment only. [Unitary orbits: Lemma 9.2] replaces rows
    two by two, where a matrix on the way need not be positive, and counts d for the rank.

    Args:
        squared: ‖M − M′‖² in Frobenius norm.
        rank: of M − M′, at most 2k for matrices of rank k.
    """
    return squared + rank


def packing_lower(log_count: float, changes: float, distance: float, epsilon: float) -> float:
    """An error that each ε-private algorithm exceeds with probability above ½ at one of n matrices; 0 if none is known.

    If the matrices are more than `distance` apart, the balls of half that radius are disjoint. Were each hit with
    probability ½ at its own center, 1 ≥ Σ_j P(A(M_i) ∈ B_j) ≥ (n/2) e^{−ε changes}. So the error exceeds distance/2 at
    some center, with probability above ½, if ln(n/2) > ε · changes. This is [Unitary orbits: Lemma 9.2],
    not scaled.

    Args:
        log_count: ln n.
        changes: the most rows that lead from one of the matrices to another.
        distance: the least Frobenius distance of two of them.
        epsilon: of one row added or removed.
    """
    return distance / 2 if log_count - math.log(2) > epsilon * changes else 0.0
