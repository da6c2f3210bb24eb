"""Self-tests: the kernels work on this machine, and give the integers that NumPy gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe import lattice
from dpframe.reading.kernel_loader import KernelKind
from dpframe.reading.kernels.column_gram import add_columns, add_int16_columns, round_columns
from dpframe.reading.kernels.row_gram import add_rows
from dpframe.reading.kernels.vectors import LANES


def check_rounding(dtype: np.dtype[Any]) -> NDArray[Any]:
    """Raise unless the kernel for columns rounds as NumPy does; return the integers, padded with zeros."""
    cells, yes = np.linspace(-3.0, 3.0, 33), np.ones(LANES, dtype=np.bool_)
    expected = np.zeros(48)
    expected[:33] = np.rint(np.clip((cells - 0.5) * 0.5, -1.0, 1.0) * 100.0)
    integers, columns = np.ones((LANES, 48), dtype=dtype), np.array([[0.5, 0.5, -1.0, 1.0, 0.0]] * LANES)
    addresses = np.full(LANES, cells.ctypes.data, dtype=np.uint64)
    if not round_columns(addresses, ~yes, 33, columns, yes, 100.0, integers) or (integers != expected).any():
        raise RuntimeError("compiled code does not round as NumPy does")
    return integers


def check_columns() -> None:
    """Raise unless the kernel for columns works, and gives what NumPy gives."""
    check_rounding(np.dtype(np.float64))


def check_int16_columns() -> None:
    """Raise unless the kernels for 16-bit columns work, and give what NumPy gives."""
    transposed, total = check_rounding(np.dtype(np.int16)), np.zeros((LANES, LANES), dtype=np.int64)
    add_int16_columns(transposed, 4, np.ones(LANES, dtype=np.int64), total)
    if (total != lattice.gram(transposed.T.astype(np.float64))).any():
        raise RuntimeError("compiled code does not sum as NumPy does")


def _check_sums(add: Callable[..., tuple[int, int]]) -> None:
    """Raise unless a kernel sums rows as NumPy does, and leaves out exactly the rows that it should."""
    cells = np.linspace(-1.0, 1.0, 33)[:9]
    rows = np.vstack([cells / 10.0, cells, np.full(9, math.nan), np.eye(9)[0], cells / 5.0])
    scale, inner, weights = lattice.steps_per_unit(9, 1.0), lattice.inner_radius(9), np.array([1] * 9 + [7])
    for floats in (rows.astype(np.float32), rows):
        skipped_rows, wide_rows, total = (
            np.zeros(5, dtype=np.int64),
            np.zeros((5, 9)),
            np.zeros((10, 10), dtype=np.int64),
        )
        skipped, wide = add(floats, scale, inner, weights, total, skipped_rows, wide_rows)
        integers = lattice.integer_rows(floats, 1.0)[0]
        kept = np.hstack([integers[[0, 1, 4]], np.full((3, 1), 7.0)])
        others = skipped_rows[:skipped].tolist(), wide_rows[:wide].tolist()
        if others != ([2], [integers[3].tolist()]) or (total != lattice.gram(kept)).any():
            raise RuntimeError("compiled code does not sum rows as NumPy does")


def check_rows() -> None:
    """Raise unless the kernel for rows with a norm works, and gives what NumPy gives."""
    _check_sums(add_rows)


def check_normed_columns() -> None:
    """Raise unless the kernel for columns with a norm works, and gives what NumPy gives."""
    check_rounding(np.dtype(np.float64))

    def add(rows: NDArray[Any], *how: Any) -> tuple[int, int]:
        columns, single = np.array([[0.0, 1.0, -1.0, 1.0, math.nan]] * 9), np.full(9, rows.itemsize == 4)
        cells = np.ascontiguousarray(rows.T)
        addresses = np.array([column.ctypes.data for column in cells], dtype=np.uint64)
        return add_columns(addresses, single, 5, columns, *how)

    _check_sums(add)


SELF_TESTS = {
    KernelKind.ROWS: check_rows,
    KernelKind.NORMED_COLUMNS: check_normed_columns,
    KernelKind.INT16_COLUMNS: check_int16_columns,
    KernelKind.COLUMNS: check_columns,
}
"""The self-test of the kernels for each kind of data."""
