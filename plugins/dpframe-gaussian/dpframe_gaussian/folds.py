"""Gaussian noise on the second moments of disjoint folds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_gaussian.mechanism import add_symmetric


@attrs.frozen(kw_only=True)
class GaussianFolds(dp.Mechanism):
    """The second moments of disjoint folds of the rows, each with symmetric Gaussian noise, at the price of one.

    A row is in one fold, which is a function of that row alone. All moments together are one vector, which one person
    moves by at most Δ in Euclidean norm, no more than a single moment. Isotropic noise of deviation s on that vector
    is independent noise on every moment: s on its diagonal, s/√2 off it, as in `gaussian`; mu = Δ/s. It is drawn as the
    nearest integers of real Gaussians, as there.

    Args:
        folds: the number of folds.
        key: a public number; another one gives other folds.

    Guarantee:
        Gaussian loss with mu = level, for either neighboring relation; worst case.

    References:
        Dong, Roth and Su, "Gaussian differential privacy", JRSS B 2022, Theorem 2.7.

    >>> GaussianFolds(folds=5).loss(dp.Rows(norm=1.0, neighbors="replace"), level=0.25)
    Gaussian(mu=0.25)
    """

    name = "gaussian-folds"
    unit = "mu"
    gives = dp.FoldedMoment
    numerics = "exact"
    smallest_level = 2.0**-21

    folds: int = attrs.field(default=5)
    key: int = attrs.field(default=0)

    def __attrs_post_init__(self) -> None:
        _ = self._statistic  # which checks both

    @property
    def _statistic(self) -> dp.FoldMoments:
        return dp.FoldMoments(folds=self.folds, key=self.key)

    def reads(self) -> tuple[dp.Statistic, ...]:
        return (self._statistic,)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return self._statistic.shape(rows)

    def working_bytes(self, rows: dp.Rows) -> int:
        return 8 * self.folds * rows.width**2  # the noisy integers

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noisy = data.parts(self._statistic)["moments"].copy()
        diagonal, off_diagonal = self._lattice_scales(data.rows, level)
        for moment in noisy:
            moment[np.diag_indices_from(moment)] += random.gaussian(diagonal, len(moment))
            add_symmetric(moment, partial(random.gaussian, off_diagonal))
        return self._statistic.value(noisy, data.rows)

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        diagonal, off_diagonal = self._lattice_scales(rows, level)
        return {"diagonal": diagonal * rows.step**2, "off-diagonal": off_diagonal * rows.step**2}

    def law(self, value: dp.Kind, rows: dp.Rows, level: float, laws: Mapping[str, dp.Law]) -> dp.Law:
        noise = self.noise(rows, level)
        one = np.full((value.array.shape[1],) * 2, noise["off-diagonal"])
        np.fill_diagonal(one, noise["diagonal"])
        return dp.EntryLaw(center=value.array, deviation=np.tile(one, (self.folds, 1)))

    def redraw(self, value: dp.Kind, rows: dp.Rows, level: float, random: np.random.Generator) -> dp.Kind:
        width, noise = value.array.shape[1], self.noise(rows, level)
        upper = np.triu(random.normal(scale=noise["off-diagonal"], size=(self.folds, width, width)), 1)
        diagonal = random.normal(scale=noise["diagonal"], size=(self.folds, 1, width)) * np.eye(width)
        drawn = upper + upper.transpose(0, 2, 1) + diagonal
        return attrs.evolve(value, array=value.array + drawn.reshape(value.array.shape))

    def log_density(self, value: dp.Kind, data: dp.PrivateData, level: float) -> float:
        diagonal, off_diagonal = self._lattice_scales(data.rows, level)
        exact = data.parts(self._statistic)["moments"]
        noise = value.array.reshape(exact.shape) / data.rows.step**2 - exact
        on_diagonal = float(np.square(np.diagonal(noise, axis1=1, axis2=2)).sum())
        above = (float(np.square(noise).sum()) - on_diagonal) / 2
        return -(on_diagonal / diagonal**2 + above / off_diagonal**2) / 2

    def noiseless(self, data: dp.PrivateData) -> dp.Kind:
        return self._statistic.value(data.parts(self._statistic)["moments"], data.rows)

    def _lattice_scales(self, rows: dp.Rows, level: float) -> tuple[float, float]:
        """Standard deviations on and off the diagonal, in lattice units, rounded up."""
        scale = self._statistic.sensitivity(rows)["moments"].gaussian_scale(level)
        return scale, dp.rounding.up(scale * dp.rounding.sqrt_up(2) / 2)
