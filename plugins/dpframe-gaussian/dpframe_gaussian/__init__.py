"""The Gaussian mechanism on symmetric matrices, for dpframe."""

from __future__ import annotations

import dpframe.plugin as dp
from dpframe_gaussian.mechanism import SymmetricGaussian, classical_level
from dpframe_gaussian.motion import DysonPaths
from dpframe_gaussian.oracles import Dyson, FirstOrder, PrintedRates

DPFRAME_API = 1


@dp.hookimpl
def dpframe_mechanisms() -> list[type[dp.Mechanism]]:
    """The mechanism ``gaussian``."""
    return [SymmetricGaussian]


@dp.hookimpl
def dpframe_bound_oracles() -> list[type[dp.BoundOracle]]:
    """The oracles ``first-order``, ``dyson`` and ``printed-rates``."""
    return [FirstOrder, Dyson, PrintedRates]


__all__ = ["Dyson", "DysonPaths", "FirstOrder", "PrintedRates", "SymmetricGaussian", "classical_level"]
