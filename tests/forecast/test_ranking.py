"""Comparisons on tables and on rows of several shapes, at several budgets, with an estimate of the time."""

from __future__ import annotations

import json
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe import registry
from dpframe.forecast.population import Sample, population
from dpframe.run.progress import ProgressReporter, duration
from tests.support.mechanisms import registered

COLUMNS = tuple(dp.Column(f"x{i}", 0, 10 + i) for i in range(9))
TABLE = dp.Rows(columns=COLUMNS, neighbors="add-remove")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
SHAPES = ("off-center", "skewed", "heavy-tailed", "coded")
ABOUT = "{} about a released center"


def compared(task: str = "subspace", k: int | None = 2, **given: Any) -> Any:
    usual: dict[str, Any] = {"rows": TABLE, "budget": BUDGET, "n": 1500, "draws": 12}
    return dp.compare(task, k=k, **{**usual, **given})


def names(comparison: dp.Comparison) -> list[str]:
    return [candidate.name for candidate in comparison.candidates]


@pytest.mark.parametrize(("task", "k"), [("subspace", 2), ("low-rank", 2), ("eigenvalues", 2), ("moment", None)])
def test_every_installed_mechanism_is_ranked_or_left_out_with_a_reason(task: str, k: int | None) -> None:
    found = compared(task, k)
    assert SHAPES == found.shapes
    assert "geometric mean" == found.over
    for cls in registry.classes("mechanism"):
        ranked = {cls.name, ABOUT.format(cls.name)} & set(names(found))
        assert ranked or found.left_out[cls.name].endswith(".")
    assert not set(names(found)) & set(found.left_out)


def test_the_order_on_tables_is_that_of_runs_on_another_table() -> None:
    """By far: the errors of these plans differ by factors, and tables of other seeds have the same order."""
    found = compared(draws=30)
    order = [ABOUT.format("gaussian"), ABOUT.format("orbit"), "gaussian"]
    errors: dict[str, list[float]] = {name: [] for name in order}
    for shape in SHAPES:
        scenario = dp.Scenario(dim=9, n=1500, model="table", shape=shape)
        sample = population(found.best.plan, scenario, 77)
        assert isinstance(sample, Sample)
        low, high = np.array([[column.low, column.high] for column in COLUMNS]).T
        cells = (sample.values + 1) / 2 * (high - low) + low
        truth = np.linalg.eigh(sample.covariance)[1][:, -2:]
        for candidate in found.candidates:
            if candidate.name in errors:
                tops = [candidate.plan.run(cells, insecure_seed=i)[candidate.plan.steps[-1].name] for i in range(5)]
                away = [np.linalg.norm(top @ top.T - truth @ truth.T) for top in tops]
                errors[candidate.name].append(float(np.log(np.median(away))))
    measured = {name: float(np.mean(logs)) for name, logs in errors.items()}
    assert measured["gaussian"] - measured[ABOUT.format("gaussian")] > 0.7
    assert measured[ABOUT.format("orbit")] - measured[ABOUT.format("gaussian")] > 0.7
    assert order == [name for name in names(found) if name in order]
    assert measured["gaussian"] > measured[ABOUT.format("orbit")]


def test_a_recipe_that_derives_a_covariance_is_taken_as_it_is() -> None:
    """Blocks about a center that the recipe releases by itself, for rows of its own steps."""
    found = compared()
    (blocks,) = [candidate for candidate in found.candidates if candidate.name == "spiked-block"]
    assert TABLE == blocks.plan.rows
    assert "covariance.center" in blocks.plan.kinds
    assert ABOUT.format("spiked-block") not in names(found)
    assert set(SHAPES) == set(blocks.errors)
    assert blocks.error == pytest.approx(float(np.exp(np.mean(np.log(list(blocks.errors.values()))))))
    assert blocks.interval[0] <= blocks.error <= blocks.interval[1] < np.inf


