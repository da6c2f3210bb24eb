"""The accountant."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs

import dpframe as dp
from dpframe_pld.mixture import SUPPORTED, Mixture


@attrs.frozen
class PldAccountant(dp.Accountant):
    """x"""

    name = "pld"

    def supports(self, loss: dp.PrivacyLoss) -> bool:
        return isinstance(loss, SUPPORTED)

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        dp.validators.check_delta(delta)
        mixture = Mixture.of(losses)
        left = (delta - mixture.failure) / (1.0 - mixture.failure) * (1.0 - 2.0**-50) if mixture.failure else delta
        if left < 0.0:
            return math.inf
        if not mixture.bounded:
            return dp.accountant("gdp").epsilon(_gaussians(losses), left)
        ...
