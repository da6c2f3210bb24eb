"""Exact draws of the exponential mechanism on unitary orbits and spheres, for dpframe."""

from __future__ import annotations

import dpframe.plugin as dp
from dpframe_orbit.bingham import Bingham
from dpframe_orbit.oracle import UnitaryOrbits
from dpframe_orbit.orbit import Orbit

DPFRAME_API = 1


@dp.hookimpl
def dpframe_mechanisms() -> list[type[dp.Mechanism]]:
    """The mechanisms ``bingham`` and ``orbit``."""
    return [Bingham, Orbit]


@dp.hookimpl
def dpframe_bound_oracles() -> list[type[dp.BoundOracle]]:
    """The oracle ``unitary-orbits``."""
    return [UnitaryOrbits]


__all__ = ["Bingham", "Orbit", "UnitaryOrbits"]
