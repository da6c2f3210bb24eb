"""For every mechanism, relation and way of telling it: the stated epsilon is what the accountant computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe import registry
from dpframe.cli import main as cli
from tests.support.shipped import DRAWN_ELSEWHERE, MODEL_BASED, PARAMETERS, promise

BUDGETS = [dp.Budget(epsilon=0.3, delta=1e-6), dp.Budget(epsilon=2.0, delta=1e-9), dp.Budget(epsilon=1.0)]
IMPURE = {"block-gaussian", "gaussian", "gaussian-folds", "gaussian-sum", "spiked", "spiked-block"}


def plan(mechanism: str, relation: str, budget: dp.Budget) -> dp.Plan:
    step = dp.release("value", mechanism, **PARAMETERS[mechanism])
    rows = promise(mechanism, relation, contributions=1 if mechanism in MODEL_BASED else 2)
    return dp.Plan(rows=rows, budget=budget, steps=[step], accept=[dp.model("spiked-covariance")])


def test_every_installed_mechanism_is_covered() -> None:
    installed = {cls.name for cls in registry.classes("mechanism")}
    assert set(PARAMETERS) | DRAWN_ELSEWHERE == installed


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("mechanism", PARAMETERS)
def test_every_wrapper_states_what_the_accountant_computes(
    mechanism: str,
    relation: str,
    budget: dp.Budget,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if mechanism in MODEL_BASED and relation == "add-remove":
        with pytest.raises(dp.PlanError, match="rows that are replaced"):
            plan(mechanism, relation, budget)
        return
    if mechanism in IMPURE and budget.delta == 0.0:
        with pytest.raises(dp.PlanError, match="no pure guarantee"):
            plan(mechanism, relation, budget)
        return
    built = plan(mechanism, relation, budget)
    losses: list[dp.PrivacyLoss] = []
    for step, action in built.releases:
        loss = action.loss(built.rows_of(step), built.pricing.levels[step.name])
        losses += loss if isinstance(loss, tuple) else [loss]
    computed = dp.accountant("auto").epsilon(dp.losses.under_models(losses), budget.delta)
    assert (1 - 1e-9) * budget.epsilon <= computed <= budget.epsilon

    values = np.random.default_rng(0).standard_normal((50, 3))
    result = built.run(values)
    monkeypatch.chdir(tmp_path)
    built.dump("plan.toml")
    np.save("rows.npy", values)
    assert 0 == cli.main(["run", "plan.toml", "rows.npy", "--json"])
    told = {
        "plan": built.spent.epsilon,
        "explanation": built.explain(dim=3).statement.spent.epsilon,
        "line": built.explain().statement.line(built.releases[-1][0].name).epsilon_so_far,
        "result": result.spent.epsilon,
        "json": json.loads(result.to_json())["statement"]["spent"]["epsilon"],
        "plan file": dp.Plan.load("plan.toml").spent.epsilon,
        "command": json.loads(capsys.readouterr().out)["statement"]["spent"]["epsilon"],
        "loaded": dp.Result.load("plan-result/result.json").spent.epsilon,
    }
    assert dict.fromkeys(told, computed) == told


RECIPES = {"adaptive", "bingham-low-rank", "deflation", "orbit-low-rank", "spiked-block"}
GUARANTEES: dict[str, type[dp.PrivacyLoss]] = {
    "bingham": dp.losses.BoundedRange,
    "block-gaussian": dp.losses.Gaussian,
    "block-radii": dp.losses.BoundedRange,
    "gaussian": dp.losses.Gaussian,
    "gaussian-folds": dp.losses.Gaussian,
    "gaussian-sum": dp.losses.Gaussian,
    "laplace-eigenvalues": dp.losses.Laplace,
    "laplace-scores": dp.losses.Laplace,
    "laplace-sum": dp.losses.Laplace,
    "matrix-laplace": dp.losses.Pure,
    "orbit": dp.losses.BoundedRange,
    "private-quantile": dp.losses.BoundedRange,
}


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("mechanism", sorted(set(PARAMETERS) - MODEL_BASED - RECIPES))
def test_the_level_is_the_loss_that_the_guarantee_states(mechanism: str, relation: str) -> None:
    """Whatever accountants make of it: a mechanism that stated half of its loss would agree with them."""
    action: Any = dp.release("value", mechanism, **PARAMETERS[mechanism]).action
    loss = action.loss(dp.Rows(norm=1.0, neighbors=relation, contributions=2, dim=3), 0.5)
    parts = loss if isinstance(loss, tuple) else (loss,)
    assert {GUARANTEES[mechanism]} == set(map(type, parts))
    assert 0.5 == sum(getattr(part, "mu" if "gaussian" in mechanism else "epsilon") for part in parts)


COLUMNS = [dp.Column(name, -4, 4) for name in ("x", "y", "z")]
PROMISES: dict[str, dict[str, Any]] = {
    "arrays": {"norm": 1.0},
    "columns": {"columns": COLUMNS},
    "center": {"columns": COLUMNS, "center": True},
    "placed": {"columns": COLUMNS, "about": (0.25,) * 3, "scale": (0.5,) * 3, "norm": 2.0},
}
WITHOUT_CONSTANT = (
    "bingham",
    "bingham-low-rank",
    "block-gaussian",
    "block-radii",
    "deflation",
    "laplace-eigenvalues",
    "laplace-scores",
    "orbit",
    "orbit-low-rank",
    "spiked-block",
)
REFUSED = {
    **{(mechanism, "center"): "constant coordinate" for mechanism in WITHOUT_CONSTANT},
    ("adaptive", "arrays"): "needs public ranges",
    ("adaptive", "placed"): "finds center, scales and norm itself",
}


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("rows_are", PROMISES)
@pytest.mark.parametrize("mechanism", sorted(set(PARAMETERS) - MODEL_BASED))
def test_runs_and_ledgers_state_what_the_accountant_computes(
    mechanism: str, rows_are: str, relation: str, tmp_path: Path
) -> None:
    """For every promise about the rows, with the rows that each step sees."""
    rows = dp.Rows(neighbors=relation, contributions=2, **PROMISES[rows_are])
    budget = BUDGETS[0] if mechanism in IMPURE else dp.Budget(epsilon=0.3)
    step = dp.release("value", mechanism, **PARAMETERS[mechanism])
    if (mechanism, rows_are) in REFUSED:
        with pytest.raises(dp.PlanError, match=REFUSED[mechanism, rows_are]):
            dp.Plan(rows=rows, budget=budget, steps=[step])
        return
    ledger = dp.Ledger.create(tmp_path / "budget.db")
    held = ledger.add("all", budget=budget, neighbors=relation, contributions=2)
    built = dp.Plan(rows=rows, budget=budget, steps=[step], accountant=held.accountant)
    losses: list[dp.PrivacyLoss] = []
    for each, action in built.releases:
        loss = action.loss(built.rows_of(each), built.pricing.levels[each.name])
        losses += loss if isinstance(loss, tuple) else [loss]
    computed = dp.accountant(held.accountant).epsilon(losses, budget.delta)
    assert (1 - 1e-9) * budget.epsilon <= computed <= budget.epsilon
    result = built.run(np.random.default_rng(0).standard_normal((50, 3)), ledger=ledger, dataset="all")
    assert result.charge is not None
    told = {
        "plan": built.spent,
        "result": result.spent,
        "charge": result.charge.spent,
        "ledger": ledger.dataset("all").spent,
    }
    assert dict.fromkeys(told, computed) == {name: each.epsilon for name, each in told.items()}
