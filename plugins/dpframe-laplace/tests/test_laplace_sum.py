"""The Laplace sum: scales, law, guarantee, the mean that follows, and plans about it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_laplace import LaplaceSum

RELATIONS = ("add-remove", "replace")
FALSE_ALARM = 1e-6
COLUMNS = (dp.Column("age", 17, 90), dp.Column("hours", 1, 99), dp.Category("sex", ["F", "M"]))


def sensitivity(rows: dp.Rows, nonzero: int) -> int:
    """How far one person moves [Σq, c·count] in L1 norm, in lattice steps."""
    radius = dp.lattice.RADIUS
    row = math.floor(math.sqrt(nonzero) * radius)  # no root of these is near an integer but an exact one
    return rows.contributions * (2 * row if rows.neighbors == "replace" else row + radius // 2)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize("level", [0.1, 1 / 3, 7.0])
def test_the_scale_is_the_sensitivity_divided_by_the_level(relation: str, contributions: int, level: float) -> None:
    promises = [
        (dp.Rows(norm=3.0, neighbors=relation, contributions=contributions, dim=5), 5),
        (dp.Rows(columns=COLUMNS, neighbors=relation, contributions=contributions), 3),  # one of two levels
        (dp.Rows(columns=COLUMNS, neighbors=relation, contributions=contributions, person="id", norm=0.1), 3),
        (dp.Rows(columns=COLUMNS, neighbors=relation, contributions=contributions, about=(0.5, 0, 0, 1)), 3),
    ]
    for rows, nonzero in promises:
        wanted = Fraction(sensitivity(rows, nonzero)) / Fraction(level)
        scale = LaplaceSum()._lattice_scale(rows, level)
        assert wanted < scale <= wanted * (1 + Fraction(1, 10**15))
        deviation = math.sqrt(2) * scale * rows.unplaced.step
        assert {"each": pytest.approx(deviation, rel=1e-12)} == LaplaceSum().noise(rows, level)


@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_is_laplace_of_the_stated_scale_and_no_other(relation: str) -> None:
    # 40,000 samples, at a false-alarm rate of 1e-6 for each test.
    rows = dp.Rows(norm=3.0, neighbors=relation, dim=39_999)
    exact = np.arange(40_000) * 2**20
    data = dp.PrivateData(rows, statistics={dp.RowSum(): {"sum": exact}})
    noise = LaplaceSum().release(data, 0.25, seeded(4)).array / rows.step - exact
    assert noise == pytest.approx(np.rint(noise), abs=1e-3)
    samples = noise * 0.25 / sensitivity(rows, 39_999)
    assert stats.kstest(samples, "laplace").pvalue > FALSE_ALARM
    # The sum of |x| over n samples is Gamma(n): an exact two-sided test of the scale.
    total = float(np.abs(samples).sum())

    def accepts(scale: float) -> bool:
        law = stats.gamma(samples.size)
        return bool(2 * min(law.cdf(total / scale), law.sf(total / scale)) > FALSE_ALARM)

    assert accepts(1.0)
    assert not accepts(0.95)
    assert not accepts(1.05)
    deviation = float(samples.std()) * sensitivity(rows, 39_999) / 0.25 * rows.step
    assert deviation == pytest.approx(LaplaceSum().noise(rows, 0.25)["each"], rel=0.05)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_worst_neighbors_reach_the_stated_loss(relation: str) -> None:
    """At d = 4 rows of full length reach the sensitivity."""
    level = 0.5
    rows = dp.Rows(norm=float(dp.lattice.inner_radius(4)), neighbors=relation, dim=4)
    row = np.full((1, 4), dp.lattice.RADIUS / 2)
    one = dp.RowSum().partial(dp.Chunk(rows, row))["sum"]
    other = dp.RowSum().partial(dp.Chunk(rows, -row if relation == "replace" else row[:0]))["sum"]
    scale = LaplaceSum()._lattice_scale(rows, level)
    loss = float(np.abs(one - other).sum()) / scale  # of the two densities, far out on one side
    assert level * (1 - 1e-12) < loss <= level


@pytest.mark.parametrize("relation", RELATIONS)
def test_stated_epsilon_is_the_accountants_and_pure(relation: str) -> None:
    plan = dp.Plan(
        rows=dp.Rows(columns=COLUMNS, neighbors=relation, contributions=2, person="id"),
        budget=dp.Budget(epsilon=1.5),
        steps=[dp.release("sum", "laplace-sum")],
    )
    losses = [dp.losses.Laplace(epsilon=plan.pricing.levels["sum"])]
    assert losses == list(plan.pricing.all_losses)
    assert plan.spent.epsilon == dp.accountant("pure").epsilon(losses, 0.0)
    assert 1.5 * (1 - 1e-12) < plan.spent.epsilon <= 1.5
    assert 0.0 == plan.spent.delta


def table(count: int) -> dict[str, Any]:
    random = np.random.default_rng(3)
    return {
        "age": random.normal(30.0, 4.0, count),
        "hours": random.normal(80.0, 5.0, count),
        "sex": random.choice(["F", "M"], count),
    }


def test_mean_and_count_follow_from_it() -> None:
    steps = [
        dp.release("sum", "laplace-sum"),
        dp.derive("mean", "mean", of="sum"),
        dp.derive("count", "count", of="sum"),
        dp.derive("units", "to-units", of="mean"),
    ]
    rows = dp.Rows(columns=COLUMNS, neighbors="add-remove")
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=8.0), steps=steps)
    data = table(20_000)
    data["age"][:100] = np.nan  # these rows contribute nothing
    result = plan.run(data, insecure_seed=1)
    assert 19_900 == pytest.approx(float(result["count"]), abs=10)
    assert data["age"][100:].mean() == pytest.approx(result["units"][0], abs=0.1)
    assert data["hours"][100:].mean() == pytest.approx(result["units"][1], abs=0.1)
    assert (data["sex"][100:] == "F").mean() == pytest.approx(result["units"][2], abs=0.01)
    assert "exact" == result.record("sum").numerics


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_pure_plan_about_its_own_mean(relation: str) -> None:
    """Center, radius and moment, each in a pass of its own, with δ = 0."""
    rows = dp.Rows(columns=COLUMNS, neighbors=relation, about=dp.ref("center"), norm=dp.ref("radius"))
    steps = [
        dp.release("sum", "laplace-sum"),
        dp.derive("center", "mean", of="sum"),
        dp.release("radius", "private-quantile", quantile=0.99, high=4.0),
        dp.release("moment", "matrix-laplace"),
    ]
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=8.0), steps=steps)
    assert {"sum": 1, "center": 1, "radius": 2, "moment": 3} == plan.passes
    data = table(20_000)
    result = plan.run(data, insecure_seed=1)
    mapped = np.column_stack([column.map(data[column.name]) for column in COLUMNS])
    assert mapped.mean(axis=0) == pytest.approx(result["center"], abs=0.01)
    moved = mapped - np.clip(result["center"], -1.0, 1.0)
    lengths = np.linalg.norm(moved, axis=1)
    clipped = moved * np.minimum(1.0, float(result["radius"]) / lengths)[:, None]
    assert clipped.T @ clipped == pytest.approx(
        result["moment"], abs=20 * result.record("moment").line.noise["diagonal"]
    )


def test_levels_beyond_the_sampler_are_refused_and_all_others_drawn() -> None:
    widest = dp.Rows(norm=1.0, neighbors="replace", dim=dp.lattice.MAX_DIM, contributions=3)
    smallest = 3 * LaplaceSum.smallest_level
    LaplaceSum().check_level(widest, smallest)
    scale = LaplaceSum()._lattice_scale(widest, smallest)
    assert dp.Random.largest_laplace / 2 <= scale <= dp.Random.largest_laplace
    assert 5 == len(seeded(1).laplace(scale, 5))
    with pytest.raises(dp.PlanError, match="'laplace-sum' needs a level of at least"):
        LaplaceSum().check_level(widest, math.nextafter(smallest, 0.0))
