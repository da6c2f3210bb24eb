"""Eigendecompositions of integer matrices, with errors that are proved afterwards.

The result of a float solver is checked by its residual. Let M be the matrix, V and Γ = diag(w) the eigenvectors and
eigenvalues that were computed, R = MV − VΓ, o = ‖VᵀV − I‖ and σ² ≥ 1 − o the smallest eigenvalue of VᵀV, with Frobenius
norms except for ‖V‖₂.

*Eigenvalues.* Sorted, they differ from w by at most ‖R‖/σ (Kahan 1967; Cao, Xie and Li 1996).

*The matrix.* Let V = QH be the polar decomposition, Q orthogonal and H² = VᵀV. Then M is within
(‖R‖/σ)·(1 + ‖V‖₂/σ) of QΓQᵀ: from MQH = QHΓ + R follows QᵀMQ − Γ = ((HΓ − ΓH) + QᵀR)H⁻¹; and K = HΓ − ΓH, which is
antisymmetric, solves HK + KH = H²Γ − ΓH² = RᵀV − VᵀR, because VᵀMV = H²Γ + VᵀR is symmetric, so that
‖K‖ ≤ 2‖R‖·‖V‖₂/(2σ). Here ‖V‖₂² ≤ 1 + o. A lack of orthogonality costs nothing but these factors.

*Hermitian matrices* are treated as real symmetric ones of twice the size (:mod:`dpframe.hermitian`). Their spectral
norms are the same and Frobenius norms √2 times as large, so that bounds on ‖R‖, o and ‖M − QΓQᵀ‖ are bounds for the
complex matrices; and the orthogonal factor of the doubled vectors is the doubled unitary factor, since H is a function
of VᵀV.

R and o are bounded in floats, with the usual bound γ_n = nu/(1 − nu) on the rounding of inner products of length n,
which holds for any order of summation and for fused operations; it is needed for all but the leading bits, whose
products are exact. Or they are computed in exact integers, for V rounded to 60 bits.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import hermitian
from dpframe.errors import SamplingError
from dpframe.lattice import FloatArray

UNIT = 2.0**-53
SLACK = 1.01  # covers the rounding of a few norms, which is smaller by orders of magnitude
BITS = 60  # precision of the entries of V in the exact check
FIXED = 128  # bits after the point in the fixed-point arithmetic of rotations
SWEEPS = 60
_USABLE = 0.5  # the largest o with which anything is proved
_CLOSE = 2.0**-30  # the largest o of vectors that are returned; it bounds ‖V − Q‖
_NEARLY = 2.0**-10  # the largest o of vectors that rotations start from


@attrs.frozen
class Residual:
    """Bounds on ‖R‖ and o, and on how far the given matrix was from M because its entries were rounded.

    Args:
        norm: the bound on ‖R‖.
        overlap: the bound on o.
        rounding: the bound on the error of the entries.
    """

    norm: float
    overlap: float
    rounding: float = 0.0

    @property
    def of_eigenvalues(self) -> float:
        """A bound on the error of every sorted eigenvalue; infinite where nothing is proved."""
        if not self.overlap < _USABLE:  # also if it is NaN
            return math.inf
        return SLACK * (self.norm / math.sqrt(1 - self.overlap) + self.rounding)

    @property
    def of_matrix(self) -> float:
        """A bound on ‖M − QΓQᵀ‖; infinite where nothing is proved."""
        if not self.overlap < _USABLE:
            return math.inf
        sigma, largest = math.sqrt(1 - self.overlap), math.sqrt(1 + self.overlap)
        return SLACK * (self.norm / sigma * (1 + largest / sigma) + self.rounding)


def float_residual(matrix: FloatArray, values: FloatArray, vectors: FloatArray) -> Residual:
    """The residual of a float eigendecomposition of the integer matrix that ``matrix`` was rounded from."""
    scaled = vectors * values
    image, image_error = _product(matrix, vectors)
    residual = _length(image - scaled) + image_error + UNIT * _length(scaled)
    return Residual(residual, overlap(vectors), UNIT * _length(matrix))


def overlap(vectors: FloatArray) -> float:
    """A bound on o = ‖VᵀV − I‖, and so on ‖V − Q‖ for the orthogonal factor Q of V, as ‖H − I‖ ≤ ‖H² − I‖.

    >>> overlap(np.array([[1.0, 0.0], [0.0, 1.0]])) < 1e-15
    True
    """
    square, error = _product(vectors.T, vectors)
    return SLACK * (_length(square - np.eye(len(vectors))) + error)


def _product(left: FloatArray, right: FloatArray) -> tuple[FloatArray, float]:
    """A product of matrices, and a bound on its error.

    Each factor is split into leading bits and a rest. The product of the leading bits is one of integers, in units of a
    power of two, and exact; the rounding of the others is bounded by γ_n.
    """
    count = left.shape[1]
    bits = (53 - count.bit_length()) // 2
    (high, low), (other_high, other_low) = _split(left, bits), _split(right, bits)
    gamma = (count + 2) * UNIT / (1 - (count + 2) * UNIT)
    rest = high @ other_low + low @ right
    product = high @ other_high + rest
    inner = gamma * (_length(high) * _length(other_low) + _length(low) * _length(right))
    return product, inner + UNIT * (_length(rest) + _length(product))


def _split(matrix: FloatArray, bits: int) -> tuple[FloatArray, FloatArray]:
    """The leading bits of the entries, by the size of the largest, and the rest; both are exact."""
    unit = 2.0 ** (math.frexp(float(np.abs(matrix).max()))[1] - bits)
    high = np.rint(matrix / unit) * unit
    return high, matrix - high


def _length(matrix: FloatArray) -> float:
    return float(np.linalg.norm(matrix))


def exact_residual(matrix: Any, values: list[int], vectors: FloatArray) -> Residual:
    """The residual of integer eigenvalues and of float eigenvectors rounded to 60 bits, in exact integers."""
    from flint import fmpz_mat

    if not np.isfinite(vectors).all():
        return Residual(math.inf, math.inf)
    basis = fmpz_mat(np.rint(vectors * 2.0**BITS).astype(np.int64).tolist())
    return _residual(fmpz_mat(matrix.tolist()), [value << BITS for value in values], basis, BITS)


def _residual(matrix: Any, values: list[int], basis: Any, bits: int) -> Residual:
    """The residual of eigenvalues and eigenvectors in units of 2^−bits."""
    from flint import fmpz_mat

    dim, unit = len(values), 1 << bits
    scaled = fmpz_mat([[value if i == j else 0 for j in range(dim)] for i, value in enumerate(values)])
    residual = _norm(matrix * basis * unit - basis * scaled) / unit**2
    identity = fmpz_mat([[unit**2 if i == j else 0 for j in range(dim)] for i in range(dim)])
    return Residual(residual, _norm(basis.transpose() * basis - identity) / unit**2)


def _norm(matrix: Any) -> int:
    """The Frobenius norm of an integer matrix, rounded up."""
    return math.isqrt(sum(int(entry) ** 2 for entry in matrix.entries())) + 1


def eigensystem(matrix: Any, error: float) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues Γ, from the smallest, and eigenvectors, in columns, of a symmetric integer matrix M.

    An orthogonal matrix Q has ‖M − QΓQᵀ‖ ≤ error, and the vectors are its columns: within 2⁻³⁰, which is proved, and by
    experience up to the rounding of floats. If that is not proved of what the float solver finds, it is improved by
    Jacobi rotations in 128-bit fixed-point arithmetic, which is slow, but gets there from anywhere.

    Args:
        matrix: a symmetric array of integers of any size.
        error: what is allowed, above the rounding of Γ to floats; otherwise a SamplingError is raised.

    >>> values, vectors = eigensystem(np.array([[2, 1], [1, 2]]), error=1e-3)
    >>> values.round(6).tolist(), abs(vectors * 2**0.5).round(6).tolist()
    ([1.0, 3.0], [[1.0, 1.0], [1.0, 1.0]])
    """
    return certified_eigensystem(matrix, error)[:2]


