"""Loads compiled kernels when there are enough cells to make it worthwhile.

Loading takes as long as the kernels save on `COMPILED_FROM` cells, so it begins once this process has seen that many,
or expects them. Until the kernels are loaded, and wherever they do not work, NumPy computes the same bits.
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
"""The number of cells from which on loading the kernels pays off."""


class KernelKind(Enum):
    """Kinds of data that have kernels of their own."""

    ROWS = "arrays whose rows are scaled down to a norm"
    NORMED_COLUMNS = "columns whose rows are scaled down to a norm"
    INT16_COLUMNS = "columns whose integers fit in 16 bits"
    COLUMNS = "other columns"


def kernel_kind(rows: Rows) -> KernelKind | None:
    """Which kernels a promise needs; None where NumPy is as fast.

    With a norm, rows of 17 coordinates or more are summed in 16 bits, unless they are so wide that BLAS is faster.
    """
    if isinstance(rows.norm, Ref):
        return None  # the norm is not known yet
    if (rows.norm is not None or rows.is_moved) and LEAST_DIM <= rows.width < lattice.TILE:
        return KernelKind.ROWS if rows.columns is None else KernelKind.NORMED_COLUMNS
    if rows.columns is None:
        return None
    return KernelKind.INT16_COLUMNS if pairs_per_carry(rows) else KernelKind.COLUMNS


@attrs.define(repr=False)
class KernelLoader(Redacted):
    """Loads the kernels for each kind of data once per process."""

    _seen: dict[KernelKind, int] = attrs.field(init=False, factory=dict)
    _kernels: dict[KernelKind, Any] = attrs.field(init=False, factory=dict)
    _lock: Any = attrs.field(init=False, factory=Lock)

    def kernels(self, kind: KernelKind | None, cells: int, *, expected: int = 0) -> Any:
        """The module of kernels for the next cells; None if NumPy is to map them, as while another thread is loading.

        Args:
            kind: the kind of data.
            cells: the number of cells in this block.
            expected: the number of cells in this pass, as far as it is known.
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
        """After a fork: if the parent was loading kernels, the child never will; use NumPy."""
        if self._lock.locked():
            self._kernels = dict.fromkeys(KernelKind)
            self._lock = Lock()


def _load(kind: KernelKind) -> Any:
    """The module of kernels, or None if it does not work for any reason: the run is charged, and NumPy gives the same.

    A failure is neither warned of nor logged: that would reveal that the data is large enough to be compiled.
    """
    with suppress(Exception), numba_log_silenced():
        kernels = import_module("dpframe.reading.kernels")
        kernels.SELF_TESTS[kind]()
        return kernels
    return None


loader = KernelLoader()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=loader.after_fork)
