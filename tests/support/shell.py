"""The command dpframe as tests call it, with a small plan and data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpframe.cli import main as cli

PLAN = """format = 1

[rows]
neighbors = "add-remove"
norm = 2.0

[budget]
epsilon = 1.0
delta = 1e-6

[[steps]]
release = "moment"
with = "gaussian"
"""
RUN = ("run", "plan.toml", "rows.npy")


def write_files() -> None:
    """Write the plan and the data into the current directory."""
    Path("plan.toml").write_text(PLAN, encoding="utf-8")
    np.save("rows.npy", np.random.default_rng(0).standard_normal((50, 3)))


def dpframe(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """The exit code of a command, in this process, and what it prints."""
    try:
        code = cli.main(list(words))
    except SystemExit as stop:  # of the parser of the command line
        code = int(stop.code or 0)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def process(*words: str, stderr: Any = subprocess.PIPE, **settings: Any) -> Any:
    """A command that ran in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "dpframe", *words],
        stderr=stderr,
        env={**os.environ, "COLUMNS": "120", **settings.pop("environment", {})},
        check=False,
        **settings,
    )
