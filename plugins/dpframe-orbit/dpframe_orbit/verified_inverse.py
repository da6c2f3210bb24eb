"""An approximate inverse whose error is bounded.

R ≈ C⁻¹ is found in plain arithmetic, and E = RC − I in balls. For y = C⁻¹z, Rz = (I + E)y, so y_l = (Rz)_l − (Ey)_l.
With positive weights w, ‖y‖ = max |y_i|/w_i and η = max_i Σ_j |E_ij|w_j/w_i < 1, ‖y‖ ≤ ‖Rz‖/(1 − η), and

    |y_l − (Rz)_l| ≤ Σ_j |E_lj|·(|Rz|_j + w_j·η/(1 − η)·‖Rz‖).

Weights are powers of two; ones do unless entries of C differ by many orders of magnitude.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb_mat, ctx
from numpy.typing import NDArray

from dpframe_orbit.balls import ZERO, Undecided, around_zero, exponent, power_of_two

LARGEST = 0.25  # the largest η with which anything is proved
ROUNDED, TINIEST = 1.0 + 1e-6, 1e-300
ROOM = 64  # bits that η may lose to the conditioning of C before weights are tried
SUFFICIENT = -3  # the logarithm of an η that does


class VerifiedInverse:
    """The inverse of a matrix of balls, one of whose columns after the other is replaced.

    Args:
        matrix: C, square; it is changed by `replace`.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix, self.size = matrix, matrix.nrows()
        self.inverse = self._approximate()
        self._errors: list[Any] = []
        self._logs = np.zeros((self.size, self.size))
        self._eta = math.inf
        self._weights = np.zeros(self.size, dtype=np.int64)

    def _approximate(self) -> Any:
        n, C = self.size, self.matrix
        rows = []
        for r in range(n):
            sizes = [size for size in (exponent(C[r, j]) for j in range(n)) if size is not None]
            if not sizes:
                raise Undecided("zero row")
            rows.append(power_of_two(-max(sizes)))
        scaled = arb_mat(n, n, [(C[r, j] * rows[r]).mid() for r in range(n) for j in range(n)])
        identity = arb_mat(n, n, [int(r == j) for r in range(n) for j in range(n)])
        try:
            found = scaled.solve(identity, algorithm="approx")
        except ZeroDivisionError:
            raise Undecided("singular") from None
        return arb_mat(n, n, [(found[i, r] * rows[r]).mid() for i in range(n) for r in range(n)])

    def check(self) -> None:
        """Bound the error; from scratch if the inverse has become inaccurate."""
        try:
            self._check()
        except Undecided:
            self.inverse = self._approximate()
            self._check()

    def _check(self) -> None:
        n = self.size
        product = (self.inverse * self.matrix).entries()
        for i in range(0, n * n, n + 1):
            product[i] = product[i] - 1
        self._errors = [entry.abs_upper() for entry in product]
        self._logs = _logs(self._errors).reshape(n, n)
        self._eta = self._norm()
        for wanted in (ROOM - ctx.prec, SUFFICIENT):
            if self._eta > 2.0**wanted:  # the weights of earlier columns do not do
                self._weights = _balanced(self._logs, wanted - n.bit_length())
                self._eta = self._norm()
        if not self._eta < LARGEST:
            raise Undecided("inverse")

    def _norm(self) -> float:
        weighted = self._logs + self._weights[None, :] - self._weights[:, None]
        return float(np.exp2(np.minimum(weighted, 1000.0)).sum(axis=1).max()) * ROUNDED

    def row(self, index: int) -> Any:
        """Row l of R, exact."""
        return arb_mat(1, self.size, [self.inverse[index, r] for r in range(self.size)])

    def enclosed(self, index: int, columns: list[list[Any]]) -> list[Any]:
        """Balls that contain (C⁻¹z)_l for each of these columns z."""
        n, m = self.size, len(columns)
        found = (self.inverse * arb_mat(n, m, [column[r] for r in range(n) for column in columns])).entries()
        errors = self._errors[index * n : index * n + n]
        weights = [power_of_two(weight) for weight in self._weights.tolist()]
        share = self._eta / (1.0 - self._eta) * ROUNDED
        enclosures = []
        for i in range(m):
            sizes = [entry.abs_upper() for entry in found[i::m]]
            rest = max(size / weight for size, weight in zip(sizes, weights, strict=True)) * share
            bound = ZERO
            for error, size, weight in zip(errors, sizes, weights, strict=True):
                bound = bound + error * (size + rest * weight)
            enclosures.append(found[index * m + i] + around_zero(1.0) * bound.abs_upper())
        return enclosures

    def replace(self, index: int, column: list[Any]) -> None:
        """Replace a column of C, and correct R."""
        n = self.size
        for r in range(n):
            self.matrix[r, index] = column[r]
        change = (self.inverse * arb_mat(n, 1, column)).mid()
        pivot = change[index, 0]
        if not pivot > 0:
            raise Undecided("pivot")
        row = arb_mat(1, n, [self.inverse[index, r] / pivot for r in range(n)]).mid()
        change[index, 0] = pivot - 1
        self.inverse = (self.inverse - change * row).mid()
        for r in range(n):
            self.inverse[index, r] = row[0, r]


def _logs(balls: list[Any]) -> NDArray[np.float64]:
    """A little more than the binary logarithms of positive numbers of any size."""
    floats = np.array([float(ball) for ball in balls])
    usual = (floats > TINIEST) & (floats < 1.0 / TINIEST)
    found: NDArray[np.float64] = np.log2(np.where(usual, floats, 1.0)) + 1e-9
    for i in np.flatnonzero(~usual).tolist():
        found[i] = float(exponent(balls[i]) or -(10**6))
    return found


def _balanced(logarithms: NDArray[np.float64], wanted: int) -> NDArray[np.int64]:
    """Exponents of weights with |E_ij|·w_j/w_i ≤ 2^wanted for all i and j, if there are any.

    They are the longest paths in the graph whose edges from i to j are as long as that asks w_i to be above w_j. With
    n rounds all are found; where there are longer ones, they run in circles, and there are no such weights.
    """
    lengths = np.ceil(logarithms).astype(np.int64) - wanted
    weights = np.zeros(len(lengths), dtype=np.int64)
    for _ in range(len(lengths)):
        weights = np.maximum(weights, (lengths + weights[None, :]).max(axis=1))
    exponents: NDArray[np.int64] = weights - weights.max()
    return exponents
