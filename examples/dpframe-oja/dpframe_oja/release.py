"""The release of one round of DP-Oja: the sum with Gaussian noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_oja.statistic import OjaSum, check_clip, check_seed


@attrs.frozen(kw_only=True)
class NoisyOjaSum(dp.Mechanism):
    """The sum of x (x·w) over the rows, with Gaussian noise.

    One person moves the sum by at most Δ in Euclidean norm (see `OjaSum`), for any direction w. Independent Gaussians
    of deviation s = Δ/mu on all coordinates make this as hard to detect as a shift of one unit Gaussian by mu. The sum
    is a vector of integers and the noise is rounded to integers, which is post-processing of the real-valued mechanism;
    s is rounded up, so mu is never exceeded. The direction is an earlier release: the guarantee holds for every value
    of it, so rounds compose adaptively.

    Args:
        direction: a released subspace, whose leading direction is used; without one, a public random start.
        clip: the largest length of a row's share, as a fraction of norm².
        seed: the seed of the public start.

    Guarantee:
        Gaussian loss with mu = level, for either neighboring relation; worst case.

    References:
        Liu, Kong, Jain and Oh, "DP-PCA: statistically optimal and differentially private PCA", NeurIPS 2022.
        Dong, Roth and Su, "Gaussian differential privacy", JRSS B 2022, Theorem 2.7.

    >>> NoisyOjaSum(clip=0.2).loss(dp.Rows(norm=1.0, neighbors="replace"), level=0.25)
    Gaussian(mu=0.25)
    """

    name = "noisy-oja-sum"
    unit = "mu"
    gives = dp.Vector
    numerics = "exact"
    smallest_level = 2.0**-38

    direction: Any = dp.input(dp.Subspace, default=None)
    clip: float = attrs.field(default=1.0, converter=dp.validators.as_float, validator=check_clip)
    seed: int = attrs.field(default=0, validator=check_seed)

    def reads(self) -> tuple[OjaSum]:
        return (OjaSum(direction=self.direction, clip=self.clip, seed=self.seed),)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Vector:
        (statistic,) = self.reads()
        exact = data.parts(statistic)["sum"]
        noisy = exact + random.gaussian(self._lattice_scale(data.rows, level), len(exact))
        return dp.Vector(noisy.astype(np.float64) * statistic.unit(data.rows), axes=data.rows.axes)

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        (statistic,) = self.reads()
        return {"each coordinate": self._lattice_scale(rows, level) * statistic.unit(rows)}

    def log_density(self, value: dp.Kind, data: dp.PrivateData, level: float) -> float:
        (statistic,) = self.reads()
        noise = value.array / statistic.unit(data.rows) - data.parts(statistic)["sum"]
        return -float(noise @ noise) / (2 * self._lattice_scale(data.rows, level) ** 2)

    def _lattice_scale(self, rows: dp.Rows, level: float) -> float:
        """The standard deviation of the noise in lattice steps, rounded up."""
        (statistic,) = self.reads()
        return statistic.sensitivity(rows)["sum"].gaussian_scale(level)