def certified_eigensystem(matrix: Any, error: float) -> tuple[FloatArray, FloatArray, Residual]:
    """The result of `eigensystem`, and the residual of these very floats.

    The matrix Q of the residual is the orthogonal factor of the vectors that are returned. Where these were improved by
    rotations, rounding them to floats may have taken the residual above ``error`` again, for entries above 2⁷⁰ or so:
    callers that need Q itself check it.
    """
    floats, start = matrix.astype(np.float64), np.eye(len(matrix))
    try:
        values, vectors = np.linalg.eigh(floats)
    except np.linalg.LinAlgError:  # no convergence
        found = Residual(math.inf, math.inf)
    else:
        found = float_residual(floats, values, vectors)
        if found.of_matrix <= error and found.overlap < _CLOSE:
            return values, vectors, found
    values, vectors = _rotated(matrix, vectors if found.overlap < _NEARLY else start, error)
    return values, vectors, float_residual(floats, values, vectors)


def hermitian_eigensystem(parts: Any, error: float) -> tuple[FloatArray, NDArray[np.complex128], Residual]:
    """The result of `certified_eigensystem` for a Hermitian matrix, with complex vectors.

    The residual is that of the doubled matrices, and bounds that of the complex ones.

    Args:
        parts: the real and the imaginary part, integers of any size, (2, d, d).
        error: as for `eigensystem`.

    >>> values, _, found = hermitian_eigensystem(np.array([[[2, 0], [0, 2]], [[0, -1], [1, 0]]]), error=1e-3)
    >>> values.round(6).tolist(), found.of_matrix <= 1e-3
    ([1.0, 3.0], True)
    """
    floats = parts.astype(np.float64)
    doubled = hermitian.doubled(floats)
    start = np.eye(len(doubled))
    try:
        values, vectors = np.linalg.eigh(hermitian.as_complex(floats))
    except np.linalg.LinAlgError:  # no convergence
        pass
    else:
        found = _doubled_residual(doubled, values, vectors)
        if found.of_matrix <= error and found.overlap < _CLOSE:
            return values, vectors, found
        if found.overlap < _NEARLY:
            start = hermitian.doubled(vectors)
    values, columns = _rotated(hermitian.doubled(parts), start, error, paired=True)
    upper, lower = np.split(columns, 2)
    vectors = upper - 1j * lower
    return values, vectors, _doubled_residual(doubled, values, vectors)


