"""Correction for noise: closed forms, and less error on simulated matrices."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe_adaptive.denoise import Denoise, corrected
from dpframe_adaptive.shrinkage import positive_with_trace, rotation_invariant, toward_diagonal

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def symmetric_noise(random: np.random.Generator, dim: int, deviation: float) -> Array:
    """Deviation off the diagonal, √2 times that on it."""
    square = random.standard_normal((dim, dim)) * deviation / math.sqrt(2)
    return np.asarray(square + square.T)


@pytest.mark.parametrize("correct", [rotation_invariant, toward_diagonal])
def test_without_noise_a_covariance_is_unchanged(correct: Callable[[Array, float], Array]) -> None:
    matrix = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.2], [0.1, -0.2, 0.5]])
    np.testing.assert_allclose(correct(matrix, 0.0), matrix, rtol=1e-12)


def test_the_correction_of_two_eigenvalues() -> None:
    """λ ∓ 2τ²·δ/(δ² + τ²) for a distance δ, by hand."""
    apart, deviation = 4.0, 1.0
    pushed = 2 * deviation**2 * apart / (apart**2 + deviation**2)
    found = rotation_invariant(np.diag([5.0, 1.0]), deviation)
    np.testing.assert_allclose(found, np.diag([5.0 - pushed, 1.0 + pushed]), rtol=1e-12)


def test_eigenvectors_stay_and_no_eigenvalue_is_negative() -> None:
    random = np.random.default_rng(1)
    matrix = np.diag(np.arange(10.0)) + symmetric_noise(random, 10, 0.7)
    found = rotation_invariant(matrix, 0.7)
    np.testing.assert_allclose(matrix @ found, found @ matrix, atol=1e-9)
    assert np.linalg.eigvalsh(found).min() > -1e-12


def test_trace_and_sign_by_hand() -> None:
    """Eigenvalues 3, 1, -1 with sum 3: the simplex of sum 3 has 2.5, 0.5, 0 nearest to them."""
    np.testing.assert_allclose(np.diag(positive_with_trace(np.diag([3.0, 1.0, -1.0]))), [2.5, 0.5, 0.0], rtol=1e-12)
    np.testing.assert_array_equal(positive_with_trace(np.diag([1.0, -2.0])), np.zeros((2, 2)))


def test_correlations_of_noise_alone_come_out_small() -> None:
    """Without signal the true correlations are 0; uncorrected ones have a root mean square of at least 0.3 here."""
    random = np.random.default_rng(2)
    raw: list[float] = []
    shrunk: list[float] = []
    for _ in range(50):
        matrix = np.eye(8) + symmetric_noise(random, 8, 0.5)
        for errors, found in ((raw, matrix), (shrunk, toward_diagonal(matrix, 0.5))):
            deviations = np.sqrt(np.maximum(np.diag(found), 0.3))
            errors.append(np.mean((found / np.outer(deviations, deviations))[np.triu_indices(8, 1)] ** 2))
    assert math.sqrt(np.mean(raw)) > 0.3
    assert math.sqrt(np.mean(shrunk)) < 0.15


@pytest.mark.parametrize("deviation", [0.05, 0.3])
def test_less_error_in_frobenius_norm_on_average(deviation: float) -> None:
    """Of 40 draws each; the gain is far above its uncertainty, and vanishes with a deviation that is 5 times wrong."""
    random = np.random.default_rng(3)
    truth = np.diag(2.0 ** -np.arange(30.0))
    raw, corrected, wrong = [], [], []
    for _ in range(40):
        noisy = truth + symmetric_noise(random, 30, deviation)
        raw.append(np.linalg.norm(noisy - truth))
        corrected.append(np.linalg.norm(rotation_invariant(noisy, deviation) - truth))
        wrong.append(np.linalg.norm(rotation_invariant(noisy, deviation / 5) - truth))
    assert np.mean(corrected) < 0.6 * np.mean(raw)
    assert np.mean(wrong) > 1.2 * np.mean(corrected)


@pytest.mark.parametrize("goal", ["covariance", "eigenvalues", "correlation"])
@pytest.mark.parametrize("unit", [1e-160, 1.0, 1e150])
def test_any_unit(goal: str, unit: float) -> None:
    """Squares of such entries are no doubles."""
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    found = corrected(unit * matrix, goal, 0.1 * unit)
    np.testing.assert_allclose(found / unit, corrected(matrix, goal, 0.1), rtol=1e-9)
    np.testing.assert_array_equal(corrected(0 * matrix, goal, 0.1), 0 * matrix)


def test_unknown_noise_is_told() -> None:
    unknown = Denoise(of=dp.Covariance(np.eye(2)))
    assert "not known" in unknown.choice()
    known = Denoise(of=dp.Covariance(np.eye(2)), of_noise={"off-diagonal": 0.1})
    assert "" == known.choice()
