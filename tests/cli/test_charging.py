"""A run that fails: exit code 1 says that nothing was charged, and 3 that the charge stands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe import registry
from dpframe.ledger.store import UNSURE
from dpframe.run import runner
from tests.support.mechanisms import Failing, registered
from tests.support.shell import PLAN, RUN, dpframe, write_files


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()


@attrs.frozen(kw_only=True)
class Leaving(Failing):
    """Ends the process in the middle of a release."""

    name = "leaving"
    how: str = "exit"

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        raise {"exit": SystemExit(1), "interrupt": KeyboardInterrupt(), "error": ValueError()}[self.how]


@pytest.mark.parametrize("how", ["exit", "interrupt", "error"])
def test_whatever_ends_a_charged_run_exits_three(how: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.toml").write_text(PLAN.replace('"gaussian"', f'"leaving"\nhow = "{how}"'))
    with registered(Leaving):
        code, out, err = dpframe(*RUN, capsys=capsys)
    assert (3, "") == (code, out)
    assert "stands" in err
    assert not Path("plan-result").exists()


def observer(act: Callable[[], None]) -> object:
    """A plugin that acts before each charge."""

    class Observer:
        @dp.hookimpl
        def dpframe_before_charge(self) -> None:
            act()

    return Observer()


def test_a_veto_comes_before_the_charge(capsys: pytest.CaptureFixture[str]) -> None:
    def veto() -> None:
        raise dp.PlanError("not on my watch. Nothing was charged.")

    with registry.observing(observer(veto)):
        code, out, err = dpframe(*RUN, capsys=capsys)
    assert (1, "", "dpframe: not on my watch. Nothing was charged.\n") == (code, out, err)
    assert not Path("plan-result").exists()


def test_a_veto_of_any_type_reaches_the_caller_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    def veto() -> None:
        raise RuntimeError("not on my watch")

    with registry.observing(observer(veto)), pytest.raises(RuntimeError, match="not on my watch"):
        dpframe(*RUN, capsys=capsys)
    assert not Path("plan-result").exists()


@pytest.mark.parametrize(("says", "code"), [("Nothing was charged.", 1), (UNSURE, 3)])
def test_a_ledger_that_may_have_charged_exits_three(
    says: str, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpframe.ledger.account import Account

    def reserve(*_: Any) -> None:
        raise dp.LedgerError(f"the disk failed. {says}")

    ledger = dp.Ledger.create("ledger.db")
    ledger.add("people", budget=dp.Budget(epsilon=2.0, delta=1e-6), neighbors="add-remove")
    monkeypatch.setattr(Account, "reserve", reserve)
    found, out, err = dpframe(*RUN, "--ledger", "ledger.db", "--dataset", "people", capsys=capsys)
    assert (code, "") == (found, out)
    assert f"the disk failed. {says}" in err


@pytest.mark.parametrize("error", [dp.ReleaseFailed("a derivation failed."), KeyError("x"), dp.DataError("no.")])
def test_what_was_released_before_a_failure_is_printed_and_saved(
    error: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    released = dp.Plan.load("plan.toml").run(np.load("rows.npy"))

    def failing(*_: Any, **__: Any) -> dp.Result:
        registry.hook().dpframe_before_charge(plan=None, losses=())
        error.result = released
        raise error

    monkeypatch.setattr(runner, "run", failing)
    code, out, err = dpframe(*RUN, capsys=capsys)
    assert 3 == code
    assert "What was promised" in out
    assert "What was released is in plan-result: report.html, report.txt, result.json," in err
    assert released == dp.Result.load("plan-result/result.json")
