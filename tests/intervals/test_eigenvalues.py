"""Eigenvalues and their shares of the trace: coverage for spectra that are apart, near and equal, and widths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpframe.intervals.eigenvalues import SpectrumLaw
from dpframe.intervals.matrix import MatrixLaw
from dpframe.intervals.ordered import OrderedLaw
from tests.support.noisy import coverage, rotated, symmetric_noise

SPECTRA = {
    "apart": np.array([100.0, 60.0, 30.0, 15.0, 5.0]),
    "in pairs": np.array([100.0, 99.5, 30.0, 29.0, 5.0]),
    "equal": np.full(5, 50.0),
    "near": np.array([12.0, 10.0, 8.0, 6.0, 4.0]),
    "spiked": np.concatenate([[100.0, 50.0], np.full(10, 5.0)]),
    "falling": 100.0 / np.arange(1, 13),
}


@pytest.mark.parametrize("deviation", [1.0, 4.0])
@pytest.mark.parametrize("of_trace", [False, True])
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_eigenvalues_are_covered(spectrum: str, of_trace: bool, deviation: float) -> None:
    values = SPECTRA[spectrum]
    exact = rotated(np.random.default_rng(0), values)

    def draw(random: np.random.Generator) -> SpectrumLaw:
        noisy = exact + symmetric_noise(random, len(values), deviation)
        law = MatrixLaw.of_noise(noisy, deviation, deviation * math.sqrt(0.5))
        return SpectrumLaw(of=law, of_trace=of_trace)

    share = coverage(draw, values / values.sum() if of_trace else values, releases=200)
    assert share.mean() > 0.93
    assert share.min() > 0.85


def test_without_the_correction_they_would_not_be_covered() -> None:
    """Planted: intervals about the noisy eigenvalues themselves."""
    values = SPECTRA["equal"]
    random, inside = np.random.default_rng(0), []
    for _ in range(200):
        noisy = np.sort(np.linalg.eigvalsh(np.diag(values) + symmetric_noise(random, 5)))[::-1]
        inside.append(np.abs(noisy - values) < 1.96)
    assert np.mean(inside, axis=0).min() < 0.5


def test_intervals_are_as_wide_as_the_noise_where_eigenvalues_are_apart() -> None:
    values = SPECTRA["apart"] * 10
    law = MatrixLaw.of_noise(np.diag(values), 1.0, math.sqrt(0.5))
    found = SpectrumLaw(of=law, k=3).interval(0.95)
    assert found.low.shape == (3,)
    assert found.high - found.low == pytest.approx(2 * 1.96, rel=0.02)
    assert SpectrumLaw(of=law).standard_error() == pytest.approx(1.0, rel=0.02)


def test_sorted_numbers_are_covered() -> None:
    """Laplace noise of deviation 1 on numbers that are far apart, and on equal ones."""
    values = np.array([40.0, 20.0, 3.0, 3.0, 3.0])

    def draw(random: np.random.Generator) -> OrderedLaw:
        noisy = np.maximum(values + random.laplace(0.0, math.sqrt(0.5), 5), 0.0)
        return OrderedLaw(center=np.sort(noisy)[::-1], deviation=1.0, shape=1.0)

    share = coverage(draw, values)
    assert (share > 0.92).all()
    assert (share[:2] < 0.99).all()
