"""Instruments that record what a subject does."""

from __future__ import annotations

import gc
import random as standard_random
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from dpframe import registry
from dpframe.noise import Keystream, Random


def held(watched: list[weakref.ref[Any]]) -> bool:
    """Whether any of these is still alive, and not only for want of a collection."""
    if all(reference() is None for reference in watched):
        return False  # without one, which takes long in a process with much in it
    gc.collect()
    return any(reference() is not None for reference in watched)


class Recorder(Random):
    """A source that writes down what was asked of it."""

    def __init__(self, keystream: Keystream, log: list[tuple[Any, ...]]) -> None:
        super().__init__(keystream)
        object.__setattr__(self, "log", log)

    log: list[tuple[Any, ...]]

    def child(self, name: str) -> Recorder:
        self.log.append(("child", name))
        return Recorder(self.keystream.child(name), self.log)

    def gaussian(self, scale: float, size: int | tuple[int, ...]) -> Any:
        self.log.append(("gaussian", float(scale), size))
        return super().gaussian(scale, size)

    def laplace(self, scale: float, size: int | tuple[int, ...]) -> Any:
        self.log.append(("laplace", float(scale), size))
        return super().laplace(scale, size)

    def exponential_choice(self, costs: Any, rate: Any) -> int:
        self.log.append(("exponential choice", len(costs), rate))
        return super().exponential_choice(costs, rate)

    def words(self, count: int) -> Any:
        self.log.append(("words", count))
        return super().words(count)


def traced(package: str, work: Callable[[], Any]) -> tuple[Any, list[tuple[str, int]]]:
    """What a call returns, and the lines of a package that it passed through, in order."""
    lines: list[tuple[str, int]] = []

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines.append((frame.f_code.co_filename, frame.f_lineno))
        return local

    def tracer(frame: FrameType, _: str, __: Any) -> Any:
        name = frame.f_globals.get("__name__", "")
        return local if name == package or name.startswith(f"{package}.") else None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        return work(), lines
    finally:
        sys.settrace(before)


def twice(work: Callable[[], Any]) -> tuple[Any, Any, bool]:
    """What two calls return while the global generators are seeded differently, and whether those were drawn from."""
    kept = _global_states()
    results, touched = [], False
    try:
        for seed in (1, 2):
            standard_random.seed(seed)
            np.random.seed(seed)
            before = repr(_global_states())
            results.append(work())
            touched |= before != repr(_global_states())
    finally:
        standard_random.setstate(kept[0])
        np.random.set_state(kept[1])
    return results[0], results[1], touched


def _global_states() -> tuple[Any, Any]:
    return standard_random.getstate(), np.random.get_state(legacy=False)


@contextmanager
def known(cls: type, role: str) -> Iterator[None]:
    """Make a class known by its name for a while, unless it is already."""
    if cls in registry.classes(role):
        yield
        return
    registry.register(cls)
    try:
        yield
    finally:
        registry.unregister(cls)
