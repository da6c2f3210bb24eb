"""For every mechanism, relation and way of telling it: the stated epsilon is what the accountant computes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe import registry
from dpframe.cli import main as cli
from tests.support.shipped import MODEL_BASED, PARAMETERS

BUDGETS = [dp.Budget(epsilon=0.3, delta=1e-6), dp.Budget(epsilon=2.0, delta=1e-9), dp.Budget(epsilon=1.0)]
IMPURE = {"block-gaussian", "gaussian", "gaussian-sum", "spiked", "spiked-block"}


def plan(mechanism: str, relation: str, budget: dp.Budget) -> dp.Plan:
    step = dp.release("value", mechanism, **PARAMETERS[mechanism])
    rows = dp.Rows(norm=1.0, neighbors=relation, contributions=1 if mechanism in MODEL_BASED else 2)
    return dp.Plan(rows=rows, budget=budget, steps=[step], accept=[dp.model("spiked-covariance")])


def test_every_installed_mechanism_is_covered() -> None:
    installed = {cls.name for cls in registry.classes("mechanism")}
    assert set(PARAMETERS) == installed


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
        loss = action.loss(built.rows, built.pricing.levels[step.name])
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
