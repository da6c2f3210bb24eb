"""The moment with noise, as it should be; every planted mechanism but a few is this one with a mistake."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe.rounding import sqrt_up

RESULTS: list[Any] = []


def symmetric(noise: Any) -> Any:
    return np.triu(noise) + np.triu(noise, 1).T


@attrs.frozen(kw_only=True)
class Right(dp.Mechanism):
    """The moment with noise on its upper triangle, as it should be."""

    name = "planted"
    unit = "mu"
    gives: ClassVar[type[dp.Kind]] = dp.SymmetricMatrix

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noise = random.gaussian(self.scale(data.rows, level), data.moment.shape)
        return dp.SymmetricMatrix(data.moment + symmetric(noise))

    def scale(self, rows: dp.Rows, level: float) -> float:
        return sqrt_up(dp.Moment().sensitivity(rows)["moment"].l2_squared) / level