def _doubled_residual(doubled: FloatArray, values: FloatArray, vectors: NDArray[Any]) -> Residual:
    return float_residual(doubled, np.tile(values, 2), hermitian.doubled(vectors))


def _rotated(matrix: Any, start: FloatArray, error: float, *, paired: bool = False) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and eigenvectors by rotations of nearly orthonormal vectors, rounded to floats."""
    rounding = SLACK * UNIT * math.sqrt(sum(int(entry) ** 2 for entry in matrix.flat))
    fixed = fixed_eigensystem(matrix, start, error - rounding, paired=paired)
    unit = 1 << FIXED
    values = np.array([value / unit for value in fixed.values])
    vectors = np.array([[entry / unit for entry in row] for row in _shifted(fixed.vectors, 0)])
    return values, vectors


@attrs.frozen
class FixedPoint:
    """Eigenvalues, from the smallest, and eigenvectors in units of 2^−FIXED.

    Args:
        values: the eigenvalues.
        vectors: the eigenvectors in columns, an fmpz_mat.
        residual: the proved residual.
    """

    values: list[int]
    vectors: Any
    residual: Residual


def fixed_eigensystem(matrix: Any, start: FloatArray, error: float, *, paired: bool = False) -> FixedPoint:
    """Eigenvalues and eigenvectors of a symmetric integer matrix by Jacobi rotations, in fixed-point arithmetic.

    Args:
        matrix: a symmetric array of integers of any size.
        start: nearly orthonormal columns to begin with; the identity will do.
        error: the bound on ‖M − QΓQᵀ‖ that is to be proved; a SamplingError is raised where it is out of reach.
        paired: whether the matrix and ``start`` are doubled complex ones. So are the columns after each rotation then,
            up to the last bits, and the first half of them is returned.
    """
    from flint import fmpz_mat

    exact, unit = fmpz_mat(matrix.tolist()), 1 << FIXED
    basis = _orthonormal(
        fmpz_mat([[int(entry * 2.0**BITS) << FIXED - BITS for entry in row] for row in start.tolist()])
    )
    for _ in range(SWEEPS if error > 0.0 else 0):
        inner = _shifted(basis.transpose() * exact * basis, FIXED)
        values = [inner[i][i] for i in range(len(inner))]
        found = _residual(exact, values, basis, FIXED)
        if found.of_matrix <= error and found.overlap < _CLOSE:
            order = sorted(range(len(values) // (1 + paired)), key=values.__getitem__)
            columns = _shifted(basis.transpose(), 0)
            return FixedPoint([values[i] for i in order], fmpz_mat([columns[i] for i in order]).transpose(), found)
        least = int(error * unit) // (8 * len(inner))
        basis = fmpz_mat(_swept(inner, _shifted(basis.transpose(), 0), least, paired=paired)).transpose()
    raise SamplingError(
        f"the error of the eigenvalue solver is above what the noise covers after {SWEEPS} attempts. The charge stands."
    )


def _orthonormal(basis: Any) -> Any:
    """Nearly orthonormal columns made orthonormal to 128 bits: each of Newton's steps squares what is missing."""
    from flint import fmpz_mat

    dim, unit = basis.nrows(), 1 << FIXED
    identity = fmpz_mat([[3 * unit if i == j else 0 for j in range(dim)] for i in range(dim)])
    for _ in range(4):
        step = identity - fmpz_mat(_shifted(basis.transpose() * basis, FIXED))
        basis = fmpz_mat(_shifted(basis * step, FIXED + 1))
    return basis


