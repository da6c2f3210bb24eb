"""Quantiles of noise, against closed forms and against draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpframe.intervals.tails import largest_eigenvalue, quantile
from tests.support.noisy import symmetric_noise


@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975, 0.9995])
def test_laplace_has_its_closed_form(probability: float) -> None:
    assert quantile(probability, 1.0) == pytest.approx(-math.log(2 * (1 - probability)) / math.sqrt(2), rel=2e-4)


def test_many_laplace_variables_are_normal() -> None:
    assert quantile(0.975, 2000.0) == pytest.approx(quantile(0.975), rel=1e-3)
    assert quantile(0.025, 3.0) == -quantile(0.975, 3.0)


@pytest.mark.parametrize("shape", [0.5, 1.5, 4.0])
def test_quantiles_are_those_of_draws(shape: float) -> None:
    """2·10⁵ draws: five deviations of the share are a false alarm rate below 1e-6, and 5 % of the scale is found."""
    random, size = np.random.default_rng(0), 200_000
    draws = (random.standard_gamma(shape, size) - random.standard_gamma(shape, size)) / math.sqrt(2 * shape)
    found = float((np.abs(draws) <= quantile(0.975, shape)).mean())
    allowed = 5 * math.sqrt(0.95 * 0.05 / size)
    assert abs(found - 0.95) < allowed
    assert abs(float((np.abs(draws) <= 1.05 * quantile(0.975, shape)).mean()) - 0.95) > allowed


@pytest.mark.parametrize("size", [1, 2, 5, 20])
def test_the_largest_eigenvalue_is_rarely_above_its_quantile(size: int) -> None:
    random, releases = np.random.default_rng(1), 4000
    largest = [np.linalg.eigvalsh(symmetric_noise(random, size))[-1] for _ in range(releases)]
    share = float(np.mean(np.array(largest) <= largest_eigenvalue(size, 0.975)))
    assert 0.975 - 5 * math.sqrt(0.975 * 0.025 / releases) < share < 0.99


@pytest.mark.parametrize("size", [3, 9, 20])
def test_matrix_laplace_noise_reaches_farther(size: int) -> None:
    """2000 draws of a difference of Wishart matrices; the quantile of normal noise would be exceeded too often."""
    random, releases = np.random.default_rng(2), 2000
    halves = random.standard_normal((2, releases, size + 1, size))
    squares = np.swapaxes(halves, 2, 3) @ halves
    largest = np.linalg.eigvalsh((squares[0] - squares[1]) / math.sqrt(4 * (size + 1)))[:, -1]
    share = float(np.mean(largest <= largest_eigenvalue(size, 0.975, (size + 1) / 2)))
    assert 0.975 - 5 * math.sqrt(0.975 * 0.025 / releases) < share < 0.995
    assert float(np.mean(largest <= largest_eigenvalue(size, 0.975))) < share
