"""Loads compiled code where there are cells enough to be worth it.

Loading takes as long as it saves on `COMPILED_FROM` cells, so it begins when so many have been seen by this process, or
are known to come. Until it is loaded, and wherever it does not work, NumPy computes the same bits.
"""

from __future__ import annotations

import os
from contextlib import suppress
from enum import Enum
from importlib import import_module
from threading import Lock
from typing import Any

import attrs

from dpframe import lattice
from dpframe.display.redacted import Redacted
from dpframe.reading.int16 import LEAST_DIM, pairs_per_carry
from dpframe.reading.process_state import numba_log_silenced
from dpframe.spec.refs import Ref
from dpframe.spec.rows import Rows

COMPILED_FROM = 1 << 28
"""Cells that are worth compiled code."""


class KernelKind(Enum):
    """Data that there is compiled code for."""

    ROWS = "arrays whose rows are scaled down to a norm"
    NORMED_COLUMNS = "columns whose rows are scaled down to a norm"
    INT16_COLUMNS = "columns whose integers fit in 16 bits"
    COLUMNS = "other columns"


def kernel_kind(rows: Rows) -> KernelKind | None:
    """Which compiled code serves a promise; None where NumPy is as fast.

    With a norm, rows of 17 coordinates or more are summed in 16 bits, unless they are so wide that BLAS is faster.
    """
    if isinstance(rows.norm, Ref):
        return None  # not known yet
    if rows.norm is not None and LEAST_DIM <= rows.width < lattice.TILE:
        return KernelKind.ROWS if rows.columns is None else KernelKind.NORMED_COLUMNS
    if rows.columns is None:
        return None
    return KernelKind.INT16_COLUMNS if pairs_per_carry(rows) else KernelKind.COLUMNS


@attrs.define(repr=False)
class KernelLoader(Redacted):
    """Loads the code for each kind of data once per process."""

    _seen: dict[KernelKind, int] = attrs.field(init=False, factory=dict)
    _kernels: dict[KernelKind, Any] = attrs.field(init=False, factory=dict)
    _lock: Any = attrs.field(init=False, factory=Lock)

    def kernels(self, kind: KernelKind | None, cells: int, *, expected: int = 0) -> Any:
        """The module of compiled code for the next cells of a kind; None where NumPy is to work on them, which is also
        so while another thread loads it.

        Args:
            kind: of the data.
            cells: how many are at hand.
            expected: how many there will be in this pass, as far as that is known.
        """
        if kind is None:
            return None
        self._seen[kind] = self._seen.get(kind, 0) + cells
        due = kind not in self._kernels and max(self._seen[kind], expected) >= COMPILED_FROM
        if due and self._lock.acquire(blocking=False):
            try:
                if kind not in self._kernels:
                    self._kernels[kind] = _load(kind)
            finally:
                self._lock.release()
        return self._kernels.get(kind)

    def after_fork(self) -> None:
        """In a child process: if the parent was loading, the child never will be done; it uses NumPy."""
        if self._lock.locked():
            self._kernels = dict.fromkeys(KernelKind)
            self._lock = Lock()


def _load(kind: KernelKind) -> Any:
    """The module, or None where it does not work for whatever reason: the run is charged, and NumPy gives the same.

    No warning and no log says so: that would reveal that there are so many cells.
    """
    with suppress(Exception), numba_log_silenced():
        kernels = import_module("dpframe.reading.kernels")
        kernels.SELF_TESTS[kind]()
        return kernels
    return None


loader = KernelLoader()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=loader.after_fork)
