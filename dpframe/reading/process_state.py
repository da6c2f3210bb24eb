"""Settings of the whole process that a run changes for a while, and restores.

Python and BLAS have these settings per process only. So the first of several overlapping runs applies a setting, and
the last one restores the previous value; in between, it holds for all threads of the process. Each of them is listed in
docs/explanation/sharp-edges.md.
"""

from __future__ import annotations

import csv
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache, partial
from importlib import import_module
from threading import Lock
from typing import Any

import attrs

LONGEST_CELL = (1 << 31) - 1
"""The longest cell of a CSV file, as large as the reader allows: beyond it, the rest of a cell is taken for rows."""


class SharedSetting:
    """A setting of the process that holds while it has users; calling it gives a context manager.

    A signal such as Ctrl-C may come at any moment, also while a setting is applied or restored; see `_uninterrupted`.

    Args:
        applied: gives a context manager that applies the setting and restores the previous value.
    """

    def __init__(self, applied: Callable[[], AbstractContextManager[Any]]) -> None:
        self._applied = applied
        self._lock = Lock()
        self._users: set[_User] = set()
        self._current: AbstractContextManager[Any] | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    @contextmanager
    def __call__(self) -> Iterator[None]:
        user = _User()
        try:
            _uninterrupted(partial(self._enter, user))
            yield
        finally:
            try:
                _uninterrupted(partial(self._leave, user))
            finally:
                if not user.left:  # a signal came before _leave began
                    _uninterrupted(partial(self._leave, user))

    def _enter(self, user: _User) -> None:
        with self._lock:
            if user.left:  # while this waited for the lock
                return
            if self._current is None:
                current = self._applied()
                current.__enter__()
                self._current = current
            self._users.add(user)

    def _leave(self, user: _User) -> None:
        with self._lock:
            user.left = True
            self._users.discard(user)
            self._restore_if_unused()

    def _restore_if_unused(self) -> None:
        if not self._users and self._current is not None:
            current, self._current = self._current, None
            current.__exit__(None, None, None)

    def _after_fork(self) -> None:
        """In a child process, where only the thread that forked exists: forget the users of other threads."""
        self._lock = Lock()
        self._users = {user for user in self._users if user.thread == threading.get_ident()}
        self._restore_if_unused()


@attrs.define(eq=False)
class _User:
    """One use of a setting, by a thread."""

    left: bool = False
    thread: int = attrs.field(factory=threading.get_ident)


def _uninterrupted(work: Callable[[], None]) -> None:
    """Do work that no signal handler interrupts halfway: Python runs these in the main thread only, so the work is done
    in another one."""
    if threading.current_thread() is not threading.main_thread():
        work()
        return
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # raised below, in the thread that waits
            failures.append(error)

    thread = threading.Thread(target=guarded)
    try:
        thread.start()
    except RuntimeError:  # no new threads can start, as at interpreter shutdown
        work()
    else:
        thread.join()
    if failures:
        raise failures[0]


@lru_cache
def blas_libraries() -> tuple[Any, ...]:
    """The BLAS libraries of this process, cached: finding them takes longer than reading a small table."""
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(library: Any, count: int) -> None:
    """Set the number of threads of a BLAS library, from any thread.

    From version 3.8 on, threadpoolctl accepts settings only from the first thread that made one, and silently ignores
    those of others, so that threads do not undo each other's settings. Ours are counted, so we call the real setter.
    """
    setter = getattr(library, "_real_set_num_threads", library.set_num_threads)
    setter(count)


@contextmanager
def _one_thread() -> Iterator[None]:
    before = [(library, library.num_threads) for library in blas_libraries()]
    try:
        for library, _ in before:
            _set_threads(library, 1)
        yield
    finally:
        for library, count in before:
            _set_threads(library, count)


@contextmanager
def _warnings_ignored() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _numba_log_at_warning() -> Iterator[None]:
    logger = logging.getLogger("numba")
    level = logger.level
    logger.setLevel(max(level, logging.WARNING))
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _spark_log_disabled() -> Iterator[None]:
    try:
        named = import_module("pyspark.logger").PySparkLogger.getLogger
    except ImportError:  # before version 4 Spark's Python side logs no errors
        yield
        return
    loggers = [named(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


@contextmanager
def _long_csv_cells() -> Iterator[None]:
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


one_blas_thread = SharedSetting(_one_thread)
"""One BLAS thread per worker, while workers use all cores."""

warnings_silenced = SharedSetting(_warnings_ignored)
"""While private data is read, warnings are neither shown nor errors: whether there is one may depend on the data."""

numba_log_silenced = SharedSetting(_numba_log_at_warning)
"""Numba's log would reveal that the data is large enough to be compiled."""

spark_log_silenced = SharedSetting(_spark_log_disabled)
"""Spark logs the errors of a query in this process, with the cell that could not be cast."""

long_csv_cells = SharedSetting(_long_csv_cells)
"""Cells of CSV files may be up to `LONGEST_CELL` long: a run may not stop because of a cell."""
