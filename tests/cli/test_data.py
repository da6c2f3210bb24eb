"""Data on the command line: what can be read, how it is stated, and what is said about what cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support import shell

PLAN = """format = 1

[rows]
neighbors = "add-remove"
center = true

[[rows.columns]]
name = "age"
low = 0.0
high = 100.0

[[rows.columns]]
name = "hours"
low = 0.0
high = 10.0

[budget]
epsilon = 1.0
delta = 1e-6

[[steps]]
release = "moment"
with = "gaussian"
"""
LINES = [f"{age};{age % 10},5" for age in range(100)] * 40
TRY_FIRST = "Nothing was charged. Before a run, dpframe check PLAN DATA compares the cells with the plan"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    Path("plan.toml").write_text(PLAN)
    Path("german.csv").write_text("\n".join(["age;hours", *LINES]), encoding="utf-16-le")


def dpframe(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code, out, err = shell.dpframe(*words, capsys=capsys)
    return code, out, " ".join(err.split())


OPTIONS = ("--csv-separator", ";", "--csv-decimal", ",", "--csv-encoding", "utf-16-le")


def test_options_of_csv_files(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = dpframe(capsys, "check", "plan.toml", "german.csv", *OPTIONS)
    assert 0 == code
    assert "4000" in out
    assert [["age", "0", "0", "0"], ["hours", "0", "0", "0"]] == [line.split() for line in out.split("\n")[-4:-2]]
    code, out, _ = dpframe(capsys, "run", "plan.toml", "german.csv", *OPTIONS, "--json")
    assert 0 == code
    assert [] == json.loads(out)["warnings"]


@pytest.mark.parametrize("tab", ["tab", r"\t", "\t"])
def test_a_tab_as_it_is_typed(capsys: pytest.CaptureFixture[str], tab: str) -> None:
    Path("tabs.csv").write_text("age\thours\n1\t2\n")
    assert 0 == dpframe(capsys, "check", "plan.toml", "tabs.csv", "--csv-separator", tab)[0]


def test_what_the_header_line_suggests(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = dpframe(capsys, "run", "plan.toml", "german.csv")
    assert (1, "") == (code, out)
    assert "--csv-separator ';' --csv-encoding utf-16-le in a shell" in err
    assert TRY_FIRST in err


def test_a_warning_is_at_the_top_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    """Decimal commas that are not stated: every row contributes nothing, and the budget is spent."""
    code, out, _ = dpframe(capsys, "run", "plan.toml", "german.csv", *OPTIONS[:2], *OPTIONS[4:])
    assert 0 == code
    assert out.startswith("Warning: 'moment': the number of rows is not distinguishable from zero")
    assert "dpframe check" in " ".join(out.split())
    assert out.index("Warning") < out.index("What was promised")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.npy", b"", "'t.npy' cannot be read as an array (EOFError)"),
        ("t.npy", b"\x93NUMPY", "'t.npy' cannot be read as an array (ValueError)"),
        ("t.parquet", b"PAR1", "'t.parquet' cannot be read as a Parquet file"),
        ("t.csv", b"1,2\n3,4\n", "the first line of 't.csv' must name the column 'age' once"),
        (
            "t.csv.gz",
            b"age,hours\n",
            "'t.csv.gz' cannot be read as CSV compressed by gzip, as its ending says (BadGzipFile)",
        ),
    ],
)
def test_files_that_are_not_what_they_say(
    capsys: pytest.CaptureFixture[str], name: str, content: bytes, says: str
) -> None:
    Path(name).write_bytes(content)
    for command in ("run", "check"):
        code, out, err = dpframe(capsys, command, "plan.toml", name)
        assert (1, "") == (code, out)
        assert says in err
        assert "3,4" not in err


def test_a_truncated_array(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("t.npy", np.zeros((1000, 2)))
    os.truncate("t.npy", 5000)
    code, out, err = dpframe(capsys, "run", "plan.toml", "t.npy")
    assert (1, "") == (code, out)
    assert "'t.npy' cannot be read as an array (ValueError): it is no .npy file, shorter than its header says" in err
    assert "Nothing was charged" in err


def test_csv_options_with_a_query(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = dpframe(capsys, "run", "plan.toml", "x.db", "--query", "select 1", "--csv-separator", ";")
    assert 1 == code
    assert "--csv-... options are for the path of a CSV file" in err


@pytest.mark.parametrize("name", ["t.npy", "t.csv", "t.parquet"])
def test_a_pipe(name: str) -> None:
    """Nobody writes to it, so that opening it would wait for ever."""
    os.mkfifo(name)
    words = [sys.executable, "-m", "dpframe", "run", "plan.toml", name]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert (1, "") == (done.returncode, done.stdout)
    assert "it is a pipe or a device" in done.stderr
