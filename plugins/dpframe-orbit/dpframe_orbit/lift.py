"""From a pattern to a Hermitian matrix: a uniform draw among the matrices that have it.

A block of size j − 1 with eigenvalues μ and eigenvectors Q is bordered by b = Qw and a corner so that the eigenvalues
become ν. With ν_1 ≥ μ_1 ≥ ν_2 ≥ … that fixes |w_i|² = −∏_l(μ_i − ν_l)/∏_{l≠i}(μ_i − μ_l) and leaves the phases of w,
which are independent and uniform under the invariant measure. An eigenvalue that μ and ν share because the spectrum has
ties keeps its eigenvector and cancels. The new eigenvectors are (Q(ν_l − μ)⁻¹w, 1), normalized. Once the block is
larger than the rank, only eigenvectors of positive eigenvalues are kept: the others have w_i = 0, and one zero stands
for all of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe_orbit.pattern import Floats, Pattern

Complex = NDArray[np.complex128]


def eigenvectors(pattern: Pattern, depths: Floats, random: dp.Random) -> Complex:
    """Orthonormal eigenvectors (d, rank), in the order of the spectrum, of a matrix with this pattern."""
    rank = pattern.rank
    words = random.child("phases").words(pattern.dim * rank).reshape(pattern.dim, rank)
    phases = np.exp(2j * np.pi * (words.astype(np.int64, casting="unsafe") + 0.5) * 2.0**-64)
    vectors = np.ones((1, 1), dtype=np.complex128)
    for j in range(2, pattern.dim + 1):
        vectors = _bordered(pattern, depths, j, vectors, phases[j - 1])
    return vectors


def _bordered(pattern: Pattern, depths: Floats, j: int, vectors: Complex, phases: Complex) -> Complex:
    """Eigenvectors of the positive eigenvalues of the block of size j, given those of size j − 1."""
    before, after = min(j - 1, pattern.rank), min(j, pattern.rank)
    top = np.append(pattern.spectrum[: pattern.rank], 0.0)[: before + 1]
    tied = _tied(pattern, j)
    # Eigenvalues are top − depth; those that are not tied interlace strictly, with one more new than old.
    old = top[:before][~tied], depths[j - 1, 1 : before + 1][~tied]
    moving = np.append(~tied, True)
    new = top[moving], depths[j, 1 : before + 2][moving]
    apart = _differences(new, old)
    weights = np.sqrt(squared_weights(apart, _differences(old, old))) * phases[:before][~tied]
    coefficients = weights[:, None] / apart[:, : np.count_nonzero(moving[:after])]
    norms = np.sqrt(1.0 + np.sum(np.abs(coefficients) ** 2, axis=0))
    result = np.zeros((j, after), dtype=np.complex128)
    result[:-1, np.flatnonzero(tied)] = vectors[:, tied]
    result[:-1, moving[:after]] = vectors[:, ~tied] @ (coefficients / norms)
    result[-1, moving[:after]] = 1.0 / norms
    return result


def _tied(pattern: Pattern, j: int) -> NDArray[np.bool_]:
    """Which eigenvalues of the block of size j − 1 equal one of the spectrum in every draw."""
    padded = np.concatenate([pattern.spectrum, np.zeros(pattern.rank)])
    columns = np.arange(min(j - 1, pattern.rank))
    fixed: NDArray[np.bool_] = padded[columns] == padded[columns + pattern.dim - (j - 1)]
    return fixed


def squared_weights(apart: Floats, old_apart: Floats) -> Floats:
    """|w_i|², from ν_l − μ_i in apart[i, l] and μ_l − μ_i in old_apart[i, l].

    Each ν is divided by the μ next to it on the far side of μ_i, so that intermediate products stay of moderate
    size.
    """
    squares = np.empty(len(apart))
    for i in range(len(apart)):
        above = np.prod(apart[i, :i] / old_apart[i, :i])
        below = np.prod(apart[i, i + 2 :] / old_apart[i, i + 1 :])
        squares[i] = -above * below * apart[i, i] * apart[i, i + 1]
    return np.maximum(squares, 0.0)


def _differences(columns: tuple[Floats, Floats], rows: tuple[Floats, Floats]) -> Floats:
    """Eigenvalues in columns minus eigenvalues in rows, each given as (top, depth); accurate also where they cancel."""
    (top, depth), (other_top, other_depth) = columns, rows
    tops, tops_lost = _two_sum(top[None, :], -other_top[:, None])
    depths, depths_lost = _two_sum(other_depth[:, None], -depth[None, :])
    total, lost = _two_sum(tops, depths)
    return total + (lost + (tops_lost + depths_lost))


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded sum and what it lost, exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)
