"""How fast cells go through compiled code, beside the memory that they are read from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp
from benchmarks.growth import only
from benchmarks.table import Row, Table
from benchmarks.timing import Turns, timed
from dpframe.reading import kernel_loader
from dpframe.reading.mapper import mapper
from dpframe.reading.scratch import Scratch
from dpframe.reading.totals import Totals

CELLS = 50_000_000
DIMS = (20, 50, 100)
REPETITIONS = 7

READING, COPYING, ROUNDING = "read", "copy", "map, clip and round"
COLUMNS, NORMED, ROWS = "the same, and sum", "with a norm beside the columns", "rows with a norm"


def measure(turns: Turns) -> Table:
    """Columns and rows of both float types, on one core."""
    turns.progress.expect(2 * len(DIMS) * REPETITIONS)
    with only(1):
        found = [row for dtype in (np.float32, np.float64) for dim in DIMS for row in _compare(dtype, dim, turns)]
    return Table(
        title=f"{CELLS:,} cells through compiled code, on one core",
        notes=(
            "Columns that stand one behind the other in memory, of which more is read than caches hold; ranges from -4 "
            "to 4, and a norm that half of the rows exceed. Compiled code is loaded. Integers are in 16 bits, and the "
            "sum is the exact second moment. GB/s are of cells read; share is of the speed of copying them.",
            f"Median of {REPETITIONS} rounds in turns.",
        ),
        rows=tuple(found),
    )


def _compare(dtype: Any, dim: int, turns: Turns) -> list[Row]:
    values = np.random.default_rng(dim).standard_normal((dim, CELLS // dim), dtype=dtype)
    names = [f"x{i}" for i in range(dim)]
    columns = [dp.Column(name, -4, 4) for name in names]
    table, rows, copied = dict(zip(names, values, strict=True)), np.ascontiguousarray(values.T), np.empty_like(values)
    plain = dp.Rows(columns=columns, neighbors="add-remove")
    normed = dp.Rows(columns=columns, neighbors="add-remove", norm=dim**0.5 / 4)
    long = dp.Rows(norm=dim**0.5, neighbors="add-remove", dim=dim)
    for promise in (plain, normed, long):
        kernel_loader.loader.kernels(kernel_loader.kernel_kind(promise), 0, expected=kernel_loader.COMPILED_FROM)
    things: dict[str, Callable[[], object]] = {
        READING: values.sum,
        COPYING: lambda: np.copyto(copied, values),
        ROUNDING: lambda: _rounded(table, plain),
        COLUMNS: lambda: _summed(table, plain),
        NORMED: lambda: _summed(table, normed),
        ROWS: lambda: _summed(rows, long),
    }
    seconds = turns.medians({name: timed(thing) for name, thing in things.items()}, REPETITIONS)
    return [
        Row(
            what=f"{name}, {np.dtype(dtype)}, {dim} columns",
            figures={
                "nanoseconds a cell": 1e9 * taken / CELLS,
                "GB/s": values.nbytes / taken / 1e9,
                "share": seconds[COPYING] / taken,
            },
        )
        for name, taken in seconds.items()
    ]


def _rounded(table: dict[str, NDArray[Any]], promise: dp.Rows) -> None:
    for _ in mapper(promise, Scratch())(table):
        pass


def _summed(data: Any, promise: dp.Rows) -> None:
    Totals([dp.Moment()], promise).read(data)