def test_centered_rows_and_rows_with_a_norm_are_taken_as_they_are() -> None:
    centered = compared(rows=attrs.evolve(TABLE, center=True))
    assert {"gaussian", "matrix-laplace"} <= set(names(centered))
    assert not any("about a released center" in name for name in names(centered))
    assert "release_center=True" in centered.left_out["spiked-block"]
    short = compared(rows=attrs.evolve(TABLE, norm=1.5))
    (about,) = [candidate for candidate in short.candidates if candidate.name == ABOUT.format("gaussian")]
    assert ["sum", "center", "moment", "components"] == [step.name for step in about.plan.steps]
    assert 1.5 == about.plan.rows.norm


def test_errors_of_sums_are_per_row_as_those_of_covariances_are() -> None:
    """With a large budget all plans find the covariance, whether they release it or a sum."""
    found = compared("moment", None, budget=dp.Budget(epsilon=200.0, delta=1e-6))
    assert {"gaussian", ABOUT.format("gaussian")} < set(names(found))
    assert max(candidate.error for candidate in found.candidates) < 0.01


def test_a_pure_budget() -> None:
    """A center is released with Laplace noise; what has no pure guarantee is left out, with the reason for that."""
    found = compared(budget=dp.Budget(epsilon=1.0), n=20_000)
    assert {"matrix-laplace", ABOUT.format("matrix-laplace"), ABOUT.format("orbit")} <= set(names(found))
    assert names(found).index(ABOUT.format("matrix-laplace")) < names(found).index("matrix-laplace")
    for name in ("gaussian", ABOUT.format("gaussian"), "spiked-block"):
        assert "no pure guarantee" in found.left_out[name]


SPIKED = dp.Scenario(model="spiked", dim=23, n=20_000, rank=5, spike=2.37, noise=0.215)


@pytest.mark.parametrize("relation", ["add-remove", pytest.param("replace", marks=pytest.mark.long)])
def test_no_mechanism_is_ranked_by_data_of_its_own_assumption_alone(relation: str) -> None:
    """On spiked rows alone `spiked-block` would be first; a table with that variance has no gap at its rank."""
    rows = dp.Rows(norm=23**0.5, neighbors=relation)
    found = dp.compare("subspace", k=5, rows=rows, budget=BUDGET, scenario=SPIKED, draws=8)
    assert ("normal", *SHAPES[:3], "uneven") == found.shapes
    errors = {candidate.name: candidate.errors for candidate in found.candidates}
    assert errors["spiked-block"]["normal"] < errors["gaussian"]["normal"]
    assert errors["spiked-block"]["uneven"] > 1.5 * errors["gaussian"]["uneven"]
    assert names(found).index("gaussian") < names(found).index("spiked-block")
    assert all(candidate.error == max(candidate.errors.values()) for candidate in found.candidates)
    assert "since the model of rows may be wrong" in " ".join(str(found).split())


def test_several_budgets_at_once() -> None:
    found = compared(epsilons=[0.5, 4.0])
    assert isinstance(found, dp.Comparisons)
    assert [0.5, 4.0] == list(found.by_epsilon)
    assert 2 == len(found)
    assert [4.0] == [each.best.plan.budget.epsilon for each in found][1:]
    assert found[4.0].best.error < found[0.5].best.error
    assert compared(budget=attrs.evolve(BUDGET, epsilon=4.0)).best.errors == found[4.0].best.errors
    text = " ".join(str(found).split())
    assert "ε = 0.5" in text
    assert "ε = 4" in text
    assert "Not among them, at some budget" in text
    content = json.loads(found.to_json())["comparisons"]
    assert [0.5, 4.0] == [each["epsilon"] for each in content]
    assert ["geometric mean", list(SHAPES)] == [content[0]["over"], content[0]["shapes"]]
    with pytest.raises(dp.PlanError, match=r"no comparison was made at epsilon=1.0; there are: 0.5, 4"):
        found[1.0]


