"""Recipes for matrices of rank k, and the scores along released directions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_orbit import BinghamLowRank, Deflation, LaplaceScores, OrbitLowRank

FALSE_ALARM = 1e-6
RELATIONS = ("add-remove", "replace")
PARTS = {
    "orbit-low-rank": ("spectrum", "draw"),
    "bingham-low-rank": ("spectrum", "directions"),
    "deflation": ("directions", "scores"),
}
Floats = NDArray[np.float64]


def rows_of(count: int, dim: int, seed: int = 0) -> Floats:
    values = np.random.default_rng(seed).standard_normal((count, dim)) * np.linspace(1.0, 0.1, dim)
    scaled: Floats = values / np.linalg.norm(values, axis=1, keepdims=True)
    return scaled


def plan(recipe: str, relation: str = "add-remove", epsilon: float = 1.0, **parameters: Any) -> dp.Plan:
    rows = dp.Rows(norm=1.0, neighbors=relation)
    steps = [dp.release("estimate", recipe, **{"k": 2, **parameters})]
    return dp.Plan(rows=rows, budget=dp.Budget(epsilon=epsilon), steps=steps)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("recipe", PARTS)
def test_the_stated_epsilon_is_that_of_the_accountant_and_levels_add_up(
    recipe: str, relation: str, tmp_path: Path
) -> None:
    built = plan(recipe, relation, share=0.25)
    built.dump(tmp_path / "plan.toml")
    assert built == dp.Plan.load(tmp_path / "plan.toml")
    losses: list[dp.PrivacyLoss] = []
    for step, mechanism in built.releases:
        loss = mechanism.loss(built.rows, built.pricing.levels[step.name])
        losses += loss if isinstance(loss, tuple) else [loss]
    assert {f"estimate.{part}" for part in PARTS[recipe]} == set(built.pricing.levels)
    eigenvalues = f"estimate.{'scores' if recipe == 'deflation' else 'spectrum'}"
    assert 0.25 == pytest.approx(built.pricing.levels[eigenvalues] / sum(built.pricing.levels.values()))
    result = built.run(rows_of(200, 4))
    assert dp.accountant(built.accountant).epsilon(losses, 0.0) == result.spent.epsilon == pytest.approx(1.0)
    assert 0.0 == result.spent.delta


@pytest.mark.parametrize("recipe", PARTS)
def test_results_have_rank_k_and_the_released_spectrum(recipe: str) -> None:
    values = rows_of(20_000, 6)
    result = plan(recipe, epsilon=4.0).run(values, insecure_seed=1)
    found = np.linalg.eigvalsh(result["estimate"])[::-1]
    released = result["estimate.scores" if recipe == "deflation" else "estimate.spectrum"]
    assert np.abs(found[:2] - np.sort(released)[::-1]).max() < 1e-8
    assert np.abs(found[2:]).max() < 1e-8
    moment = values.T @ values
    top, vectors = np.linalg.eigh(moment)
    best = (vectors[:, -2:] * top[-2:]) @ vectors[:, -2:].T
    assert np.linalg.norm(result["estimate"] - best) < 0.1 * np.linalg.norm(best)


def test_the_real_part_of_a_draw_has_twice_the_rank() -> None:
    """Which is why a derivation follows it."""
    result = plan("orbit-low-rank").run(rows_of(300, 8), insecure_seed=1)
    sizes = [np.linalg.eigvalsh(result[name])[::-1] for name in ("estimate.draw", "estimate")]
    assert sizes[0][3] > 0.01 * sizes[0][0]
    assert np.abs(sizes[1][2:]).max() < 1e-9 * sizes[1][0]


def test_error_bars_where_they_are_known() -> None:
    """Of scores, whose noise is Laplace: z = ln 20/√2 deviations at 95 %. Nothing was released of the gap below k."""
    result = plan("deflation").run(rows_of(300, 6), insecure_seed=1)
    found, value = result.interval("estimate.scores", confidence=0.95), result["estimate.scores"]
    widths = np.asarray(found.high) - value
    deviation = result.record("estimate.scores").line.noise["each"]
    assert [np.log(20) / np.sqrt(2) * deviation] * 2 == pytest.approx(widths.tolist(), rel=1e-3)
    joint = plan("orbit-low-rank", epsilon=4.0).run(rows_of(20_000, 6), insecure_seed=1)
    assert not joint.interval("estimate").determined.any()


def test_low_rank_tasks_have_a_result_of_rank_k() -> None:
    from dpframe_orbit import Orbit

    for cls in (Orbit, BinghamLowRank, Deflation):
        steps = cls.recipe("low-rank", k=3)
        assert steps is not None
        assert "with-spectrum" == steps[-1].action.name
    assert OrbitLowRank.recipe("low-rank", k=3) is None  # it is what orbit offers
    assert Deflation.recipe("subspace", k=3) is None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 0}, "k must be a positive integer; got 0"),
        ({"share": 1.0}, "share must be .* got 1.0"),
        ({"share": "half"}, "share must be .* got 'half'"),
    ],
)
@pytest.mark.parametrize("recipe", PARTS)
def test_bad_parameters_are_refused(recipe: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(dp.PlanError, match=message):
        plan(recipe, **parameters)


@pytest.mark.parametrize("recipe", PARTS)
def test_more_directions_than_coordinates_are_refused_before_the_charge(recipe: str) -> None:
    with pytest.raises(dp.PlanError, match="k=5 is more than the 3 coordinates"):
        plan(recipe, k=5).run(rows_of(10, 3))


# -- scores ----------------------------------------------------------------------------------------------------------


def private(values: NDArray[Any], relation: str = "add-remove") -> dp.PrivateData:
    rows = dp.Rows(norm=1.0, neighbors=relation, dim=values.shape[1])
    return dp.PrivateData(rows, statistics={dp.Moment(): {"moment": values.T @ values}})


@pytest.mark.parametrize("relation", RELATIONS)
def test_scores_have_laplace_noise_of_the_stated_scale(relation: str) -> None:
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 2)))[0]
    data = private(np.random.default_rng(2).integers(-30_000, 30_000, (50, 4)), relation)
    mechanism, level = LaplaceScores(directions=basis), 0.5
    draws = np.array([mechanism.release(data, level, seeded(i)).array for i in range(2000)])
    scale = (2 if relation == "replace" else 1) / level  # norm 1, up to the clipping of the lattice
    exact = mechanism.noiseless(data).array
    assert np.diag(basis.T @ data.moment @ basis) * data.rows.step**2 == pytest.approx(exact.tolist(), rel=1e-9)
    noise = ((draws - exact) / scale).ravel()
    assert stats.kstest(noise, "laplace").pvalue > FALSE_ALARM
    assert stats.kstest(1.4 * noise, "laplace").pvalue < FALSE_ALARM
    assert np.sqrt(2) * scale == pytest.approx(mechanism.noise(data.rows, level)["each"], rel=1e-4)


@pytest.mark.parametrize("relation", RELATIONS)
def test_scores_of_neighbors_differ_by_less_than_the_scale_pays_for(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In lattice units, without noise; worst rows along the directions, which are rounded and as long as can be."""
    monkeypatch.setattr(dp.Random, "laplace", lambda self, scale, size: np.zeros(size, np.int64))
    rng = np.random.default_rng(3)
    largest, rows = 0.0, dp.Rows(norm=1.0, neighbors=relation, dim=4)
    for _ in range(30):
        basis = np.linalg.qr(rng.standard_normal((4, 2)))[0] * (1 + rng.uniform(-5e-7, 5e-7))
        others = rng.integers(-20_000, 20_000, (5, 4))
        ends = [np.trunc(v / np.linalg.norm(v) * dp.lattice.RADIUS).astype(np.int64) for v in basis.T]
        changed = np.vstack([others, ends[1]]) if relation == "replace" else others
        pair = [
            LaplaceScores(directions=basis).release(private(each, relation), 1.0, seeded(0)).array
            for each in (np.vstack([others, ends[0]]), changed)
        ]
        largest = max(largest, float(np.abs(pair[0] - pair[1]).sum()) / rows.step**2)
    allowed = LaplaceScores(directions=np.eye(4)[:, :2])._lattice_scale(rows, 1.0)
    assert 0.999 * allowed <= largest <= allowed


