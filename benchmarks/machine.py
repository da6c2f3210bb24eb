"""Where figures were measured, and how much else the machine was doing."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_info

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


def load_meter() -> Callable[[], float | None]:
    """Start metering; the returned function gives the share of the machine that went to others since then.

    Others are all processes but this one and its finished children, and the host where the machine is virtual. None
    where the system does not tell.
    """
    stat = Path("/proc/stat")
    if not stat.exists():
        return lambda: None
    tick = os.sysconf("SC_CLK_TCK")

    def read() -> tuple[float, float, float]:
        user, nice, system, idle, wait, *rest = (int(n) / tick for n in stat.read_text().split("\n", 1)[0].split()[1:9])
        busy = user + nice + system + sum(rest)
        return busy + idle + wait, busy, sum(os.times()[:4])

    before = read()

    def share() -> float | None:
        total, busy, own = (now - then for now, then in zip(read(), before, strict=True))
        return max(busy - own, 0.0) / total if total > 0 else None

    return share
