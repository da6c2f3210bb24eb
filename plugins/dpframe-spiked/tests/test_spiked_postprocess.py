"""Covariances, eigenvalues and ranks from released values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe_spiked import EigenRatioRank, EigenvalueShrinkage, SpikedCovariance
from dpframe_spiked.covariance import population_eigenvalues

BASIS = np.linalg.qr(np.random.default_rng(2).standard_normal((9, 2)))[0]
COVARIANCE = BASIS @ np.diag([8.0, 5.0]) @ BASIS.T + 0.5 * np.eye(9)
COVARIANCE = (COVARIANCE + COVARIANCE.T) / 2


@pytest.mark.parametrize("noise", [None, 0.5])
def test_a_spiked_covariance_comes_back(noise: float | None) -> None:
    found = SpikedCovariance(of=100 * COVARIANCE, rank=2, n=100, noise=noise).apply()
    np.testing.assert_allclose(found.array, COVARIANCE, atol=1e-12)


def test_noise_cannot_make_a_covariance_negative() -> None:
    found = SpikedCovariance(of=-COVARIANCE, rank=2, n=1).apply().array
    assert 0.0 <= float(np.linalg.eigvalsh(found)[0])
    given = SpikedCovariance(of=-COVARIANCE, rank=2, n=1, noise=0.25).apply().array
    np.testing.assert_allclose(given, 0.25 * np.eye(9), atol=1e-12)


@pytest.mark.parametrize("ratio", [0.1, 0.5, 2.0])
def test_shrinkage_inverts_what_the_sample_adds(ratio: float) -> None:
    population = np.array([40.0, 12.0, 1.2 + math.sqrt(ratio)])
    sample = population * (1 + ratio / (population - 1))
    np.testing.assert_allclose(population_eigenvalues(sample, ratio), population, rtol=1e-9)
    assert [1.0, 1.0] == population_eigenvalues(np.array([(1 + math.sqrt(ratio)) ** 2, 0.1]), ratio).tolist()


@pytest.mark.parametrize(("values", "noise"), [([1e300, 3e160, 0.0], 1.0), ([7.0, 5e-324], 1e-300), ([2.0], 1e300)])
def test_shrinkage_of_any_released_value_is_finite(values: list[float], noise: float) -> None:
    """What is paid for must not be lost to an overflow; far above the edge nothing is taken away."""
    found = EigenvalueShrinkage(of=values, n=10, dim=5, noise=noise).apply().array
    assert [max(value / 10, noise) for value in values] == pytest.approx(found.tolist(), rel=1e-9)


def test_shrinkage_on_data() -> None:
    """One sample of 2000 rows in 400 coordinates: eigenvalue 6 shows as 6·(1 + 0.2/5), give or take 3 per cent."""
    rng = np.random.default_rng(7)
    values = rng.standard_normal((2000, 400))
    values[:, 0] *= math.sqrt(6.0)
    spectrum = np.linalg.eigvalsh(values.T @ values)[::-1]
    found = EigenvalueShrinkage(of=dp.Spectrum.from_noisy(spectrum), n=2000, dim=400, noise=1.0).apply().array
    assert 6.0 == pytest.approx(float(found[0]), rel=0.1)
    assert 6.0 * (1 + 0.2 / 5) == pytest.approx(float(spectrum[0]) / 2000, rel=0.1)
    assert float(found[0]) < float(spectrum[0]) / 2000
    assert [1.0] * 300 == found[100:].tolist()


@pytest.mark.parametrize(
    ("values", "largest", "rank"),
    [([9.0, 8.0, 1.0, 0.9], None, 2), ([9.0, 1.0, 0.1], 1, 1), ([5.0, 4.0, 0.0, 0.0], None, 2), ([0.0, 0.0], None, 1)],
)
def test_the_rank_is_where_eigenvalues_fall(values: list[float], largest: int | None, rank: int) -> None:
    assert float(rank) == float(EigenRatioRank(of=values, largest=largest).apply().array)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda: dp.derive("c", "spiked-covariance", of="m", rank=5, n=10), "a rank below half of the 9 coordinates"),
        (lambda: dp.derive("c", "spiked-covariance", of="m", rank=0, n=10), "positive integer"),
        (lambda: dp.derive("c", "spiked-covariance", of="m", rank=1, n=0), "positive integer"),
        (lambda: dp.derive("c", "spiked-covariance", of="m", rank=1, n=9, noise=0.0), "above 0"),
        (lambda: dp.derive("c", "spiked-covariance", of="m", rank=1), "needs the parameter 'n'"),
        (lambda: dp.derive("c", "eigenvalue-shrinkage", of="s", n=10, dim=9, noise=-1.0), "above 0"),
        (lambda: dp.derive("c", "eigenvalue-shrinkage", of="s", n=10, dim=8, noise=1.0), "has dim=8"),
        (lambda: dp.derive("c", "eigen-ratio-rank", of="s", largest=9), "needs more eigenvalues"),
    ],
)
def test_bad_input_is_refused(step: Any, words: str) -> None:
    with pytest.raises(dp.PlanError, match=words):
        dp.Plan(
            rows=dp.Rows(norm=1.0, neighbors="replace", dim=9),
            budget=dp.Budget(epsilon=1.0, delta=1e-6),
            steps=[dp.release("m", "gaussian"), dp.derive("s", "eigenvalues", of="m"), step()],
        )
