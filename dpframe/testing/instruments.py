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
    """Whether any of these objects is still alive after a garbage collection."""
    if all(reference() is None for reference in watched):
        return False  # no need to collect, which is slow in a large process
    gc.collect()
    return any(reference() is not None for reference in watched)


class Recorder(Random):
    """A random source that records every request."""

    def __init__(self, keystream: Keystream, log: list[tuple[Any, ...]]) -> None:
        super().__init__(keystream)
        object.__setattr__(self, "log", log)

    log: list[tuple[Any, ...]]

    def child(self, name: str) -> Recorder:
        """A recorder of the named child stream, with the same log."""
        self.log.append(("child", name))
        return Recorder(self.keystream.child(name), self.log)

    def gaussian(self, scale: float, size: int | tuple[int, ...]) -> Any:
        """Record the scale and size, and draw."""
        self.log.append(("gaussian", float(scale), size))
        return super().gaussian(scale, size)

    def laplace(self, scale: float, size: int | tuple[int, ...]) -> Any:
        """Record the scale and size, and draw."""
        self.log.append(("laplace", float(scale), size))
        return super().laplace(scale, size)

    def normals(self, count: int) -> Any:
        """Record the count, and draw."""
        self.log.append(("normals", count))
        return super().normals(count)

    def exponential_choice(self, costs: Any, rate: Any) -> int:
        """Record the number of candidates and the rate, and draw."""
        self.log.append(("exponential choice", len(costs), rate))
        return super().exponential_choice(costs, rate)

    def words(self, count: int) -> Any:
        """Record the count, and draw."""
        self.log.append(("words", count))
        return super().words(count)


def traced(package: str, work: Callable[[], Any]) -> tuple[Any, list[tuple[str, int]]]:
    """The result of a call, and the lines of a package that it executed, in order."""
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
    """The results of two calls with differently seeded global generators, and whether those were drawn from."""
    saved = _global_states()
    results, touched = [], False
    try:
        for seed in (1, 2):
            standard_random.seed(seed)
            np.random.seed(seed)
            before = repr(_global_states())
            results.append(work())
            touched |= before != repr(_global_states())
    finally:
        standard_random.setstate(saved[0])
        np.random.set_state(saved[1])
    return results[0], results[1], touched


def _global_states() -> tuple[Any, Any]:
    return standard_random.getstate(), np.random.get_state(legacy=False)


@contextmanager
def known(cls: type, role: str) -> Iterator[None]:
    """Register a class within this context, unless it is registered already."""
    if cls in registry.classes(role):
        yield
        return
    registry.register(cls)
    try:
        yield
    finally:
        registry.unregister(cls)
