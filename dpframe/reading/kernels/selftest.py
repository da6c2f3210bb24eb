"""Whether compiled code works on this machine, and gives what NumPy gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe import lattice
from dpframe.reading.kernel_loader import KernelKind
from dpframe.reading.kernels.column_gram import add_columns, add_strips, round_strips
from dpframe.reading.kernels.row_gram import add_rows
from dpframe.reading.kernels.vectors import LANES


def check_rounding(dtype: np.dtype[Any]) -> NDArray[Any]:
    """Raise unless compiled code for columns rounds as NumPy does; else the strips, with zeros behind them."""
    cells, yes = np.linspace(-3.0, 3.0, 33), np.ones(LANES, dtype=np.bool_)
    expected = np.zeros(48)
    expected[:33] = np.rint(np.clip((cells - 0.5) * 0.5, -1.0, 1.0) * 100.0)
    integers, columns = np.ones((LANES, 48), dtype=dtype), np.array([[0.5, 0.5, -1.0, 1.0, 0.0]] * LANES)
    addresses = np.full(LANES, cells.ctypes.data, dtype=np.uint64)
    if not round_strips(addresses, ~yes, 33, columns, yes, 100.0, integers) or (integers != expected).any():
        raise RuntimeError("compiled code does not round as NumPy does")
    return integers


def check_columns() -> None:
    """Raise unless compiled code for columns works, and gives what NumPy gives."""
    check_rounding(np.dtype(np.float64))


def check_int16_columns() -> None:
    """The same for columns in 16 bits."""
    strips, total = check_rounding(np.dtype(np.int16)), np.zeros((LANES, LANES), dtype=np.int64)
    add_strips(strips, 4, np.ones(LANES, dtype=np.int64), total)
    if (total != lattice.gram(strips.T.astype(np.float64))).any():
        raise RuntimeError("compiled code does not sum as NumPy does")


def _check_sums(add: Callable[..., tuple[int, int]]) -> None:
    """Raise unless compiled code sums rows as NumPy does, but for those that it should not sum."""
    cells = np.linspace(-1.0, 1.0, 33)[:9]
    rows = np.vstack([cells / 10.0, cells, np.full(9, math.nan), np.eye(9)[0], cells / 5.0])
    scale, inner, weights = lattice.steps_per_unit(9, 1.0), lattice.inner_radius(9), np.array([1] * 9 + [7])
    for floats in (rows.astype(np.float32), rows):
        aside, beyond, total = np.zeros(5, dtype=np.int64), np.zeros((5, 9)), np.zeros((10, 10), dtype=np.int64)
        left_out, wide = add(floats, scale, inner, weights, total, aside, beyond)
        integers = lattice.integer_rows(floats, 1.0)[0]
        kept = np.hstack([integers[[0, 1, 4]], np.full((3, 1), 7.0)])
        others = aside[:left_out].tolist(), beyond[:wide].tolist()
        if others != ([2], [integers[3].tolist()]) or (total != lattice.gram(kept)).any():
            raise RuntimeError("compiled code does not sum rows as NumPy does")


def check_rows() -> None:
    """The same for rows with a norm."""
    _check_sums(add_rows)


def check_normed_columns() -> None:
    """The same for columns with a norm."""
    check_rounding(np.dtype(np.float64))

    def add(rows: NDArray[Any], *how: Any) -> tuple[int, int]:
        columns, single = np.array([[0.0, 1.0, -1.0, 1.0, math.nan]] * 9), np.full(9, rows.itemsize == 4)
        strips = np.ascontiguousarray(rows.T)
        addresses = np.array([strip.ctypes.data for strip in strips], dtype=np.uint64)
        return add_columns(addresses, single, 5, columns, *how)

    _check_sums(add)


SELF_TESTS = {
    KernelKind.ROWS: check_rows,
    KernelKind.NORMED_COLUMNS: check_normed_columns,
    KernelKind.INT16_COLUMNS: check_int16_columns,
    KernelKind.COLUMNS: check_columns,
}
"""What tells, of each kind of data, whether its compiled code works here."""
