"""What floats may cost is added up over runs, at the epsilon of the data set's budget."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import dpframe as dp
from tests.support.ledgers import DATA, NAME, ROWS, make, plan
from tests.support.mechanisms import Floating, registered

PURE = dp.Budget(epsilon=4.0)


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    with registered(Floating):
        yield


def floating(epsilon: float, error: float) -> dp.Plan:
    steps = [dp.release(name, "test-floating", error=error) for name in ("a", "b")]
    return dp.Plan(rows=ROWS, budget=dp.Budget(epsilon=epsilon), steps=steps)


def test_runs_add_up_at_the_epsilon_of_the_budget(path: Path) -> None:
    ledger = make(path, PURE)
    assert 0.0 == ledger.dataset(NAME).slack
    assert "slack" not in ledger.dataset(NAME).to_dict()
    first = floating(0.5, 1e-10).run(DATA, ledger=ledger, dataset=NAME)
    second = floating(1.0, 4e-10).run(DATA, ledger=ledger, dataset=NAME)
    moved = [2 * 3 * 1e-10, 2 * 3 * (1e-10 + 4e-10)]  # two releases of three dimensions each
    expected = [(1 + math.exp(4.0)) * error for error in moved]
    assert first.charge is not None
    assert second.charge is not None
    assert expected == pytest.approx([first.charge.slack, second.charge.slack])
    assert expected[1] == pytest.approx(ledger.dataset(NAME).slack)
    assert expected[1] == pytest.approx(ledger.dataset(NAME).to_dict()["slack"])
    assert json.loads(second.to_json())["charge"]["slack"] == second.charge.slack
    text = f"a numerical slack of about {expected[1]:.1e} in delta"
    assert text in " ".join(str(ledger).split())
    assert text in " ".join(str(second).split())
    assert "law error 2.4e-09" in " ".join(str(ledger.history()).split())
    ledger.verify(head=second.charge.head)


def test_exact_runs_have_none(ledger: dp.Ledger) -> None:
    result = plan(0.5).run(DATA, ledger=ledger, dataset=NAME)
    assert result.charge is not None
    assert 0.0 == result.charge.slack
    assert "slack" not in str(ledger) + str(result) + str(ledger.history())


def test_a_refused_run_adds_nothing(path: Path) -> None:
    ledger = make(path, PURE)
    with pytest.raises(dp.BudgetExceeded):
        floating(5.0, 1e-12).run(DATA, ledger=ledger, dataset=NAME)
    assert 0.0 == ledger.dataset(NAME).slack


def test_the_entry_of_a_charge_says_who_computed_it(ledger: dp.Ledger) -> None:
    plan(0.5).run(DATA, ledger=ledger, dataset=NAME)
    reserved = next(entry for entry in ledger.history() if entry.kind == "reserved")
    assert f"dpframe {dp.__version__}" == reserved.content["computed_by"]
    assert Fraction(0) == Fraction(reserved.content["law_error"])


def test_sums_that_do_not_add_up_are_found(path: Path) -> None:
    """By whoever could have written the hashes as well."""
    ledger = make(path, PURE)
    floating(0.5, 1e-10).run(DATA, ledger=ledger, dataset=NAME)
    journal = ledger.journal
    with journal.writing() as transaction:
        last = transaction.last(NAME)
        assert last is not None
        reserved = next(entry for entry in ledger.history() if entry.kind == "reserved").content
        again = {**reserved, "run": "0" * 32, "runs": 2, "total": str(2 * Fraction(reserved["total"]))}
        journal.append(transaction, dataset=NAME, kind="reserved", content={**again, "law_errors": "0"})
    with pytest.raises(dp.LedgerError, match="its sums are not those of its losses"):
        ledger.verify()
