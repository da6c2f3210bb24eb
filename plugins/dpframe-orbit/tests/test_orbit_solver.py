"""The eigenvalue solver: its error is part of the spread of scores, and is held to that for the data at hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_orbit import Orbit
from dpframe_orbit.orbit import SOLVER_ERROR

DIM = 6
EIGH = np.linalg.eigh
Floats = NDArray[np.float64]
MECHANISMS = {
    "orbit": Orbit(spectrum=[1.0, 0.5]),
    "hermitian orbit": Orbit(spectrum=[1.0], real=False),
}


def private() -> dp.PrivateData:
    values = np.random.default_rng(1).integers(-30_000, 30_000, (400, DIM)) * np.arange(1, DIM + 1) // DIM
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=DIM)
    return dp.PrivateData(rows, statistics={dp.Moment(): {"moment": values.T @ values}})


def turned(matrix: Any) -> Any:
    """Orthonormal vectors that are not eigenvectors: what a faulty library might return."""
    values, vectors = EIGH(matrix)
    turn, _ = np.linalg.qr(np.eye(len(values)) + 1e-2 * np.random.default_rng(2).standard_normal((len(values),) * 2))
    return values, vectors @ turn


def shifted(matrix: Any) -> Any:
    values, vectors = EIGH(matrix)
    return values * np.linspace(1.0, 1.01, len(values)), vectors


def stuck(matrix: Any) -> Any:
    raise np.linalg.LinAlgError("did not converge")


@pytest.mark.parametrize("solver", [turned, shifted, stuck])
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_faulty_solver_changes_nothing_that_is_released(
    name: str, solver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism, data = MECHANISMS[name], private()
    expected = mechanism.release(data, 0.5, seeded(7)).array
    monkeypatch.setattr(np.linalg, "eigh", solver)
    found = mechanism.release(data, 0.5, seeded(7)).array
    monkeypatch.undo()
    # Signs of eigenvectors are arbitrary, and reflect a draw: in their basis, sizes are compared.
    basis = np.linalg.eigh(data.moment.astype(np.float64))[1]
    one, other = (
        np.abs(basis.T @ (value if len(value.T) == DIM else value @ value.T) @ basis) for value in (expected, found)
    )
    assert np.abs(one - other).max() < 1e-3  # a few steps of the grid


def test_the_allowance_of_the_orbit_covers_the_scores() -> None:
    """The error asked for in the Frobenius norm, times the root of the dimension, is half of the allowance."""
    data = private()
    asked: list[float] = []
    whole = dp.eigensolver.certified_eigensystem

    def recorded(matrix: Any, error: float) -> Any:
        asked.append(error)
        return whole(matrix, error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dp.eigensolver, "certified_eigensystem", recorded)
        MECHANISMS["orbit"].release(data, 0.5, seeded(7))
    assert asked == [SOLVER_ERROR / 2 / math.sqrt(DIM)]


def test_a_residual_that_the_allowance_does_not_cover_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = dp.eigensolver.certified_eigensystem

    def worse(matrix: Any, error: float) -> Any:
        values, vectors, found = whole(matrix, error)
        return values, vectors, dp.eigensolver.Residual(error, found.overlap)

    monkeypatch.setattr(dp.eigensolver, "certified_eigensystem", worse)
    with pytest.raises(dp.SamplingError, match="above what the noise covers"):
        MECHANISMS["orbit"].release(private(), 0.5, seeded(7))
