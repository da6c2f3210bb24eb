"""The exact second moment beside the product X.T @ X in floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import dpframe.plugin as dp
from benchmarks.table import Row, Table, Value, at_most
from benchmarks.timing import Measured, Turns, timed
from dpframe.lattice import FloatArray
from dpframe.reading.totals import accumulate
from dpframe.sources import open_source

ROWS, DIM = 1_000_000, 100
REPETITIONS = 9
WANTED, LIMIT = 1.5, 2.0

WITHIN, CLIPPED, TABLE = "rows all within the norm", "half of the rows clipped", "a table of columns"
ALL_CORES, ONE_CORE, WIDE = "X.T @ X, all cores", "X.T @ X, one core", "X.T @ X, all cores, float64"


def measure(turns: Turns) -> Table:
    """Exact moments of rows within the norm and beyond it, and of columns with ranges, in both float types."""
    turns.progress.expect(2 * REPETITIONS)
    turns.progress.says("drawing the rows")
    wide = np.random.default_rng(1).standard_normal((ROWS, DIM))
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    norms = {WITHIN: float(lengths.max()) * 1.01, CLIPPED: float(np.median(lengths))}
    rows = [row for values in (wide, wide.astype(np.float32)) for row in _compare(values, wide, norms, turns)]
    return Table(
        title=f"Exact second moment of {ROWS:,} × {DIM} rows",
        notes=(
            "Exact: what a run does between the charge and the draw, reading an array: map, clip and round each row, "
            "and sum the integer Gram matrices. Columns have ranges from -4 to 4, and are read one behind the other.",
            f"Median of {REPETITIONS} rounds in turns. The ratio is to the faster of X.T @ X on all cores and on one, "
            "in the float type of the rows; that product neither clips nor is exact. For float32 rows, whose product "
            "keeps seven digits, the ratio to the product of the same rows in float64 is given too.",
        ),
        rows=tuple(rows),
    )


def _compare(values: NDArray[Any], wide: FloatArray, norms: dict[str, float], turns: Turns) -> list[Row]:
    names = [f"x{i}" for i in range(DIM)]
    table = {name: np.ascontiguousarray(column) for name, column in zip(names, values.T, strict=True)}
    columns = dp.Rows(columns=[dp.Column(name, -4, 4) for name in names], neighbors="add-remove")

    def exact(data: Any, promise: dp.Rows) -> Measured:
        def run() -> None:
            source = open_source(data, promise)
            accumulate(source.blocks(), [dp.Moment()], promise.bind(source.dim))

        return timed(run)

    def product_on_one_core() -> None:
        with threadpool_limits(limits=1, user_api="blas"):
            _ = values.T @ values

    things = {
        ALL_CORES: timed(lambda: values.T @ values),
        ONE_CORE: timed(product_on_one_core),
        **{name: exact(values, dp.Rows(norm=norm, neighbors="add-remove")) for name, norm in norms.items()},
        TABLE: exact(table, columns),
    }
    narrow = values.dtype != wide.dtype
    if narrow:
        things[WIDE] = timed(lambda: wide.T @ wide)
    seconds = turns.medians(things, REPETITIONS)
    product = min(seconds[ALL_CORES], seconds[ONE_CORE])
    rows = [Row(what=f"{name}, {values.dtype}", figures={"seconds": seconds[name]}) for name in (ALL_CORES, ONE_CORE)]
    for name in (*norms, TABLE):
        figures: dict[str, Value] = {"seconds": seconds[name], "ratio": seconds[name] / product}
        if narrow:
            figures["ratio to float64"] = seconds[name] / seconds[WIDE]
        rows.append(
            Row(
                what=f"exact, {name}, {values.dtype}",
                figures=figures,
                goal=f"ratio at most {WANTED:g}, never above {LIMIT:g}",
                verdict=at_most(seconds[name] / product, WANTED, limit=LIMIT),
            )
        )
    return rows
