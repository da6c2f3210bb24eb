"""Pages of the documentation: their blocks, and what stays the same of what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import attrs


@attrs.frozen
class Block:
    """A fenced block of a page."""

    language: str
    title: str
    body: str
    mark: str  # "output", "sample" or none
    start: int
    stop: int
    line: int


FENCE = re.compile(
    r"^(?:<!-- (?P<mark>output|sample) -->\n)?```(?P<language>\w*)(?P<rest>[^\n`]*)\n(?P<body>.*?)^```$", re.M | re.S
)


def blocks(text: str) -> list[Block]:
    return [
        Block(
            language=found["language"],
            title=(re.findall(r'title="([^"]+)"', found["rest"]) or [""])[0],
            body=found["body"],
            mark=found["mark"] or "",
            start=found.start(),
            stop=found.end(),
            line=text.count("\n", 0, found.start("body")),
        )
        for found in FENCE.finditer(text)
    ]


def stable(text: str) -> str:
    """A text without hashes, and without what a report says of other plugins that happen to be installed."""
    text = re.sub(r"sha256 [0-9a-f]+", "sha256", text)
    text = re.sub(r"\(accountant: ([^;)]*);[^)]*\)", r"(accountant: \1)", text)
    return re.sub(r"^(dpframe \d[\w.]*), dpframe-(?:.|\n(?!\n))*", r"\1", text, flags=re.M).rstrip()  # over lines


def typed(session: str) -> list[tuple[str, list[str]]]:
    """The commands of a session in a shell, which follow a "$", each with the lines that are shown after it."""
    found: list[tuple[str, list[str]]] = []
    for line in session.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line.rstrip())
    return found


def answers(command: str) -> list[str]:
    """What a command prints in the current directory, with the programs of this environment."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1"}
    ran = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, check=False)
    return [line.rstrip() for line in (ran.stdout + ran.stderr).rstrip().splitlines()]


def agree(expected: list[str], printed: list[str], alike: Callable[[str], str]) -> bool:
    """Whether lines are those that a page shows; "..." stands for one or more lines."""
    shown, real = [line if line == "..." else alike(line) for line in expected], [alike(line) for line in printed]
    if "..." not in shown:
        return shown == real
    at = shown.index("...")
    if shown[:at] != real[:at]:
        return False
    return any(agree(shown[at + 1 :], real[start:], str) for start in range(at + 1, len(real) + 1))
