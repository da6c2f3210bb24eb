"""Laplace eigenvalues: certified solver, scale, law, guarantee."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from numpy.typing import NDArray
from scipy import stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_laplace import LaplaceEigenvalues, certified
from dpframe_laplace.certified import bisected, largest_eigenvalues
from dpframe_laplace.mechanism import SOLVER_ERROR

RELATIONS = ("add-remove", "replace")
FALSE_ALARM = 1e-6


def integer_moment(dim: int, rows: int, size: int, seed: int = 0) -> NDArray[np.int64]:
    values = np.random.default_rng(seed).integers(-size, size, (rows, dim))
    moment: NDArray[np.int64] = values.T @ values
    return moment


MATRICES = {
    "generic": integer_moment(30, 200, 60_000),
    "large": integer_moment(12, 500, 60_000) * 30_000,
    "rank deficient": integer_moment(12, 3, 60_000),
    "zero": np.zeros((5, 5), dtype=np.int64),
    "tied": np.eye(6, dtype=np.int64) * dp.lattice.RADIUS**2,
    "one": np.array([[7]], dtype=np.int64),
}


def truth(matrix: NDArray[Any]) -> NDArray[Any]:
    """Eigenvalues in 60 digits, by a library of its own."""
    with mp.workdps(60):
        values = mp.eigsy(mp.matrix(matrix.tolist()), eigvals_only=True)
        return np.array(sorted((mp.mpf(value) for value in values), reverse=True), dtype=object)


@pytest.mark.parametrize("name", MATRICES)
def test_every_way_gives_the_eigenvalues_within_the_error(name: str) -> None:
    matrix = MATRICES[name]
    k = min(3, len(matrix))
    exact = truth(matrix)[:k]
    for error in (0, 1, 2**16, 2**40):  # the first is out of reach of floats
        found = np.array(largest_eigenvalues(matrix, k, error), dtype=object)
        assert max(abs(found - exact)) <= error + 0.5
    counted = np.array(bisected(matrix, k), dtype=object)
    assert max(abs(counted - exact)) <= 0.5


def test_repeated_eigenvalues_and_matrices_beyond_64_bits_end() -> None:
    block = np.array([[5, 1, 2], [1, 7, 3], [2, 3, 11]])
    doubled = np.kron(np.eye(2, dtype=int), block)
    assert bisected(block, 3) == bisected(doubled, 6)[::2] == bisected(doubled, 6)[1::2]
    wide = doubled.astype(object) * 2**70
    exact = truth(wide)
    assert max(abs(np.array(largest_eigenvalues(wide, 6, 2**20), dtype=object) - exact)) <= 2**20 + 0.5


def test_counting_takes_over_where_nothing_else_certifies(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(matrix: NDArray[Any], k: int) -> list[int]:
        calls.append(k)
        return bisected(matrix, k)

    monkeypatch.setattr(certified, "bisected", counted)
    largest_eigenvalues(MATRICES["generic"], 3, 2**16)
    assert [] == calls
    largest_eigenvalues(MATRICES["large"], 3, 0)
    assert [3] == calls


def test_a_matrix_at_its_limits_does_not_need_counting_which_would_take_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a release takes would depend on the entries of a `dp.Matrix`."""

    def never(matrix: NDArray[Any], k: int) -> list[int]:
        raise AssertionError("counted")

    monkeypatch.setattr(certified, "bisected", never)
    matrix = np.full((100, 100), 2**62)
    matrix[np.diag_indices(100)] -= 2**40  # all eigenvalues but one are −2⁴⁰
    found = largest_eigenvalues(matrix, 2, SOLVER_ERROR)
    assert abs(found[0] - (100 * 2**62 - 2**40)) <= SOLVER_ERROR + 0.5
    assert abs(found[1] + 2**40) <= SOLVER_ERROR + 0.5


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("level", [0.1, 1 / 3, 7.0])
def test_the_scale_is_the_sensitivity_with_the_solvers_allowance(
    relation: str, contributions: int, k: int, level: float
) -> None:
    rows = dp.Rows(norm=1.0, neighbors=relation, contributions=contributions, dim=5)
    moved = contributions * (2 if relation == "replace" else 1) * dp.lattice.RADIUS**2
    wanted = Fraction(moved + k * (2 * SOLVER_ERROR + 1)) / Fraction(level)
    scale = Fraction(LaplaceEigenvalues(k=k)._lattice_scale(rows, level))
    assert wanted <= scale <= wanted * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize("relation", RELATIONS)
