"""Paths of Dyson Brownian motion against closed forms.

Each statistical assertion has a false-alarm rate of at most 1e-7 and there are ten, so all together at most 1e-6.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import dpframe as dp
from dpframe_gaussian import DysonPaths

FALSE_ALARM = 1e-7
SPECTRUM = [60.0, 40.0, 40.0, 25.0, 3.0, 0.0]
DIM, SCALE, STEPS, SEEDS = len(SPECTRUM), 1.5, 4, 1500

Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def noise() -> Floats:
    """N(t) as the decompositions give it back: seeds × times × dim × dim, in units of s."""
    drawn = [DysonPaths(spectrum=SPECTRUM, scale=SCALE, steps=STEPS, seed=seed) for seed in range(SEEDS)]
    values = np.stack([paths.eigenvalues for paths in drawn])
    vectors = np.stack([paths.vectors for paths in drawn])
    rebuilt = (vectors * values[:, :, None, :]) @ vectors.swapaxes(-1, -2)
    found: Floats = (rebuilt - np.diag(SPECTRUM)) / SCALE
    return found


def accepts(samples: Floats, variance: float) -> bool:
    """A two-sided test of the variance of centered normals, by the exact chi-square law."""
    statistic, count = float((samples**2).sum()) / variance, samples.size
    tail = min(stats.chi2.cdf(statistic, count), stats.chi2.sf(statistic, count))
    return bool(2 * tail > FALSE_ALARM)


def upper(matrices: Floats) -> Floats:
    return matrices[..., *np.triu_indices(DIM, 1)]


def test_increments_are_independent_normals_of_the_stated_scale_and_no_other(noise: Floats) -> None:
    increments = np.diff(noise, axis=1) * math.sqrt(STEPS)
    on, off = np.diagonal(increments, axis1=-2, axis2=-1), upper(increments)
    assert accepts(on, 1.0)
    assert accepts(off, 0.5)
    for wrong in (0.95**2, 1.05**2):
        assert not accepts(on, wrong)
        assert not accepts(off, 0.5 * wrong)
    assert stats.kstest(off.ravel() * math.sqrt(2), "norm").pvalue > FALSE_ALARM
    assert stats.kstest(on.ravel() * 1.1, "norm").pvalue < FALSE_ALARM
    # Increments of 21 entries over 4 steps: 84 columns, 3486 correlations, each nearly normal; Bonferroni.
    columns = np.concatenate([on, off], axis=-1).reshape(SEEDS, -1)
    correlations = np.corrcoef(columns, rowvar=False)[np.triu_indices(columns.shape[1], 1)]
    assert np.abs(correlations).max() * math.sqrt(SEEDS) < stats.norm.isf(FALSE_ALARM / (2 * correlations.size))


def test_at_the_last_time_the_noise_is_that_of_the_mechanism(noise: Floats) -> None:
    last = noise[:, -1]
    coordinates = np.concatenate([np.diagonal(last, axis1=-2, axis2=-1), math.sqrt(2) * upper(last)], axis=-1)
    assert accepts(coordinates, 1.0)
    for wrong in (0.95**2, 1.05**2):
        assert not accepts(coordinates, wrong)


def test_the_sum_of_the_eigenvalues_is_a_brownian_motion_about_its_start() -> None:
    """Σγ_i(t) − Σσ_i is normal with mean zero and variance d·t."""
    drawn = [DysonPaths(spectrum=SPECTRUM, scale=SCALE, steps=1, seed=seed) for seed in range(SEEDS)]
    moved = np.array([paths.eigenvalues[-1].sum() for paths in drawn]) - sum(SPECTRUM)
    variance = DIM * SCALE**2
    assert accepts(moved, variance)
    assert not accepts(moved, 1.25 * variance)
    assert abs(moved.mean()) < stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(variance / SEEDS)


def test_two_eigenvalues_repel_as_in_the_plane() -> None:
    """The gap is the length of a Gaussian vector in the plane, (σ_1 − σ_2 + N_11 − N_22, 2N_12): it never vanishes.

    Were eigenvalues to pass through each other, it would be the absolute value of a Gaussian on the line.
    """
    start, scale = 1.0, 2.0
    drawn = [DysonPaths(spectrum=[start, 0.0], scale=scale, steps=1, seed=seed) for seed in range(4000)]
    gaps = np.array([paths.eigenvalues[-1, 0] - paths.eigenvalues[-1, 1] for paths in drawn])
    lengths = gaps**2 / (2 * scale**2)
    assert stats.kstest(lengths, stats.ncx2(2, start**2 / (2 * scale**2)).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(lengths, stats.ncx2(1, start**2 / (2 * scale**2)).cdf).pvalue < FALSE_ALARM
    assert stats.kstest(lengths * 1.15**2, stats.ncx2(2, start**2 / (2 * scale**2)).cdf).pvalue < FALSE_ALARM


def test_tied_eigenvalues_part_at_once_and_stay_apart() -> None:
    paths = DysonPaths(spectrum=[3.0, 3.0, 3.0, 0.0, 0.0], scale=1.0, steps=5000, seed=3)
    assert (np.diff(paths.eigenvalues[1:], axis=1) < 0.0).all()


def test_directions_are_followed_with_their_signs() -> None:
    """Where gaps stay open, each direction is close to its next one on a fine grid, and never turned about."""
    paths = DysonPaths(spectrum=[9.0, 6.0, 3.0, 0.0], scale=0.5, steps=2000, seed=3)
    overlaps = paths.vectors[:-1].transpose(0, 2, 1) @ paths.vectors[1:]
    assert np.allclose(np.eye(4), overlaps, atol=0.05)
    assert np.allclose(np.eye(4), paths.vectors.transpose(0, 2, 1) @ paths.vectors, atol=1e-12)


@pytest.mark.parametrize("target", [[1.0, 1.0], [400.0, 300.0, 100.0]])
def test_errors_follow_the_first_order_formula_along_time(target: list[float]) -> None:
    """E‖·‖² = t·S1 within 2 % for gaps of 20 s√d, beyond what the simulation is unsure of."""
    spectrum = np.array([400.0, 300.0, 200.0, 50.0, 0.0])
    ahead = np.zeros(5)
    ahead[: len(target)] = target
    rise, gap = (np.subtract.outer(values, values)[np.triu_indices(5, 1)] for values in (ahead, spectrum))
    slope = float(((rise / gap) ** 2).sum())
    drawn = [DysonPaths(spectrum=spectrum, scale=1.0, steps=4, seed=seed) for seed in range(3000)]
    squares = np.stack([paths.errors(target) for paths in drawn]) ** 2
    ratios = squares[:, 1:] / (drawn[0].times[1:] * slope)
    unsure = stats.norm.isf(FALSE_ALARM / 8) * ratios.std(axis=0) / math.sqrt(len(drawn))
    assert (np.abs(ratios.mean(axis=0) - 1.0) < 0.02 + unsure).all()
    assert (np.abs(1.2**2 * ratios.mean(axis=0) - 1.0) > 0.02 + unsure).all()  # noise 20 % too large is seen
    assert 0.0 == squares[:, 0].max()


def test_errors_do_not_depend_on_signs_and_vanish_for_the_identity() -> None:
    paths = DysonPaths(spectrum=[5.0, 2.0, 1.0], scale=3.0, steps=50, seed=0)
    leading = paths.vectors[:, :, 0]
    assert np.allclose(np.sqrt(2 - 2 * leading[:, 0] ** 2), paths.errors([1.0]))
    assert np.allclose(0.0, paths.errors([1.0, 1.0, 1.0]))
    assert np.allclose(paths.errors([1.0, 1.0]), paths.errors([1.0, 1.0, 0.0]))


def test_what_cannot_be_is_refused_in_words() -> None:
    good = {"spectrum": [2.0, 1.0], "scale": 1.0, "steps": 10, "seed": 0}
    for name, value, message in (
        ("scale", 0.0, r"DysonPaths.scale must be a finite number above 0; got 0.0"),
        ("steps", 0, r"DysonPaths.steps must be a positive integer; got 0"),
        ("seed", -1, r"DysonPaths.seed must be an integer of at least 0; got -1"),
        ("spectrum", [1.0, 2.0], "a spectrum must have no negative values, sorted from the largest"),
        ("spectrum", [1.0, -2.0], "a spectrum must have no negative values"),
        ("spectrum", [], "a spectrum must have one row of numbers"),
    ):
        with pytest.raises(dp.PlanError, match=message):
            DysonPaths(**(good | {name: value}))  # type: ignore[arg-type]
    with pytest.raises(dp.PlanError, match="the target has 3 values, but the spectrum has 2; give at most as many"):
        DysonPaths(**good).errors([1.0, 1.0, 1.0])  # type: ignore[arg-type]
