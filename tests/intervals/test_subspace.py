"""Principal components and low-rank parts: coverage of loadings, angles and entries, and what is not determined."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest

from dpframe.intervals.low_rank import LowRankLaw
from dpframe.intervals.matrix import MatrixLaw
from dpframe.intervals.subspace import SubspaceLaw
from dpframe.lattice import FloatArray
from tests.support.noisy import covered, rotated, symmetric_noise

SPECTRA = {
    "apart": [100.0, 60.0, 30.0, 15.0, 5.0],
    "spiked": [40.0, 30.0, 20.0, *[2.0] * 17],
    "in pairs": [100.0, 99.5, 30.0, 29.0, 5.0],
    "falling": [100.0 / (1 + at) for at in range(15)],
}
RELEASES = 120


def directions(matrix: FloatArray, k: int) -> FloatArray:
    return np.linalg.eigh(matrix)[1][:, ::-1][:, :k]


def angle(one: FloatArray, other: FloatArray) -> float:
    return math.degrees(math.acos(min(float(np.linalg.svd(one.T @ other)[1].min()), 1.0)))


@pytest.mark.parametrize("deviation", [1.0, 3.0])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_loadings_and_angles_are_covered(spectrum: str, k: int, deviation: float) -> None:
    """What is not determined counts as covered. 120 releases: an angle limit of 95 % fails 18 times with p < 1e-5."""
    exact = rotated(np.random.default_rng(1), SPECTRA[spectrum])
    truth, random = directions(exact, k), np.random.default_rng(2)
    loadings, angles = [], []
    for _ in range(RELEASES):
        noisy = exact + symmetric_noise(random, len(exact), deviation)
        basis = directions(noisy, k)
        law = SubspaceLaw(of=MatrixLaw.of_noise(noisy, deviation, deviation * math.sqrt(0.5)), basis=basis)
        found = law.interval(0.95)
        turned = truth * np.where(np.einsum("ij,ij->j", truth, basis) < 0.0, -1.0, 1.0)
        loadings.append(covered(found, turned).mean())
        assert found.angle_degrees is not None
        angles.append(angle(truth, basis) <= found.angle_degrees)
    assert np.mean(loadings) > 0.92
    assert np.mean(angles) > 0.85


def test_equal_eigenvalues_are_not_determined() -> None:
    noisy = np.diag([10.0, 10.2, 3.0, 1.0])
    law = SubspaceLaw(of=MatrixLaw.of_noise(noisy, 1.0, math.sqrt(0.5)), basis=directions(noisy, 1))
    found = law.interval(0.95)
    assert not found.determined.any()
    assert found.angle_degrees == 90.0
    assert np.isposinf(law.standard_error()).all()
    both = SubspaceLaw(of=law.of, basis=directions(noisy, 2)).interval(0.95)
    assert not both.determined.any()
    assert both.angle_degrees is not None
    assert both.angle_degrees < 45.0  # the span of both is known, though neither direction is


def test_low_noise_gives_first_order() -> None:
    """The only gaps are 5 and 8: the first loading of the second direction has a deviation of √½ · 0.01/5."""
    noisy = np.diag([10.0, 5.0, 2.0])
    law = SubspaceLaw(of=MatrixLaw.of_noise(noisy, 0.01, 0.01 * math.sqrt(0.5)), basis=np.eye(3)[:, :1])
    assert law.standard_error()[:, 0] == pytest.approx(
        [0.0, math.sqrt(0.5) * 0.01 / 5, math.sqrt(0.5) * 0.01 / 8], rel=0.01, abs=1e-5
    )


def test_a_released_basis_that_was_turned_adds_its_angle() -> None:
    noisy = np.diag([10.0, 5.0, 2.0])
    law = MatrixLaw.of_noise(noisy, 0.01, 0.01 * math.sqrt(0.5))
    turned = np.array([[math.cos(0.1)], [math.sin(0.1)], [0.0]])
    ours, theirs = (SubspaceLaw(of=law, basis=basis).angle_degrees(0.95) for basis in (np.eye(3)[:, :1], turned))
    assert theirs == pytest.approx(ours + math.degrees(0.1), rel=1e-6)


@pytest.mark.parametrize("spectrum", ["apart", "spiked"])
@pytest.mark.parametrize("given", [None, [3.0, 2.0, 1.0]])
def test_low_rank_parts_are_covered(spectrum: str, given: list[float] | None) -> None:
    exact, k = rotated(np.random.default_rng(3), SPECTRA[spectrum]), 3
    values, vectors = np.linalg.eigh(exact)
    kept = values[::-1][:k] if given is None else np.array(given)
    truth = (vectors[:, ::-1][:, :k] * kept) @ vectors[:, ::-1][:, :k].T
    random, shares = np.random.default_rng(4), []
    for _ in range(RELEASES):
        noisy = exact + symmetric_noise(random, len(exact))
        law = MatrixLaw.of_noise(noisy, 1.0, math.sqrt(0.5))
        spectrum_law = None if given is None else np.array(given)
        found = LowRankLaw(of=law, k=k, spectrum=spectrum_law).interval(0.95)
        assert found.determined.all()
        shares.append(covered(found, truth).mean())
    assert 0.93 < np.mean(shares) < 0.98


def test_a_low_rank_part_with_a_narrow_gap_is_not_determined() -> None:
    law = LowRankLaw(of=MatrixLaw.of_noise(np.diag([5.0, 4.9, 1.0]), 1.0, math.sqrt(0.5)), k=1)
    found = law.interval(0.95)
    assert not found.determined.any()
    assert np.isneginf(found.low).all()
    assert np.isposinf(law.standard_error()).all()


@pytest.mark.parametrize("spectrum", [[5.0, 0.0], [1.0, 1.0]])
def test_directions_that_do_not_matter_leave_every_number_finite(spectrum: list[float]) -> None:
    """Equal eigenvalues, of which noise may have exchanged the directions."""
    center = np.diag([5.0, *spectrum[1:], *[0.0] * 2]) if spectrum[1] == 0.0 else np.diag([5.0, 5.0, 0.0, 0.0])
    law = MatrixLaw.of_noise(center, 0.01, 0.01 * math.sqrt(0.5))
    found = LowRankLaw(of=law, k=2, spectrum=np.array(spectrum)).interval(0.95)
    assert found.determined.all()
    assert np.isfinite(found.low).all()
    assert np.isfinite(found.high).all()


def test_equal_eigenvalues_that_were_noisy_have_no_known_directions() -> None:
    law = MatrixLaw.of_noise(np.diag([5.0, 0.0, 0.0]), 0.01, 0.01 * math.sqrt(0.5))
    noisy = LowRankLaw(of=law, k=2, spectrum=np.array([5.0, 0.0]), spectrum_variance=np.array([0.1, 0.1]))
    assert not noisy.interval(0.95).determined.any()


def test_drawn_directions_that_turn_far_are_covered() -> None:
    """The density exp(−κ·sin²) on a sphere, exactly: 20,000 angles, of whose share 0.01 is six deviations."""
    dim, rate = 30, 80.0
    random = np.random.default_rng(1)
    sines = random.standard_normal((40_000, dim - 1)) / math.sqrt(2 * rate)
    lost = np.square(sines).sum(axis=1)
    kept = (lost < 0.75) & (random.uniform(size=len(lost)) < 0.5 / np.sqrt(np.maximum(1 - lost, 0.25)))
    angles = np.degrees(np.arcsin(np.sqrt(lost[kept])))
    law = MatrixLaw(
        center=np.diag([1.0, *[0.0] * (dim - 1)]),
        parts=np.eye(2)[[0, *[1] * (dim - 1)]],
        levels=np.array([[0.5, 0.5], [0.5, 0.5]]) / rate,
        rotation=np.eye(dim),
        drawn=True,
    )
    basis = np.eye(dim)[:, :1]
    drawn, added = (SubspaceLaw(of=each, basis=basis).interval(0.95) for each in (law, attrs.evolve(law, drawn=False)))
    assert drawn.angle_degrees is not None
    assert added.angle_degrees is not None
    assert (angles <= drawn.angle_degrees).mean() > 0.95
    assert (angles <= added.angle_degrees).mean() < 0.93
