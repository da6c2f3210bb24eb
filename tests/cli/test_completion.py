"""``dpframe completion``: what bash offers after words that were typed, and scripts for other shells."""

from __future__ import annotations

import subprocess

import pytest

from dpframe.cli.completion import SHELLS
from tests.support.shell import dpframe

TRY = """
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dpframe; echo "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["dpframe", "in"], "init"),
        (["dpframe", "run", "--dr"], "--dry-run"),
        (["dpframe", "run", "plan.toml", "data.csv", "-o", "out", "--js"], "--json"),
        (["dpframe", "run", "pl"], ""),
        (["dpframe", "ledger", "ve"], "verify"),
        (["dpframe", "ledger", "verify", "budget.db", "--he"], "--help --head"),
        (["dpframe", "completion", ""], "bash zsh fish --help"),
    ],
)
def test_bash_offers_what_may_follow(typed: list[str], offered: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, script, _ = dpframe("completion", "bash", capsys=capsys)
    assert 0 == code
    words = ["bash", "-c", script + TRY, "-", *typed]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert offered == done.stdout.strip()


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_in_every_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, script, _ = dpframe("completion", shell, capsys=capsys)
    assert 0 == code
    for word in ("init", "explain", "run", "dry-run", "ledger", "history", "completion"):
        assert word in script
