"""A task in a process of its own: its figures, and the most memory it held.

``python -m benchmarks.fresh module:function argument ...`` prints what the function returns as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

Figures = dict[str, float]
Task = Callable[..., Figures]


def run(task: Task, *arguments: object) -> Figures:
    """Run a function of the benchmarks in a fresh process; its figures, and "peak", in bytes, beside them."""
    name = f"{task.__module__}:{task.__qualname__}"
    command = [sys.executable, "-m", "benchmarks.fresh", name, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def peak() -> float:
    """The most memory that this process has held so far, in bytes.

    The system's count begins anew with the program, unlike that of ``getrusage``, which begins with the parent's.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return 1024.0 * float(line.split()[1])
    import resource

    size = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return size if sys.platform == "darwin" else 1024.0 * size


def main() -> None:
    module, _, function = sys.argv[1].partition(":")
    task: Task = getattr(import_module(module), function)
    figures = task(*sys.argv[2:])
    print(json.dumps({**figures, "peak": peak()}))


if __name__ == "__main__":
    main()
