"""The commands of a ledger: what they print, and how they exit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dpframe as dp
from dpframe.cli import main as cli
from tests.support.ledgers import DATA, NAME, plan
from tests.support.mechanisms import Failing, registered

CREATE = ("ledger", "create", "budget.db", "--dataset", NAME, "--epsilon", "3", "--delta", "1e-6")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    plan(2.5).dump("plan.toml")
    np.save("rows.npy", DATA)


def dpframe(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    try:
        code = cli.main(list(words))
    except SystemExit as stop:
        code = int(stop.code or 0)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


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
