"""Every installed mechanism, ranked: the order is that of real runs, and third parties take part."""

from __future__ import annotations

import json
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.forecast import error_norms
from tests.support.mechanisms import FirstAxes, registered

ROWS = dp.Rows(norm=1.0, neighbors="add-remove")
APPROXIMATE, PURE = dp.Budget(epsilon=1.0, delta=1e-6), dp.Budget(epsilon=1.0)
WIDE = [3000.0, 2000.0, 900.0, 300.0, 200.0]
CASES: list[tuple[str, int, dp.Budget, list[float]]] = [
    ("subspace", 1, APPROXIMATE, WIDE),
    ("subspace", 3, APPROXIMATE, WIDE),
    ("subspace", 1, dp.Budget(epsilon=8.0, delta=1e-12), [90.0, 40.0, 30.0]),
    ("low-rank", 2, APPROXIMATE, WIDE),
    ("eigenvalues", 2, APPROXIMATE, WIDE),
    ("eigenvalues", 5, dp.Budget(epsilon=0.1, delta=0.1), WIDE),
]


def rows_with(spectrum: list[float]) -> Any:
    """Rows along the axes, of length one at most, whose second moment is diagonal."""
    counts = [int(np.ceil(value)) for value in spectrum]
    axes = np.eye(len(spectrum))
    scaled = [np.sqrt(value / count) * axes[i] for i, (value, count) in enumerate(zip(spectrum, counts, strict=True))]
    return np.repeat(scaled, counts, axis=0)


def error(task: str, value: Any, k: int, spectrum: list[float]) -> float:
    """Of one result, for data whose second moment is diagonal."""
    if task == "subspace":
        return float(np.linalg.norm(value @ value.T - np.diag([1.0] * k + [0.0] * (len(spectrum) - k))))
    best = np.array(spectrum[:k] + ([0.0] * (len(spectrum) - k) if task == "low-rank" else []))
    return float(np.linalg.norm(value - (np.diag(best) if task == "low-rank" else best)))


@pytest.mark.parametrize(("task", "k", "budget", "spectrum"), CASES)
def test_the_order_is_that_of_real_runs(task: str, k: int, budget: dp.Budget, spectrum: list[float]) -> None:
    found = dp.compare(task, k=k, rows=ROWS, budget=budget, scenario=dp.Scenario(dim=len(spectrum), spectrum=spectrum))
    assert len(found.candidates) >= 2
    data = rows_with(spectrum)
    medians = {
        candidate.name: np.median(
            [
                error(task, candidate.plan.run(data, insecure_seed=seed)[candidate.plan.steps[-1].name], k, spectrum)
                for seed in range(60)
            ]
        )
        for candidate in found.candidates
    }
    assert sorted(medians, key=lambda name: medians[name]) == [candidate.name for candidate in found.candidates]
    for candidate in found.candidates:
        assert medians[candidate.name] == pytest.approx(candidate.error, rel=0.4)


def test_the_order_is_not_always_the_same() -> None:
    names = {
        tuple(c.name for c in dp.compare(task, k=k, rows=ROWS, budget=budget, scenario=_scenario(spectrum)).candidates)
        for task, k, budget, spectrum in CASES
        if task == "eigenvalues"
    }
    assert 2 == len(names)


def _scenario(spectrum: list[float]) -> dp.Scenario:
    return dp.Scenario(dim=len(spectrum), spectrum=spectrum)


@attrs.frozen(kw_only=True)
class Joining(FirstAxes):
    """A third party's way to a subspace."""

    name = "test-joining"

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        return [dp.release("components", cls.name, k=public["k"])] if task == "subspace" else None


@attrs.frozen(kw_only=True)
class Broken(Joining):
    name = "test-broken"

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        raise RuntimeError("secret words")


