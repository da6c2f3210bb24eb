"""Memory that a run certainly needs, against what the process can have: refused before the charge, and only then."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.run import memory
from dpframe.run.memory import available, needed
from tests.support.mechanisms import NoisyTrace, registered
from tests.support.refusals import Watch

BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
GB = 1_000_000_000


def plan(*steps: dp.Step, **promise: Any) -> dp.Plan:
    rows = dp.Rows(**{"norm": 1.0, "neighbors": "add-remove", **promise})
    return dp.Plan(rows=rows, budget=BUDGET, steps=list(steps))


MOMENT = dp.release("moment", "gaussian")
BASIS = dp.derive("basis", "top-subspace", of="moment", k=10)


@pytest.mark.parametrize("dim", [30_000, 1_000_000])
def test_what_cannot_fit_is_refused_before_the_charge(watch: Watch, monkeypatch: pytest.MonkeyPatch, dim: int) -> None:
    monkeypatch.setattr(memory, "available", lambda: 16 * GB)
    words = rf"at least .*B of memory for rows of {dim:,} coordinates, but this process can have 16 GB, swap included"
    with pytest.raises(dp.PlanError, match=words):
        plan(MOMENT).run([np.zeros((1, dim), dtype=np.float32)])
    assert (0, 0, 0) == watch.counts


def test_what_fits_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    need = needed(plan(MOMENT, dim=50))
    monkeypatch.setattr(memory, "available", lambda: need)
    plan(MOMENT).run(np.zeros((1, 50)))
    monkeypatch.setattr(memory, "available", lambda: None)
    plan(MOMENT).run(np.zeros((1, 50)))
    monkeypatch.setattr(memory, "available", lambda: need - 1)
    with pytest.raises(dp.PlanError, match="Use fewer columns or a machine with more memory"):
        plan(MOMENT).run(np.zeros((1, 50)))


def test_the_need_of_plans() -> None:
    matrix = 8 * 1000**2
    assert 3 * matrix == needed(plan(MOMENT, dim=1000))  # the sum, the noisy integers and the value
    assert 3 * 8 * 1001**2 == needed(plan(MOMENT, dim=1000, center=True))
    assert 3 * matrix == needed(plan(MOMENT, BASIS, dim=1000))  # by then the noisy integers are gone
    second = dp.release("second", "gaussian")
    assert 4 * matrix == needed(plan(MOMENT, second, dim=1000))  # one sum for both, and two values
    quantile = dp.release("radius", "private-quantile", quantile=0.9, high=10.0, points=200)
    assert 8 * 202 == needed(plan(quantile, dim=1000))
    blocks = dp.release("blocks", "block-gaussian", basis="basis", radii=(1.0, 1.0))
    sums = 8 * (100 + 10 * 990 + 1)
    assert 3 * matrix + 80_000 + sums == needed(plan(MOMENT, BASIS, blocks, dim=1000))
    with registered(NoisyTrace):  # tells nothing about itself; what it reads is known
        assert 8 * 10 * 10 == needed(plan(dp.release("trace", "noisy-trace"), dim=10))


def test_every_mechanism_takes_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """At least: the largest amount of memory that a release has at one time, as Python traces it."""
    import tracemalloc

    data = np.random.default_rng(0).standard_normal((50, 120)) / 20
    for step in (
        MOMENT,
        dp.release("moment", "laplace-eigenvalues", k=3),
        dp.release("moment", "matrix-laplace"),
        dp.release("moment", "orbit", spectrum=[1.0], bits=15),
        dp.release("moment", "bingham", k=2),
    ):
        bound = plan(step, dim=120)
        bound.run(data, insecure_seed=1)  # imports and caches
        tracemalloc.start()
        try:
            bound.run(data, insecure_seed=1)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert needed(bound) <= peak, step.action.name


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a system with 16 GB and 2 GB of swap, without limits."""
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    write(tmp_path / "proc/meminfo", "MemTotal:       16000000 kB\nMemFree:  1 kB\nSwapTotal: 2000000 kB\n")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


ALL = 18_000_000 * 1024


def test_the_memory_of_the_machine(root: Path) -> None:
    assert ALL == available(root)
    write(root / "proc/meminfo", "MemTotal: many\n")
    assert None is available(root)
    (root / "proc/meminfo").unlink()
    assert None is available(root)


def test_memory_that_others_have_is_not_counted(root: Path) -> None:
    """The system would end the process after the charge."""
    found = "MemTotal: 16000000 kB\nMemAvailable: 5000000 kB\nSwapTotal: 2000000 kB\nSwapFree: 1000000 kB\n"
    write(root / "proc/meminfo", found)
    assert 6_000_000 * 1024 == available(root)


def test_limits_of_control_groups(root: Path) -> None:
    write(root / "proc/self/cgroup", "0::/user/run\n")
    write(root / "sys/fs/cgroup/user/run/memory.max", "max\n")
    assert ALL == available(root)
    write(root / "sys/fs/cgroup/user/memory.max", f"{4 * GB}\n")
    assert 4 * GB + 2_000_000 * 1024 == available(root)
    write(root / "sys/fs/cgroup/user/memory.swap.max", "0\n")
    assert 4 * GB == available(root)
    write(root / "sys/fs/cgroup/user/run/memory.max", f"{3 * GB}\n")
    write(root / "sys/fs/cgroup/user/run/memory.swap.max", "max\n")
    assert 4 * GB == available(root)  # its own 3 GB and all of the swap are more
    write(root / "sys/fs/cgroup/user/memory.swap.max", f"{9 * GB}\n")
    write(root / "sys/fs/cgroup/user/run/memory.swap.max", f"{9 * GB}\n")
    assert 3 * GB + 2_000_000 * 1024 == available(root)  # the machine has no more swap than that


def test_limits_of_older_control_groups(root: Path) -> None:
    write(root / "proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/box\n")
    write(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", f"{2**63 - 4096}\n")
    assert ALL == available(root)
    write(root / "sys/fs/cgroup/memory/box/memory.limit_in_bytes", f"{4 * GB}\n")
    assert 4 * GB + 2_000_000 * 1024 == available(root)


def test_limits_of_the_process(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (GB, resource.RLIM_INFINITY))
    assert GB == available(root)