def test_directions_of_another_length_are_refused() -> None:
    rows = dp.Rows(norm=1.0, neighbors="replace", dim=3)
    with pytest.raises(dp.PlanError, match="directions of 4 coordinates do not suit rows of 3"):
        dp.Plan(
            rows=rows,
            budget=dp.Budget(epsilon=1.0),
            steps=[dp.release("s", "laplace-scores", directions=np.eye(4)[:, :2])],
        )


@pytest.mark.parametrize("dim", [100, pytest.param(200, marks=pytest.mark.long)])
def test_a_low_rank_part_about_a_released_center_of_many_columns(dim: int) -> None:
    """Algorithm 2 on a table with a mean far from zero: what is released is about the center, and of rank k.

    Rows are longer by √d, so that as many times d² of them lose the same share.
    """
    k, wider = 5, dim / 100
    rng = np.random.default_rng(0)
    deviations = 0.1 * np.concatenate([np.linspace(4.0, 2.0, k), np.ones(dim - k)])
    values = np.clip(0.3 + deviations * rng.standard_normal((int(20_000 * wider**2), dim)), -1.0, 1.0)
    plan = dp.Plan(
        rows=dp.Rows(
            columns=[dp.Column(f"x{i}", -1, 1) for i in range(dim)],
            neighbors="add-remove",
            norm=3.0 * math.sqrt(wider),
            about=dp.ref("center"),
        ),
        budget=dp.Budget(epsilon=4.0, delta=1e-6),
        steps=[
            dp.release("sum", "gaussian-sum", weight=0.3),
            dp.derive("center", "mean", of="sum"),
            dp.release("low", "orbit-low-rank", k=k),
        ],
    )
    result = plan.run(values, insecure_seed=1)
    low, rows = np.asarray(result["low"]), values - np.asarray(result["center"])
    spectrum = np.linalg.eigvalsh(low)[::-1]
    moment = rows.T @ rows
    best = float(np.linalg.eigvalsh(moment)[: -k - 1 : -1] @ spectrum[:k])
    assert np.linalg.matrix_rank(low) == k
    assert float(np.sum(moment * low)) > 0.4 * best  # 0.56 to first order in 1/κ
