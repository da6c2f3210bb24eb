"""The mechanism bingham: stated loss, density ratios, what is released, its solver."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpz_mat
from numpy.typing import NDArray
from scipy import special, stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_orbit import Bingham, rejection
from dpframe_orbit.bases import FINE, STRETCH, nearly_orthonormal
from dpframe_orbit.bingham import _complement, _restricted

RELATIONS = ("add-remove", "replace")
FALSE_ALARM = 1e-6
EIGH = np.linalg.eigh
Floats = NDArray[np.float64]


def private(moment: Floats, relation: str = "add-remove") -> dp.PrivateData:
    """Data with this second moment, in units of the squared norm of a row."""
    integers = np.rint(moment * dp.lattice.RADIUS**2).astype(np.int64)
    rows = dp.Rows(norm=1.0, neighbors=relation, dim=len(moment))
    return dp.PrivateData(rows, statistics={dp.Moment(): {"moment": integers}})


def rows_of(count: int, dim: int, seed: int = 0) -> Floats:
    values = np.random.default_rng(seed).standard_normal((count, dim)) * np.linspace(1.0, 0.2, dim)
    scaled: Floats = values / np.linalg.norm(values, axis=1, keepdims=True)
    return scaled


def plan(*steps: dp.Step, relation: str = "add-remove", epsilon: float = 1.0) -> dp.Plan:
    rows = dp.Rows(norm=1.0, neighbors=relation)
    return dp.Plan(rows=rows, budget=dp.Budget(epsilon=epsilon), steps=list(steps))


# -- loss and densities ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize("level", [0.7, 1.0, 1e-3])
def test_strength_is_the_level_over_the_spread_of_scores(relation: str, contributions: int, level: float) -> None:
    rows = dp.Rows(norm=1.0, neighbors=relation, contributions=contributions, dim=4)
    spread = contributions * (2 if relation == "replace" else 1) * dp.lattice.RADIUS**2
    rate = Bingham(k=2)._rate(rows, level)
    assert level / 2 / spread == pytest.approx(rate, rel=2.0**-23)
    assert Fraction(rate) * Fraction(spread) * (1 + Fraction(1, 2**STRETCH)) <= Fraction(level / 2)


@pytest.mark.parametrize("relation", RELATIONS)
def test_stated_losses(relation: str) -> None:
    rows = dp.Rows(norm=1.0, neighbors=relation, dim=4)
    assert dp.losses.BoundedRange(epsilon=0.7) == Bingham().loss(rows, 0.7)
    assert (dp.losses.BoundedRange(epsilon=0.35),) * 2 == Bingham(k=2).loss(rows, 0.7)


def test_log_densities_are_the_scores_times_kappa() -> None:
    data, v = private(np.diag([5.0, 2.0, 0.0])), dp.Subspace(np.eye(3)[:, :1])
    assert 5.0 == pytest.approx(Bingham().log_density(v, data, 1.0), rel=1e-6)
    assert Bingham(k=2).log_density(v, data, 1.0) is None


def unit(angle: float) -> Floats:
    vector = np.array([math.cos(angle), math.sin(angle)])
    return np.outer(vector, vector)


def log_densities(moment: Floats, relation: str, level: float, points: Floats) -> Floats:
    """Exact log-densities on the circle: Z = 2π·exp(κ(γ_1 + γ_2)/2)·I_0(κ(γ_1 − γ_2)/2)."""
    data = private(moment, relation)
    rate = Bingham()._rate(data.rows, level)
    low, high = np.linalg.eigvalsh(data.moment.astype(np.float64)) * rate
    log_total = high + math.log(special.ive(0, (high - low) / 2))
    return np.array([rate * (p @ data.moment.astype(np.float64) @ p) - log_total for p in points])


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("level", [0.5, 2.0])
def test_density_ratios_of_the_worst_neighbors(relation: str, level: float) -> None:
    """At d = 2 the log-likelihood ratio never exceeds ε, and its range reaches ε."""
    angles = np.linspace(0.0, math.pi, 181)
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    backgrounds = [np.zeros((2, 2)), *(size * unit(angle) for size in (1.0, 30.0, 3000.0) for angle in (0.0, 0.7, 1.5))]
    largest, longest = 0.0, 0.0
    for background in backgrounds:
        for angle in (0.0, 0.8, math.pi / 2):
            changed = background + (unit(angle + math.pi / 2) if relation == "replace" else 0.0)
            pair = [log_densities(m, relation, level, points) for m in (background + unit(angle), changed)]
            ratios = pair[0] - pair[1]
            largest = max(largest, float(np.abs(ratios).max()))
            longest = max(longest, float(ratios.max() - ratios.min()))
    assert longest <= level + 1e-9
    assert 0.999 * level <= longest
    assert largest <= longest + 1e-9


# -- what is released ------------------------------------------------------------------------------------------------


def test_a_release_is_exact_and_has_no_slack() -> None:
    built = plan(dp.release("v", "bingham", k=2, bits=28), epsilon=8.0)
    result = built.run(rows_of(100, 5), insecure_seed=1)
    assert "exact" == result.record("v").line.numerics
    assert 0.0 == result.record("v").line.slack
    assert "slack" not in str(result) + result.to_json().replace('"slack": 0.0', "")


def test_directions_are_orthonormal_and_near_the_truth() -> None:
    values = rows_of(40_000, 5)
    truth = np.linalg.eigh(values.T @ values)[1][:, ::-1]
    for k in (1, 2, 5):
        found = plan(dp.release("v", "bingham", k=k), epsilon=4.0).run(values, insecure_seed=2)["v"]
        assert (5, k) == found.shape
        assert np.abs(found.T @ found - np.eye(k)).max() < 1e-12
        assert abs(truth[:, 0] @ found[:, 0]) > 0.99


def test_signs_of_directions_are_random() -> None:
    """Otherwise the sign would be a function of the data that no level pays for."""
    data, random = private(np.diag([50.0, 0.0, 0.0])), seeded(1)
    signs = [np.sign(Bingham().release(data, 1.0, random.child(str(i))).array[0, 0]) for i in range(200)]
    assert 60 < sum(sign > 0 for sign in signs) < 140  # outside with a probability below 1e-7


def test_later_directions_have_their_law() -> None:
    """At d = 3 the second direction has a law of its own on the circle beside the first, for the restricted moment."""
    level, data = 60.0, private(np.diag([4.0, 1.0, 0.0]))
    random, angles = seeded(4), []
    for i in range(800):
        value = Bingham(k=2).release(data, level, random.child(str(i))).array
        first, second = value[:, 0], value[:, 1]
        axis = np.cross(first, [0.0, 0.0, 1.0])  # beside the first, and in the plane of the first two axes
        inner = np.column_stack([axis / np.linalg.norm(axis), np.cross(first, axis) / np.linalg.norm(axis)])
        restricted = inner.T @ np.diag([4.0, 1.0, 0.0]) @ inner
        values, vectors = np.linalg.eigh(restricted)
        angles.append((math.acos(min(1.0, abs(float(second @ inner @ vectors[:, 1])))), level / 2 * np.ptp(values)))
    seen = np.array(
        [special.ndtr(math.sqrt(2 * a) * angle) * 2 - 1 for angle, a in angles]  # to first order, a is about 30
    )
    assert stats.kstest(seen, "uniform").pvalue > FALSE_ALARM
    wrong = np.array([special.ndtr(math.sqrt(4 * a) * angle) * 2 - 1 for angle, a in angles])
    assert stats.kstest(wrong, "uniform").pvalue < FALSE_ALARM


def test_escalation_does_not_change_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    data = private(rows_of(300, 4).T @ rows_of(300, 4))
    usual = [Bingham(k=3).release(data, 1.0, seeded(i)).array.tolist() for i in range(20)]
    for first in (3, 240):
        monkeypatch.setattr(rejection, "FIRST", first)
        assert usual == [Bingham(k=3).release(data, 1.0, seeded(i)).array.tolist() for i in range(20)]


# -- the solver ------------------------------------------------------------------------------------------------------


def turned(matrix: Any) -> Any:
    """Orthonormal vectors that are not eigenvectors: what a faulty library might return."""
    values, vectors = EIGH(matrix)
    turn, _ = np.linalg.qr(np.eye(len(values)) + 1e-2 * np.random.default_rng(2).standard_normal((len(values),) * 2))
    return values, vectors @ turn


def shifted(matrix: Any) -> Any:
    values, vectors = EIGH(matrix)
    return values * np.linspace(1.0, 1.01, len(values)), vectors


def stuck(matrix: Any) -> Any:
    raise np.linalg.LinAlgError("did not converge")


@pytest.mark.parametrize("solver", [turned, shifted, stuck])
def test_a_faulty_solver_changes_no_more_than_signs(solver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = private(10 * rows_of(400, 6).T @ rows_of(400, 6))
    expected = Bingham().release(data, 0.5, seeded(7)).array
    monkeypatch.setattr(np.linalg, "eigh", solver)
    found = Bingham().release(data, 0.5, seeded(7)).array
    monkeypatch.undo()
    basis = np.linalg.eigh(data.moment.astype(np.float64))[1]  # their signs are arbitrary, and reflect a draw
    assert np.abs(np.abs(basis.T @ expected) - np.abs(basis.T @ found)).max() < 1e-3  # a few steps of the grid


def test_a_restricted_moment_is_exact() -> None:
    moment = private(rows_of(300, 6).T @ rows_of(300, 6)).moment
    released = np.round(np.linalg.qr(np.random.default_rng(3).standard_normal((6, 2)))[0] * 2**16) / 2**16
    complement = _complement(released)
    assert np.abs(complement.T @ released).max() < 1e-15
    integers = np.array([[int(entry * 2.0**FINE) for entry in row] for row in complement.tolist()], dtype=object)
    assert np.array_equal(complement, integers.astype(np.float64) / 2.0**FINE)
    matrix, frame = _restricted(moment, complement)
    assert np.array_equal(integers.T @ moment.astype(object) @ integers, matrix)
    assert all(x == int(y) * 2.0**-FINE for x, y in zip(frame.entries(), integers.flat, strict=True))
    square = fmpz_mat(integers.tolist()).transpose() * fmpz_mat(integers.tolist())
    off = [int(square[i, j]) - (i == j) * 4**FINE for i in range(4) for j in range(4)]
    assert math.sqrt(sum(entry**2 for entry in off)) <= 4**FINE / 2**STRETCH


def test_a_basis_that_is_not_orthonormal_is_refused() -> None:
    with pytest.raises(dp.SamplingError, match="no orthonormal basis"):
        nearly_orthonormal(np.eye(6)[:, :2] * (1 + 1e-7))
