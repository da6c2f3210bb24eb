"""Residual bounds of eigendecompositions, and decompositions that are within them whatever the solver returns."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from numpy.typing import NDArray

import dpframe as dp
from dpframe import eigensolver, hermitian
from dpframe.eigensolver import Residual, _product, eigensystem, exact_residual, float_residual
from dpframe.lattice import RADIUS


def integer_moment(dim: int, rows: int, size: int, seed: int = 0) -> NDArray[np.int64]:
    values = np.random.default_rng(seed).integers(-size, size, (rows, dim))
    moment: NDArray[np.int64] = values.T @ values
    return moment


MATRICES: dict[str, NDArray[Any]] = {
    "generic": integer_moment(10, 200, 60_000),
    "large": integer_moment(12, 500, 60_000) * 30_000,
    "beyond 64 bits": integer_moment(6, 50, 60_000).astype(object) * 2**40,
    "rank deficient": integer_moment(12, 3, 60_000),
    "zero": np.zeros((5, 5), dtype=np.int64),
    "tied": np.eye(6, dtype=np.int64) * RADIUS**2,
    "nearly tied": np.diag([2**50, 2**50 + 1, 2**50 + 3]) + 1,
    "one": np.array([[7]], dtype=np.int64),
}

each_matrix = pytest.mark.parametrize("name", MATRICES)


def truth(matrix: NDArray[Any]) -> NDArray[Any]:
    """Eigenvalues in 60 digits, by a library of its own, from the largest."""
    with mp.workdps(60):
        values = mp.eigsy(mp.matrix(matrix.tolist()), eigvals_only=True)
        return np.array(sorted((mp.mpf(value) for value in values), reverse=True), dtype=object)


def distance(matrix: NDArray[Any], values: NDArray[Any], vectors: NDArray[Any]) -> float:
    """The norm of M − QΓQᵀ, for the orthogonal factor Q of the vectors, in 60 digits."""
    with mp.workdps(60):
        floats = mp.matrix(vectors.tolist())
        for _ in range(6):  # Newton's method for the polar factor
            floats = floats * (3 * mp.eye(len(matrix)) - floats.T * floats) / 2
        rest = mp.matrix(matrix.tolist()) - floats * mp.diag(values.tolist()) * floats.T
        return float(mp.mnorm(rest, "f"))


@each_matrix
def test_both_bounds_hold_and_are_small(name: str) -> None:
    matrix = MATRICES[name]
    floats = matrix.astype(np.float64)
    values, vectors = np.linalg.eigh(floats)
    size, exact = max(float(np.linalg.norm(floats)), 1.0), truth(matrix)
    bound = float_residual(floats, values, vectors)
    assert max(abs(exact - values[::-1])) <= bound.of_eigenvalues <= 1e-11 * size * len(matrix)
    assert distance(matrix, values, vectors) <= bound.of_matrix <= 3 * bound.of_eigenvalues
    nearest = [round(value) for value in values.tolist()]
    sharper = exact_residual(matrix, nearest, vectors)
    assert max(abs(exact - np.array(nearest[::-1], dtype=object))) <= sharper.of_eigenvalues
    assert distance(matrix, np.array(nearest, dtype=object), vectors) <= sharper.of_matrix
    assert sharper.of_eigenvalues <= 1e-14 * size * len(matrix) + len(matrix)


def test_a_wrong_answer_of_the_solver_is_noticed() -> None:
    matrix = MATRICES["generic"]
    floats = matrix.astype(np.float64)
    values, vectors = np.linalg.eigh(floats)
    one = np.arange(10) == 3
    small = float_residual(floats, values, vectors)
    assert float_residual(floats, values + 1e5 * one, vectors).of_eigenvalues >= 1e5
    wrong = [round(v) for v in (values + 1e5 * one).tolist()]
    assert exact_residual(matrix, wrong, vectors).of_eigenvalues >= 1e5 - 1
    assert float_residual(floats, values, vectors * (1 - 0.3 * one)).of_eigenvalues > 1e5 * small.of_eigenvalues
    for nonsense in (np.zeros_like(vectors), np.full_like(vectors, np.nan)):
        for found in (float_residual(floats, values, nonsense), exact_residual(matrix, [0] * 10, nonsense)):
            assert math.isinf(found.of_eigenvalues)
            assert math.isinf(found.of_matrix)


@pytest.mark.parametrize("overlap", [0.0, 0.1, 0.4])
def test_vectors_that_are_not_orthonormal(overlap: float) -> None:
    """The bound on the matrix holds for vectors that are far from orthonormal, and is not far above the error."""
    matrix = integer_moment(4, 20, 1000, seed=2)
    rng = np.random.default_rng(3)
    values, vectors = np.linalg.eigh(matrix.astype(np.float64))
    bent = vectors @ (np.eye(4) + overlap * rng.uniform(-0.2, 0.2, (4, 4)))
    bound = float_residual(matrix.astype(np.float64), values, bent).of_matrix
    assert distance(matrix, values, bent) <= bound <= 20 * distance(matrix, values, bent) + 1e-3


def test_bounds_have_room_for_rounded_entries() -> None:
    assert Residual(0.0, 0.0, 3.0).of_eigenvalues >= 3.0
    assert Residual(0.0, 0.0, 3.0).of_matrix >= 3.0


def nothing(matrix: Any) -> Any:
    raise np.linalg.LinAlgError("did not converge")


def nonsense(matrix: Any) -> Any:
    return np.zeros(len(matrix)), np.full_like(matrix, np.nan)


def rough(matrix: Any) -> Any:
    """Eigenvectors turned a little and no longer orthonormal."""
    values, vectors = EIGH(matrix)
    return values, vectors + 1e-7 * np.random.default_rng(1).standard_normal(matrix.shape)


EIGH = np.linalg.eigh


@each_matrix
@pytest.mark.parametrize("solver", [EIGH, nothing, nonsense, rough])
def test_the_error_is_within_what_is_asked_whatever_the_solver_does(
    name: str, solver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = MATRICES[name]
    monkeypatch.setattr(np.linalg, "eigh", solver)
    size = float(np.linalg.norm(matrix.astype(np.float64)))
    rounding = 2.0**-53 * size
    for error in (2.0**20 + 2 * rounding, 1e-6 + 2 * rounding):
        values, vectors = eigensystem(matrix, error)
        # The vectors are those of Q up to the rounding of floats, which moves QΓQᵀ by that much of its size.
        assert distance(matrix, values, vectors) <= error + 16 * len(matrix) * rounding
        assert np.abs(vectors.T @ vectors - np.eye(len(matrix))).max() < 1e-14  # also for the rough solver
        assert np.all(np.diff(values) >= 0)


def test_the_float_solver_is_enough_where_it_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eigensolver, "_rotated", None)
    eigensystem(MATRICES["generic"], 2.0**16)


def test_an_error_below_the_rounding_of_floats_is_refused() -> None:
    with pytest.raises(dp.SamplingError, match="above what the noise covers after 60 attempts"):
        eigensystem(MATRICES["beyond 64 bits"], 1.0)


def test_vectors_that_stay_far_from_orthonormal_are_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    """However large an error is allowed: the vectors are the columns of Q within 2^-30."""

    def bent(matrix: Any) -> Any:
        values, vectors = EIGH(matrix)
        return values, vectors * (1 + 1e-5)

    monkeypatch.setattr(np.linalg, "eigh", bent)
    vectors = eigensystem(MATRICES["generic"], 2.0**60)[1]
    assert np.linalg.norm(vectors.T @ vectors - np.eye(len(vectors))) < 2.0**-30
    monkeypatch.setattr(eigensolver, "_orthonormal", lambda basis: basis)
    with pytest.raises(dp.SamplingError, match=r"after 60 attempts\. The charge stands\.$"):
        eigensystem(MATRICES["generic"], 2.0**60)


def test_residuals_have_room_for_errors_of_products_and_for_rounded_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    floats = MATRICES["generic"].astype(np.float64)
    values, vectors = EIGH(floats)
    assert float_residual(floats, values, vectors).rounding >= 2.0**-53 * np.linalg.norm(floats)
    monkeypatch.setattr(eigensolver, "_product", lambda left, right: (left @ right, 7.0))
    found = float_residual(floats, values, vectors)
    assert found.norm >= 7.0
    assert found.overlap >= 7.0


@pytest.mark.parametrize("dim", [2, 40])
def test_products_are_within_their_error(dim: int) -> None:
    """Against products in exact rational numbers; the bound is far below the one without splitting."""
    rng = np.random.default_rng(5)
    left = rng.standard_normal((dim, dim)) * 2.0 ** rng.uniform(-30, 40, (dim, dim))
    right = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    found, bound = _product(left, right)
    exact = [[[Fraction(entry) for entry in row] for row in each.tolist()] for each in (left, right)]
    columns = list(zip(*exact[1], strict=True))
    squares = (
        (sum(a * b for a, b in zip(row, column, strict=True)) - Fraction(float(found[i, j]))) ** 2
        for i, row in enumerate(exact[0])
        for j, column in enumerate(columns)
    )
    error = math.sqrt(sum(squares, Fraction(0)))
    assert error <= 1.01 * bound
    assert bound <= 4 * 2.0**-53 * float(np.linalg.norm(left))


def test_large_data_is_proved_in_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    """A billion rows, 300 coordinates, and the error that the draws of directions allow."""
    monkeypatch.setattr(eigensolver, "_rotated", None)
    values = np.random.default_rng(6).standard_normal((300, 300))
    moment = np.rint(values @ values.T * (2.0**62 / np.trace(values @ values.T))).astype(np.int64)
    eigensystem(moment, 2.0**18)


# -- Hermitian matrices ------------------------------------------------------------------------------------------------


def hermitian_moment(dim: int, rows: int, size: int, seed: int = 0) -> NDArray[Any]:
    values = np.random.default_rng(seed).integers(-size, size, (rows, 2 * dim))
    return hermitian.of_gram(values.T @ values)


HERMITIAN: dict[str, NDArray[Any]] = {
    "generic": hermitian_moment(7, 200, 60_000),
    "large": hermitian_moment(6, 500, 60_000) * 30_000,
    "beyond 64 bits": hermitian_moment(4, 50, 60_000).astype(object) * 2**40,
    "rank deficient": hermitian_moment(6, 2, 60_000),
    "tied": np.stack([np.eye(5, dtype=np.int64) * RADIUS**2, np.zeros((5, 5), dtype=np.int64)]),
    "imaginary": np.array([[[2**40, 0], [0, 2**40]], [[0, 2**40 - 1], [1 - 2**40, 0]]]),
    "one": np.array([[[7]], [[0]]]),
}


def complex_distance(parts: NDArray[Any], values: NDArray[Any], vectors: NDArray[Any]) -> float:
    """The norm of M − QΓQᴴ, for the unitary factor Q of the vectors, in 60 digits."""
    with mp.workdps(60):
        floats, dim = mp.matrix(vectors.tolist()), len(values)
        for _ in range(6):
            floats = floats * (3 * mp.eye(dim) - floats.H * floats) / 2
        whole = mp.matrix(parts[0].tolist()) + mp.mpc(0, 1) * mp.matrix(parts[1].tolist())
        return float(mp.mnorm(whole - floats * mp.diag(values.tolist()) * floats.H, "f"))


@pytest.mark.parametrize("name", HERMITIAN)
@pytest.mark.parametrize("solver", [EIGH, nothing, nonsense, rough])
def test_hermitian_matrices_are_within_what_is_asked_whatever_the_solver_does(
    name: str, solver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = HERMITIAN[name]
    monkeypatch.setattr(np.linalg, "eigh", solver)
    rounding = 2.0**-53 * float(np.linalg.norm(hermitian.doubled(parts.astype(np.float64))))
    for error in (2.0**20 + 2 * rounding, 1e-6 + 2 * rounding):
        values, vectors, found = eigensolver.hermitian_eigensystem(parts, error)
        dim = len(values)
        assert complex_distance(parts, values, vectors) <= min(error + 32 * dim * rounding, found.of_matrix)
        assert found.of_matrix <= error + 1e-11 * float(np.linalg.norm(parts.astype(np.float64))) + 1e-6
        assert np.abs(vectors.conj().T @ vectors - np.eye(dim)).max() < 1e-14
        assert np.all(np.diff(values) >= 0)


def test_a_wrong_complex_answer_is_noticed() -> None:
    parts = HERMITIAN["generic"]
    doubled = hermitian.doubled(parts.astype(np.float64))
    values, vectors = EIGH(hermitian.as_complex(parts.astype(np.float64)))
    assert eigensolver._doubled_residual(doubled, values, vectors).of_matrix < 1.0
    for wrong in (vectors.conj(), vectors * np.exp(1e-4j * np.eye(7)[:, :1]), vectors.real + 0j):
        assert eigensolver._doubled_residual(doubled, values, wrong).of_matrix > 1e3


def test_eigenvalues_that_are_tied_by_symmetry_have_complex_vectors_of_their_own() -> None:
    """Rotations of the doubled matrix stay doubled: of 2d real vectors, not any d make a unitary matrix."""
    values, columns = eigensolver._rotated(hermitian.doubled(HERMITIAN["tied"]), np.eye(10), 1e-3, paired=True)
    assert [RADIUS**2] * 5 == values.tolist()
    upper, lower = np.split(columns, 2)
    vectors = upper - 1j * lower
    assert np.allclose(vectors.conj().T @ vectors, np.eye(5))
