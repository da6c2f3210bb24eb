"""Radii from the ranges of columns: no row within them is clipped, nothing is paid, and plans say so."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe_spiked import RangeRadii

BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
RELATIONS = ("add-remove", "replace")
NUMBERS = [dp.Column(f"c{i}", -5.0, 5.0) for i in range(5)]
MIXED = [*NUMBERS[:3], dp.Category("sex", ["F", "M"]), dp.Category("ward", ["a", "b", "c"])]
SHARES = (0.4, 0.6)
Floats = NDArray[np.float64]


def bases(dim: int, count: int = 40) -> list[Floats]:
    """Of all ranks below the dimension, in general position and along coordinates."""
    rng = np.random.default_rng(dim)
    turned = [np.linalg.qr(rng.standard_normal((dim, 1 + i % (dim - 1))))[0] for i in range(count)]
    return [*turned, *(np.eye(dim)[:, :rank] for rank in range(1, dim))]


def corners(columns: list[Any]) -> Floats:
    """Every row with numbers at the ends of their ranges and one level of each category: lengths are convex."""
    choices = [
        [[-1.0], [1.0]] if isinstance(column, dp.Column) else np.eye(len(column.levels)).tolist() for column in columns
    ]
    return np.array([list(itertools.chain(*row)) for row in itertools.product(*choices)])


def sides(basis: Floats, rows: Floats) -> tuple[Floats, Floats]:
    rotation, rank = dp.BlockMoment.rotation(dp.Subspace(basis)), basis.shape[1]
    return np.linalg.norm(rows @ rotation[:, :rank], axis=1), np.linalg.norm(rows @ rotation[:, rank:], axis=1)


@pytest.mark.parametrize("columns", [NUMBERS, MIXED], ids=["numbers", "mixed"])
def test_no_corner_of_the_ranges_is_longer(columns: list[Any]) -> None:
    every = corners(columns)
    widths = tuple(len(column.labels) for column in columns)
    for basis in bases(sum(widths)):
        found = RangeRadii(of=basis, columns=widths).apply().array
        for side, radius in zip(sides(basis, every), found.tolist(), strict=True):
            assert side.max() <= radius <= math.sqrt(len(columns)) * (1 + 1e-5)
        loose = RangeRadii(of=basis, norm=math.sqrt(len(columns))).apply().array
        assert (found <= loose).all()


def test_one_direction_of_numeric_columns_is_met_exactly() -> None:
    every = corners(NUMBERS)
    for basis in bases(5, count=4)[::4]:
        signal, _ = sides(basis, every)
        assert signal.max() == pytest.approx(RangeRadii(of=basis).apply().array[0], rel=1e-5)


def test_directions_along_columns_have_short_signals_and_a_norm_is_never_exceeded() -> None:
    assert [math.sqrt(2), math.sqrt(3)] == pytest.approx(RangeRadii(of=np.eye(5)[:, :2]).apply().array, rel=1e-5)
    assert [1.2, 1.2] == pytest.approx(RangeRadii(of=np.eye(5)[:, :2], norm=1.2).apply().array, rel=1e-5)
    whole = RangeRadii(of=np.eye(5)[:, :3], columns=(3, 2)).apply().array  # either side is one category
    assert [1.0, 1.0] == pytest.approx(whole, rel=1e-5)


def plan(columns: list[Any] = MIXED, relation: str = "replace", promise: Any = None, **parameters: Any) -> dp.Plan:
    scenario = parameters.pop("scenario", None)
    return dp.Plan(
        rows=dp.Rows(columns=columns, neighbors=relation, **(promise or {})),
        budget=BUDGET,
        scenario=scenario,
        steps=[dp.release("cov", "spiked-block", **{"rank": 2, **parameters})],
    )


def table(count: int) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    numbers = {f"c{i}": rng.choice([-5.0, 5.0], count) for i in range(3)}
    return {**numbers, "sex": rng.choice(["F", "M"], count), "ward": rng.choice(["a", "b", "c"], count)}


@pytest.mark.parametrize("relation", RELATIONS)
def test_columns_without_a_scenario_give_the_radii_free_of_charge(relation: str) -> None:
    found = plan(relation=relation, shares=SHARES)
    names = ["cov.moment", "cov.basis", "cov.radii", "cov.blocks", "cov"]
    assert names == [step.name for step in found.steps]
    assert ["cov.moment", "cov.blocks"] == list(found.pricing.levels)
    by_hand = plan(relation=relation, shares=SHARES, radii=(1.0, 1.0))
    assert by_hand.pricing.levels == found.pricing.levels
    assert (found.steps, found.spent) == (plan(relation=relation, shares=SHARES, range_radii=True).steps, found.spent)
    assert "radii from the column ranges" in {line.kind for line in found.explain().statement.lines}
    result = found.run(table(60), insecure_seed=1)
    again = RangeRadii(of=result.record("cov.basis").value, columns=(1, 1, 1, 2, 3)).apply()
    assert again == result.record("cov.radii").value
    assert found.rows.axes == result.record("cov").value.axes


def test_every_round_has_radii_of_its_own_basis() -> None:
    found = plan(shares=(0.2, 0.3, 0.5))
    radii = {step.name: step.action.of.name for step in found.steps if isinstance(step.action, RangeRadii)}
    assert {"cov.radii-1": "cov.basis-1", "cov.radii-2": "cov.basis-2"} == radii


def test_a_norm_of_the_plan_bounds_them_too_and_a_released_one_does_not() -> None:
    norms = [plan(shares=SHARES, promise={"norm": norm}).steps[2].action.norm for norm in (1.5, 9.0)]  # type: ignore[union-attr]
    assert [1.5, None] == norms
    radius = dp.release("radius", "private-quantile", quantile=0.9, high=2.0)
    rows = dp.Rows(columns=MIXED, neighbors="replace", norm=dp.ref("radius"))
    steps = [radius, dp.release("cov", "spiked-block", rank=2, shares=SHARES)]
    found = dp.Plan(rows=rows, budget=BUDGET, steps=steps)
    assert None is found.steps[3].action.norm  # type: ignore[union-attr]
    assert (8, 8) == found.run(table(40), insecure_seed=1)["cov"].shape


@pytest.mark.parametrize("relation", RELATIONS)
def test_with_a_scenario_they_are_asked_for_and_nothing_is_made_up_for(relation: str) -> None:
    scenario = dp.Scenario(model="spiked", dim=8, n=10_000_000, rank=2, spike=0.5, noise=0.001)
    assumed = plan(relation=relation, scenario=scenario, shares=SHARES)
    assert [] == [step.name for step in assumed.steps if isinstance(step.action, RangeRadii)]
    shares = plan(relation=relation, scenario=scenario, range_radii=True, shares=SHARES)
    assert ["cov.radii"] == [step.name for step in shares.steps if isinstance(step.action, RangeRadii)]
    estimate: Any = shares.steps[-1].action
    assert (1.0, 1.0, 1.0) == estimate.left
    assert dp.Plan.loads(shares.dumps()).steps == shares.steps


PLAIN = dp.Rows(norm=1.0, neighbors="replace", dim=8)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: plan(radii=(1.0, 1.0), range_radii=True), "takes one of radii=, release_radii=True and range_radii"),
        (lambda: plan(release_radii=True, range_radii=True), "takes one of radii=, release_radii=True and range_radii"),
        (lambda: plan(range_radii=1), "SpikedBlock.range_radii must be"),
        (plan, r"shares=, and radii: as numbers \(radii=\), from the ranges of columns .* or released"),
        (lambda: RangeRadii(of=np.eye(3)[:, :1], columns=(1, 0)), "RangeRadii.columns must be positive integers"),
        (lambda: RangeRadii(of=np.eye(3)[:, :1], norm=0.0), "RangeRadii.norm must be"),
    ],
)
def test_bad_parameters_are_refused(make: Any, words: str) -> None:
    with pytest.raises(dp.PlanError, match=words):
        make()


@pytest.mark.parametrize(
    ("rows", "steps", "words"),
    [
        (
            PLAIN,
            [dp.release("cov", "spiked-block", rank=2, shares=SHARES, range_radii=True)],
            r"needs dp.Rows\(columns=\[...\]\), .* give radii= as numbers, or release_radii=True",
        ),
        (
            PLAIN,
            [dp.release("m", "gaussian"), dp.derive("r", "range-radii", of=np.eye(8)[:, :2])],
            "give radii as numbers, or release them with 'block-radii'",
        ),
        (
            dp.Rows(columns=MIXED, neighbors="replace"),
            [dp.release("m", "gaussian"), dp.derive("r", "range-radii", of=np.eye(8)[:, :2], columns=(1,) * 8)],
            r"has columns=\(1, 1, 1, 1, 1, 1, 1, 1\), but the columns of the rows have \(1, 1, 1, 2, 3\) coordinates",
        ),
        (
            dp.Rows(columns=MIXED, neighbors="replace"),
            [dp.release("m", "gaussian"), dp.derive("r", "range-radii", of=np.eye(8))],
            "fewer directions than the 8 coordinates",
        ),
    ],
)
def test_plans_that_have_no_such_radii_are_refused(rows: dp.Rows, steps: list[dp.Step], words: str) -> None:
    with pytest.raises(dp.PlanError, match=words):
        dp.Plan(rows=rows, budget=BUDGET, steps=steps)
