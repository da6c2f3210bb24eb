"""Integers on a public grid, each proved to be that of the exact draw.

Released are floor(2^b·x + U) for the entries x of H = Q YYᴴ Qᵀ, with an independent uniform U for each. Y is known up
to an error in norm (`frame`), and Q is the orthogonal factor in the polar decomposition of the eigenvectors V that a
float solver found: the matrix for which the error of the solver is bounded (`dpframe.eigensolver`).

*In floats, with error bounds.* B̃ = VỸ for B = QY. With o ≥ ‖VᵀV − I‖, ‖V − Q‖ ≤ o; the rounding of inner products of
length n is at most γ_n = nu/(1 − nu) times the product of the norms, in any order of summation; and ‖Y‖ = √λ_1 = 1. So
every row of B̃ is within e = o + (1 + o)(ε_Y + (u + γ_{d+2})·‖Ỹ‖_F) of that of B, where ε_Y is the error of Y, and an
entry of H within e(‖B̃_i‖ + ‖B̃_j‖) + 3e² + γ_{2k+2}‖B̃_i‖‖B̃_j‖. An integer is decided if no other one is that near.

*Complex V*, of complex rows, and Y are doubled to real matrices (`dpframe.hermitian`): the first d rows of the product
are the real and imaginary parts of B, and all of the above holds with 2d for d and √2‖Ỹ‖_F for ‖Ỹ‖_F.

*In balls.* The entries that are left, few on the usual grid, are computed from Q = V(I + G)^{−1/2}, G = VᵀV − I, by the
binomial series, which leaves out less than o^m after m terms. An entry that is not decided then either is
`Undecided`: the whole draw is repeated at a higher precision, on the same bits. Over U, this has a probability of at
most 2^(b+1) times the error of the entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe_orbit.balls import ZERO, Undecided, around_zero, power_of_two
from dpframe_orbit.frame import Frame
from dpframe_orbit.lazy import LazyUniforms

Floats = NDArray[np.float64]
UNIT = 2.0**-53
ENLARGED = 1.0 + 1e-6  # covers the rounding of a few norms
FINEST = 40  # bits of a grid on which floats decide anything
MANY_BITS = 1 << 20  # more than any ball has
LARGEST = 2.0**-30  # the largest o with which anything is proved


class GridDraw:
    """The integers of a matrix of which the frame and the basis are given.

    Args:
        frame: Y, in the basis.
        basis: V, the eigenvectors in columns, in the order of the rows of Y; real or complex.
        overlap: o.
        bits: b.
        offsets: U for the pairs i ≤ j of the real part in the order of ``np.triu_indices``, then for the pairs i < j of
            the imaginary part.
        flipped: whether I − H is drawn instead of H.
    """

    def __init__(
        self, frame: Frame, basis: NDArray[Any], overlap: float, bits: int, offsets: LazyUniforms, *, flipped: bool
    ) -> None:
        if not overlap < LARGEST:
            raise ValueError("the basis is not orthonormal enough")
        self.frame, self.overlap, self.bits, self.offsets = frame, overlap, bits, offsets
        self.sign = -1 if flipped else 1
        self.dim, self.rank = len(basis), len(frame.real[0])
        self.basis: Floats = dp.hermitian.doubled(basis) if np.iscomplexobj(basis) else basis
        Y = np.array([[float(x) for x in row] for row in self._frame_rows()], dtype=np.float64)
        length = float(np.linalg.norm(Y)) * ENLARGED
        self._rows: Floats = self.basis[: self.dim] @ Y
        rounding = _gamma(len(self.basis) + 2)
        self._row_error = (overlap + (1.0 + overlap) * (frame.error + (UNIT + rounding) * length)) * ENLARGED
        self._exact: dict[int, list[Any]] = {}

    def real(self, precision: int) -> NDArray[Any]:
        """The integers of the real part, a symmetric matrix."""
        return self._integers(self._rows @ self._rows.T, 0, 0, precision)

    def imaginary(self, precision: int) -> NDArray[Any]:
        """The integers of the imaginary part, an antisymmetric matrix."""
        real, imaginary = self._rows[:, : self.rank], self._rows[:, self.rank :]
        return self._integers(imaginary @ real.T - real @ imaginary.T, self.dim * (self.dim + 1) // 2, 1, precision)

    def _integers(self, entries: Floats, first: int, diagonal: int, precision: int) -> NDArray[Any]:
        i, j = np.triu_indices(self.dim, diagonal)
        unit = 2.0 ** min(self.bits, FINEST + 1)
        norms = np.linalg.norm(self._rows, axis=1) * ENLARGED + self._row_error
        e, gamma = self._row_error, _gamma(2 * self.rank + 2)
        bound = e * (norms[i] + norms[j]) + 3.0 * e * e + gamma * norms[i] * norms[j]
        words = self.offsets.first[first : first + len(i), 0]
        place = self.sign * entries[i, j] * unit + words.astype(np.float64) * 2.0**-64
        if self.sign < 0 and not diagonal:
            place = np.where(i == j, place + unit, place)
        bound = (bound * unit + 8.0 * UNIT * (np.abs(place) + 1.0) + 2.0**-60) * ENLARGED
        whole = np.floor(place)
        decided = (place - whole > bound) & (whole + 1.0 - place > bound) & (self.bits <= FINEST)
        numbers: NDArray[Any] = whole.astype(np.int64 if self.bits <= FINEST else object)
        left = np.flatnonzero(~decided).tolist()
        if left:
            with ctx.workprec(precision):
                self._compute_rows(sorted({int(x) for p in left for x in (i[p], j[p])}), precision)
                for p in left:
                    numbers[p] = self._in_balls(int(i[p]), int(j[p]), first + p, diagonal)
        matrix = np.zeros((self.dim, self.dim), dtype=numbers.dtype)
        matrix[j, i] = -numbers if diagonal else numbers
        matrix[i, j] = numbers
        return matrix

    def _frame_rows(self) -> list[list[Any]]:
        """The rows of Y: real parts and imaginary parts; of the doubled Y where the basis is doubled."""
        parts = list(zip(self.frame.real, self.frame.imaginary, strict=True))
        rows = [[*re, *im] for re, im in parts]
        if len(self.basis) > self.dim:
            with ctx.workprec(MANY_BITS):  # −x is rounded to the precision; and `neg` of python-flint 0.7 gives x
                rows += [[*(-x for x in im), *re] for re, im in parts]
        return rows

    def _compute_rows(self, rows: list[int], precision: int) -> None:
        """Rows of B in balls, up to the error of the frame."""
        size = len(self.basis)
        V = arb_mat(size, size, [arb(x) for x in self.basis.ravel().tolist()])
        transposed = V.transpose()
        term = arb_mat(len(rows), size, [arb(x) for row in rows for x in self.basis[row].tolist()])
        total, coefficient, order, left = term, arb(1), 0, 1.0
        while left > 2.0**-precision:
            order += 1
            term = term * transposed * V - term
            coefficient = -coefficient * (2 * order - 1) / (2 * order)
            total = total + term * coefficient
            left *= self.overlap
        Y = arb_mat(size, 2 * self.rank, [x for row in self._frame_rows() for x in row])
        found = total * Y
        error = around_zero((2.0 * left * self.overlap + self.frame.error) * (1.0 + self.overlap) * ENLARGED)
        for n, row in enumerate(rows):
            self._exact[row] = [found[n, c] + error for c in range(2 * self.rank)]

    def _in_balls(self, i: int, j: int, place: int, diagonal: int) -> int:
        one, other, k = self._exact[i], self._exact[j], self.rank
        if diagonal:
            entry = sum((one[k + c] * other[c] - one[c] * other[k + c] for c in range(k)), ZERO)
        else:
            entry = sum((x * y for x, y in zip(one, other, strict=True)), ZERO)
        entry = self.sign * entry * power_of_two(self.bits)
        if self.sign < 0 and i == j:
            entry = entry + power_of_two(self.bits)
        whole = (entry + self.offsets.ball(place, ctx.prec)).floor().unique_fmpz()
        if whole is None:
            raise Undecided("grid")
        return int(whole)


def _gamma(count: int) -> float:
    return count * UNIT / (1.0 - count * UNIT)
