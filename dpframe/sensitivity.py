"""Sensitivities: how far one person can move each statistic. They are derived here and nowhere else.

All values are exact integers of the lattice (:mod:`dpframe.lattice`), where a row has length at most ``RADIUS``. With
at most m rows per person every sensitivity is m times that of one row. Let R be the radius and c the constant
coordinate of a centered plan; one person's rows are added or removed ("add-remove") or replaced ("replace"):

====================================  ===========  =======================================
one row's effect                      add-remove   replace
====================================  ===========  =======================================
moment Σ q qᵀ, Frobenius norm         R²           √2 R²  (R² when d = 1)
augmented moment, rows [q, c], c ≤ R  R² + c²      √2 (R² + c²)
moment, trace norm                    R²           2 R²  (R² when d = 1)
augmented moment, trace norm          R² + c²      2 (R² + c²)
moments of folds, Frobenius norm      R² + c²      √2 (R² + c²), also when d = 1
sum Σ [q, c], Euclidean norm, c ≤ R   √(R² + c²)   2 R
sum Σ [q, c], L1 norm, c ≤ R          ⌊√p R⌋ + c   2 ⌊√p R⌋
eigenvalues, L1 norm                  R²           2 R²  (R² when d = 1)
score ⟨M, H⟩, spread over H           R²           2 R²  (0 when d = 1)
block Σ a bᵀ, ‖a‖ ≤ α, ‖b‖ ≤ β        αβ           2 αβ
trace Σ ‖b‖²                          β²           β²
all three blocks, ‖ΔT‖²+2‖ΔC‖²+4Δτ²   7 R⁴         8 R⁴  (α = β = R)
histogram, L1 norm                    1            2
====================================  ===========  =======================================

The moment: ‖xxᵀ − yyᵀ‖² = ‖x‖⁴ + ‖y‖⁴ − 2(x·y)², largest for orthogonal rows of full length. The augmented moment: the
same for [x, c] and [y, c], whose inner product x·y + c² vanishes at x·y = −c², possible for c ≤ R; in one dimension
only for c = R, which is the value of `Rows.constant` there. Without the constant, one-dimensional rows cannot be
orthogonal, and |x² − y²| ≤ R². The trace norm, the sum of the sizes of the eigenvalues: xxᵀ has the one eigenvalue
‖x‖², and ‖xxᵀ − yyᵀ‖₁² = (‖x‖² + ‖y‖²)² − 4(x·y)², largest for the same rows. The sum: ‖x − y‖ is largest for opposite
rows, and the constants cancel. Its L1 norm: a row with at most p entries that are not zero has an L1 norm of at most √p
times its length (Cauchy and Schwarz), and it is an integer. p is the number of columns, since of the levels of a
category one has an entry; without columns it is the dimension. Moments of disjoint
folds, all in one vector: a row is in one fold, which is a function of that row, so it moves one of them by its own
moment. If it is replaced, either both rows are in one fold, as above, or one moment loses xxᵀ and another gains yyᵀ,
whose squares add up to ‖x‖⁴ + ‖y‖⁴. A row with a non-finite entry contributes nothing, so
replacing one row may also act as adding or removing one, which has no larger effect in any line. The score is defined
for Hermitian matrices H whose eigenvalues lie in an interval of length 1: a new row x adds xᵀHx to each score, which is
‖x‖² times a number in that interval, and a removed row subtracts such a term.

Complex rows x have the Hermitian moment Σ x xᴴ, with d complex coordinates, and the same sensitivities: xxᴴ has the one
eigenvalue ‖x‖²; ‖xxᴴ − yyᴴ‖² = ‖x‖⁴ + ‖y‖⁴ − 2|xᴴy|² and ‖xxᴴ − yyᴴ‖₁² = (‖x‖² + ‖y‖²)² − 4|xᴴy|², since the
difference has the trace ‖x‖² − ‖y‖² and a rank of at most 2; and for d = 1 it is |x|² − |y|², a number of at most R².
The Frobenius norm counts the real and the imaginary part of each entry off the diagonal twice, above and below it.

The blocks T = Σaaᵀ, C = Σabᵀ and τ = Σ‖b‖² together, with A = ‖a‖² and B = ‖b‖² in units of R²: one row reaches 1, 1
and 1, so that the weighted sum is 1 + 2 + 4. If (a, b) is replaced by (a', b') with t = |a·a'| and |b·b'| ≤ w = √(BB'),
it is at most A² + A'² − 2t² + 2(AB + A'B' + 2tw) + 4(B − B')², which increases in A and A'; at A = A' = 1, by
2tw ≤ t² + w², it is at most 2(1 + B)(1 + B') + 4(B − B')². That is convex in B and in B': 8 at the corners (1, 1),
(1, 0) and (0, 1), and 2 at (0, 0).

Of a matrix that was computed elsewhere (`dp.Matrix`) it is promised how far one person moves it, under either relation:
by at most F in Frobenius norm, or T in trace norm, which is a bound in Frobenius norm too. In units of the lattice, and
with the rounding to it:

====================================  =======================
moment, Frobenius norm                ⌈F⌉ + 2d
moment, trace norm                    ⌈T⌉ + ⌈2d√d⌉
eigenvalues, L1 norm                  ⌈T⌉ + ⌈2d√d⌉
score ⟨M, H⟩, spread over H           ⌈T⌉ + ⌈2d√d⌉
====================================  =======================

Let S be the symmetric part of the matrix, in lattice units, which moves by no more than the matrix in either norm. Its
entries are sums of two halves, each rounded to an integer, so the integer matrix is within 1 of S in each entry, and
the change of it within 2 of the change of S. A symmetric matrix of entries of at most 2 has a Frobenius norm of at most
2d, and a trace norm of at most √d times that. Of a complex matrix the Hermitian part counts, and real and imaginary
parts are rounded alike: entries of the change are then within √8, and 2d becomes ⌈√8·d⌉, 2d√d ⌈√8·d√d⌉. The sorted
eigenvalues of two symmetric matrices differ by at most the trace norm of their difference D in L1 norm, and by its
Frobenius norm in L2 norm (Lidskii; Hoffman and Wielandt). The spread: let D have the eigenvalues δ, and p and −n be the
sums of the positive and the negative ones. For H with eigenvalues in [a, a + 1], ⟨D, H⟩ − a·tr D = ⟨D, H − a⟩ is
between −n and p, so two such scores differ by at most p + n, the trace norm. That is reached where H − a can be the
projector on the positive eigenvectors, and on the negative ones.

References:
    Dwork, Talwar, Thakurta and Zhang 2014 (moment); Mangoubi, Wu, Kale, Thakurta and Vishnoi 2022 for eigenvalues
    and scores [Unitary orbits: Lemma 7.2, Lemma 6.1, Definition 5.1].
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs

from dpframe.errors import PlanError
from dpframe.lattice import RADIUS
from dpframe.rounding import sqrt_up, up
from dpframe.spec.matrix import Matrix

if TYPE_CHECKING:
    from dpframe.spec.rows import Rows


@attrs.frozen(kw_only=True)
class Sensitivity:
    """The sensitivity of one part of a statistic, in exact integers.

    Args:
        l2_squared: the square of the Euclidean (Frobenius) sensitivity.
        l1: the L1 sensitivity; None if it is not given.
    """

    l2_squared: int
    l1: int | None = None

    def gaussian_scale(self, mu: float) -> float:
        """The standard deviation of Gaussian noise of loss mu, in lattice units, rounded up.

        >>> Sensitivity(l2_squared=4).gaussian_scale(0.5) >= 4.0
        True
        """
        return up(sqrt_up(self.l2_squared) / mu)


def moment(rows: Rows) -> Sensitivity:
    """Sensitivity of the second moment, with the constant coordinate if the plan is centered."""
    if isinstance(rows, Matrix):
        return Sensitivity(l2_squared=(_promised(rows, "frobenius") + _rounding(rows, rows.known_dim**2)) ** 2)
    return Sensitivity(l2_squared=rows.contributions**2 * _two_rows(rows) * _one_row(rows) ** 2)


def moment_trace_norm(rows: Rows) -> int:
    """Sensitivity of the second moment in trace norm, with the constant coordinate if the plan is centered."""
    if isinstance(rows, Matrix):
        return _promised(rows, "trace_norm") + _rounding(rows, rows.known_dim**3)
    return rows.contributions * _two_rows(rows) * _one_row(rows)


def _promised(rows: Matrix, norm: str) -> int:
    """How far one person moves the matrix, in lattice units, rounded up, before it is rounded to the lattice."""
    return math.ceil(Fraction(rows.bound(norm)) * Fraction(4) ** rows.halvings)


def _rounding(rows: Matrix, power: int) -> int:
    """The root of a power of the dimension, rounded up, times how far rounding moves two entries apart: 2, or √8."""
    return math.isqrt(4 * (1 + rows.complex) * power - 1) + 1


def _refuse_matrix(rows: Rows) -> None:
    """Raise PlanError for a matrix that was computed elsewhere, of which only the moment's sensitivity is known."""
    if isinstance(rows, Matrix):
        raise PlanError("dp.Matrix promises how far one person moves the matrix, and nothing about rows.")