@attrs.frozen(kw_only=True)
class Idle(dp.Mechanism):
    """Releases nothing, and says that nothing is what it would release without noise."""

    name = "test-idle"
    unit = "epsilon"
    gives = dp.SymmetricMatrix

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Pure(epsilon=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        return self.noiseless(data)

    def noiseless(self, data: dp.PrivateData) -> dp.Kind:
        return dp.Moment.value(0 * data.moment, data.rows)

    def noise(self, rows: dp.Rows, level: float) -> dict[str, float]:
        return {}

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        return [dp.release("estimate", cls.name)] if task in ("moment", "low-rank") else None


@pytest.mark.parametrize(("task", "k"), [("moment", None), ("low-rank", 2)])
def test_no_mechanism_is_its_own_judge(task: str, k: int | None) -> None:
    with registered(Idle):
        found = dp.compare(task, k=k, rows=ROWS, budget=APPROXIMATE, scenario=_scenario(WIDE), draws=9)
    (idle,) = [candidate for candidate in found.candidates if candidate.name == "test-idle"]
    assert idle.error == pytest.approx(np.linalg.norm(WIDE[:k]), rel=1e-6)
    assert "matrix-laplace" == found.best.name


def test_third_parties_join_and_a_broken_one_is_left_out() -> None:
    told: list[dp.Progress] = []
    with registered(Joining, Broken):
        found = dp.compare("subspace", k=2, rows=ROWS, budget=PURE, scenario=_scenario(WIDE), progress=told.append)
    names = [candidate.name for candidate in found.candidates]
    assert "test-joining" == names[-1]
    assert "matrix-laplace" == names[0] == found.best.name
    assert {f"simulating {name!r}" for name in names} <= {event.phase for event in told}
    assert "it failed with RuntimeError" == found.left_out["test-broken"]
    assert "delta > 0" in found.left_out["gaussian"]
    text = " ".join(str(found).split())
    shown = ["orbit", "test-joining", "Not among them", "test-broken"]
    assert shown == sorted(shown, key=text.index)
    content = json.loads(json.dumps(found.to_dict()))
    assert names == [candidate["name"] for candidate in content["candidates"]]
    keys = {"name", "error", "interval", "error_95", "errors", "spent", "guarantee", "numerics", "seconds"}
    assert keys == set(content["candidates"][0])
    assert {"epsilon": 1.0, "delta": 0.0} == content["candidates"][0]["spent"]
    assert "worst case, pure ε = 1" == content["candidates"][0]["guarantee"]
    assert found.norm == error_norms.PROJECTORS


def test_a_scenario_with_a_model_includes_what_clipping_does() -> None:
    scenario = dp.Scenario(dim=6, n=2000, model="spiked", rank=1, spike=1.0, noise=0.05)
    found = dp.compare("subspace", k=1, rows=ROWS, budget=APPROXIMATE, scenario=scenario)
    assert "spiked rows" in " ".join(str(found).split())
    assert "clipping bias not included" in " ".join(
        str(dp.compare("subspace", k=1, rows=ROWS, budget=APPROXIMATE, scenario=_scenario(WIDE))).split()
    )


def test_centered_rows_are_compared_by_their_covariance() -> None:
    rows = dp.Rows(norm=3.0, neighbors="replace", center=True)
    scenario = dp.Scenario(dim=2, n=5000, spectrum=[9000.0, 1000.0], model="gaussian")
    found = dp.compare("subspace", k=1, rows=rows, budget=APPROXIMATE, scenario=scenario)
    assert ["matrix-laplace", "gaussian"] == [candidate.name for candidate in found.candidates]
    assert found.best.error < 0.1


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"task": "median"}, "task must be one of 'subspace', 'low-rank', 'eigenvalues', 'moment'; got 'median'"),
    ({"k": None}, "task 'subspace' with 5 coordinates needs k from 1 to 4; got None"),
    ({"k": 5}, "needs k from 1 to 4; got 5"),
    ({"task": "moment"}, "leave k= out"),
    ({"scenario": dp.Scenario(dim=5)}, "a comparison needs a scenario with spectrum="),
    ({"scenario": 3}, "scenario must be a dp.Scenario; got int"),
    ({"task": ["subspace"]}, "task must be one of"),
    ({"rows": None}, "rows must be a dp.Rows; got NoneType"),
    ({"budget": 1.0}, "budget must be a dp.Budget; got float"),
    ({"budget": dp.Budget(epsilon=0.0, delta=1e-6)}, "budget must have epsilon above 0"),
    ({"rows": attrs.evolve(ROWS, dim=7)}, "the promise says dim=7; got dim=5"),
    ({"draws": 7}, "draws must be an integer of at least 8; got 7"),
]


@pytest.mark.parametrize(("given", "says"), REFUSED)
def test_refusals(given: dict[str, Any], says: str) -> None:
    usual = {"task": "subspace", "k": 2, "rows": ROWS, "budget": APPROXIMATE, "scenario": _scenario(WIDE)}
    with pytest.raises(dp.PlanError, match=says):
        dp.compare(**{**usual, **given})


def test_nobody_can_do_it() -> None:
    centered = dp.Rows(norm=3.0, neighbors="replace", center=True)
    found = dp.compare("subspace", k=1, rows=centered, budget=PURE, scenario=_scenario(WIDE))
    with pytest.raises(dp.PlanError, match="no installed mechanism can do 'subspace' here"):
        _ = found.best
    assert "Not among them" in str(found)


def test_a_guarantee_under_a_model_is_compared_where_it_is_accepted() -> None:
    scenario = dp.Scenario(model="spiked", dim=20, n=20_000, rank=2, spike=500.0, noise=1.0)
    given: dict[str, Any] = {
        "rows": dp.Rows(norm=60.0, neighbors="replace"),
        "budget": APPROXIMATE,
        "k": 2,
        "draws": 20,
    }
    found = dp.compare("subspace", scenario=scenario, **given)
    assert "spiked-block" == found.best.name
    assert "not a worst-case guarantee" in found.left_out["spiked"]
    accepted = dp.compare("subspace", scenario=scenario, accept=[dp.model("spiked-covariance")], **given)
    (modelled,) = [candidate for candidate in accepted.candidates if candidate.name == "spiked"]
    assert modelled.guarantee.startswith("not a worst-case guarantee")
    assert {"worst case"} == {
        each.guarantee for each in accepted.candidates if each.name in ("gaussian", "spiked-block")
    }
