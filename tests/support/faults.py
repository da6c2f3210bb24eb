"""Faults planted at a point of a run, and processes that die of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

Act = Callable[[], Any]


def at(owner: Any, name: str, act: Act, *, after: bool = False) -> Callable[[pytest.MonkeyPatch], None]:
    """Something that happens just before, or just after, a function does its work."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        real = getattr(owner, name)

        def planted(*arguments: Any, **named: Any) -> Any:
            if not after:
                act()
            found = real(*arguments, **named)
            if after:
                act()
            return found

        monkeypatch.setattr(owner, name, planted)

    return plant


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_a_child(work: Act) -> int:
    """The signal that a process of its own ended by, or its exit code, negative for signals."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(70)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