def _one_row(rows: Rows) -> int:
    """The largest squared length of a row, with the constant coordinate if the plan is centered."""
    _refuse_matrix(rows)
    return RADIUS**2 + (rows.constant**2 if rows.center else 0)


def _two_rows(rows: Rows) -> int:
    """2 if one row can be replaced by an orthogonal one, otherwise 1."""
    return 2 if rows.neighbors == "replace" and rows.known_dim + rows.center > 1 else 1


def fold_moments(rows: Rows) -> Sensitivity:
    """Sensitivity of the second moments of disjoint folds, all together; a replaced row may change its fold."""
    one = rows.contributions * _one_row(rows)
    return Sensitivity(l2_squared=(2 if rows.neighbors == "replace" else 1) * one**2)


def augmented_sum(rows: Rows, constant: int) -> Sensitivity:
    """Sensitivity of the sum of rows [q, constant]; the constant is at most RADIUS."""
    _refuse_matrix(rows)
    plain = rows.columns is None or rows.is_moved  # about the middle of its ranges, a category has one level that is 1
    nonzero = rows.known_dim if plain else len(rows.columns or ())
    longest = math.isqrt(nonzero * RADIUS**2)
    replace = rows.neighbors == "replace"
    return Sensitivity(
        l1=rows.contributions * (2 * longest if replace else longest + constant),
        l2_squared=rows.contributions**2 * (4 * RADIUS**2 if replace else RADIUS**2 + constant**2),
    )


