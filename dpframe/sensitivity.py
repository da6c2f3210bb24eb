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

The blocks T = Σaaᵀ, C = Σabᵀ and τ = Σ‖b‖² together, with A = ‖a‖² and B = ‖b‖² in units of R²: one row reaches 1, 1
and 1, so that the weighted sum is 1 + 2 + 4. If (a, b) is replaced by (a', b') with t = |a·a'| and |b·b'| ≤ w = √(BB'),
it is at most A² + A'² − 2t² + 2(AB + A'B' + 2tw) + 4(B − B')², which increases in A and A'; at A = A' = 1, by
2tw ≤ t² + w², it is at most 2(1 + B)(1 + B') + 4(B − B')². That is convex in B and in B': 8 at the corners (1, 1),
(1, 0) and (0, 1), and 2 at (0, 0).

References:
    Dwork, Talwar, Thakurta and Zhang 2014 (moment); Mangoubi, Wu, Kale, Thakurta and Vishnoi 2022 for eigenvalues
    and scores [Unitary orbits: Lemma 7.2, Lemma 6.1, Definition 5.1].
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs

from dpframe.lattice import RADIUS
from dpframe.rounding import sqrt_up, up

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
    return Sensitivity(l2_squared=rows.contributions**2 * _two_rows(rows) * _one_row(rows) ** 2)


def moment_trace_norm(rows: Rows) -> int:
    """Sensitivity of the second moment in trace norm, with the constant coordinate if the plan is centered."""
    return rows.contributions * _two_rows(rows) * _one_row(rows)


def _one_row(rows: Rows) -> int:
    """The largest squared length of a row, with the constant coordinate if the plan is centered."""
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
    return rows.contributions * (2 if rows.neighbors == "replace" else 1) * _one_row(rows)


def blocks(rows: Rows, rank: int) -> dict[str, Sensitivity]:
    """Sensitivities of the parts of a block moment, whose two clip radii are both RADIUS on their lattices."""
    replace = rows.neighbors == "replace"
    square = (rows.contributions * RADIUS**2) ** 2
    return {
        "signal": Sensitivity(l2_squared=2 * square if replace and rank > 1 else square),
        "cross": Sensitivity(l2_squared=4 * square if replace else square),
        "residual": Sensitivity(l2_squared=square),
    }


def blocks_together(rows: Rows) -> int:
    """The largest ‖ΔT‖² + 2‖ΔC‖² + 4Δτ² of the signal, the cross part and the residual of a block moment."""
    return (8 if rows.neighbors == "replace" else 7) * (rows.contributions * RADIUS**2) ** 2


def histogram(rows: Rows) -> Sensitivity:
    """Sensitivity of counts of rows in disjoint bins."""
    bins = 2 if rows.neighbors == "replace" else 1
    return Sensitivity(l1=bins * rows.contributions, l2_squared=bins * rows.contributions**2)
