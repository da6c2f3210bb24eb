"""Self-tests: the kernels work on this machine, and give the integers that NumPy gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe import lattice
from dpframe.lattice import FloatArray
from dpframe.reading.kernel_loader import KernelKind
from dpframe.reading.kernels.column_gram import add_int16_columns, round_columns
from dpframe.reading.kernels.placed_rows import add_placed, count_lengths, sum_placed
from dpframe.reading.kernels.placing import Cells, Map
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
    """Raise unless the kernels for placed columns work, and give what NumPy gives, however cells stand."""
    check_rounding(np.dtype(np.float64))
    images = np.zeros((5, 2 * LANES))
    images[:, :9] = np.array([[0.0, 1.0, -1.0, 1.0, math.nan]] * 9).T
    plain = Map(images, np.ones(2), np.zeros((0, 2 * LANES)), np.zeros(0, dtype=np.int64))
    for by_rows in (False, True):

        def add(rows: NDArray[Any], *how: Any, by_rows: bool = by_rows) -> tuple[int, int]:
            rows = np.asarray(rows, order="C" if by_rows else "F")
            return add_placed(_cells(rows, by_rows=by_rows), plain, *how)

        _check_sums(add)
        _check_lengths(images, by_rows=by_rows)


def _cells(rows: NDArray[Any], *, by_rows: bool) -> Cells:
    """The cells of rows in C order, or in Fortran order if not by rows. They stay where they are only while ``rows``
    is held."""
    strips = [rows] if by_rows else list(rows.T)
    addresses = np.array([strip.ctypes.data for strip in strips], dtype=np.uint64)
    return Cells(addresses, np.full(len(strips), rows.itemsize == 4), rows.strides[0] * by_rows, len(rows))


def _check_lengths(images: FloatArray, *, by_rows: bool) -> None:
    """Raise unless kernels multiply rows by a matrix, add them and count their lengths as NumPy does."""
    rows = np.outer(np.linspace(-1.0, 1.0, 11), np.linspace(0.1, 1.0, 9))
    rows[3, 8] = math.nan
    rows = np.asarray(rows, order="C" if by_rows else "F")
    matrix = np.zeros((9, 2 * LANES))
    matrix[:, :9] = np.triu(np.arange(81.0).reshape(9, 9) - 40.0)
    depths = np.array([8, 9])
    scale, unit = lattice.steps_per_unit(9, 3.0), 2.0**-20
    cells, how = _cells(rows, by_rows=by_rows), Map(images, np.array([scale, unit]), matrix, depths)
    kept = np.delete(np.arange(11), 3)
    moved = np.rint(rows[kept] * scale) @ matrix[:, :9] * unit
    skipped_rows, counts, edges = np.zeros(11, dtype=np.int64), np.zeros(4, dtype=np.int64), np.array([1e4, 1e5, 1e6])
    squares = np.square(np.rint(np.clip(moved * 100.0, -500.0, 500.0))).sum(axis=1)
    found = count_lengths(cells, how, 9, 100.0, 500.0, edges, counts, skipped_rows)
    expected = np.bincount(np.searchsorted(edges, squares), minlength=4)
    if (found, skipped_rows[0]) != (1, 3) or counts.tolist() != expected.tolist():
        raise RuntimeError("compiled code does not measure rows as NumPy does")
    total, found = sum_placed(cells, how, 9, 100.0, skipped_rows)
    if (found, skipped_rows[0]) != (1, 3) or total.tolist() != np.rint(moved * 100.0).sum(axis=0).tolist():
        raise RuntimeError("compiled code does not add rows as NumPy does")


SELF_TESTS = {
    KernelKind.ROWS: check_rows,
    KernelKind.NORMED_COLUMNS: check_normed_columns,
    KernelKind.INT16_COLUMNS: check_int16_columns,
    KernelKind.COLUMNS: check_columns,
}
"""The self-test of the kernels for each kind of data."""