def test_released_integers_of_neighbors_differ_by_no_more_than_the_scale_covers(relation: str) -> None:
    rng = np.random.default_rng(4)
    rows = dp.Rows(norm=float(dp.lattice.inner_radius(6)), neighbors=relation, dim=6)
    k = 4
    allowed = LaplaceEigenvalues(k=k)._lattice_scale(rows, 1.0)
    largest = 0
    separated = np.repeat(np.eye(6) * dp.lattice.RADIUS, [18, 15, 12, 9, 6, 3], axis=0)
    for trial in range(200):
        background = separated if trial == 0 else rng.standard_normal((8, 6)) * dp.lattice.RADIUS
        first = np.eye(6)[:1] * dp.lattice.RADIUS if trial == 0 else rng.standard_normal((1, 6)) * dp.lattice.RADIUS
        other = np.eye(6)[1:2] * dp.lattice.RADIUS if trial == 0 else rng.standard_normal((1, 6)) * dp.lattice.RADIUS
        changed = [background] if relation == "add-remove" else [background, other]
        both = [np.concatenate(data) for data in ([background, first], changed)]
        moments = [dp.Moment().partial(dp.Chunk(rows, data))["moment"] for data in both]
        one, two = (largest_eigenvalues(moment, k, SOLVER_ERROR) for moment in moments)
        largest = max(largest, sum(abs(a - b) for a, b in zip(one, two, strict=True)))
    assert largest <= allowed
    assert largest >= 0.99 * allowed  # trial 0 reaches the bound but for the allowance


def draws(level: float, trials: int) -> NDArray[Any]:
    """Noise alone in lattice units: eigenvalues far from zero and far apart, so that sorting changes nothing."""
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=3)
    exact = np.diag([3, 2, 1]).astype(np.int64) * 2**50
    data = dp.PrivateData(rows, statistics={dp.Moment(): {"moment": exact}})
    mechanism = LaplaceEigenvalues(k=3)
    random = seeded(1)
    released = np.stack([mechanism.release(data, level, random).array for _ in range(trials)]) / rows.step**2
    noise: NDArray[Any] = released - np.diag(exact)
    return noise / mechanism._lattice_scale(rows, level)


def test_noise_is_laplace_of_the_stated_scale_and_no_other() -> None:
    samples = draws(0.5, 12_000)
    assert stats.kstest(samples.ravel(), "laplace").pvalue > FALSE_ALARM
    # The sum of |x| over n samples is Gamma(n): an exact two-sided test of the scale.
    total = float(np.abs(samples).sum())

    def accepts(scale: float) -> bool:
        law = stats.gamma(samples.size)
        return bool(2 * min(law.cdf(total / scale), law.sf(total / scale)) > FALSE_ALARM)

    assert accepts(1.0)
    assert not accepts(0.95)
    assert not accepts(1.05)
    correlations = np.corrcoef(samples, rowvar=False)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() * math.sqrt(len(samples)) < stats.norm.isf(FALSE_ALARM / 6)


@pytest.mark.parametrize("relation", RELATIONS)
def test_stated_epsilon_is_the_accountants_and_pure(relation: str) -> None:
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors=relation),
        budget=dp.Budget(epsilon=1.5),
        steps=[dp.release("spectrum", "laplace-eigenvalues", k=2)],
    )
    losses = [dp.losses.Laplace(epsilon=plan.pricing.levels["spectrum"])]
    assert losses == list(plan.pricing.all_losses)
    assert plan.spent.epsilon == dp.accountant("pure").epsilon(losses, 0.0)
    assert 1.5 * (1 - 1e-12) < plan.spent.epsilon <= 1.5


