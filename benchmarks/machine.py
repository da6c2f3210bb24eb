"""Where figures were measured, and how much else the machine was doing."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_info

from benchmarks import processes

PACKAGES = ("dpframe", "dpframe-gaussian", "numpy", "scipy", "cryptography", "python-flint")


def facts() -> dict[str, str]:
    """Processor, cores and versions."""
    import numpy  # noqa: F401  # so that its BLAS is there to be asked

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = {
        "processor": _processor(),
        "cores": str(cores),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }
    for library in threadpool_info():
        if library["user_api"] == "blas":
            told = (library["internal_api"], library["version"], library.get("architecture"))
            found["BLAS"] = " ".join(str(part) for part in told if part)
            break
    return found


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def load_meter(servers: Callable[[], Iterable[int]] = list) -> Callable[[], float]:
    """Start metering; the returned function gives the share of the machine that went to others since then.

    Others are all processes but this one, those that it started, and servers that take part; and the host where the
    machine is virtual. The share is zero where the system does not tell.

    Args:
        servers: gives the processes of servers that take part.
    """
    before = _ticks(servers())

    def share() -> float:
        total, busy, own = (now - then for now, then in zip(_ticks(servers()), before, strict=True))
        return max(busy - own, 0.0) / total if total > 0 else 0.0

    return share


def _ticks(servers: Iterable[int]) -> tuple[float, float, float]:
    """Processor time in ticks so far: of all cores, of it busy, and of that for what is measured."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0, 0.0, 0.0
    user, nice, system, idle, wait, *rest = map(int, stat.read_text(encoding="utf-8").split("\n", 1)[0].split()[1:9])
    busy = user + nice + system + sum(rest)
    own = sum(os.times()[:4]) + processes.seconds({*processes.descendants(), *servers})
    return float(busy + idle + wait), float(busy), own * processes.TICKS
