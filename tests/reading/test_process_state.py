"""Settings of the process are as before after runs that overlap, fail or are interrupted."""

from __future__ import annotations

import csv
import logging
import os
import random
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import dpframe as dp
from dpframe.reading.process_state import (
    SharedSetting,
    long_csv_cells,
    numba_log_silenced,
    one_blas_thread,
    warnings_silenced,
)
from tests.support.faults import in_a_child

PLAN = dp.Plan(
    rows=dp.Rows(norm=1.0, neighbors="add-remove", dim=3),
    budget=dp.Budget(epsilon=1.0, delta=1e-6),
    steps=[dp.release("moment", "gaussian")],
)
SETTINGS = {
    "one BLAS thread": one_blas_thread,
    "no warnings": warnings_silenced,
    "no log of Numba": numba_log_silenced,
    "long cells of CSV files": long_csv_cells,
}


def state() -> dict[str, Any]:
    """All settings that a run changes for a while."""
    return {
        "one BLAS thread": [library["num_threads"] for library in threadpool_info()],
        "no warnings": list(warnings.filters),
        "no log of Numba": logging.getLogger("numba").level,
        "long cells of CSV files": csv.field_size_limit(),
    }


@pytest.fixture(autouse=True)
def _told_apart() -> Iterator[None]:
    """Settings that differ from those of a run."""
    with threadpool_limits(2, user_api="blas"):
        yield


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_applies_and_is_restored(name: str) -> None:
    before = state()
    with SETTINGS[name]():
        within = state()
        with SETTINGS[name]():
            assert within == state()
        assert within == state()
    assert before == state()
    assert [name] == [each for each in before if before[each] != within[each]]


@pytest.mark.parametrize("name", SETTINGS)
def test_the_last_of_overlapping_uses_restores_it(name: str) -> None:
    """The first one ends while the second is at work."""
    before, first, second = state(), ExitStack(), ExitStack()
    first.enter_context(SETTINGS[name]())
    within = state()
    second.enter_context(SETTINGS[name]())
    first.close()
    assert within == state()
    second.close()
    assert before == state()


def test_a_setting_that_cannot_be_applied_says_so() -> None:
    @contextmanager
    def failing() -> Iterator[None]:
        raise OSError("no such setting")
        yield

    with pytest.raises(OSError, match="no such setting"), SharedSetting(failing)():
        pass


def blocks(*events: Event, error: BaseException | None = None) -> Iterator[Any]:
    """Rows that wait for others, and fail at the end."""
    yield np.ones((4, 3))
    for event in events:
        assert event.wait(60.0)
    if error is not None:
        raise error


def test_overlapping_runs_leave_everything_as_it_was() -> None:
    before, go = state(), [Event(), Event()]
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(PLAN.run, blocks(event)) for event in go]
        for run, event in zip(runs, go, strict=True):  # the first to begin, or not, is the first to end
            event.set()
            run.result()
    assert before == state()


def test_many_overlapping_runs_of_which_half_fail() -> None:
    before, together = state(), Barrier(4)

    def run(number: int) -> None:
        together.wait(60.0)
        for _ in range(5):
            if number % 2:
                PLAN.run(blocks())
            else:
                with pytest.raises(dp.ReleaseFailed):
                    PLAN.run(blocks(error=RuntimeError("no more rows")))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    assert before == state()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), GeneratorExit()])
def test_an_interrupted_run_leaves_everything_as_it_was(error: BaseException) -> None:
    before = state()
    with pytest.raises(type(error)):
        PLAN.run(blocks(error=error))
    assert before == state()


def test_a_csv_file_whose_reading_is_given_up(tmp_path: Path) -> None:
    from dpframe.sources import open_source

    path = tmp_path / "rows.csv"
    path.write_text("x\n" + "1\n" * 100_000, encoding="utf-8")
    before = state()
    reading = open_source(path, dp.Rows(columns=[dp.Column("x", 0, 1)], neighbors="replace")).blocks()
    next(reading)
    assert before != state()
    del reading
    assert before == state()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("name", SETTINGS)
def test_a_child_process_does_not_inherit_the_runs_of_other_threads(name: str) -> None:
    before, entered, go = state(), Event(), Event()

    def use() -> None:
        with SETTINGS[name]():
            entered.set()
            assert go.wait(60.0)

    def as_before() -> None:
        assert before == state()
        with SETTINGS[name]():
            assert before != state()
        assert before == state()

    with ThreadPoolExecutor(1) as pool:
        used = pool.submit(use)
        assert entered.wait(60.0)
        with SETTINGS[name]._lock:  # as if another thread was about to apply it
            assert 0 == in_a_child(as_before)
        go.set()
        used.result()
    assert before == state()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("name", SETTINGS)
def test_a_child_process_goes_on_with_the_run_of_its_own_thread(name: str) -> None:
    before = state()
    with SETTINGS[name]():
        within = state()

        def goes_on() -> None:
            assert within == state() != before

        assert 0 == in_a_child(goes_on)
    assert before == state()


INTERRUPTED = """
import csv, signal, sys, warnings
import numpy as np, dpframe as dp
from threadpoolctl import threadpool_info, threadpool_limits
plan = dp.Plan(rows=dp.Rows(norm=1.0, neighbors="add-remove"), budget=dp.Budget(epsilon=1.0, delta=1e-6),
               steps=[dp.release("moment", "gaussian")])
data = np.ones((100, 3))
plan.run(data)
threadpool_limits(2, user_api="blas")
def state():
    return ([each["num_threads"] for each in threadpool_info()], list(warnings.filters), csv.field_size_limit())
before = state()
interrupts = 0
signal.signal(signal.SIGALRM, signal.default_int_handler)
for delay in map(float, sys.argv[1:]):
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        for _ in range(100):  # an interrupt is lost if it comes while Python removes a weak reference
            plan.run(data)
    except KeyboardInterrupt:
        interrupts += 1
print(interrupts, before == state())
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_signals_at_any_moment_leave_everything_as_it_was() -> None:
    """A signal comes within some milliseconds, in which several runs begin and end."""
    delays = [str(random.Random(seed).uniform(1e-3, 2e-2)) for seed in range(60)]
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, *delays], capture_output=True, text=True, check=True)
    interrupts, restored = done.stdout.split()
    assert (True, "True") == (int(interrupts) >= 50, restored)
