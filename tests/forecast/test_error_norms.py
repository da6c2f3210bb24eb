"""Errors in terms of matrices, and quantiles with an interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

import dpframe.plugin as dp
from dpframe.forecast import error_norms

MOMENT = np.diag([5.0, 3.0, 1.0])


def test_subspaces_at_a_known_angle() -> None:
    angle = math.radians(20)
    turned = np.array([[math.cos(angle), 0.0], [0.0, 1.0], [math.sin(angle), 0.0]])
    found = error_norms.measured(dp.Subspace(turned), dp.Subspace(np.eye(3)[:, :2]), MOMENT)
    assert math.sqrt(2) * math.sin(angle) == pytest.approx(found[error_norms.PROJECTORS])
    assert math.sin(angle) == pytest.approx(found[error_norms.SPECTRAL_PROJECTORS])
    assert 20.0 == pytest.approx(found[error_norms.ANGLE])
    captured = 5 * math.cos(angle) ** 2 + 3 + math.sin(angle) ** 2
    assert captured / 8 == pytest.approx(found[error_norms.CAPTURED])


def test_projectors_are_compared_whatever_the_basis() -> None:
    generator = np.random.default_rng(1)
    one, other = (np.linalg.qr(generator.standard_normal((6, 3)))[0] for _ in range(2))
    difference = one @ one.T - other @ other.T
    found = error_norms.measured(dp.Subspace(one), dp.Subspace(other), np.eye(6))
    assert np.linalg.norm(difference) == pytest.approx(found[error_norms.PROJECTORS])
    assert np.linalg.norm(difference, 2) == pytest.approx(found[error_norms.SPECTRAL_PROJECTORS])
    turned = dp.Subspace(one @ np.linalg.qr(generator.standard_normal((3, 3)))[0])
    assert found == pytest.approx(error_norms.measured(turned, dp.Subspace(other), np.eye(6)))


def test_matrices_and_spectra() -> None:
    found = error_norms.measured(
        dp.SymmetricMatrix(np.diag([3.0, 4.0])), dp.SymmetricMatrix(np.zeros((2, 2))), np.eye(2)
    )
    assert {error_norms.FROBENIUS: 5.0, error_norms.SPECTRAL: 4.0} == found
    assert {error_norms.FROBENIUS: 5.0} == error_norms.measured(
        dp.Spectrum([4.0, 3.0]), dp.Spectrum([0.0, 0.0]), np.eye(2)
    )


@pytest.mark.parametrize("norm", [error_norms.FROBENIUS, error_norms.CAPTURED])
@pytest.mark.parametrize("share", [0.5, 0.95])
def test_the_interval_covers_the_quantile_as_often_as_it_says(norm: str, share: float) -> None:
    """False alarm 2.5e-7 for each of four; intervals of half the confidence must be caught."""
    level = 1 - share if error_norms.larger_is_better(norm) else share
    exact, repeats = -math.log1p(-level), 2000
    samples = np.random.default_rng(3).standard_exponential((repeats, 200))

    def missed(confidence: float) -> int:
        found = [error_norms.interval(sample, share, norm, confidence) for sample in samples]
        return sum(not low <= exact <= high for low, high in found)

    most = binom.ppf(1 - 2.5e-7, repeats, 0.01)
    assert missed(0.99) <= most
    assert missed(0.7) > most


def test_a_quantile_beyond_all_samples_has_no_upper_end() -> None:
    low, high = error_norms.interval(np.arange(10.0), 0.99, error_norms.FROBENIUS, 0.99)
    assert math.isinf(high)
    assert 0.0 < low < 9.0
