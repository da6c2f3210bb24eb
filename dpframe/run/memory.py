"""The memory that a plan needs at least, and what this process can have: a run that cannot fit is refused.

Both are public: the need follows from the plan and the dimension of the rows, what there is from the machine. After the
charge, a MemoryError would lose what was paid for, and so would a system that ends the process for want of memory. Of
the need only what is certain counts: the exact sums of a pass, the values released so far and what a mechanism says it
needs in addition. It is compared with the memory, swap included, that the machine has available at that moment and that
control groups and limits of the process allow: a run that is refused because of other programs costs nothing, and can
be tried again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dpframe.errors import PlanError
from dpframe.interfaces import Mechanism
from dpframe.plan import Plan
from dpframe.run.progress import byte_size
from dpframe.spec.refs import Shape, with_shapes

NUMBER = 8
"""Bytes of an int64 or a float64."""


def check_memory(plan: Plan) -> None:
    """Raise PlanError where a run certainly needs more memory than this process can have.

    Args:
        plan: the plan, for rows of a known dimension.
    """
    need, have = needed(plan), available()
    if have is not None and need > have:
        raise PlanError(
            f"this plan needs at least {byte_size(need)} of memory for rows of {plan.rows.known_dim:,} coordinates, "
            f"but this process can have {byte_size(have)}, swap included. Nothing was charged, read or drawn. Use "
            "fewer columns or a machine with more memory, or try again when other programs need less."
        )


def needed(plan: Plan) -> int:
    """A lower bound on the bytes that a run holds at one time.

    Args:
        plan: the plan, for rows of a known dimension.
    """
    peak = held = 0
    for due in plan.schedule():
        actions = [with_shapes(step.action, plan.shapes) for step in due.steps]
        reads = [statistic for action in actions if isinstance(action, Mechanism) for statistic in action.reads()]
        sums = sum(_bytes(shape) for each in dict.fromkeys(reads) for shape in each.part_shapes(plan.rows).values())
        for step, action in zip(due.steps, actions, strict=True):
            working = action.working_bytes(plan.rows) if isinstance(action, Mechanism) else 0
            held += _bytes(plan.shapes[step.name])
            peak = max(peak, sums + held + working)
    return peak


def _bytes(shape: Shape | None) -> int:
    """The bytes of an array; none where its shape is not known."""
    return 0 if shape is None or None in shape else NUMBER * math.prod(length or 0 for length in shape)


def available(root: Path = Path("/")) -> int | None:
    """The most bytes that this process can have now, swap included; None where the system does not say.

    Args:
        root: where the files of the system are.
    """
    swap = None
    limits = [*_process_limits()]
    with suppress(OSError, ValueError, KeyError, IndexError):
        lines = (root / "proc/meminfo").read_text().splitlines()
        sizes = {name: int(size.split()[0]) * 1024 for name, _, size in (line.partition(":") for line in lines)}
        swap = sizes["SwapTotal"]
        limits.append(sizes.get("MemAvailable", sizes["MemTotal"]) + sizes.get("SwapFree", swap))
    if swap is not None:
        limits += _group_limits(root, swap)
    return min(limits, default=None)


def _process_limits() -> Iterator[int]:
    """Limits on the address space and the data of this process."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        limit = resource.getrlimit(which)[0]
        if limit != resource.RLIM_INFINITY:
            yield limit


def _group_limits(root: Path, swap: int) -> Iterator[int]:
    """Limits of the control groups that this process is in, in either version of their interface."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            mount, memory, swapping = root / "sys/fs/cgroup", "memory.max", "memory.swap.max"
        elif "memory" in controllers.split(","):
            mount, memory, swapping = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes", ""
        else:
            continue
        group = mount / path.lstrip("/")
        for folder in (group, *(each for each in group.parents if each.is_relative_to(mount))):
            limit = _number(folder / memory)
            if limit is not None:
                more = _number(folder / swapping) if swapping else None
                yield limit + (swap if more is None else min(more, swap))


def _number(path: Path) -> int | None:
    """The number in a file; None where there is no such file, or no limit in it."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
