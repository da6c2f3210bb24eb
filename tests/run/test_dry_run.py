"""Dry runs: whatever a run refuses is refused, and nothing is charged, read or drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe import registry
from dpframe.noise import Keystream
from dpframe.run import runner
from tests.support.shell import dpframe

PLAN = dp.Plan(
    rows=dp.Rows(columns=[dp.Column("a", 0, 1), dp.Column("b", 0, 1)], neighbors="add-remove"),
    budget=dp.Budget(epsilon=1.0, delta=1e-6),
    steps=[dp.release("moment", "gaussian")],
)
DATA = {"a": np.linspace(0, 1, 50), "b": np.linspace(1, 0, 50)}
NOTHING = "Nothing was charged, read or drawn."


@pytest.fixture
def ledger(tmp_path: Path) -> dp.Ledger:
    ledger = dp.Ledger.create(tmp_path / "budget.db")
    ledger.add("clinic", budget=dp.Budget(epsilon=1.2, delta=1e-6), neighbors="add-remove")
    return ledger


@pytest.fixture(autouse=True)
def _nothing_is_read_or_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("read or drawn")

    monkeypatch.setattr(runner, "accumulate", refused)
    monkeypatch.setattr(Keystream, "secure", refused)


def test_the_guard_of_these_tests_works() -> None:
    with pytest.raises(AssertionError, match="read or drawn"):
        PLAN.run(DATA)


def test_it_says_what_a_run_would_promise() -> None:
    dry = PLAN.dry_run(DATA)
    assert PLAN.content_hash == dry.statement.plan
    assert dry.statement.line("moment").noise  # the dimension of the data is known
    assert " ".join(str(dry).split()).endswith(NOTHING)
    assert dry.to_dict()["dry_run"]


def test_a_ledger_is_not_changed_and_what_would_be_spent_is_told(ledger: dp.Ledger) -> None:
    before = ledger.history().to_dict()
    dry = PLAN.dry_run(DATA, ledger=ledger, dataset="clinic", note="why")
    assert dry.outlook is not None
    assert dp.Budget(epsilon=1.2, delta=1e-6) == dry.outlook.budget
    assert 0.9 < dry.outlook.spent.epsilon <= 1.0
    words = " ".join(str(dry).split())
    assert "Data set 'clinic' would have spent epsilon=" in words
    assert "of 1.2 at delta=1e-06, over all runs" in words
    assert before == ledger.history().to_dict()


def test_what_does_not_fit_is_refused(ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    charged = PLAN.run(DATA, ledger=ledger, dataset="clinic")
    before = ledger.history().to_dict()
    with pytest.raises(dp.BudgetExceeded, match="Nothing was charged, read or drawn"):
        PLAN.dry_run(DATA, ledger=ledger, dataset="clinic")
    assert before == ledger.history().to_dict()
    smaller = dp.Plan(rows=PLAN.rows, budget=charged.charge.remaining, steps=PLAN.declared)  # type: ignore[union-attr]
    assert smaller.dry_run(DATA, ledger=ledger, dataset="clinic").outlook is not None


def test_the_errors_of_a_run_are_raised() -> None:
    class Veto:
        @dp.hookimpl
        def dpframe_before_charge(self) -> None:
            raise dp.PlanError("never")

    with registry.observing(Veto()), pytest.raises(dp.PlanError, match="never"):
        PLAN.dry_run(DATA)
    with pytest.raises(dp.DataError, match="'b'"):
        PLAN.dry_run({"a": DATA["a"]})


def test_the_command_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    PLAN.dump("plan.toml")
    Path("data.csv").write_text("a,b\n0.5,0.25\n")
    code, out, err = dpframe("run", "plan.toml", "data.csv", "-o", "out", "--dry-run", capsys=capsys)
    assert (0, "") == (code, err)
    assert out.rstrip().endswith(NOTHING)
    assert {"plan.toml", "data.csv"} == {path.name for path in tmp_path.iterdir()}
    code, out, _ = dpframe("run", "plan.toml", "data.csv", "--dry-run", "--json", capsys=capsys)
    assert (0, True) == (code, json.loads(out)["dry_run"])
    Path("out").mkdir()
    Path("out/result.json").touch()
    code, _, err = dpframe("run", "plan.toml", "data.csv", "-o", "out", "--dry-run", capsys=capsys)
    assert 1 == code
    assert "out/result.json exists already" in err
