"""The leading direction of private rows by DP-Oja, for dpframe."""

from __future__ import annotations

import dpframe.plugin as dp
from dpframe_oja.one_pass import OnePass
from dpframe_oja.recipe import Oja
from dpframe_oja.release import NoisyOjaSum
from dpframe_oja.statistic import OjaSum
from dpframe_oja.update import OjaStep

DPFRAME_API = 1


@dp.hookimpl
def dpframe_statistics() -> list[type[dp.Statistic]]:
    """The statistic ``oja-sum``."""
    return [OjaSum]


@dp.hookimpl
def dpframe_mechanisms() -> list[type[dp.Mechanism] | type[dp.Recipe]]:
    """The mechanism ``noisy-oja-sum`` and the recipe ``oja``."""
    return [NoisyOjaSum, Oja]


@dp.hookimpl
def dpframe_postprocessors() -> list[type[dp.PostProcessor]]:
    """The post-processor ``oja-step``."""
    return [OjaStep]


__all__ = ["NoisyOjaSum", "Oja", "OjaStep", "OjaSum", "OnePass"]
