"""The commands of a ledger: what they print, and how they exit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dpframe as dp
from dpframe.ledger import chain
from dpframe.ledger.account import Account
from tests.support.ledgers import DATA, NAME, plan
from tests.support.mechanisms import Failing, registered
from tests.support.shell import dpframe

CREATE = ("ledger", "create", "budget.db", "--dataset", NAME, "--epsilon", "3", "--delta", "1e-6")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    plan(2.5).dump("plan.toml")
    np.save("rows.npy", DATA)


def test_from_create_to_verify(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = dpframe(*CREATE, "--neighbors", "add-remove", capsys=capsys)
    assert (0, "") == (code, err)
    assert all(word in out for word in (NAME, "100 %", "epsilon=3, delta=1e-06 (zcdp)", "Head: "))
    run = ("run", "plan.toml", "rows.npy", "--ledger", "budget.db", "--dataset", NAME)
    code, out, err = dpframe(*run, "-o", "first", capsys=capsys)
    assert (0, "") == (code, err)
    result = dp.Result.load("first/result.json")
    assert result.charge is not None
    head = result.charge.head
    assert out.startswith("Where it was charged")
    assert out.splitlines()[-1] == f"charged to data set '{NAME}'; note the head: {head}"
    code, out, err = dpframe(*run, "-o", "second", capsys=capsys)
    assert (1, "") == (code, out)
    assert "would reach epsilon=" in err
    assert "dp.Budget(epsilon=" in err
    code, out, err = dpframe("ledger", "show", "budget.db", "--json", capsys=capsys)
    shown = json.loads(out)
    assert (head, 1) == (shown["head"], shown["datasets"][0]["runs"])
    assert {"epsilon": 3.0, "delta": 1e-6} == shown["datasets"][0]["budget"]
    code, out, err = dpframe("ledger", "history", "budget.db", "--dataset", NAME, "--json", capsys=capsys)
    assert ["dataset", "reserved", "released"] == [entry["kind"] for entry in json.loads(out)["entries"]]
    code, out, err = dpframe("ledger", "history", "budget.db", capsys=capsys)
    assert all(word in out for word in ("created", "reserved", "Gaussian mu="))
    code, out, err = dpframe("ledger", "verify", "budget.db", "--head", head, capsys=capsys)
    assert 0 == code
    assert head in out
    code, out, err = dpframe("ledger", "verify", "budget.db", "--head", head, "--json", capsys=capsys)
    assert (True, True, 4) == tuple(json.loads(out)[key] for key in ("verified", "known", "entries"))
    code, out, err = dpframe("ledger", "verify", "budget.db", "--head", "0" * 64, capsys=capsys)
    assert (1, "") == (code, out)
    assert "no entry has the hash" in err


def test_create_adds_data_sets_and_makes_no_file_for_terms_that_make_no_sense(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, err = dpframe(*CREATE, "--neighbors", "swap", capsys=capsys)
    assert (1, False) == (code, Path("budget.db").exists())
    assert "neighbors must be one of 'add-remove', 'replace'; got 'swap'" in err
    code, _, err = dpframe(*CREATE, "--neighbors", "replace", "--accountant", "pld", capsys=capsys)
    assert (1, False) == (code, Path("budget.db").exists())
    terms = ("--neighbors", "replace", "--accountant", "gdp", "--contributions", "2", "--person", "id", "--json")
    for name in ("a", "b"):
        code, out, _ = dpframe(*CREATE, *terms, "--dataset", name, capsys=capsys)
        assert 0 == code
    assert ["a", "b"] == [each["name"] for each in json.loads(out)["datasets"]]
    fixed = json.loads(out)["datasets"][1]
    assert ("gdp", 2, "id") == (fixed["accountant"], fixed["contributions"], fixed["person"])
    code, _, err = dpframe(*CREATE, *terms, "--dataset", "A", capsys=capsys)
    assert 1 == code
    assert "has a data set 'a' already" in err


def test_a_key_comes_from_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("key").write_text("0123456789abcdef0123456789abcdef\n")
    key = ("--key-file", "key")
    assert 0 == dpframe(*CREATE, "--neighbors", "add-remove", *key, capsys=capsys)[0]
    run = ("run", "plan.toml", "rows.npy", "--ledger", "budget.db", "--dataset", NAME)
    code, _, err = dpframe(*run, capsys=capsys)
    assert 1 == code
    assert "has a key, and none was given" in err
    assert 0 == dpframe(*run, *key, capsys=capsys)[0]
    assert 0 == dpframe("ledger", "verify", "budget.db", *key, capsys=capsys)[0]
    code, _, err = dpframe("ledger", "verify", "budget.db", "--key-file", "none", capsys=capsys)
    assert 1 == code
    assert "the key file none cannot be read: No such file or directory" in err
    assert 4 == dp.Ledger.open("budget.db", key="0123456789abcdef0123456789abcdef").verify().entries


def test_a_failure_after_the_charge_prints_the_head_too(capsys: pytest.CaptureFixture[str]) -> None:
    dpframe(*CREATE, "--neighbors", "add-remove", capsys=capsys)
    with registered(Failing):
        plan(0.5, dp.release("a", "failing")).dump("failing.toml")
        words = ("run", "failing.toml", "rows.npy", "--ledger", "budget.db", "--dataset", NAME)
        code, _, err = dpframe(*words, capsys=capsys)
    assert 3 == code
    assert f"Head: {dp.Ledger.open('budget.db').head}" in err
    assert 1 == dp.Ledger.open("budget.db").dataset(NAME).runs


def test_one_of_ledger_and_data_set_is_not_enough(capsys: pytest.CaptureFixture[str]) -> None:
    dpframe(*CREATE, "--neighbors", "add-remove", capsys=capsys)
    for words in (("--ledger", "budget.db"), ("--dataset", NAME)):
        code, _, err = dpframe("run", "plan.toml", "rows.npy", *words, capsys=capsys)
        assert 1 == code
        assert "needs both" in err
    code, _, err = dpframe("run", "plan.toml", "rows.npy", "--ledger", "none.db", "--dataset", NAME, capsys=capsys)
    assert 1 == code
    assert "there is no ledger" in err


def test_a_key_without_a_ledger_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("key").write_text("k" * 32)
    code, _, err = dpframe("run", "plan.toml", "rows.npy", "--key-file", "key", capsys=capsys)
    assert 1 == code
    assert "no --ledger is given. Nothing was charged, read or drawn." in err


def test_a_note_is_recorded_and_a_plan_that_was_run_before_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPFRAME_USER", "alice")
    plan(0.5).dump("plan.toml")
    dpframe(*CREATE, "--neighbors", "add-remove", capsys=capsys)
    run = ("run", "plan.toml", "rows.npy", "--ledger", "budget.db", "--dataset", NAME)
    code, out, _ = dpframe(*run, "-o", "first", "--note", "for\nthe report", capsys=capsys)
    assert 0 == code
    assert "the same plan" not in out
    code, out, _ = dpframe(*run, "-o", "second", capsys=capsys)
    assert 0 == code
    assert "The same plan was charged to this data set before, last in entry 3" in " ".join(out.split())
    code, out, _ = dpframe("ledger", "history", "budget.db", capsys=capsys)
    assert "by alice: for the report" in " ".join(out.split())
    code, _, err = dpframe("run", "plan.toml", "rows.npy", "-o", "third", "--note", "x", capsys=capsys)
    assert 1 == code
    assert "a note is recorded there. Nothing was charged." in err


def test_an_outcome_is_recorded_later_and_an_edited_result_is_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dpframe(*CREATE, "--neighbors", "add-remove", capsys=capsys)
    run = ("run", "plan.toml", "rows.npy", "--ledger", "budget.db", "--dataset", NAME)
    with monkeypatch.context() as planted:
        planted.setattr(Account, "released", lambda *_: 1 / 0)
        with pytest.warns(RuntimeWarning, match="dpframe ledger record"):
            code, out, _ = dpframe(*run, "-o", "first", capsys=capsys)
    assert 0 == code
    assert "could not be recorded" in " ".join(out.split())
    verify = ("ledger", "verify", "budget.db", "--result", "first/result.json")
    code, _, err = dpframe(*verify, capsys=capsys)
    assert 1 == code
    assert "no outcome was recorded" in err
    for _ in range(2):
        code, out, err = dpframe("ledger", "record", "budget.db", "first/result.json", capsys=capsys)
        assert (0, "") == (code, err)
        assert f"recorded for data set '{NAME}'; note the head: {dp.Ledger.open('budget.db').head}\n" == out
    code, out, err = dpframe("ledger", "record", "budget.db", "first/result.json", "--json", capsys=capsys)
    assert (0, 3) == (code, json.loads(out)["entry"])
    code, out, err = dpframe(*verify, capsys=capsys)
    assert (0, "") == (code, err)
    assert "charged here, with these values and this statement" in out
    content = json.loads(Path("first/result.json").read_text())
    content["statement"]["spent"]["epsilon"] = 0.1
    Path("first/result.json").write_text(json.dumps(content))
    code, out, err = dpframe(*verify, capsys=capsys)
    assert (1, "") == (code, out)
    assert "its statement was changed" in err


@pytest.mark.parametrize("command", [("record", "budget.db"), ("verify", "budget.db", "--result")])
def test_a_result_that_is_not_there_or_is_none_is_told(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    dpframe(*CREATE, "--neighbors", "add-remove", capsys=capsys)
    Path("none.json").write_text("{}")
    for file, message in (("gone.json", "'gone.json': no such file"), ("none.json", "is not a result")):
        code, out, err = dpframe("ledger", *command, file, capsys=capsys)
        assert (1, "") == (code, out)
        assert message in err


def test_a_wrong_clock_is_repaired(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as planted:
        planted.setattr(chain, "now", lambda: "2099-01-01T00:00:00.000000+00:00")
        dpframe(*CREATE, "--neighbors", "add-remove", capsys=capsys)
    run = ("run", "plan.toml", "rows.npy", "--ledger", "budget.db", "--dataset", NAME)
    code, _, err = dpframe(*run, capsys=capsys)
    assert 1 == code
    assert "dpframe ledger repair" in err
    repair = ("ledger", "repair", "budget.db", "--note", "the clock was set")
    code, out, err = dpframe(*repair, capsys=capsys)
    assert (0, "") == (code, err)
    assert "the clock of entry 2 was wrong: it said 2099-01-01T00:00:00" in " ".join(out.split())
    assert 0 == dpframe(*run, capsys=capsys)[0]
    code, out, err = dpframe(*repair, capsys=capsys)
    assert (1, "") == (code, out)
    assert "needs no repair" in err
