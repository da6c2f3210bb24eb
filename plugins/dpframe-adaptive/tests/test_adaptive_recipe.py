"""The recipe: its steps, its choices, what it refuses, and what it gains on simulated tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_adaptive import ColumnScales, RegressionScales
from dpframe_adaptive.recipe import SCALED

BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
GOALS = ["covariance", "components", "correlation", "regression"]


def columns(dim: int) -> list[dp.Column]:
    return [dp.Column(f"x{index}", -1, 1) for index in range(dim)]


def plan(dim: int = 20, *, budget: dp.Budget = BUDGET, neighbors: str = "add-remove", **parameters: Any) -> dp.Plan:
    rows = dp.Rows(columns=columns(dim), neighbors=neighbors)
    return dp.Plan(rows=rows, budget=budget, steps=[dp.release("cov", "adaptive", **parameters)])


def off_center(count: int, dim: int) -> Any:
    random = np.random.default_rng(count)
    mixed = random.standard_normal((count, dim)) @ (random.standard_normal((dim, dim)) * 0.8 ** np.arange(dim)).T
    return np.clip(mixed / mixed.std(axis=0) * 0.1 + random.uniform(-0.7, 0.7, dim), -1, 1)


def actions(built: dp.Plan) -> dict[str, str]:
    return {step.name: step.action.name for step, _ in built.releases}


def test_its_steps() -> None:
    plain = plan(goal="components", k=1)
    assert actions(plain) == {"cov.sum": "gaussian-sum", "cov.radius": "private-quantile", "cov.moment": "gaussian"}
    assert 3 == plain.schedule()[-1].number
    turned = plan()
    assert list(actions(turned)) == ["cov.sum", "cov.radius", "cov.pilot", "cov.linear-radius", "cov.moment"]
    assert 5 == turned.schedule()[-1].number
    piloted = plan(goal="correlation")
    assert list(actions(piloted)) == ["cov.sum", "cov.radius", "cov.pilot", "cov.scaled-radius", "cov.moment"]
    assert 5 == piloted.schedule()[-1].number
    names = [step.name for step in plan(k=2).steps]
    assert {"cov", "cov.center", "cov.linear", "cov.mean", "cov.count", "cov.components"} <= set(names)


def test_wide_rows_have_no_linear_map() -> None:
    assert ["cov.sum", "cov.radius", "cov.moment"] == list(actions(plan(129)))
    assert "cov.linear" in [step.name for step in plan(128).steps]


def test_few_columns_have_no_pilot_and_a_sum_for_the_mean() -> None:
    few = plan(5)
    assert list(actions(few)) == ["cov.sum", "cov.radius", "cov.offset", "cov.moment"]
    assert few.passes["cov.offset"] == few.passes["cov.moment"] == 3
    both = plan(8)
    assert list(actions(both))[-3:] == ["cov.linear-radius", "cov.offset", "cov.moment"]
    pure = dp.Budget(epsilon=1.0)
    assert list(actions(plan(8, budget=pure))) == ["cov.sum", "cov.radius", "cov.moment"]
    assert "cov.linear" in [step.name for step in plan(40, budget=pure).steps]
    for goal in GOALS[1:]:
        assert "cov.offset" not in actions(plan(5, goal=goal))


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_price_is_that_of_the_accountant_with_a_sum_for_the_mean(neighbors: str, delta: float) -> None:
    built = plan(6, budget=dp.Budget(epsilon=1.0, delta=delta), neighbors=neighbors)
    losses = [loss for step in built.pricing.losses.values() for loss in step]
    assert len(losses) == len(built.releases)
    assert built.spent.epsilon == dp.accountant("auto").epsilon(losses, delta) <= 1.0


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("goal", GOALS)
def test_pure_where_delta_is_zero_and_where_it_is_less_noise(goal: str, neighbors: str) -> None:
    pure = {"cov.sum": "laplace-sum", "cov.moment": "matrix-laplace"}
    asked = plan(goal=goal, budget=dp.Budget(epsilon=1.0), neighbors=neighbors)
    assert pure.items() <= actions(asked).items()
    assert 1.0 == pytest.approx(asked.spent.epsilon)
    assert 0.0 == asked.spent.delta
    few = 3 if neighbors == "add-remove" else 1  # two radii and a pilot cost more where epsilons add up
    if goal not in SCALED and (goal, neighbors) != ("covariance", "replace"):  # there, a sum of its own gives the mean
        assert pure.items() <= actions(plan(few, goal=goal, neighbors=neighbors)).items()
    assert pure.items() <= actions(plan(3, goal="components", k=1, neighbors=neighbors)).items()
    assert "gaussian" == actions(plan(40, goal=goal, neighbors=neighbors))["cov.moment"]


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_results_are_in_the_coordinates_of_a_covariance(goal: str, delta: float) -> None:
    """With much budget: a covariance and a mean of columns mapped to [-1, 1], also in units and as correlations."""
    table = off_center(2000, 4)
    made = [dp.Column(f"x{index}", -2, 4) for index in range(4)]
    built = dp.Plan(
        rows=dp.Rows(columns=made, neighbors="add-remove"),
        budget=dp.Budget(epsilon=200.0, delta=delta),
        steps=[
            dp.release("cov", "adaptive", goal=goal),
            dp.derive("units", "to-units", of="cov"),
            dp.derive("mean", "to-units", of="cov.mean"),
            dp.derive("correlation", "correlation", of="cov"),
        ],
    )
    result = built.run(table, insecure_seed=1)
    truth = np.cov(table.T, bias=True)
    assert np.linalg.norm(result["units"] - truth) < 0.05 * np.linalg.norm(truth)
    scales = result["cov.scale"] if goal == "regression" else np.ones(4)  # it stays in the coordinates of its noise
    np.testing.assert_allclose(result["cov"] * np.outer(scales, scales), result["units"] / 9, rtol=1e-9)
    np.testing.assert_allclose(result["mean"], table.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(result["correlation"], np.corrcoef(table.T), atol=0.1)
    assert float(result["cov.count"]) == pytest.approx(2000, rel=0.01)


def test_a_category_beside_numbers() -> None:
    random = np.random.default_rng(0)
    table = {"age": random.normal(40, 5, 5000), "sex": random.choice(["F", "M"], 5000)}
    rows = dp.Rows(columns=[dp.Column("age", 0, 100), dp.Category("sex", ["F", "M"])], neighbors="replace")
    for goal in GOALS:
        built = dp.Plan(rows=rows, budget=dp.Budget(epsilon=50.0), steps=[dp.release("cov", "adaptive", goal=goal)])
        result = built.run(table, insecure_seed=2)
        scales = result["cov.scale"] if goal == "regression" else np.ones(3)
        found = result["cov"] * np.outer(scales, scales)
        encoded = np.column_stack([table["age"] / 50 - 1, table["sex"] == "F", table["sex"] == "M"])
        np.testing.assert_allclose(found, np.cov(encoded.T, bias=True), atol=0.02)


def test_the_report_says_what_was_chosen(tmp_path: Path) -> None:
    turned = plan().run(off_center(20_000, 20), insecure_seed=3)
    assert "to the power -0.25" in turned.choices["cov.linear"]
    result = plan(goal="components", k=1).run(off_center(20_000, 20), insecure_seed=3)
    assert "about the released center" in result.choices["cov.norm"]
    assert "Chosen from released values" in str(result)
    flat = np.sign(np.random.default_rng(0).standard_normal((20_000, 20)))
    boxed = plan(goal="components", k=1).run(flat, insecure_seed=3)
    assert "about the middle of the ranges" in boxed.choices["cov.norm"]
    np.testing.assert_array_equal(boxed["cov.about"], np.zeros(20))
    boxed.to_json(tmp_path / "result.json")
    assert boxed.choices == dp.Result.load(tmp_path / "result.json").choices


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_less_error_than_the_plain_plan_off_center(neighbors: str) -> None:
    """Medians of 5 runs; the gain is about 10 here, and at most 2 without the radius."""
    table = off_center(20_000, 20)
    truth = np.cov(table.T, bias=True)
    plain = dp.Plan(
        rows=dp.Rows(columns=columns(20), neighbors=neighbors, center=True),
        budget=BUDGET,
        steps=[dp.release("moment", "gaussian"), dp.derive("cov", "covariance", of="moment")],
    )
    errors = {
        name: np.median([np.linalg.norm(each.run(table, insecure_seed=seed)["cov"] - truth) for seed in range(5)])
        for name, each in (("plain", plain), ("adaptive", plan(neighbors=neighbors)))
    }
    assert errors["adaptive"] < errors["plain"] / 5


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_common_factor_of_all_weights_changes_nothing(delta: float) -> None:
    table, budget = off_center(2000, 4), dp.Budget(epsilon=1.0, delta=delta)
    found = [plan(4, budget=budget, weight=weight).run(table, insecure_seed=1) for weight in (1.0, 0.01, 1000.0)]
    for other in found[1:]:
        np.testing.assert_allclose(other["cov"], found[0]["cov"], rtol=1e-6, atol=1e-9)


def test_the_form_suits_the_accountant_of_the_plan() -> None:
    """Pure releases compose badly by zCDP, which ledgers use by default."""
    rows = dp.Rows(columns=columns(3), neighbors="add-remove")
    for accountant, form in (("auto", "matrix-laplace"), ("zcdp", "gaussian"), ("pure", "matrix-laplace")):
        built = dp.Plan(rows=rows, budget=BUDGET, accountant=accountant, steps=[dp.release("cov", "adaptive")])
        assert form == actions(built)["cov.moment"]


def test_a_plan_file_keeps_it() -> None:
    for built in (plan(goal="correlation", k=3), plan(goal="regression", target=["x1", "x3"])):
        again = dp.Plan.loads(built.dumps())
        assert (built.content_hash, built.steps) == (again.content_hash, again.steps)


def scaled_targets(target: Any) -> tuple[int, ...]:
    """The coordinates that count as targets where there are two numbers and a category."""
    given = [*columns(2), dp.Category("k", ["a", "b"])]
    rows = dp.Rows(columns=given, neighbors="replace")
    steps = [dp.release("cov", "adaptive", goal="regression", target=target)]
    built = dp.Plan(rows=rows, budget=BUDGET, steps=steps)
    (scales,) = [step.action for step in built.steps if isinstance(step.action, ColumnScales | RegressionScales)]
    return scales.targets if isinstance(scales, RegressionScales) else ()


def test_targets_are_named_by_columns_or_levels() -> None:
    assert ((), (1,), (2, 3), (3,), (0, 3)) == tuple(map(scaled_targets, (None, "x1", "k", "k=b", ["k=b", "x0"])))


def test_a_target_that_is_hard_to_predict_has_less_noise_on_its_slopes() -> None:
    """With 20 columns the variance of noise on slopes is 0.3 of what it is without a target; half is not chance.

    It is compared at the released radius; how much the radius grows is a choice of its own (`affordable-radius`).
    """
    rows = off_center(20_000, 20)
    losses = []
    for target in (None, "x19"):
        errors = []
        for seed in range(6):
            result = plan(goal="regression", target=target).run(rows, insecure_seed=seed)
            deviation, scale = result.record("cov.moment").line.noise["off-diagonal"], result["cov.scale"]
            grown = float(result["cov.norm"] / result["cov.scaled-radius"]) ** 2
            errors.append((deviation / grown * scale[:-1] * scale[-1]) ** 2)
        losses.append(np.mean(errors))
    assert losses[1] < 0.5 * losses[0]


@pytest.mark.parametrize(
    ("rows", "parameters", "words"),
    [
        ({"norm": 1.0, "dim": 3}, {}, "needs public ranges"),
        ({"columns": columns(3), "norm": 1.0}, {}, "finds center, scales and norm itself"),
        ({"columns": columns(3), "about": (0.0, 0.0, 0.0)}, {}, "finds center, scales and norm itself"),
        ({"columns": columns(3)}, {"k": 4}, "more than the 3 coordinates"),
        ({"columns": columns(3)}, {"k": 0}, "positive integer"),
        ({"columns": columns(3)}, {"goal": "speed"}, "one of 'covariance'"),
        ({"columns": columns(3)}, {"target": "x0"}, 'is for goal="regression"'),
        ({"columns": columns(3)}, {"goal": "regression", "target": "y"}, "'y' is not a column .* x0, x1, x2"),
        ({"columns": columns(3)}, {"goal": "regression", "target": ["x0", "x1", "x2"]}, "names all columns"),
        ({"columns": columns(3)}, {"goal": "regression", "target": []}, "the name of a column, or a list"),
        ({"columns": columns(3)}, {"goal": "regression", "target": 1}, "the name of a column, or a list"),
    ],
)
def test_refused(rows: dict[str, Any], parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(dp.PlanError, match=words):
        dp.Plan(
            rows=dp.Rows(**rows, neighbors="replace"),
            budget=BUDGET,
            steps=[dp.release("cov", "adaptive", **parameters)],
        )


def test_a_fixed_level_is_refused() -> None:
    with pytest.raises(dp.PlanError, match="takes weight=, not level="):
        plan(level=1.0)


@pytest.mark.parametrize(("neighbors", "rows_moved"), [("add-remove", 1), ("replace", 2)])
def test_a_draw_from_an_orbit_turns_directions_farther_than_laplace_noise(neighbors: str, rows_moved: int) -> None:
    """By √(εg/(d + 1)r²), here 2. Means of 300 draws have deviations of 4 percent: false alarms are below 1e-6."""
    dim, draws, gap = 6, 300, 4 * 7 * rows_moved
    moment = np.diag(np.array([10 + gap, *[10] * (dim - 1)], dtype=np.int64) << 32)  # r = 2¹⁶
    rows = dp.Rows(norm=1.0, neighbors=neighbors, dim=dim)
    data = dp.PrivateData(rows, statistics={dp.Moment(): {"moment": moment}})

    def lost(name: str, **parameters: Any) -> float:
        mechanism = dp.release("value", name, **parameters).action
        assert isinstance(mechanism, dp.Mechanism)
        values = [mechanism.release(data, 1.0, seeded(seed)).array for seed in range(draws)]
        return float(np.mean([1 - np.linalg.eigh(value)[1][0, -1] ** 2 for value in values]))

    orbit, laplace = lost("orbit", spectrum=[1.0]), lost("matrix-laplace")
    assert orbit == pytest.approx((dim - 1) * rows_moved / (2 * gap), rel=0.25)
    assert laplace == pytest.approx((dim - 1) * (dim + 1) * rows_moved**2 / (2 * gap**2), rel=0.4)
    assert laplace < 0.5 * orbit
