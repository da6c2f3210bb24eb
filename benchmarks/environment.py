"""The environment of the peers: pinned, apart from ours, made when it is first needed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PEERS = Path(__file__).parent / "peers"
HOME = Path(__file__).parents[1] / ".venv-peers"
REQUIREMENTS = PEERS / "requirements.txt"
INSTALLED = HOME / "installed.txt"  # the requirements that were installed; written last


class PeerError(Exception):
    """A peer could not be measured; the message says why and ends up in the notes."""


def python() -> Path:
    """The interpreter of the peer environment, which is made or brought up to date if need be."""
    interpreter = HOME / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if INSTALLED.exists() and INSTALLED.read_text(encoding="utf-8") == wanted:
        return interpreter
    _run([sys.executable, "-m", "venv", "--clear", str(HOME)], "python -m venv failed")
    _run([str(interpreter), "-m", "pip", "install", "-qq", "-r", str(REQUIREMENTS)], "pip install failed")
    INSTALLED.write_text(wanted, encoding="utf-8")
    return interpreter


def run(script: str, *arguments: str, seconds: float | None = None) -> bool:
    """Run a script of the peers directory to its end; False where it took longer than it may and was stopped."""
    try:
        _run([str(python()), str(PEERS / script), *arguments], f"{script} failed", seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _run(command: list[str], failure: str, seconds: float | None = None) -> None:
    try:
        subprocess.run(command, check=True, timeout=seconds)
    except (OSError, subprocess.CalledProcessError) as error:
        raise PeerError(failure) from error


class Worker:
    """A script of the peers directory that answers one line for every line it is given."""

    def __init__(self, process: subprocess.Popen[str], script: str) -> None:
        self._process = process
        self._script = script
        self.greeting = self._answer()

    def ask(self, line: str) -> str:
        assert self._process.stdin is not None  # opened as a pipe
        try:
            print(line, file=self._process.stdin, flush=True)
        except BrokenPipeError as error:
            raise PeerError(f"{self._script} stopped") from error
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None  # opened as a pipe
        answer = self._process.stdout.readline().strip()
        if not answer:
            raise PeerError(f"{self._script} stopped")
        return answer


@contextmanager
def worker(script: str) -> Iterator[Worker]:
    """A running worker, stopped at the end."""
    command = [str(python()), str(PEERS / script)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Worker(process, script)
