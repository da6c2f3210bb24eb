"""Private eigenvalues by the Laplace mechanism, for dpframe."""

from __future__ import annotations

import dpframe.plugin as dp
from dpframe_laplace.mechanism import LaplaceEigenvalues

DPFRAME_API = 1


@dp.hookimpl
def dpframe_mechanisms() -> list[type[dp.Mechanism]]:
    """The mechanism ``laplace-eigenvalues``."""
    return [LaplaceEigenvalues]


__all__ = ["LaplaceEigenvalues"]