def test_the_time_is_estimated_before_the_simulations_and_during_them() -> None:
    told: list[dp.Progress] = []
    compared(progress=told.append, seed=5)
    first = next(i for i, event in enumerate(told) if event.phase.startswith("simulating"))
    announced = [event for event in told[:first] if event.seconds_left is not None]
    assert 1 == len(announced)
    assert announced[0].phase.startswith("comparing ")
    assert "on rows of 4 shapes, 10 releases each: about" in announced[0]
    left = [event.seconds_left or 0.0 for event in told[first:] if event.releases is None]
    assert min(left) > 0.0
    assert left == sorted(left, reverse=True)


def test_the_time_that_is_left_is_counted_down(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("dpframe.run.progress.time.monotonic", lambda: now[0])
    told: list[dp.Progress] = []
    reporter = ProgressReporter(told.append)
    reporter.begin("simulating", seconds_left=90.0)
    now[0] += 40.0
    reporter.releases(3, 10)
    now[0] += 80.0
    reporter.releases(10, 10)
    assert ["simulating: about 2 min left", "simulating: 3 of 10 releases, about 50 s left"] == told[:2]
    assert [90.0, 50.0, 0.0] == [event.seconds_left for event in told]
    assert ("1 s", "60 s", "2 min", "2 h") == tuple(map(duration, (0.0, 60.0, 61.0, 3601.0)))


@attrs.frozen(kw_only=True)
class Failing(dp.Mechanism):
    """Fails when it is drawn."""

    name = "test-failing"
    unit = "epsilon"
    gives = dp.SymmetricMatrix

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Pure(epsilon=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        raise ValueError("secret words")

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        return [dp.release("moment", cls.name)]


def test_one_that_fails_while_it_is_timed_is_left_out() -> None:
    with registered(Failing):
        found = compared("moment", None)
    assert "it failed with ValueError" == found.left_out[ABOUT.format("test-failing")]
    assert "gaussian" in names(found)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"n": None}, "scenario must be a dp.Scenario. For rows with columns, n= is enough"),
        ({"rows": dp.Rows(norm=1.0, neighbors="replace")}, "For rows with columns, n= is enough"),
        ({"scenario": dp.Scenario(dim=9, n=9, model="table")}, "say scenario= or n=, not both"),
        ({"n": 0}, "Scenario.n must be"),
        ({"epsilons": []}, "a list of different numbers"),
        ({"epsilons": [1.0, 1.0]}, "a list of different numbers"),
        ({"epsilons": [0.0]}, "epsilon above 0"),
        ({"epsilons": ["one"]}, "epsilon"),
        ({"n": 10**9}, "is too large"),
    ],
)
def test_refusals(given: dict[str, Any], says: str) -> None:
    with pytest.raises(dp.PlanError, match=says):
        compared(**given)


def test_a_table_needs_columns() -> None:
    rows, scenario = dp.Rows(norm=1.0, neighbors="replace", dim=3), dp.Scenario(dim=3, n=90, model="table")
    with pytest.raises(dp.PlanError, match="is about columns"):
        dp.compare("subspace", k=1, rows=rows, budget=BUDGET, scenario=scenario)


def test_forecasts_for_a_table() -> None:
    """`explain` takes the same scenario: an equal share of the releases is simulated for each shape."""
    built = dp.Plan(
        rows=attrs.evolve(TABLE, center=True),
        budget=BUDGET,
        steps=[dp.release("moment", "gaussian"), dp.derive("cov", "covariance", of="moment")],
        scenario=dp.Scenario(dim=9, n=1500, model="table"),
    )
    told = built.explain(simulations=200)
    assert "for the assumed table (simulated figures: table rows, clipping included" in " ".join(str(told).split())
    assert {"monte-carlo"} == {bound.name for bound in told.bounds("cov")}
