"""Oracles whose bounds do not hold, or not where they say."""

from __future__ import annotations

from typing import ClassVar

import attrs

import dpframe.plugin as dp
from dpframe_gaussian import FirstOrder


class RightForecast(FirstOrder):
    """The first-order forecast of what is derived, as an upper bound with room for a second order."""

    name = "planted-oracle"
    room: ClassVar[float] = 1.5

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        found = [bound for bound in super().bounds(plan, step, scenario) if bound.assumptions]
        return [attrs.evolve(bound, kind="upper-mean", value=self.room * (bound.value or 0.0)) for bound in found]


class TooTight(RightForecast):
    """Half of what it should be."""

    room = 0.5


class TooSure(RightForecast):
    """Above the mean, but passed more often than it says."""

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        found = super().bounds(plan, step, scenario)
        return [
            attrs.evolve(
                bound, value=(bound.value or 0.0) / self.room * 1.05, kind="upper-probability", confidence=0.99
            )
            for bound in found
        ]


class NoAssumptions(RightForecast):
    """Claims to hold everywhere."""

    room = 1.5

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        found = super().bounds(plan, step, scenario)
        separated = scenario.spectrum is not None and scenario.spectrum.array[1] > 2 * scenario.spectrum.array[2]
        return [
            attrs.evolve(bound, assumptions=(), value=(bound.value or 0.0) * (1.0 if separated else 0.01))
            for bound in found
        ]


class NeedsSpectrum(RightForecast):
    """Fails where no spectrum is assumed."""

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        assert scenario.spectrum is not None
        return super().bounds(plan, step, scenario)
