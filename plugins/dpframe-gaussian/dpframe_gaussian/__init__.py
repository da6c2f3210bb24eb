"""The Gaussian mechanism on symmetric matrices and sums, for dpframe."""

from __future__ import annotations

import dpframe.plugin as dp
from dpframe_gaussian.folds import GaussianFolds
from dpframe_gaussian.mechanism import SymmetricGaussian, classical_level
from dpframe_gaussian.motion import DysonPaths
from dpframe_gaussian.one_gap import OneGap
from dpframe_gaussian.oracles import Dyson, FirstOrder, PrintedRates
from dpframe_gaussian.sum import GaussianSum

DPFRAME_API = 1


@dp.hookimpl
def dpframe_mechanisms() -> list[type[dp.Mechanism]]:
    """The mechanisms ``gaussian``, ``gaussian-folds`` and ``gaussian-sum``."""
    return [SymmetricGaussian, GaussianFolds, GaussianSum]


@dp.hookimpl
def dpframe_bound_oracles() -> list[type[dp.BoundOracle]]:
    """The oracles ``first-order``, ``dyson``, ``one-gap`` and ``printed-rates``."""
    return [FirstOrder, Dyson, OneGap, PrintedRates]


__all__ = [
    "Dyson",
    "DysonPaths",
    "FirstOrder",
    "GaussianFolds",
    "GaussianSum",
    "OneGap",
    "PrintedRates",
    "SymmetricGaussian",
    "classical_level",
]
