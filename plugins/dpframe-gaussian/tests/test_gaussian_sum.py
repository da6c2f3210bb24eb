"""The Gaussian sum: scales, law, the mean that follows, and plans about it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_gaussian import GaussianSum

RELATIONS = ("add-remove", "replace")
FALSE_ALARM = 1e-6
COLUMNS = (dp.Column("age", 17, 90), dp.Column("hours", 1, 99), dp.Category("sex", ["F", "M"]))


def sensitivity(rows: dp.Rows) -> float:
    """How far one row moves [Σq, c·count], in lattice steps: by its length, or by two opposite rows."""
    radius = float(dp.lattice.RADIUS)
    return 2 * radius if rows.neighbors == "replace" else math.hypot(radius, radius / 2)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("contributions", [1, 3])
def test_noise_has_the_stated_scale_and_no_other(relation: str, contributions: int) -> None:
    # 200,000 normals: a variance 2 % off is rejected at a false-alarm rate of 1e-6.
    rows = dp.Rows(norm=3.0, neighbors=relation, dim=199_999, contributions=contributions)
    data = dp.PrivateData(rows, statistics={dp.RowSum(): {"sum": np.zeros(200_000, dtype=np.int64)}})
    noise = GaussianSum().release(data, 0.25, seeded(4)).array / rows.step
    deviation = contributions * sensitivity(rows) / 0.25
    assert GaussianSum().noise(rows, 0.25)["each"] == pytest.approx(deviation * rows.step)
    assert _accepts(noise, deviation)
    assert not _accepts(noise, 0.98 * deviation)
    assert not _accepts(noise, 1.02 * deviation)
    assert stats.kstest(noise / deviation, "norm").pvalue > FALSE_ALARM


def _accepts(samples: Any, deviation: float) -> bool:
    statistic, count = float((samples**2).sum()) / deviation**2, samples.size
    tail = min(stats.chi2.cdf(statistic, count), stats.chi2.sf(statistic, count))
    return bool(2 * tail > FALSE_ALARM)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_stated_epsilon_is_that_of_the_accountant(relation: str) -> None:
    rows = dp.Rows(columns=COLUMNS, neighbors=relation)
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("sum", "gaussian-sum")])
    (losses,) = plan.pricing.losses.values()
    assert plan.spent.epsilon == dp.accountant("gdp").epsilon(losses, delta=1e-6) <= 1.0
    assert plan.pricing.levels["sum"] == pytest.approx(1 / 4.224679, rel=1e-6)


def table(count: int) -> dict[str, Any]:
    random = np.random.default_rng(3)
    return {
        "age": random.normal(30.0, 4.0, count),
        "hours": random.normal(80.0, 5.0, count),
        "sex": random.choice(["F", "M"], count),
    }


def test_mean_and_count_follow_from_it() -> None:
    rows = dp.Rows(columns=COLUMNS, neighbors="add-remove")
    steps = [
        dp.release("sum", "gaussian-sum"),
        dp.derive("mean", "mean", of="sum"),
        dp.derive("count", "count", of="sum"),
        dp.derive("units", "to-units", of="mean"),
    ]
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=8.0, delta=1e-6), steps=steps)
    data = table(20_000)
    data["age"][:100] = np.nan  # these rows contribute nothing
    result = plan.run(data, insecure_seed=1)
    assert 19_900 == pytest.approx(float(result["count"]), abs=10)
    assert data["age"][100:].mean() == pytest.approx(result["units"][0], abs=0.1)
    assert data["hours"][100:].mean() == pytest.approx(result["units"][1], abs=0.1)
    assert (data["sex"][100:] == "F").mean() == pytest.approx(result["units"][2], abs=0.01)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_plan_about_its_own_mean(relation: str) -> None:
    """Center, radius and moment, each in a pass of its own; the moment is that of rows about the released center."""
    rows = dp.Rows(columns=COLUMNS, neighbors=relation, about=dp.ref("center"), norm=dp.ref("radius"))
    steps = [
        dp.release("sum", "gaussian-sum"),
        dp.derive("center", "mean", of="sum"),
        dp.release("radius", "private-quantile", quantile=0.99, high=4.0),
        dp.release("moment", "gaussian"),
        dp.derive("components", "top-subspace", of="moment", k=1),
        dp.derive("loadings", "to-units", of="components"),
    ]
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=8.0, delta=1e-6), steps=steps)
    assert {"sum": 1, "center": 1, "radius": 2, "moment": 3, "components": 3, "loadings": 3} == plan.passes
    data = table(20_000)
    result = plan.run(data, insecure_seed=1)
    about = np.clip(result["center"], -1.0, 1.0)
    mapped = np.column_stack([column.map(data[column.name]) for column in COLUMNS]) - about
    lengths = np.linalg.norm(mapped, axis=1)
    radius = float(result["radius"])
    assert 0.98 < (lengths <= radius).mean() < 1.0
    clipped = mapped * np.minimum(1.0, radius / lengths)[:, None]
    noise = result.record("moment").line.noise["diagonal"]
    assert clipped.T @ clipped == pytest.approx(result["moment"], abs=6 * noise)
    assert noise < 0.3 * 4.0 / plan.pricing.levels["moment"]  # √2 · 4 about the middle of the ranges
    axes = result.record("moment").value.axes
    assert axes is not None
    assert axes.offset[0] == pytest.approx(17 + 73 / 2 * (1 + about[0]))


def test_the_center_itself_is_never_about_a_center() -> None:
    rows = dp.Rows(columns=COLUMNS, neighbors="add-remove", about=dp.ref("moment"))
    with pytest.raises(dp.PlanError, match="the about of rows must be a mean, but 'moment' gives an augmented sum"):
        dp.Plan(
            rows=rows,
            budget=dp.Budget(epsilon=1.0, delta=1e-6),
            steps=[dp.release("moment", "gaussian-sum"), dp.release("other", "gaussian")],
        )
    with pytest.raises(dp.PlanError, match="sees rows whose about is 'moment', but no earlier step has that name"):
        dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])


def test_one_release_about_a_center_beside_others_that_are_not() -> None:
    """A step may see rows of its own; two promises are read in one pass."""
    steps = [
        dp.release("sum", "gaussian-sum"),
        dp.derive("center", "mean", of="sum"),
        dp.release("plain", "gaussian", level=100.0),
        dp.release("about", "gaussian", level=100.0, rows={"about": dp.ref("center"), "norm": 1.5}),
        dp.release("public", "gaussian", level=100.0, rows={"about": (0.5, 0.5, 0.5, 0.5)}),
    ]
    plan = dp.Plan(
        rows=dp.Rows(columns=COLUMNS, neighbors="replace"), budget=dp.Budget(epsilon=1e5, delta=1e-6), steps=steps
    )
    assert {"sum": 1, "center": 1, "plain": 1, "public": 1, "about": 2} == plan.passes
    assert dp.Plan.loads(plan.dumps()) == plan
    assert dp.Plan.loads(plan.dumps()).content_hash == plan.content_hash
    data = table(2000)
    result = plan.run(data, insecure_seed=1)
    mapped = np.column_stack([column.map(data[column.name]) for column in COLUMNS])
    for name, center in (("plain", np.zeros(4)), ("public", np.full(4, 0.5)), ("about", result["center"])):
        moved = mapped - np.clip(center, -1, 1)
        lengths = np.linalg.norm(moved, axis=1)
        limit = 1.5 if name == "about" else math.inf
        clipped = moved * np.minimum(1.0, limit / lengths)[:, None]
        assert clipped.T @ clipped == pytest.approx(result[name], abs=0.5), name
    assert ("center",) == result.record("about").line.of