def eigenvalues(rows: Rows) -> Sensitivity:
    """Sensitivity of the sorted eigenvalues of the moment: one row moves all up, by its squared length in total."""
    return Sensitivity(l1=moment_trace_norm(rows), l2_squared=moment(rows).l2_squared)


def score(rows: Rows) -> int:
    """Sensitivity of the difference of two scores ⟨M, H⟩, for Hermitian matrices H with eigenvalues in [0, 1]."""
    if isinstance(rows, Matrix):
        return moment_trace_norm(rows)
    return rows.contributions * (2 if rows.neighbors == "replace" else 1) * _one_row(rows)


def blocks(rows: Rows, rank: int) -> dict[str, Sensitivity]:
    """Sensitivities of the parts of a block moment, whose two clip radii are both RADIUS on their lattices."""
    _refuse_matrix(rows)
    replace = rows.neighbors == "replace"
    square = (rows.contributions * RADIUS**2) ** 2
    return {
        "signal": Sensitivity(l2_squared=2 * square if replace and rank > 1 else square),
        "cross": Sensitivity(l2_squared=4 * square if replace else square),
        "residual": Sensitivity(l2_squared=square),
    }


def blocks_together(rows: Rows) -> int:
    """The largest ‖ΔT‖² + 2‖ΔC‖² + 4Δτ² of the signal, the cross part and the residual of a block moment."""
    _refuse_matrix(rows)
    return (8 if rows.neighbors == "replace" else 7) * (rows.contributions * RADIUS**2) ** 2


def histogram(rows: Rows) -> Sensitivity:
    """Sensitivity of counts of rows in disjoint bins."""
    _refuse_matrix(rows)
    bins = 2 if rows.neighbors == "replace" else 1
    return Sensitivity(l1=bins * rows.contributions, l2_squared=bins * rows.contributions**2)
