"""The tutorial for the shell, typed line by line; what it shows is what is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.packages import ROOT

PAGE = ROOT / "docs" / "tutorial" / "from-a-shell.md"


def sessions() -> list[tuple[str, list[str]]]:
    """Each command with the lines that the page shows after it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def shown(expected: list[str], printed: list[str]) -> bool:
    """Whether the lines agree; '...' stands for any number of lines."""
    if "..." not in expected:
        return expected == printed
    at = expected.index("...")
    head, tail = expected[:at], expected[at + 1 :]
    return printed[: len(head)] == head and printed[len(printed) - len(tail) :] == tail and len(printed) > len(head)


def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    commands = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "COLUMNS": "160", "NO_COLOR": "1"}
    typed = sessions()
    assert len(typed) >= 8
    for command, expected in typed:
        ran = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        printed = [line.rstrip() for line in (ran.stdout + ran.stderr).splitlines()]
        assert shown([line.rstrip() for line in expected], printed), (command, printed)