def test_a_release_is_near_the_truth_sorted_and_graded_as_certified() -> None:
    values = np.random.default_rng(0).standard_normal((20_000, 5)) * [0.4, 0.3, 0.2, 0.1, 0.05]
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="replace"),
        budget=dp.Budget(epsilon=1.0),
        steps=[dp.release("spectrum", "laplace-eigenvalues", k=3)],
    )
    result = plan.run(values, insecure_seed=2)
    clipped = values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1.0)
    truth = np.linalg.eigvalsh(clipped.T @ clipped)[::-1][:3]
    each = plan.explain(dim=5).statement.line("spectrum").noise["each"]
    assert 2 * math.sqrt(2) == pytest.approx(each, rel=1e-3)
    assert np.abs(result["spectrum"] - truth).max() < 12 * each
    assert "certified" == result.record("spectrum").numerics
    assert (np.diff(result["spectrum"]) <= 0).all()


def test_what_it_cannot_do_is_refused_before_the_charge() -> None:
    def plan(k: int, **promise: Any) -> dp.Plan:
        rows = dp.Rows(**{"norm": 1.0, "neighbors": "replace", **promise})
        return dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0), steps=[dp.release("s", "laplace-eigenvalues", k=k)])

    with pytest.raises(dp.PlanError, match="step 's': k=3 is more than the 2 coordinates"):
        plan(3, dim=2)
    with pytest.raises(dp.PlanError, match="step 's': laplace-eigenvalues needs rows without a constant"):
        plan(1, center=True)
    with pytest.raises(dp.PlanError, match=r"LaplaceEigenvalues\.k must be a positive integer; got 0"):
        plan(0)
    with pytest.raises(dp.PlanError, match="needs a level of at least"):
        plan(1, contributions=1_000_000)


# -- complex rows ------------------------------------------------------------------------------------------------------


def hermitian_parts(dim: int, seed: int = 0) -> NDArray[np.int64]:
    values = np.random.default_rng(seed).integers(-60_000, 60_000, (50, 2 * dim))
    parts: NDArray[np.int64] = dp.hermitian.of_gram(values.T @ values)
    return parts


@pytest.mark.parametrize("scale", [1, 2**40])
@pytest.mark.parametrize("fails", [False, True])
def test_eigenvalues_of_hermitian_matrices_are_released(
    scale: int, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a level so large that the noise is far below them; also if the float solver fails."""
    if fails:

        def nothing(matrix: Any) -> Any:
            raise np.linalg.LinAlgError("did not converge")

        monkeypatch.setattr(np.linalg, "eigh", nothing)
    parts = hermitian_parts(4) * 64 * (scale if scale == 1 else np.array(scale, dtype=object))
    rows = dp.Rows(norm=1.0, neighbors="replace", dim=4, complex=True)
    data = dp.PrivateData(rows, statistics={dp.Moment(): {"moment": parts}})
    released = LaplaceEigenvalues(k=3).release(data, 2.0**14, seeded(1)).array / rows.step**2
    with mp.workdps(60):
        whole = mp.matrix(parts[0].tolist()) + mp.mpc(0, 1) * mp.matrix(parts[1].tolist())
        exact = sorted((float(value) for value in mp.eighe(whole, eigvals_only=True)), reverse=True)[:3]
    assert np.abs(released - exact).max() < 2.0**25 + 1e-12 * exact[0]
    assert exact[1] < 0.99 * exact[0]


def test_each_eigenvalue_of_a_complex_matrix_counts_once() -> None:
    parts = np.stack([np.diag([5 * 2**40, 3 * 2**40, 2**40]), np.zeros((3, 3), dtype=np.int64)])
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=3, complex=True)
    data = dp.PrivateData(rows, statistics={dp.Moment(): {"moment": parts}})
    released = LaplaceEigenvalues(k=3).release(data, 2.0**14, seeded(1)).array / rows.step**2
    assert [5, 3, 1] == (released / 2**40).round(3).tolist()
