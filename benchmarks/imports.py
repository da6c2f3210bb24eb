"""How long `import dpframe` takes in a fresh interpreter, and what it leaves unloaded."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.table import Row, Table, at_most
from benchmarks.timing import Turns, timed

REPETITIONS = 15
WANTED = 0.5
LATER = ("scipy.stats", "numba", "rich", "pandas")
"""Modules that must not be loaded before they are used."""

BARE, IMPORT, NUMPY = "pass", "import dpframe", "import numpy"


def measure(turns: Turns) -> Table:
    """Fresh interpreters, with and without the import, in turns."""
    turns.progress.expect(REPETITIONS)
    with tempfile.TemporaryDirectory() as cache:
        # The first round compiles all modules into the cache, as installing does.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = cache

        def fresh(code: str) -> str:
            command = [sys.executable, "-c", code]
            return subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout

        interpreters = {code: timed(lambda code=code: fresh(code)) for code in (BARE, NUMPY, IMPORT)}  # type: ignore[misc]
        seconds = turns.medians(interpreters, REPETITIONS)
        loaded = fresh(f"{IMPORT}, sys; print(*sys.modules)").split()
    return Table(
        title="Import",
        notes=(f"Wall time of a fresh interpreter with compiled modules; median of {REPETITIONS} in turns.",),
        rows=(
            Row(what="bare interpreter", figures={"seconds": seconds[BARE]}),
            Row(what="import numpy, interpreter included", figures={"seconds": seconds[NUMPY]}),
            _row("import dpframe, interpreter included", seconds[IMPORT]),
            _row("import dpframe, without the bare interpreter", seconds[IMPORT] - seconds[BARE]),
            _modules(loaded),
        ),
    )


def _row(what: str, seconds: float) -> Row:
    goal = f"at most {WANTED:g} s"
    return Row(what=what, figures={"seconds": seconds}, goal=goal, verdict=at_most(seconds, WANTED))


def _modules(loaded: list[str]) -> Row:
    early = [name for name in LATER if name in loaded]
    return Row(
        what="modules loaded by import dpframe",
        figures={"modules": float(len(loaded))},
        goal=f"none of {', '.join(LATER)}",
        verdict=f"not met: {', '.join(early)}" if early else "met",
    )
