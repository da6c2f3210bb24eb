"""Measuring things in turns, so that whatever slows the machine down for a while slows all of them down."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

from benchmarks.progress import Progress

Measured = Callable[[], float]
"""Does something once and says how many seconds it took."""


def timed(action: Callable[[], object]) -> Measured:
    """The action with a clock around it."""

    def run() -> float:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    return run


def medians(things: Mapping[str, Measured], repetitions: int, progress: Progress) -> dict[str, float]:
    """Median seconds of each, over that many rounds in which all take turns, after a round that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in things}
    for number in range(repetitions + 1):
        for name, thing in things.items():
            progress.says(f"{name}, {f'round {number} of {repetitions}' if number else 'warming up'}")
            taken = thing()
            if number:
                seconds[name].append(taken)
        progress.advance()
    return {name: statistics.median(taken) for name, taken in seconds.items()}
