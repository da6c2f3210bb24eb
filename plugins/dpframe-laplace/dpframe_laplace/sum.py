"""Laplace noise on the sum of the rows and on their number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import attrs

import dpframe.plugin as dp


@attrs.frozen(kw_only=True)
class LaplaceSum(dp.Mechanism):
    """The sum and the number of rows, with Laplace noise; the mean follows from it.

    The sum of the rows [q, c], with a constant c in each, is a vector of integers that one person moves by at most Δ in
    L1 norm. Each entry gets the nearest integer of an independent real Laplace variable of scale Δ/epsilon. Since
    round(v + x) = v + round(x), the release is post-processing of the real-valued mechanism, which is epsilon-private;
    being a vector of independent Laplace variables, it is dominated by one Laplace variable shifted by epsilon
    (docs/explanation/laplace.md has the proofs), and is accounted as that. Scales are rounded up.

    Rows are taken about the middle of their ranges, so a plan may refer to their mean as its center:
    ``dp.derive("center", "mean", of=...)`` and ``dp.Rows(columns=..., about=dp.ref("center"))``.

    Guarantee:
        Laplace loss with epsilon = level, hence pure epsilon-DP, for either neighboring relation; worst case.

    References:
        Dwork, McSherry, Nissim and Smith, "Calibrating noise to sensitivity in private data analysis", TCC 2006.

    >>> LaplaceSum().loss(dp.Rows(norm=1.0, neighbors="replace"), level=0.25)
    Laplace(epsilon=0.25)
    """

    name = "laplace-sum"
    unit = "epsilon"
    gives = dp.AugmentedSum
    numerics = "exact"
    smallest_level = 2.0**-24  # Δ ≤ 2²⁷ a row, for the widest rows, so the scale is at most 2⁵¹: the sampler takes 2⁵²

    def reads(self) -> tuple[dp.Statistic, ...]:
        return (dp.RowSum(),)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Laplace(epsilon=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        exact = data.parts(dp.RowSum())["sum"]
        noisy = exact + random.laplace(self._lattice_scale(data.rows, level), len(exact))
        return dp.RowSum.value(noisy, data.rows)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return dp.RowSum.shape(rows)

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        return {"each": math.sqrt(2) * self._lattice_scale(rows, level) * rows.unplaced.step}

    def law(self, value: dp.Kind, rows: dp.Rows, level: float, laws: Mapping[str, dp.Law]) -> dp.Law | None:
        return dp.law_of(value, self.noise(rows, level), shape=1.0)

    def noiseless(self, data: dp.PrivateData) -> dp.Kind:
        return dp.RowSum.value(data.parts(dp.RowSum())["sum"], data.rows)

    def _lattice_scale(self, rows: dp.Rows, level: float) -> float:
        """Δ/epsilon in lattice units, rounded up."""
        moved = dp.RowSum().sensitivity(rows)["sum"].l1
        assert moved is not None
        return dp.rounding.up(float(Fraction(moved) / Fraction(level)))
