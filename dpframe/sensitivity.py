"""How far one person can move each statistic: the only place where this is worked out.

All values are exact integers of the lattice (:mod:`dpframe.lattice`), where a row has length at most ``RADIUS``. With
at most m rows per person every sensitivity is m times that of one row. Writing R for the radius, c for the constant
coordinate of a centred plan, the rows of one person being added or removed ("add-remove") or changed ("replace"):

====================================  ===========  =======================================
one row's effect                      add-remove   replace
====================================  ===========  =======================================
moment Σ q qᵀ, Frobenius norm         R²           √2 R²  (R² when d = 1)
augmented moment, rows [q, c], c ≤ R  R² + c²      √2 (R² + c²)  (see below when d = 1)
eigenvalues, L1 norm                  R²           2 R²  (R² when d = 1)
block Σ a bᵀ, ‖a‖ ≤ α, ‖b‖ ≤ β        αβ           2 αβ
trace Σ ‖b‖²                          β²           β²
histogram, L1 norm                    1            2
====================================  ===========  =======================================

The moment: ‖xxᵀ − yyᵀ‖² = ‖x‖⁴ + ‖y‖⁴ − 2(x·y)², largest for orthogonal rows of full length. The augmented moment: the
same for [x, c] and [y, c], whose inner product x·y + c² vanishes at x·y = −c². In one dimension rows cannot be
orthogonal: with |x| = a and |y| = b of opposite signs the squared distance is (a² − b²)² + 2c²(a + b)², convex in
(a, b), so a corner is worst. A row with a non-finite entry contributes nothing, so replacing one row may also act as
adding or removing one, which the maxima below cover.

References:
    Dwork, Talwar, Thakurta and Zhang 2014 (moment); Mangoubi and Vishnoi 2022, Lemma 7.2 (eigenvalues).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from dpframe.lattice import RADIUS

if TYPE_CHECKING:
    from dpframe.rows import Rows


@attrs.frozen(kw_only=True)
class Sensitivity:
    """The most that one person can move one part of a statistic, in exact integers.

    Args:
        l2_squared: the square of the Euclidean (Frobenius) sensitivity.
        l1: the L1 sensitivity, where it is of use.
    """

    l2_squared: int
    l1: int | None = None


def moment(rows: Rows) -> Sensitivity:
    """Second moment, augmented by the constant coordinate where the plan is centred."""
    constant = rows.constant if rows.center else 0
    one_row = RADIUS**2 + constant**2
    if rows.neighbors == "add-remove":
        squared = one_row**2
    elif rows.known_dim > 1:
        squared = 2 * one_row**2
    else:
        opposite, alone = 8 * RADIUS**2 * constant**2, RADIUS**4 + 2 * RADIUS**2 * constant**2
        squared = max(opposite, alone, one_row**2)
    return Sensitivity(l2_squared=rows.contributions**2 * squared)


def eigenvalues(rows: Rows) -> Sensitivity:
    """Sorted eigenvalues of the moment: one row moves them all one way, by its squared length in total."""
    two_rows = rows.neighbors == "replace" and rows.known_dim > 1
    return Sensitivity(
        l1=rows.contributions * (2 if two_rows else 1) * RADIUS**2,
        l2_squared=rows.contributions**2 * (2 if two_rows else 1) * RADIUS**4,
    )


def blocks(rows: Rows, rank: int) -> dict[str, Sensitivity]:
    """The signal, cross and residual parts of a block moment, whose clip radii are both RADIUS on their lattices."""
    replace = rows.neighbors == "replace"
    square = (rows.contributions * RADIUS**2) ** 2
    return {
        "signal": Sensitivity(l2_squared=2 * square if replace and rank > 1 else square),
        "cross": Sensitivity(l2_squared=4 * square if replace else square),
        "residual": Sensitivity(l2_squared=square),
    }


def histogram(rows: Rows) -> Sensitivity:
    """Counts of rows in disjoint bins."""
    bins = 2 if rows.neighbors == "replace" else 1
    return Sensitivity(l1=bins * rows.contributions, l2_squared=bins * rows.contributions**2)
