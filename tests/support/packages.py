"""Packages of third parties as their users meet them: built, installed and run in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PIP = ["-m", "pip", "--disable-pip-version-check", "--quiet"]


def run(python: Path | str, *words: str, cwd: Path, path: Path | None = None, fails: bool = False) -> str:
    """What a Python process prints; what it says on standard error where it is meant to fail.

    Args:
        python: the interpreter.
        words: its arguments.
        cwd: where it runs.
        path: a folder of packages besides those of the interpreter.
        fails: whether it must fail.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    environment |= {"COLUMNS": "200"} if path is None else {"COLUMNS": "200", "PYTHONPATH": str(path)}
    words = (str(python), *words)
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert fails == bool(done.returncode), f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stderr if fails else done.stdout


def distributions(folders: list[Path], target: Path) -> list[Path]:
    """The source distributions of some packages and the wheels built from them, as `make dist` makes them."""
    for folder in folders:
        words = ["-m", "build", "--no-isolation", "--outdir", str(target), str(folder)]
        run(sys.executable, *words, cwd=target)
    return sorted(target.glob("*.whl"))


def empty_environment(folder: Path) -> Path:
    """The interpreter of a new environment without pip, which takes as long to install as all of the rest."""
    venv.create(folder / "environment", with_pip=False, symlinks=True)
    return folder / "environment" / "bin" / "python"


def pip(python: Path, *words: str) -> None:
    """This environment's pip at work in another one."""
    run(sys.executable, *PIP, "--python", str(python), *words, cwd=python.parent)


def wheels(folders: list[Path], target: Path) -> list[Path]:
    """The wheels of some packages, built by the tools of this environment."""
    words = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(target), *map(str, folders)]
    run(sys.executable, *PIP, *words, cwd=target)
    return sorted(target.glob("*.whl"))
