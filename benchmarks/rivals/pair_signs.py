"""Signs of differences of pairs: Kim and Jung, "Robust and differentially private PCA for non-Gaussian data", 2025
(arXiv 2507.15232), with the spatial sign.

Released: Σ s sᵀ over pairs of rows, s = (x − y)/‖x − y‖, with noise; its eigenvectors are those of the covariance for
elliptical laws, and no center, range or radius is needed. It says nothing about sizes, so only components are measured.
The whole budget goes into this one matrix.

Privacy: pairs are those of `MATCHINGS` random matchings, each of which leaves out one row if their number is odd. Where
a row is replaced, one pair of each matching changes, by at most √2 in Frobenius norm since s is a unit vector. Where a
row is removed, a random matching of the rest can be had from a random one of all. If the removed row was left out,
nothing changes. Otherwise its partner is left out now where no other row was, a change of 1, or else is paired with the
row that was, a change of √2. So the matrix moves by at most √2 · MATCHINGS under either relation, for matchings that
are coupled like this, and a mixture over matchings is as private as its worst part.

Strengthened: GOE noise, the exact curve, √2 per pair, the best sensitivity there is, and add-remove by the coupling.
With all pairs instead of some, noise would be the same and the sampling error smaller, at a cost that is quadratic in
the rows.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.rivals.noise import Noise, Terms
from dpframe.lattice import FloatArray

MATCHINGS = 8


def pair_signs(rows: FloatArray, k: int, terms: Terms, noise: Noise) -> FloatArray:
    """The leading k directions."""
    total = sum((_signs(rows, noise.order(len(rows))) for _ in range(MATCHINGS)), np.zeros((rows.shape[1],) * 2))
    noisy = noise.symmetric(total, math.sqrt(2) * MATCHINGS, terms.mu)
    return np.asarray(np.linalg.eigh(noisy)[1][:, -k:])


def _signs(rows: FloatArray, order: list[int]) -> FloatArray:
    """Σ s sᵀ over the pairs of an order: the first two, the next two, and so on."""
    pairs = len(order) // 2
    ordered = rows[order[: 2 * pairs]]
    differences = ordered[0::2] - ordered[1::2]
    lengths = np.linalg.norm(differences, axis=1, keepdims=True)
    signs = np.divide(differences, lengths, out=np.zeros_like(differences), where=lengths > 0)
    return np.asarray(signs.T @ signs)