def _swept(inner: list[list[int]], columns: list[list[int]], least: int, *, paired: bool) -> list[list[int]]:
    """The columns after one rotation for each entry of VᵀMV off the diagonal that is larger than ``least``.

    If they are paired, columns j and j + d are the vector j of d. It is multiplied by the phase that makes an entry
    real, a rotation in the plane of its two columns, before it is turned with another one.
    """
    dim = len(inner) // (1 + paired)
    for p, q in itertools.combinations(range(dim), 2):
        if paired and abs(inner[p][q + dim]) > least:
            real, imaginary = inner[p][q], inner[p][q + dim]
            root = math.isqrt(real**2 + imaginary**2 << 2 * FIXED)
            _turn(inner, columns, (q, q + dim), (real << 2 * FIXED) // root, (-imaginary << 2 * FIXED) // root)
        if abs(inner[p][q]) <= least:
            continue
        gap, twice = inner[q][q] - inner[p][p], 2 * inner[p][q]
        root = math.isqrt(gap**2 + twice**2)
        tangent = (twice << FIXED) // (gap + root if gap >= 0 else gap - root)
        cosine = math.isqrt((1 << 4 * FIXED) // ((1 << 2 * FIXED) + tangent**2))
        sine = tangent * cosine >> FIXED
        for pair in ((p, q), (p + dim, q + dim))[: 1 + paired]:
            _turn(inner, columns, pair, cosine, sine)
    return columns


def _turn(inner: list[list[int]], columns: list[list[int]], pair: tuple[int, int], cosine: int, sine: int) -> None:
    """Turn two columns in their plane, and VᵀMV with them."""
    p, q = pair
    for vectors in (inner, columns):
        first, second = vectors[p], vectors[q]
        vectors[p] = [cosine * a - sine * b >> FIXED for a, b in zip(first, second, strict=True)]
        vectors[q] = [sine * a + cosine * b >> FIXED for a, b in zip(first, second, strict=True)]
    for row in inner:
        row[p], row[q] = cosine * row[p] - sine * row[q] >> FIXED, sine * row[p] + cosine * row[q] >> FIXED


def _shifted(matrix: Any, bits: int) -> list[list[int]]:
    return [[int(entry) >> bits for entry in row] for row in matrix.tolist()]
