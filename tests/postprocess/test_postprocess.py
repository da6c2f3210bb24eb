"""Post-processors against what numpy says of the same matrices."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe import postprocess
from dpframe.postprocess import eigen
from dpframe.reading.mapper import coordinates

AXES = dp.Axes(("a", "b", "c"), (2.0, 3.0, 1.0), (10.0, 0.0, -1.0), ("", "", ""))


def symmetric(dim: int, seed: int = 0) -> NDArray[np.float64]:
    noise = np.random.default_rng(seed).standard_normal((dim, dim))
    return noise + noise.T


def spiked(dim: int, spikes: int) -> NDArray[np.float64]:
    matrix = symmetric(dim)
    matrix[np.arange(spikes), np.arange(spikes)] += 40.0 * np.sqrt(dim) * np.arange(spikes, 0, -1)
    return matrix


def projector(basis: NDArray[Any]) -> NDArray[Any]:
    found: NDArray[Any] = basis @ basis.conj().T
    return found


@pytest.mark.parametrize(("dim", "k"), [(1, 1), (5, 2), (5, 5), (60, 3), (600, 4)])
def test_top_subspace_spans_the_leading_eigenvectors(dim: int, k: int) -> None:
    matrix = spiked(dim, k)
    found = postprocess.TopSubspace(of=dp.SymmetricMatrix(matrix), k=k).apply().array
    assert np.abs(found.T @ found - np.eye(k)).max() < 1e-10
    assert np.abs(projector(found) - projector(np.linalg.eigh(matrix)[1][:, -k:])).max() < 1e-8
    values = np.diag(found.T @ matrix @ found)
    assert (np.diff(values) <= 0).all()


def test_large_matrices_are_not_fully_decomposed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    lanczos = eigen._lanczos

    def counted(matrix: NDArray[Any], k: int) -> tuple[Any, Any]:
        calls.append(k)
        return lanczos(matrix, k)

    monkeypatch.setattr(eigen, "_lanczos", counted)
    postprocess.TopSubspace(of=dp.SymmetricMatrix(spiked(800, 3)), k=3).apply()
    postprocess.TopSubspace(of=dp.SymmetricMatrix(spiked(30, 3)), k=3).apply()
    assert [3] == calls


def test_lanczos_agrees_with_the_full_decomposition_on_pure_noise_and_gives_the_same_each_time() -> None:
    matrix = symmetric(600, 3)
    values, vectors = eigen.top_eigenpairs(matrix, 5)
    assert np.abs(values - np.linalg.eigvalsh(matrix)[::-1][:5]).max() < 1e-9
    assert np.abs(matrix @ vectors - vectors * values).max() < 1e-8
    assert np.array_equal(vectors, eigen.top_eigenpairs(matrix, 5)[1])


def test_signs_are_fixed() -> None:
    vectors = eigen.top_eigenpairs(symmetric(9), 9)[1]
    assert (vectors[np.abs(vectors).argmax(axis=0), np.arange(9)] > 0).all()


def test_hermitian_matrices_have_subspaces_eigenvalues_and_a_real_part() -> None:
    rng = np.random.default_rng(5)
    raw = rng.standard_normal((6, 6)) + 1j * rng.standard_normal((6, 6))
    matrix = dp.HermitianMatrix(raw + raw.conj().T)
    basis = postprocess.TopSubspace(of=matrix, k=2).apply().array
    assert np.abs(projector(basis) - projector(np.linalg.eigh(matrix.array)[1][:, -2:])).max() < 1e-10
    spectrum = postprocess.Eigenvalues(of=matrix).apply().array
    assert np.abs(spectrum - np.maximum(np.linalg.eigvalsh(matrix.array)[::-1], 0)).max() < 1e-10
    assert np.array_equal(matrix.array.real, postprocess.RealPart(of=matrix).apply().array)


def test_rank_k_keeps_the_leading_part_and_the_kind() -> None:
    covariance = dp.Covariance(spiked(8, 2), axes=AXES)
    values, vectors = np.linalg.eigh(covariance.array)
    expected = (vectors[:, -2:] * values[-2:]) @ vectors[:, -2:].T
    found = postprocess.RankK(of=covariance, k=2).apply()
    assert isinstance(found, dp.Covariance)
    assert AXES == found.axes
    assert np.abs(expected - found.array).max() < 1e-9
    negative = dp.SymmetricMatrix(-np.eye(3))
    assert not postprocess.RankK(of=negative, k=2).apply().array.any()


def test_with_spectrum_replaces_the_eigenvalues() -> None:
    found = postprocess.WithSpectrum(of=dp.SymmetricMatrix(spiked(7, 3)), spectrum=[5.0, 3.0, 1.0]).apply().array
    assert np.abs(np.linalg.eigvalsh(found)[::-1] - [5, 3, 1, 0, 0, 0, 0]).max() < 1e-10


def test_with_spectrum_joins_directions_with_eigenvalues() -> None:
    """The columns of a subspace in their order; a vector need not be sorted, and is cut off at zero."""
    basis = dp.Subspace(np.linalg.qr(np.random.default_rng(0).standard_normal((5, 3)))[0], axes=AXES)
    first, second, third = (np.outer(v, v) for v in basis.array.T)
    found = postprocess.WithSpectrum(of=basis, spectrum=dp.Spectrum([5.0, 3.0])).apply()
    assert AXES == found.axes
    assert np.abs(found.array - 5 * first - 3 * second).max() < 1e-12
    vector = postprocess.WithSpectrum(of=basis, spectrum=dp.Vector([1.0, -2.0, 4.0])).apply()
    assert np.abs(vector.array - first - 4 * third).max() < 1e-12
    with pytest.raises(dp.PlanError, match="with-spectrum has 4 eigenvalues for 3 directions"):
        postprocess.WithSpectrum(of=basis, spectrum=[4.0, 3.0, 2.0, 1.0]).check(dp.Rows(norm=1.0, neighbors="replace"))


def test_psd_is_the_nearest_positive_semi_definite_matrix() -> None:
    found = postprocess.PositivePart(of=dp.SymmetricMatrix(np.diag([3.0, -2.0, 1.0]))).apply().array
    assert np.abs(found - np.diag([3.0, 0.0, 1.0])).max() < 1e-12


def test_eigenvalues_are_sorted_and_cut_off_at_zero() -> None:
    matrix = dp.SymmetricMatrix(np.diag([1.0, -4.0, 9.0]))
    assert [9.0, 1.0, 0.0] == pytest.approx(postprocess.Eigenvalues(of=matrix).apply().array.tolist())
    assert [9.0, 1.0] == pytest.approx(postprocess.Eigenvalues(of=matrix, k=2).apply().array.tolist())


def augmented(rows: NDArray[np.float64], constant: float) -> dp.AugmentedMoment:
    wide = np.concatenate([rows, np.full((len(rows), 1), constant)], axis=1)
    return dp.AugmentedMoment(wide.T @ wide, axes=AXES, constant=constant)


@pytest.mark.parametrize("constant", [0.1, 1.0, 7.0])
def test_count_mean_and_covariance_come_out_of_one_moment(constant: float) -> None:
    rows = np.random.default_rng(1).standard_normal((400, 3)) + np.array([1.0, 0.0, -2.0])
    moment = augmented(rows, constant)
    assert 400 == pytest.approx(postprocess.CountOf(of=moment).apply().array.item())
    assert rows.mean(axis=0) == pytest.approx(postprocess.MeanOf(of=moment).apply().array)
    covariance = postprocess.CovarianceOf(of=moment).apply()
    assert np.abs(np.cov(rows, rowvar=False, bias=True) - covariance.array).max() < 1e-9
    assert AXES == covariance.axes


def test_a_count_below_one_is_taken_as_one() -> None:
    moment = dp.AugmentedMoment(np.array([[2.0, 1.0], [1.0, -3.0]]), constant=1.0)
    assert 1.0 == postprocess.CountOf(of=moment).apply().array.item()
    assert [1.0] == postprocess.MeanOf(of=moment).apply().array.tolist()


def test_correlation_has_unit_diagonal_and_survives_negative_variances() -> None:
    covariance = dp.Covariance(np.array([[4.0, 1.0, 9.0], [1.0, 1.0, 0.5], [9.0, 0.5, -1.0]]), axes=AXES)
    found = postprocess.Correlation(of=covariance).apply()
    assert [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]] == found.array.tolist()


def test_explained_variance_are_shares_of_the_trace() -> None:
    matrix, basis = dp.SymmetricMatrix(np.diag([6.0, 3.0, 1.0])), dp.Subspace(np.eye(3)[:, :2])
    assert [0.6, 0.3] == pytest.approx(
        postprocess.ExplainedVariance(of=matrix, components=basis).apply().array.tolist()
    )
    noise = dp.SymmetricMatrix(np.diag([1.0, -5.0, -5.0]))
    assert [1.0, 0.0] == postprocess.ExplainedVariance(of=noise, components=basis).apply().array.tolist()
    nothing = dp.SymmetricMatrix(-np.eye(3))
    assert [0.0, 0.0] == postprocess.ExplainedVariance(of=nothing, components=basis).apply().array.tolist()


def test_to_units_undoes_the_map_of_the_columns() -> None:
    columns = [dp.Column("a", -10, 30), dp.Column("b", 0, 6), dp.Column("c", 2, 4)]
    rows = dp.Rows(columns=columns, neighbors="replace", center=True)
    raw = np.random.default_rng(2).uniform([-10, 0, 2], [30, 6, 4], size=(300, 3))
    mapped = coordinates(rows, raw)
    mean = dp.Mean(mapped.mean(axis=0), axes=rows.axes)
    covariance = dp.Covariance(np.cov(mapped, rowvar=False, bias=True), axes=rows.axes)
    in_units = postprocess.ToUnits(of=mean).apply()
    assert raw.mean(axis=0) == pytest.approx(in_units.array)
    assert np.cov(raw, rowvar=False, bias=True) == pytest.approx(postprocess.ToUnits(of=covariance).apply().array)
    assert in_units == postprocess.ToUnits(of=in_units).apply()
    basis = dp.Subspace(np.eye(3)[:, :1], axes=rows.axes)
    loadings = postprocess.ToUnits(of=basis).apply()
    assert isinstance(loadings, dp.Loadings)
    assert [[20.0], [0.0], [0.0]] == loadings.array.tolist()


@pytest.mark.parametrize("k", [1, 3])
def test_tied_eigenvalues_are_not_lost(k: int) -> None:
    """I − 4uuᵀ has one eigenvalue −3 and all others 1: a solver of a few eigenpairs may return none of those."""
    for seed in range(12):
        direction = np.random.default_rng(seed).standard_normal(200)
        direction /= np.linalg.norm(direction)
        matrix = np.eye(200) - 4 * np.outer(direction, direction)
        found = postprocess.TopSubspace(of=(matrix + matrix.T) / 2, k=k).apply().array
        np.testing.assert_allclose(found.T @ matrix @ found, np.eye(k), atol=1e-9)


@pytest.mark.parametrize("cls", [getattr(postprocess, name) for name in postprocess.__all__])
def test_every_postprocessor_is_frozen_named_and_registered(cls: Any) -> None:
    from dpframe import registry

    assert cls is registry.postprocessor(cls.name)
    assert attrs.has(cls)
    assert cls.__doc__
