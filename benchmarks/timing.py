"""Measuring things in turns, while the machine is quiet.

What slows the machine down for a while slows down all that is measured in turns, but not by the same factor: products
on all cores suffer most. So rounds during which other processes were busy are repeated while patience lasts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping

import attrs

from benchmarks.machine import load_meter
from benchmarks.progress import Progress

QUIET = 0.05
"""The share of the machine that others may take while something is measured."""

WINDOW = 0.5  # seconds over which that share is taken: the system counts in hundredths of a second

Measured = Callable[[], float]
"""Does something once and says how many seconds it took."""


def timed(action: Callable[[], object]) -> Measured:
    """The action with a clock around it."""

    def run() -> float:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    return run


def timed_on_cpu(action: Callable[[], object]) -> Measured:
    """The action with a clock that counts the processor time of all threads."""

    def run() -> float:
        start = time.process_time()
        action()
        return time.process_time() - start

    return run


@attrs.define
class Turns:
    """Measures in turns, and counts the rounds.

    Args:
        progress: where it says what it does.
        patience: seconds that may still be lost to waiting for a quiet machine.
        quick: whether fewer seeds will do where errors are measured.
        rounds: how many were counted so far.
        disturbed: how many of them were not quiet, patience being at an end.
        servers: gives the processes of servers that take part in what is measured.
    """

    progress: Progress
    patience: float
    quick: bool = False
    rounds: int = 0
    disturbed: int = 0
    servers: Callable[[], Iterable[int]] = list

    def medians(self, things: Mapping[str, Measured], repetitions: int) -> dict[str, float]:
        """Median seconds of each, over that many rounds in which all take turns, after one that is not counted."""
        for name, thing in things.items():
            self.progress.says(f"{name}, warming up")
            thing()
        kept: list[dict[str, float]] = []
        while len(kept) < repetitions:
            start, others = time.monotonic(), load_meter(self.servers)
            batch = self._batch(things, repetitions - len(kept), start, others)
            quiet = others() <= QUIET
            if not quiet and self.patience > 0:
                self.patience -= time.monotonic() - start
                self._wait()
                continue
            kept += batch
            self.rounds += len(batch)
            self.disturbed += 0 if quiet else len(batch)
            self.progress.advance(len(batch))
        return {name: statistics.median(taken[name] for taken in kept) for name in things}

    def _batch(
        self, things: Mapping[str, Measured], wanted: int, start: float, others: Callable[[], float]
    ) -> list[dict[str, float]]:
        """As many rounds as fill a window; cut short when others are busy and there is patience for another try."""
        batch: list[dict[str, float]] = []
        while len(batch) < wanted and (not batch or time.monotonic() - start < WINDOW):
            taken = {}
            for name, thing in things.items():
                self.progress.says(f"{name}, {wanted - len(batch)} rounds to go")
                taken[name] = thing()
                if self.patience > 0 and time.monotonic() - start > WINDOW and others() > QUIET:
                    return batch
            batch.append(taken)
        return batch

    def _wait(self) -> None:
        """Until the machine is quiet, or patience is at an end."""
        self.progress.says("waiting for other processes")
        quiet = False
        while self.patience > 0 and not quiet:
            others = load_meter(self.servers)
            time.sleep(WINDOW)
            self.patience -= WINDOW
            quiet = others() <= QUIET
