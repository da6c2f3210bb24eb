"""Gaussian noise on Hermitian moments of complex rows: its law, its price, forecasts, and audits that find mistakes."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_gaussian import SymmetricGaussian
from dpframe_gaussian.first_order import forecast
from dpframe_gaussian.mechanism import add_symmetric
from dpframe_gaussian.noise import Noise
from dpframe_gaussian.target import Target

RELATIONS = ("add-remove", "replace")
FALSE_ALARM = 1e-6
ROOT_HALF = math.sqrt(0.5)
Complex = NDArray[np.complex128]


def promise(dim: int, relation: str = "add-remove", norm: float = 1.0, **others: Any) -> dp.Rows:
    return dp.Rows(norm=norm, neighbors=relation, dim=dim, complex=True, **others)


def data_of(parts: Any, rows: dp.Rows) -> dp.PrivateData:
    return dp.PrivateData(rows, statistics={dp.Moment(): {"moment": parts}})


def noise_alone(dim: int, seed: int, *, level: float = 0.25, rows: dp.Rows | None = None) -> Complex:
    """A release on no rows, in units of Δ/level."""
    rows = rows or promise(dim)
    released = SymmetricGaussian().release(data_of(np.zeros((2, dim, dim), dtype=np.int64), rows), level, seeded(seed))
    sensitivity = math.sqrt(dp.Moment().sensitivity(rows)["moment"].l2_squared) * rows.step**2
    found: Complex = np.asarray(released.array, dtype=np.complex128) * (level / sensitivity)
    return found


def accepts(samples: NDArray[np.float64], deviation: float) -> bool:
    """A two-sided test of the variance of centered normals at false-alarm rate 1e-6 (exact chi-square law)."""
    statistic, count = float((samples**2).sum()) / deviation**2, samples.size
    tail = min(stats.chi2.cdf(statistic, count), stats.chi2.sf(statistic, count))
    return bool(2 * tail > FALSE_ALARM)


@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_is_that_of_the_unitary_ensemble_and_of_no_other_scale(relation: str) -> None:
    # 40 matrices of 100 × 100: 4,000 numbers on the diagonal and 198,000 of each part off it; 1e-6 for each test.
    draws = [noise_alone(100, seed, rows=promise(100, relation, 3.0)) for seed in range(40)]
    upper = np.triu_indices(100, 1)
    on = np.concatenate([np.diag(draw).real for draw in draws])
    parts = [np.concatenate([part(draw)[upper] for draw in draws]) for part in (np.real, np.imag)]
    assert accepts(on, 1.0)
    for wrong in (0.85, 1.15):
        assert not accepts(on, wrong)
    for part in parts:
        assert accepts(part, ROOT_HALF)
        for wrong in (0.95, 1.05, math.sqrt(2), ROOT_HALF):
            assert not accepts(part, wrong * ROOT_HALF)
        assert stats.kstest(part / ROOT_HALF, "norm").pvalue > FALSE_ALARM
        assert stats.kstest(1.05 * part / ROOT_HALF, "norm").pvalue < FALSE_ALARM
    assert abs(np.corrcoef(parts[0], parts[1])[0, 1]) * math.sqrt(len(parts[0])) < stats.norm.isf(FALSE_ALARM / 2)
    assert all(np.array_equal(draw, draw.conj().T) for draw in draws)
    assert all((np.diag(draw).imag == 0.0).all() for draw in draws)


def test_noise_looks_the_same_in_every_unitary_basis() -> None:
    # Along any unit Hermitian direction it is N(0, s²): that is the whole privacy argument.
    random = np.random.default_rng(0)
    vectors = random.standard_normal((3, 12)) + 1j * random.standard_normal((3, 12))
    directions: list[Complex] = [np.outer(x, x.conj()) for x in vectors]
    swap = np.outer(*np.eye(12)[:2])
    directions += [swap + swap.T, 1j * swap - 1j * swap.T, directions[0] - directions[1]]
    draws = np.stack([noise_alone(12, seed) for seed in range(1500)])
    for direction in directions:
        samples = np.tensordot(draws, (direction / np.linalg.norm(direction)).conj(), axes=2)
        assert np.abs(samples.imag).max() < 1e-9 * np.abs(samples.real).max()
        assert accepts(samples.real, 1.0)
        assert not accepts(samples.real, 1.15)


def test_all_entries_are_independent() -> None:
    draws = np.stack([noise_alone(4, seed) for seed in range(4000)])
    upper = np.triu_indices(4, 1)
    numbers = np.hstack(
        [np.diagonal(draws, axis1=1, axis2=2).real, *((p(draws)[:, *upper]) for p in (np.real, np.imag))]
    )
    assert (4000, 16) == numbers.shape
    correlations = np.corrcoef(numbers, rowvar=False)[np.triu_indices(16, 1)]
    assert np.abs(correlations).max() * math.sqrt(4000) < stats.norm.isf(FALSE_ALARM / 240)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize("dim", [1, 4])
def test_worst_neighbors_are_exactly_mu_apart(relation: str, contributions: int, dim: int) -> None:
    """In the deviations of the noise, the shift between the worst neighbors has the length mu."""
    norm, level = float(dp.lattice.inner_radius(2 * dim)), 0.4  # lattice step one
    rows = promise(dim, relation, norm, contributions=contributions)
    one, other = np.zeros((2, contributions, dim), dtype=np.complex128)
    one[:] = 2.0**15 * np.array([1, 1j, -1, -1j]) if dim > 1 else 2.0**16 * 1j
    if relation == "replace" and dim > 1:
        other[:] = 2.0**15 * np.array([1, -1j, -1, 1j])
    changed = other[:0] if relation == "add-remove" else other
    first, second = (dp.Moment().partial(dp.Chunk(rows, each))["moment"].astype(float) for each in (one, changed))
    diagonal, off = SymmetricGaussian()._lattice_scales(rows, level)
    difference = first - second
    upper = np.triu_indices(dim, 1)
    in_deviations = [np.diag(difference[0]) / diagonal, *(part[upper] / off for part in difference)]
    assert level == pytest.approx(np.linalg.norm(np.concatenate(in_deviations)), rel=1e-12)


def test_the_density_is_that_of_the_noise() -> None:
    rows, mechanism = promise(2, "replace", 2.0), SymmetricGaussian()
    parts = np.array([[[2**33, 2**31], [2**31, 2**30]], [[0, 2**29], [-(2**29), 0]]])
    data = data_of(parts, rows)
    center = dp.Moment.value(parts, rows).array
    scale = mechanism.noise(rows, 0.7)
    on, real, imaginary = 3 * scale["diagonal"], 2 * scale["off-diagonal"], 1.5 * scale["off-diagonal"]
    moved = center + np.array([[on, real + 1j * imaginary], [real - 1j * imaginary, 0.0]])
    at_center, away = (mechanism.log_density(dp.HermitianMatrix(value), data, 0.7) for value in (center, moved))
    assert -(3**2 + 2**2 + 1.5**2) / 2 == pytest.approx(away - at_center)


def test_the_release_is_the_moment_plus_noise_in_the_units_of_the_rows() -> None:
    random = np.random.default_rng(3)
    values = random.standard_normal((5000, 8)).view(np.complex128)
    values *= 10.0 / np.linalg.norm(values, axis=1, keepdims=True) * random.uniform(0, 1, (5000, 1))
    rows = dp.Rows(norm=10.0, neighbors="replace", complex=True)
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("m", "gaussian")])
    noise = plan.explain(dim=4).statement.line("m").noise
    assert math.sqrt(2) * 100 * 4.224679 == pytest.approx(noise["diagonal"], rel=1e-4)
    error = plan.run(values, insecure_seed=0)["m"] - np.einsum("ni,nj->ij", values, values.conj())
    for part in (error.real, error.imag):
        assert 0.5 * noise["off-diagonal"] < np.abs(part).max() < 6 * noise["diagonal"]


def test_moments_beyond_64_bits_are_released() -> None:
    parts = np.array([[[2**70, 3], [3, 2**70]], [[0, 2**69], [-(2**69), 0]]], dtype=object)
    released = SymmetricGaussian().release(data_of(parts, promise(2)), 0.5, seeded(1)).array / promise(2).step ** 2
    assert np.abs(released - dp.hermitian.as_complex(parts.astype(float))).max() < 2.0**40


@pytest.mark.parametrize("derived", ["top-subspace", "rank-k"])
def test_the_first_order_forecast_is_that_of_complex_noise(derived: str) -> None:
    """Root mean squares of 1,500 simulated errors: within 5 % of the forecast, which real noise of the scale is not."""
    spectrum, k, scale = np.array([900.0, 500.0, 200.0, 100.0, 50.0]), 2, 1.0
    random = np.random.default_rng(5)
    noise = Noise(scale, scale * ROOT_HALF, complex=True)
    target = (Target.subspace if derived == "top-subspace" else Target.rank_k)(spectrum, k)
    squares = []
    for _ in range(1500):
        raw = (random.standard_normal((5, 5)) + 1j * random.standard_normal((5, 5))) * (scale / 2)
        matrix = dp.HermitianMatrix(np.diag(spectrum) + raw + raw.conj().T)
        if derived == "top-subspace":
            basis = dp.postprocess.TopSubspace(of=matrix, k=k).apply().array
            error = basis @ basis.conj().T - np.diag(np.arange(5) < k)
        else:
            error = dp.postprocess.RankK(of=matrix, k=k).apply().array - np.diag(
                np.where(np.arange(5) < k, spectrum, 0)
            )
        squares.append(np.linalg.norm(error) ** 2)
    simulated = math.sqrt(np.mean(squares))
    assert simulated == pytest.approx(forecast(target, noise), rel=0.05)
    assert simulated > 1.2 * forecast(target, attrs.evolve(noise, complex=False))


def test_plans_state_of_complex_rows_the_bounds_that_are_derived_for_them() -> None:
    steps = [dp.release("m", "gaussian"), dp.derive("c", "top-subspace", of="m", k=1)]
    rows = dp.Rows(norm=1.0, neighbors="add-remove", complex=True)
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps)
    explanation = plan.explain(dim=3, spectrum=[5000.0, 1000.0, 500.0])
    (whole,), (components, *proved) = explanation.bounds("m"), explanation.bounds("c")
    assert "forecast" == whole.kind == components.kind
    assert {"k-th gap", "k-th gap, 95% sure", "any gap, inner product"} == {bound.name for bound in proved}
    scale = explanation.statement.line("m").noise["diagonal"]
    assert whole.value == pytest.approx(3 * scale)  # √(d² s²)
    assert components.value == pytest.approx(scale * math.sqrt(2 * (4000.0**-2 + 4500.0**-2)))


# -- audits find what is wrong -----------------------------------------------------------------------------------------


class RealNoise(SymmetricGaussian):
    """A planted mistake: the imaginary part has no noise."""

    name = "test-real-noise"

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noisy = data.moment.copy()
        diagonal, off_diagonal = self._lattice_scales(data.rows, level)
        noisy[0][np.diag_indices_from(noisy[0])] += random.gaussian(diagonal, noisy.shape[1])
        add_symmetric(noisy[0], partial(random.gaussian, off_diagonal))
        return dp.Moment.value(noisy, data.rows)

    def log_density(self, value: dp.Kind, data: dp.PrivateData, level: float) -> None:  # type: ignore[override]
        return None


class HalfNoise(SymmetricGaussian):
    """A planted mistake: half of the noise."""

    name = "test-half-noise"

    def _lattice_scales(self, rows: dp.Rows, level: float) -> tuple[float, float]:
        diagonal, off_diagonal = super()._lattice_scales(rows, level)
        return diagonal / 2, off_diagonal / 2


@pytest.mark.parametrize("relation", RELATIONS)
def test_an_audit_finds_missing_noise_and_none_where_it_is_right(relation: str) -> None:
    for mechanism, wrong in ((SymmetricGaussian(), False), (RealNoise(), True), (HalfNoise(), True)):
        rows = promise(2, relation)
        audit = dp.audit(mechanism, rows=rows, epsilon=2.0, delta=1e-2, trials=2000, false_alarm=1e-6, insecure_seed=5)
        assert wrong is audit.violated, (mechanism.name, str(audit))
