"""Private eigenvalues and second moments by Laplace mechanisms, for dpframe."""

from __future__ import annotations

import dpframe.plugin as dp
from dpframe_laplace.matrix import MatrixLaplace
from dpframe_laplace.mechanism import LaplaceEigenvalues

DPFRAME_API = 1


@dp.hookimpl
def dpframe_mechanisms() -> list[type[dp.Mechanism]]:
    """The mechanisms ``laplace-eigenvalues`` and ``matrix-laplace``."""
    return [LaplaceEigenvalues, MatrixLaplace]


__all__ = ["LaplaceEigenvalues", "MatrixLaplace"]
