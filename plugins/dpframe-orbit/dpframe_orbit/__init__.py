"""Exact draws of the exponential mechanism on unitary orbits and spheres, for dpframe."""

from __future__ import annotations

import dpframe.plugin as dp
from dpframe_orbit.bingham import Bingham
from dpframe_orbit.oracle import UnitaryOrbits
from dpframe_orbit.orbit import Orbit
from dpframe_orbit.recipes import BinghamLowRank, Deflation, OrbitLowRank
from dpframe_orbit.scores import LaplaceScores

DPFRAME_API = 1


@dp.hookimpl
def dpframe_mechanisms() -> list[type[dp.Mechanism] | type[dp.Recipe]]:
    """The mechanisms, and the recipes that join eigenvectors with released eigenvalues."""
    return [Bingham, BinghamLowRank, Deflation, LaplaceScores, Orbit, OrbitLowRank]


@dp.hookimpl
def dpframe_bound_oracles() -> list[type[dp.BoundOracle]]:
    """The oracle ``unitary-orbits``."""
    return [UnitaryOrbits]


__all__ = ["Bingham", "BinghamLowRank", "Deflation", "LaplaceScores", "Orbit", "OrbitLowRank", "UnitaryOrbits"]
