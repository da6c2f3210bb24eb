"""An accountant of a third party with a mistake never weakens a plan that does not name it, nor one that does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import dpframe
import dpframe.plugin as dp
from tests.support.planted.accountants import HalfTheLoss, Optimizt, RightSumOfMus

VALUES = np.random.default_rng(1).standard_normal((40, 2))


def plan(accountant: str = "auto") -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="replace", dim=2),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("a", "gaussian"), dp.release("b", "gaussian", weight=0.5)],
        accountant=accountant,
    )


@pytest.fixture
def foreign(request: pytest.FixtureRequest) -> Iterator[type[dp.Accountant]]:
    dp.register(request.param)
    yield request.param
    dp.unregister(request.param)


@pytest.mark.parametrize("foreign", [HalfTheLoss, Optimizt], indirect=True)
def test_an_unchanged_plan_file_keeps_its_noise(foreign: type[dp.Accountant], tmp_path: Path) -> None:
    dp.unregister(foreign)
    plan().dump(tmp_path / "plan.toml")
    before = plan()
    dp.register(foreign)
    after = dp.Plan.load(tmp_path / "plan.toml")
    assert dict(before.pricing.levels) == dict(after.pricing.levels)
    told = after.explain().statement
    assert "gdp" == told.accountant
    assert foreign.name not in told.accountants


@pytest.mark.parametrize("foreign", [HalfTheLoss, Optimizt], indirect=True)
def test_a_plan_that_names_it_is_refused(foreign: type[dp.Accountant], tmp_path: Path) -> None:
    with pytest.raises(dp.PlanError, match=f"{foreign.name!r} .* states .* Nothing was charged"):
        plan(accountant=foreign.name)
    text = plan().dumps().replace("format = 1", f'format = 1\naccountant = "{foreign.name}"')
    with pytest.raises(dp.PlanError, match=f"{foreign.name!r} .* states .* Nothing was charged"):
        dp.Plan.loads(text)


@pytest.mark.parametrize("foreign", [RightSumOfMus], indirect=True)
def test_everything_says_who_computed_the_stated_figure(foreign: type[dp.Accountant], tmp_path: Path) -> None:
    named, auto = plan(accountant=foreign.name), plan()
    assert named.content_hash != auto.content_hash
    result = named.run(VALUES, insecure_seed=1)
    told = (foreign.name, "this process")
    for statement in (named.explain().statement, result.statement):
        assert told == (statement.accountant, statement.computed_by)
        assert {"gdp", foreign.name} <= set(statement.accountants)
    content = json.loads(result.to_json(tmp_path / "result.json"))["statement"]
    assert told == (content["accountant"], content["computed_by"])
    assert result.statement == dp.Result.load(tmp_path / "result.json").statement
    assert f"(accountant: {foreign.name} of this process; gdp says 1;" in " ".join(str(result).split())
    assert f"accountant: gdp of dpframe {dpframe.__version__};" in " ".join(str(auto.explain()).split())
