"""The envelope of a Bingham law: an angular central Gaussian law that is proved to lie above it.

Wanted are unit vectors x of density ∝ exp(κ xᵀMx), M a symmetric matrix of integers. Let B be any invertible matrix, g
a vector of independent standard normals and x = Bg/‖Bg‖. Then x has density ∝ t^{−m/2} in m dimensions, where
t = xᵀ(BBᵀ)⁻¹x = ‖g‖²/‖Bg‖² (the angular central Gaussian law). Suppose that for all unit vectors x

    κ(c − xᵀMx) ≥ (b/2)(t − 1).                                                                             (1)

Then accepting x with probability

    p = exp(−κ(c − xᵀMx)) · t^{m/2} / K,     K = (m/b)^{m/2} e^{−(m−b)/2},                                  (2)

leaves exactly the wanted density, and p ≤ 1, since t^{m/2} e^{−(b/2)(t−1)} is largest, K, at t = m/b (Kent, Ganeiban
and Mardia 2018). The exponent of t is *plus* m/2. *Nothing else is asked of B*: errors of the eigenvalue solver make
(1) a little less tight, and do not touch the law.

**B and c.** A float solver gives eigenvalues Γ and eigenvectors V, both rounded: to integers, and to 52 bits. Let
B = VS with a diagonal S, R = MV − VΓ, VᵀV = I + O, and let r ≥ ‖V‖₂‖R‖ and o ≥ ‖O‖ be proved bounds
(`dpframe.eigensolver`). In terms of V, and with C = cI − Γ, (1) is

    κ(C + OC − VᵀR) + (b/2)(I + O − S⁻²) ⪰ 0,

where for OC − VᵀR its symmetric part may be taken. That follows from κ(C_i − o·max C − r) + (b/2)(1 − o) ≥ (b/2)S_i⁻²
for every i, and this from

    c ≥ max Γ + o·max C + r + ob/(2κ),        S_i² ≥ b/(b + 2κ(max Γ − Γ_i)).                               (3)

`margin` is c − max Γ. It lowers the share of accepted proposals by a factor of e^{−κ·margin}. If that is more than
`LARGEST_COST`, eigenvectors are computed to 128 bits, which takes longer.

Any b in (0, m] will do; the one with Σ 1/(b + 2a_i) = 1, a_i = κ(max Γ − Γ_i), accepts most.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp

VECTOR_BITS = 52  # of the entries of V, which floats then hold exactly
SHRINK_BITS = 64  # of the entries of S
LARGEST_COST = 1 / 32  # κ·margin up to which float eigenvectors are good enough
NEARLY = 2.0**-10  # the largest o of vectors that are worth improving

Floats = NDArray[np.float64]
Objects = NDArray[np.object_]


@attrs.frozen(eq=False, repr=False)
class Eigenvectors:
    """Γ and V with proved bounds.

    Args:
        values: Γ, integers.
        vectors: V in units of 2^−bits, an fmpz_mat.
        bits: see `vectors`.
        overlap: o.
        residual: r.
    """

    values: list[int]
    vectors: Any
    bits: int
    overlap: float
    residual: float

    def margin(self, rate: float) -> float:
        """c − max Γ as (3) asks for, with b at its largest, and some more for the rounding of this line itself."""
        spread = float(max(self.values) - min(self.values))
        needed = self.overlap * (spread + len(self.values) / (2 * rate)) + self.residual
        return 1.001 * needed / (1.0 - self.overlap) + 1.0


@attrs.frozen(eq=False, repr=False)
class Envelope:
    """B = VS, b and c for which (1) is proved.

    Args:
        matrix: M.
        rate: κ, a float that is taken as it is.
        eigenvectors: Γ, V and their bounds.
        shrink: S in units of 2^−SHRINK_BITS.
        b: a float that is taken as it is.
        top: c.
    """

    matrix: NDArray[Any]
    rate: float
    eigenvectors: Eigenvectors
    shrink: Objects
    b: float
    top: int

    @property
    def dim(self) -> int:
        return len(self.shrink)

    @classmethod
    def of(cls, matrix: NDArray[Any], rate: float) -> Envelope:
        """The envelope for a symmetric matrix of integers of any size."""
        found = _eigenvectors(matrix, rate)
        highest = max(found.values)
        costs = rate * np.array([float(highest - value) for value in found.values])
        b = best_b(costs)
        # Floats have a relative error of a few times 2⁻⁵³ here; 2⁻⁴⁰ and rounding up make S large enough for (3).
        shrink = np.sqrt(b / (b + 2.0 * costs)) * (1.0 + 2.0**-40) * 2.0**SHRINK_BITS
        return cls(
            matrix=matrix,
            rate=rate,
            eigenvectors=found,
            shrink=np.array([int(each) + 1 for each in shrink.tolist()], dtype=object),
            b=b,
            top=highest + math.ceil(found.margin(rate)),
        )


def best_b(costs: Floats) -> float:
    """The b with Σ 1/(b + 2·costs_i) = 1, approximately; costs are not negative, and the smallest is zero."""
    b = 1.0  # not above the root, since one cost is zero; Newton's method rises to it, the sum being convex
    for _ in range(100):
        inverse = 1.0 / (b + 2.0 * costs)
        step = (float(inverse.sum()) - 1.0) / float(inverse @ inverse)
        b += step
        if step < 1e-9 * b:
            break
    return min(b, float(len(costs)))


def _eigenvectors(matrix: NDArray[Any], rate: float) -> Eigenvectors:
    """Float eigenvectors where they are good enough, and better ones elsewhere."""
    floats, start = matrix.astype(np.float64), np.eye(len(matrix))
    try:
        values, vectors = np.linalg.eigh(floats)
    except np.linalg.LinAlgError:  # no convergence
        return _precise(matrix, start, rate)
    values, vectors = np.rint(values), np.rint(vectors * 2.0**VECTOR_BITS) * 2.0**-VECTOR_BITS
    proved = dp.eigensolver.float_residual(floats, values, vectors)
    if not proved.overlap < NEARLY:  # also if it is NaN
        return _precise(matrix, start, rate)
    found = _bounded([int(value) for value in values.tolist()], vectors * 2.0**VECTOR_BITS, VECTOR_BITS, proved)
    return found if rate * found.margin(rate) <= LARGEST_COST else _precise(matrix, vectors, rate)


def _precise(matrix: NDArray[Any], start: Floats, rate: float) -> Eigenvectors:
    fixed, bits = dp.eigensolver.fixed_eigensystem(matrix, start, LARGEST_COST / 4 / rate), dp.eigensolver.FIXED
    values = [(value + (1 << bits - 1)) >> bits for value in fixed.values]
    rounded = attrs.evolve(fixed.residual, rounding=0.5 * math.sqrt(len(values)))  # ‖V(Γ − Γ′)‖ ≤ ‖V‖₂√m/2
    return _bounded(values, fixed.vectors, bits, rounded)


def _bounded(values: list[int], vectors: Any, bits: int, proved: Any) -> Eigenvectors:
    """With bounds from those on R, o and the error of the matrix or of Γ, which adds at most ‖V‖₂ times itself to R."""
    from flint import fmpz_mat

    largest = math.sqrt(1.0 + proved.overlap)
    residual = 1.01 * largest * (proved.norm + largest * proved.rounding)  # 1.01 covers the rounding of norms
    if isinstance(vectors, np.ndarray):
        vectors = fmpz_mat(vectors.astype(np.int64).tolist())
    return Eigenvectors(values, vectors, bits, 1.01 * proved.overlap, residual)
