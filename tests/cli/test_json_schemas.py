"""Every command that takes --json prints what its schema says, and the schemas are not so wide that anything fits."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe as dp
from dpframe.cli import main as cli
from dpframe.cli.json_schemas import OUTPUTS, output_schema
from tests.support import shell
from tests.support.shell import dpframe

jsonschema: Any = pytest.importorskip("jsonschema", reason="schemas are checked by it")

TABLE = """format = 1
rows = {neighbors = "add-remove", center = true, columns = [
  {name = "age", low = 17, high = 90, unit = "years"}, {name = "sex", levels = ["F", "M"]}]}
budget = {epsilon = 1.0}
steps = [{release = "moment", with = "matrix-laplace"}, {derive = "mean", with = "mean", of = {ref = "moment"}}]
"""
MODEL = """format = 1
accept = ["spiked-covariance"]
rows = {neighbors = "replace", norm = 1.0, dim = 4}
budget = {epsilon = 1.0, delta = 1e-6}
steps = [{release = "value", with = "spiked", rank = 1, n = 7919, spike = 4.0, noise = 1.0}]
"""
ON_LEDGER = ["--ledger", "db", "--dataset", "d"]
COMMANDS: list[tuple[str, list[str]]] = [
    ("ledger-create", ["--dataset", "d", "--epsilon", "20", "--delta", "1e-4", "--neighbors", "add-remove"]),
    ("run", ["plan.toml", "rows.npy", *ON_LEDGER, "--dry-run"]),
    ("run", ["plan.toml", "rows.npy", *ON_LEDGER, "--out", "one"]),
    ("run", ["plan.toml", "rows.npy", "--out", "two"]),
    ("run", ["model.toml", "rows.npy", "--out", "three"]),
    ("run", ["table.toml", "people.csv", "--out", "four"]),
    ("explain", ["plan.toml", "--dim", "4"]),
    ("explain", ["model.toml"]),
    ("explain", ["table.toml", "--rows", "1000"]),
    ("compare", ["table.toml", "--n", "500", "--task", "moment"]),
    ("audit", ["laplace-sum", "--trials", "1000", "--neighbors", "replace"]),
    ("plugins", []),
    ("plugins", ["gaussian"]),
    ("ledger-show", []),
    ("ledger-history", []),
    ("ledger-verify", ["--result", "one/result.json"]),
]


def commands_with_json(parser: argparse.ArgumentParser, name: str = "") -> Iterator[str]:
    """The names of all commands that take --json."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each, below in action.choices.items():
                yield from commands_with_json(below, f"{name}-{each}" if name else each)
        elif "--json" in action.option_strings:
            yield name


def errors(command: str, content: Any) -> list[str]:
    schema = output_schema(command)
    jsonschema.Draft202012Validator.check_schema(schema)
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(content)]


def test_every_command_that_prints_json_has_a_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(OUTPUTS) == set(commands_with_json(cli._parser()))
    assert set(OUTPUTS) - {command for command, _ in COMMANDS} == {"ledger-record", "ledger-repair"}  # seldom needed
    code, out, _ = dpframe("schema", "ledger-show", capsys=capsys)
    assert 0 == code
    assert output_schema("ledger-show") == json.loads(out)
    assert "dpframe ledger show --json" == json.loads(out)["title"]


def test_what_commands_print_is_what_their_schemas_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("plan", shell.PLAN), ("table", TABLE), ("model", MODEL)):
        Path(f"{name}.toml").write_text(text)
    np.save("rows.npy", np.random.default_rng(0).standard_normal((7919, 4)))
    Path("people.csv").write_text("age,sex\n30,F\n40,M\n")
    for command, arguments in COMMANDS:
        first = ["ledger", command.removeprefix("ledger-"), "db"] if command.startswith("ledger-") else [command]
        code, out, err = dpframe(*first, *arguments, "--json", capsys=capsys)
        assert 0 == code, (command, arguments, err)
        content = json.loads(out)
        assert [] == errors(command, content), (command, arguments)
        if command == "compare":  # for several budgets
            assert [] == errors(command, {"comparisons": [{"epsilon": 1.0, **content}]})
        spoiled = [*content, {}] if isinstance(content, list) else content | {"unknown": 1}
        assert errors(command, spoiled), "a field that nobody knows is found"
    result = dp.Result.load("one/result.json")
    assert result.charge is not None
    assert [] == errors("ledger-record", result.charge.to_dict())
    entry = dp.Ledger.open("db").history().to_dict()["entries"][-1:]
    assert [] == errors("ledger-repair", {"entries": json.loads(json.dumps(entry))})
