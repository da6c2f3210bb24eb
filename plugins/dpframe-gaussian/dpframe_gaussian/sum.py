"""Gaussian noise on the sum of the rows and on their number."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

import dpframe.plugin as dp


@attrs.frozen(kw_only=True)
class GaussianSum(dp.Mechanism):
    """The sum and the number of rows, with Gaussian noise; the mean follows from it.

    The sum of the rows [q, c], with a constant c in each, is a vector of integers that one person moves by at most Δ in
    Euclidean norm. Each entry gets the nearest integer of an independent real Gaussian of deviation s = Δ/mu. Since
    round(v + z) = v + round(z), the release is post-processing of the real-valued mechanism, for which neighbors are
    exactly as hard to tell apart as two unit Gaussians at distance mu. Scales are rounded up, so mu is never exceeded.

    Rows are taken about the middle of their ranges, so a plan may refer to their mean as its center:
    ``dp.derive("center", "mean", of=...)`` and ``dp.Rows(columns=..., about=dp.ref("center"))``.

    Args:
        placed: take the rows as they are placed instead: about the center of the plan or of the step, and scaled down
            to its norm, which is usually much less than the ranges allow.

    Guarantee:
        Gaussian loss with mu = level, for either neighboring relation; worst case.

    References:
        Dong, Roth and Su, "Gaussian differential privacy", JRSS B 2022, Theorem 2.7.

    >>> GaussianSum().loss(dp.Rows(norm=1.0, neighbors="replace"), level=0.25)
    Gaussian(mu=0.25)
    """

    name = "gaussian-sum"
    unit = "mu"
    gives = dp.AugmentedSum
    numerics = "exact"
    smallest_level = 2.0**-21

    placed: bool = attrs.field(default=False, validator=dp.validators.boolean)

    def reads(self) -> tuple[dp.Statistic, ...]:
        return (self._statistic,)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        exact = data.parts(self._statistic)["sum"]
        noisy = exact + random.gaussian(self._lattice_scale(data.rows, level), len(exact))
        return self._statistic.value(noisy, data.rows)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return self._statistic.shape(rows)

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        scale = self._lattice_scale(rows, level)
        return {"each": scale * self._statistic.seen(rows).step}

    def noiseless(self, data: dp.PrivateData) -> dp.Kind:
        return self._statistic.value(data.parts(self._statistic)["sum"], data.rows)

    def _lattice_scale(self, rows: dp.Rows, level: float) -> float:
        """The standard deviation in lattice units, rounded up."""
        return self._statistic.sensitivity(rows)["sum"].gaussian_scale(level)

    @property
    def _statistic(self) -> dp.RowSum:
        return dp.PlacedSum() if self.placed else dp.RowSum()
