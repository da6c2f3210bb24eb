"""The exact second moment beside the product X.T @ X in floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import dpframe as dp
from benchmarks.table import Row, Table, at_most
from benchmarks.timing import Turns, timed
from dpframe.runner import accumulate
from dpframe.sources import open_source

ROWS, DIM = 1_000_000, 100
REPETITIONS = 9
WANTED, LIMIT = 1.5, 2.0

WITHIN, CLIPPED = "rows all within the norm", "half of the rows clipped"
ALL_CORES, ONE_CORE = "X.T @ X, all cores", "X.T @ X, one core"


def measure(turns: Turns) -> Table:
    """Exact moments of rows within the norm and beyond it, in both float types."""
    turns.progress.expect(2 * REPETITIONS)
    turns.progress.says("drawing the rows")
    values = np.random.default_rng(1).standard_normal((ROWS, DIM))
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values))
    norms = {WITHIN: float(lengths.max()) * 1.01, CLIPPED: float(np.median(lengths))}
    rows: list[Row] = []
    for dtype in ("float64", "float32"):
        values = values.astype(dtype, copy=False)
        rows += _compare(values, norms, turns)
    return Table(
        title=f"Exact second moment of {ROWS:,} × {DIM} rows",
        notes=(
            "Exact: what a run does between the charge and the draw, reading an array: map, clip and round each row, "
            "and sum the integer Gram matrices.",
            f"Median of {REPETITIONS} rounds in turns. The ratio is to the faster of X.T @ X on all cores and on one, "
            "in the float type of the rows; that product neither clips nor is exact.",
        ),
        rows=tuple(rows),
    )


def _compare(values: NDArray[Any], norms: dict[str, float], turns: Turns) -> list[Row]:
    def exact(norm: float) -> None:
        promise = dp.Rows(norm=norm, neighbors="add-remove")
        source = open_source(values, promise)
        accumulate(source.blocks(), [dp.Moment()], promise.bind(source.dim))

    def product_on_one_core() -> None:
        with threadpool_limits(limits=1, user_api="blas"):
            _ = values.T @ values

    seconds = turns.medians(
        {
            ALL_CORES: timed(lambda: values.T @ values),
            ONE_CORE: timed(product_on_one_core),
            WITHIN: timed(lambda: exact(norms[WITHIN])),
            CLIPPED: timed(lambda: exact(norms[CLIPPED])),
        },
        REPETITIONS,
    )
    product = min(seconds[ALL_CORES], seconds[ONE_CORE])
    rows = [Row(what=f"{name}, {values.dtype}", figures={"seconds": seconds[name]}) for name in (ALL_CORES, ONE_CORE)]
    for name in (WITHIN, CLIPPED):
        ratio = seconds[name] / product
        rows.append(
            Row(
                what=f"exact, {name}, {values.dtype}",
                figures={"seconds": seconds[name], "ratio": ratio},
                goal=f"ratio at most {WANTED:g}, never above {LIMIT:g}",
                verdict=at_most(ratio, WANTED, limit=LIMIT),
            )
        )
    return rows
