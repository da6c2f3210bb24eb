"""Rounding to the public grid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_orbit import grid

FALSE_ALARM = 1e-6


def random_of(seed: int) -> dp.Random:
    return seeded(seed)


def test_rounding_is_to_a_neighbor_and_right_in_the_mean() -> None:
    value, count = 0.3 * 2.0**-8, 20_000
    found = grid.rounded(np.full(count, value), 8, random_of(1)) * 2.0**8
    assert {0.0, 1.0} == set(found.tolist())
    assert stats.binomtest(int(found.sum()), count, 0.3).pvalue > FALSE_ALARM
    assert stats.binomtest(int(found.sum()), count, 0.33).pvalue < FALSE_ALARM


@pytest.mark.parametrize("value", [0.0, 0.5, 0.123, -3.25])  # also where rounding to the nearest has a boundary
def test_an_error_shows_as_often_as_its_share_of_the_spacing_whatever_the_value(value: float) -> None:
    error, count = 0.02, 20_000
    exact, computed = (grid.rounded(np.full(count, x * 2.0**-8), 8, random_of(2)) for x in (value, value + error))
    differ = int((exact != computed).sum())
    assert stats.binomtest(differ, count, error).pvalue > FALSE_ALARM
    assert stats.binomtest(differ, count, 2 * error).pvalue < FALSE_ALARM


def test_matrices_stay_symmetric_and_hermitian() -> None:
    rng = np.random.default_rng(0)
    raw = rng.standard_normal((5, 5)) + 1j * rng.standard_normal((5, 5))
    matrix = np.asarray((raw + raw.conj().T) / 2, dtype=np.complex128)
    real = grid.rounded_symmetric(matrix.real, 10, random_of(1))
    assert np.array_equal(real, real.T)
    assert np.abs(real - matrix.real).max() <= 2.0**-10
    hermitian = grid.rounded_hermitian(matrix, 10, random_of(1))
    assert np.array_equal(hermitian, hermitian.conj().T)
    assert np.abs((hermitian - matrix).imag).max() <= 2.0**-10


def test_the_law_error_is_what_the_argument_gives() -> None:
    assert 210 * 2.0**-34 == grid.law_error(210, 16, 16)
    assert 4 * grid.law_error(50, 10, 16) == grid.law_error(50, 10, 18)
    assert 1.0 == grid.law_error(10**9, 10, 28)


@pytest.mark.parametrize(("dim", "measured"), [(6, 0.5), (60, 1.2), (150, 3.2)])
def test_the_error_of_a_number_grows_with_the_dimension_faster_than_was_measured(dim: int, measured: float) -> None:
    """Mean errors against 50 digits, in units of 2⁻⁵⁰."""
    assert 2 * measured * 2.0**-50 <= grid.error(dim)
