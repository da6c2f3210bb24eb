"""Private eigenvalues, second moments and sums by Laplace mechanisms, for dpframe."""

from __future__ import annotations

import dpframe.plugin as dp
from dpframe_laplace.matrix import MatrixLaplace
from dpframe_laplace.mechanism import LaplaceEigenvalues
from dpframe_laplace.oracle import LaplaceErrors
from dpframe_laplace.sum import LaplaceSum

DPFRAME_API = 1


@dp.hookimpl
def dpframe_mechanisms() -> list[type[dp.Mechanism]]:
    """The mechanisms ``laplace-eigenvalues``, ``laplace-sum`` and ``matrix-laplace``."""
    return [LaplaceEigenvalues, LaplaceSum, MatrixLaplace]


@dp.hookimpl
def dpframe_bound_oracles() -> list[type[dp.BoundOracle]]:
    """The oracle ``laplace-errors``."""
    return [LaplaceErrors]


__all__ = ["LaplaceEigenvalues", "LaplaceErrors", "LaplaceSum", "MatrixLaplace"]
