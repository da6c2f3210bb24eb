"""Reports, errors and ledgers print what was typed, and round up only what was computed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import dpframe as dp
from dpframe.ledger.render import described
from dpframe.rounding import format_given


def plan(epsilon: float, delta: float, level: float | None = None) -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(norm=0.123456789, neighbors="add-remove", dim=2),
        budget=dp.Budget(epsilon=epsilon, delta=delta),
        steps=[dp.release("moment", "gaussian", level=level)],
    )


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 1.23456789, math.log(3)])
@pytest.mark.parametrize("delta", [1e-5, 3e-7, 1.2345678e-6])
def test_reports_print_the_budget_as_given_and_never_more_than_it(epsilon: float, delta: float) -> None:
    told = plan(epsilon, delta).explain()
    text = " ".join(str(told).split())
    assert f"epsilon = {format_given(epsilon)}, delta = {format_given(delta)}, for every" in text
    assert f"delta={format_given(delta)} on its own" in told.statement.line("moment").guarantee
    assert f"delta={format_given(delta)} (accountant" in text
    assert "scaled down to length 0.123456789" in text
    spent = float(text.partition("Spent epsilon=")[2].partition(",")[0])
    assert told.statement.spent.epsilon <= spent <= epsilon


@pytest.mark.parametrize("text", ["epsilon=0.1, delta=1e-05", "epsilon=1.23456789, delta=0", "epsilon=1, delta=3e-07"])
def test_budgets_print_as_typed(text: str) -> None:
    epsilon, delta = (float(part.partition("=")[2]) for part in text.split(", "))
    assert text == str(dp.Budget(epsilon=epsilon, delta=delta))


def test_what_was_spent_of_a_budget() -> None:
    limit = dp.Budget(epsilon=1.23456789, delta=1e-5)
    below = dp.Budget(epsilon=math.nextafter(1.23456789, 0.0), delta=1e-5)
    assert "epsilon=1.23456789, delta=1e-05" == below.within(limit) == limit.within(limit)
    assert "epsilon=1.23457, delta=1e-05" == str(below)
    modeled = dp.ModelBudget(epsilon=below.epsilon, delta=1e-5, model="m", failure="1/n")
    assert modeled.within(limit).startswith("epsilon=1.23456789, delta=1e-05 under the model m, ")


def test_levels_given_are_printed_as_given() -> None:
    told = plan(3.0, 1e-5, level=0.123456789).explain().statement
    assert told.line("moment").losses == ("Gaussian mu=0.123456789",)


def test_computed_losses_are_rounded_up() -> None:
    found = plan(1.0, 1e-5)
    told = float(found.explain().statement.line("moment").losses[0].removeprefix("Gaussian mu="))
    assert found.pricing.levels["moment"] <= told <= 1.00001 * found.pricing.levels["moment"]


def test_errors_print_budgets_as_given() -> None:
    expected = r"at delta=1e-05; the budget is epsilon=0\.1\. Nothing was charged"
    with pytest.raises(dp.BudgetExceeded, match=expected) as found:
        plan(0.1, 1e-5, level=1.0)
    smallest = float(str(found.value).partition("smallest feasible budget is epsilon=")[2].partition(";")[0])
    assert smallest >= found.value.asked
    assert plan(smallest, 1e-5, level=1.0).spent.epsilon <= smallest


def test_ledgers_print_budgets_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = dp.Ledger.create(tmp_path / "budget.db")
    ledger.add("clinic", budget=dp.Budget(epsilon=math.log(3), delta=1e-5), neighbors="add-remove")
    shown = described(ledger.dataset("clinic"))
    assert shown["Budget"].startswith("epsilon=1.0986122886681098, delta=1e-05 (")
    assert shown["Spent"] == "epsilon=0 over 0 runs"
    monkeypatch.setenv("COLUMNS", "250")
    assert "epsilon=1.0986122886681098, delta=1e-05, zcdp" in str(ledger.history())
    result = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove"),
        budget=dp.Budget(epsilon=0.1, delta=1e-5),
        steps=[dp.release("moment", "gaussian")],
    ).run(np.array([[0.5, 0.1]]), ledger=ledger, dataset="clinic")
    assert "of 1.0986122886681098, delta=1e-05, over all runs" in " ".join(str(result).split())
