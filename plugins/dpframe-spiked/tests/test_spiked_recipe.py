"""The recipe: what it stands for, what it chooses by, what it costs, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe_spiked import SpikedBlock
from dpframe_spiked.choice import WORTHWHILE
from dpframe_spiked.clipping import remaining, remaining_cross
from dpframe_spiked.recipe import Rounds

BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
RELATIONS = ("add-remove", "replace")
STRONG = dp.Scenario(model="spiked", dim=40, n=20_000, rank=2, spike=500.0, noise=1.0)
WEAK = attrs.evolve(STRONG, spike=2.0)
NORM = 60.0


def plan(
    relation: str = "replace",
    scenario: dp.Scenario | None = STRONG,
    budget: dp.Budget = BUDGET,
    rows: dp.Rows | None = None,
    **parameters: Any,
) -> dp.Plan:
    return dp.Plan(
        rows=rows or dp.Rows(norm=NORM, neighbors=relation),
        budget=budget,
        scenario=scenario,
        steps=[
            dp.release("cov", "spiked-block", **{"rank": 2, **parameters}),
            dp.derive("top", "top-subspace", of="cov", k=2),
        ],
    )


def spiked_rows(n: int = 20_000, dim: int = 40, rank: int = 2, spike: float = 500.0) -> tuple[Any, NDArray[Any]]:
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((dim, rank)))[0]
    return math.sqrt(spike) * rng.standard_normal((n, rank)) @ basis.T + rng.standard_normal((n, dim)), basis


@pytest.mark.parametrize("relation", RELATIONS)
def test_it_stands_for_released_steps(relation: str) -> None:
    found = plan(relation)
    names = [step.name for step in found.steps]
    assert names[:3] == ["cov.moment", "cov.basis-1", "cov.blocks-1"]
    assert names[-2:] == ["cov", "top"]
    assert {"gaussian", "block-gaussian"} == {mechanism.name for _, mechanism in found.releases}
    assert dp.SymmetricMatrix is found.kinds["cov"]


@pytest.mark.parametrize("relation", RELATIONS)
def test_rounds_compose_to_one_gaussian_level(relation: str) -> None:
    """At weight w the recipe costs exactly what one Gaussian release at weight w does."""
    found, single = plan(relation), plan(relation, scenario=WEAK)
    (level,) = single.pricing.levels.values()
    assert level == pytest.approx(math.hypot(*found.pricing.levels.values()), rel=1e-9)
    assert 1.0 - 1e-9 < found.spent.epsilon <= 1.0
    assert dp.Budget is type(found.spent)
    beside = dp.release("rest", "gaussian", weight=2.0)
    mixed = dp.Plan(rows=found.rows, budget=BUDGET, scenario=STRONG, steps=[*found.declared, beside])
    levels = dict(mixed.pricing.levels)
    assert levels.pop("rest") == pytest.approx(2 * math.hypot(*levels.values()), rel=1e-9)


def test_a_weak_signal_makes_it_the_gaussian_release() -> None:
    found = plan(scenario=WEAK)
    assert ["cov", "top"] == [step.name for step in found.steps]
    values = spiked_rows(500, spike=2.0)[0]
    gaussian = dp.Plan(rows=found.rows, budget=BUDGET, steps=[dp.release("cov", "gaussian")])
    np.testing.assert_array_equal(
        gaussian.run(values, insecure_seed=1)["cov"], found.run(values, insecure_seed=1)["cov"]
    )


def layout(**changes: Any) -> Any:
    written = plan(**changes).declared[0].action
    rows = dp.Rows(norm=NORM, neighbors=changes.get("relation", "replace"))
    assert isinstance(written, dp.Recipe)
    settled = written.settled(rows, BUDGET, changes.get("scenario", STRONG), "auto")
    assert isinstance(settled, Rounds)
    return settled.layout


def test_the_choice_depends_on_what_the_plan_says_and_on_nothing_else() -> None:
    """The data is read only after the steps are fixed: the same plan has the same steps for any data."""
    found = plan()
    before = found.steps
    for values in (np.zeros((3, 40)), np.full((5, 40), np.nan), spiked_rows(100)[0]):
        result = found.run(values)
        assert [step.name for step in before] == list(result)
    assert before == plan().steps
    assert layout() == layout()
    assert layout().forecast[0] <= WORTHWHILE * layout().forecast[1]
    assert () == layout(scenario=WEAK).rounds
    assert layout(relation="add-remove") != layout()


def test_more_rounds_where_they_pay() -> None:
    assert 1 < len(layout().rounds)
    one = layout(shares=(0.1, 0.9))
    assert layout().forecast[0] < one.forecast[0]
    assert (0.1, 0.9) == (one.first, one.rounds[0].share)


@pytest.mark.parametrize("relation", RELATIONS)
def test_it_is_better_than_the_gaussian_release_on_the_data_it_assumes(relation: str) -> None:
    """By far more than chance: errors scatter by 10 per cent, and the forecast is a third."""
    values, _ = spiked_rows()
    truth = np.linalg.eigh(values.T @ values)[1][:, -2:]
    rounds = plan(relation)
    single = dp.Plan(
        rows=rounds.rows,
        budget=BUDGET,
        steps=[dp.release("cov", "gaussian"), dp.derive("top", "top-subspace", of="cov", k=2)],
    )

    def error(tried: dp.Plan) -> float:
        found = tried.run(values, insecure_seed=3)["top"]
        return float(np.linalg.norm(found @ found.T - truth @ truth.T))

    forecast = layout(relation=relation).forecast
    assert error(rounds) < 0.6 * error(single)
    assert forecast[0] == pytest.approx(error(rounds), rel=0.4)
    assert forecast[1] == pytest.approx(error(single), rel=0.4)
    moment = rounds.run(values, insecure_seed=3)["cov"]
    assert float(np.trace(values.T @ values)) == pytest.approx(float(np.trace(moment)), rel=0.05)


@pytest.mark.parametrize("relation", RELATIONS)
def test_released_radii_are_paid_for(relation: str) -> None:
    found = plan(relation, release_radii=True)
    assert "cov.radii" in found.pricing.losses
    assert {dp.losses.BoundedRange} == {type(loss) for loss in found.pricing.losses["cov.radii"]}
    without = math.hypot(*plan(relation).pricing.levels.values())
    gaussians = [found.pricing.levels[name] for name in found.pricing.levels if name != "cov.radii"]
    assert 0.9 * without < math.hypot(*gaussians) < without
    values, basis = spiked_rows()
    result = found.run(values, insecure_seed=2)
    signal, residual = (np.linalg.norm(values @ part, axis=1) for part in (basis, np.linalg.svd(basis)[0][:, 2:]))
    assert float(np.quantile(signal, 0.95)) == pytest.approx(result["cov.radii"][0], rel=0.15)
    assert float(np.quantile(residual, 0.95)) == pytest.approx(result["cov.radii"][1], rel=0.25)


def test_a_released_norm_leaves_the_chosen_rounds_as_they_are() -> None:
    rows = dp.Rows(norm=dp.ref("radius"), neighbors="add-remove")
    radius = dp.release("radius", "private-quantile", quantile=0.95, high=1000.0, weight=0.25)
    found = dp.Plan(
        rows=rows, budget=BUDGET, scenario=STRONG, steps=[radius, dp.release("cov", "spiked-block", rank=2)]
    )
    assert 4 < len(found.steps)
    result = found.run(spiked_rows(2000, spike=3.0)[0], insecure_seed=1)
    assert [step.name for step in found.steps] == list(result)


def test_plan_files_keep_it_as_written() -> None:
    found = plan(quantile=0.9, radii=(50.0, 8.0))
    again = dp.Plan.loads(found.dumps())
    assert (found, found.content_hash, found.steps) == (again, again.content_hash, again.steps)


def test_without_assumptions_everything_is_said_by_hand() -> None:
    found = plan(scenario=None, shares=(0.2, 0.8), radii=(50.0, 8.0))
    assert ["cov.moment", "cov.basis", "cov.blocks", "cov", "top"] == [step.name for step in found.steps]
    again = plan(scenario=None, shares=(0.2, 0.3, 0.5), release_radii=True)
    assert "cov.radii" in again.pricing.levels
    assert 1 == len(plan(scenario=None, shares=(1.0,)).releases)


def test_columns_give_the_radius_and_names() -> None:
    columns = [dp.Column(f"c{i}", -1.0, 1.0) for i in range(8)]
    rows = dp.Rows(columns=columns, neighbors="replace")
    scenario = dp.Scenario(model="spiked", dim=8, n=100_000, rank=1, spike=2.0, noise=0.01)
    found = dp.Plan(rows=rows, budget=BUDGET, scenario=scenario, steps=[dp.release("cov", "spiked-block", rank=1)])
    assert 1 < len(found.releases)
    result = found.run(np.random.default_rng(0).uniform(-1, 1, (300, 8)))
    assert tuple(f"c{i}" for i in range(8)) == result.record("cov").columns


@pytest.mark.parametrize(("task", "last"), [("subspace", "top-subspace"), ("low-rank", "rank-k")])
def test_it_takes_part_in_comparisons_of_spiked_data(task: str, last: str) -> None:
    public: dict[str, Any] = {"rows": dp.Rows(norm=NORM, neighbors="replace"), "budget": BUDGET, "scenario": STRONG}
    steps = SpikedBlock.recipe(task, k=2, **public)
    assert steps is not None
    assert last == steps[-1].action.name
    compared = dp.Plan(rows=public["rows"], budget=BUDGET, steps=steps)
    assert compared.spent == plan().spent
    assert None is SpikedBlock.recipe("eigenvalues", k=2, **public)
    for other in ({"k": 3}, {"k": 2, "scenario": dp.Scenario(dim=2, spectrum=[2, 1])}):
        with pytest.raises(dp.PlanError, match="takes part for tables, and for spiked scenarios of rank k"):
            SpikedBlock.recipe(task, **{**public, **other})


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"rank": 0}, "SpikedBlock.rank must be a positive integer"),
        ({"rank": 20}, "a rank below half of the 40 coordinates; got rank=20"),
        ({"rank": 45}, "a rank below half of the 40 coordinates"),
        ({"radii": (1.0, 0.0)}, "two positive numbers"),
        ({"radii": (-1.0, 1.0)}, "two positive numbers"),
        ({"radii": dp.ref("lengths")}, "needs radii= as numbers"),
        ({"radii": (1.0, 1.0), "release_radii": True}, "one of radii=, release_radii=True and range_radii=True"),
        ({"quantile": 0.4}, "SpikedBlock.quantile must be"),
        ({"quantile": 1.0}, "SpikedBlock.quantile must be"),
        ({"shares": (0.5, 0.6)}, "add up to 1"),
        ({"shares": (0.0, 1.0)}, "positive numbers"),
        ({"shares": (0.2,) * 5}, "up to 4 positive numbers"),
        ({"shares": (1e-7, 1 - 1e-7)}, "too inaccurate a subspace"),
        ({"scenario": None}, "cannot choose its rounds"),
        ({"scenario": dp.Scenario(dim=40)}, "cannot choose its rounds"),
        ({"scenario": None, "shares": (0.5, 0.5)}, "cannot choose its rounds"),
        ({"rows": dp.Rows(norm=1.0, neighbors="replace", center=True)}, "without a constant coordinate"),
        ({"rows": dp.Rows(norm=1.0, neighbors="replace", dim=39)}, "the scenario has 40 coordinates"),
        ({"budget": dp.Budget(epsilon=1.0)}, "no pure guarantee"),
        ({"scenario": attrs.evolve(STRONG, spike=1e60)}, "too far apart"),
        ({"rows": dp.Rows(norm=1e-60, neighbors="replace")}, "too far apart"),
    ],
)
def test_bad_input_is_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(dp.PlanError, match=words):
        plan(**parameters)


@pytest.mark.parametrize("unit", [1e-60, 1e-6, 1e6, 1e60])
def test_the_choice_does_not_depend_on_the_units(unit: float) -> None:
    scaled = attrs.evolve(STRONG, spike=500.0 * unit**2, noise=unit**2)
    found = plan(rows=dp.Rows(norm=NORM * unit, neighbors="replace"), scenario=scaled)
    assert dict(plan().pricing.levels) == pytest.approx(dict(found.pricing.levels), rel=1e-9)
    one, other = (tried.steps[2].action for tried in (plan(), found))
    assert (unit * one.radii.array).tolist() == pytest.approx(other.radii.array.tolist(), rel=1e-9)  # type: ignore[union-attr]


def test_more_coordinates_than_rows_are_served() -> None:
    """p > n: nothing in the guarantee needs otherwise."""
    scenario = dp.Scenario(model="spiked", dim=60, n=30, rank=2, spike=1e4, noise=1.0)
    found = plan(scenario=scenario, budget=dp.Budget(epsilon=50.0, delta=1e-2))
    assert (60, 60) == found.run(np.random.default_rng(0).standard_normal((30, 60)))["cov"].shape


@pytest.mark.parametrize("degrees", [1, 2, 5, 60])
@pytest.mark.parametrize("share", [0.1, 1.0, 3.0])
def test_what_clipping_leaves_against_quadrature(degrees: int, share: float) -> None:
    from scipy.integrate import quad
    from scipy.stats import chi2

    square = share * degrees

    def mean(kept: Callable[[float], float]) -> float:
        def weighted(x: float) -> float:
            return kept(x) * float(chi2.pdf(x, degrees))

        return float(quad(weighted, 0, square)[0] + quad(weighted, square, math.inf)[0]) / degrees

    assert mean(lambda x: min(x, square)) == pytest.approx(remaining(degrees, square), rel=1e-6)
    crossed = mean(lambda x: math.sqrt(x * min(x, square)))
    assert crossed == pytest.approx(remaining_cross(degrees, square), rel=1e-6)
