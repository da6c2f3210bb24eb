"""The processor time of other processes, from ``/proc``: where there is none, it counts as none."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def seconds(pids: Iterable[int]) -> float:
    """What processes have taken so far, with those that they waited for."""
    return sum(sum(map(int, _status(pid)[11:15])) for pid in pids) / TICKS


def descendants() -> list[int]:
    """The processes that this one has started, with theirs."""
    parents = {int(path.name): int(_status(int(path.name))[1]) for path in Path("/proc").glob("[0-9]*")}
    found, new = [], [os.getpid()]
    while new:
        new = [pid for pid, parent in parents.items() if parent in new]
        found += new
    return found


def _status(pid: int) -> list[str]:
    """The fields of a process from its state on; its name, which comes before, may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:  # it has ended
        return ["0"] * 50
