"""How the time of the exact moment grows with rows, coordinates and workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from threadpoolctl import threadpool_limits

import dpframe.plugin as dp
from benchmarks.table import Row, Table, Value
from benchmarks.timing import Turns, timed
from dpframe import lattice
from dpframe.lattice import FloatArray
from dpframe.reading import kernel_loader
from dpframe.reading.kernel_loader import KernelKind
from dpframe.reading.totals import accumulate
from dpframe.sources import open_source

ROWS, ROWS_DIM = (30_000, 100_000, 300_000, 1_000_000), 100
DIMS, DIMS_ROWS = (25, 50, 100, 200, 400, 800, 1600), 40_000
WORKERS_ROWS, WORKERS_DIM = 300_000, 100
REPETITIONS = 7


def measure(turns: Turns) -> Table:
    """Exact moments of float64 arrays beside X.T @ X on the same cores."""
    cores = len(os.sched_getaffinity(0))
    workers = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= cores]
    turns.progress.expect((len(ROWS) + len(DIMS) + len(workers)) * REPETITIONS)
    cases = [("rows", count, ROWS_DIM, cores) for count in ROWS]
    cases += [("coordinates", DIMS_ROWS, dim, cores) for dim in DIMS]
    cases += [("workers", WORKERS_ROWS, WORKERS_DIM, count) for count in workers]
    kernel_loader.loader.kernels(KernelKind.ROWS, kernel_loader.COMPILED_FROM)  # loaded, as large data would
    found = [_compare(*case, turns) for case in cases]
    cell, product = _fitted(found)
    figures: dict[str, Value] = {
        "a, nanoseconds": 1e9 * cell,
        "b, nanoseconds": 1e9 * product,
        "c, nanoseconds": 1e9 * _wide(found, cell),
    }
    found.append(Row(what="seconds ≈ n · (a·d + b·d²) / workers", figures=figures))
    return Table(
        title="How the time of the exact moment grows",
        notes=(
            "Arrays of float64, no row clipped; X.T @ X on the same cores, the faster of one BLAS thread and one per "
            f"core. Median of {REPETITIONS} rounds in turns.",
            f"a and b are fitted to the figures of {DIMS_ROWS:,} rows, by relative error: what one core takes for a "
            "cell (map, round, measure) and for a product of two coordinates, in 16 bits by compiled code, which is "
            f"loaded. From {lattice.TILE:,} coordinates on, where products are in doubles, c is in the place of b.",
        ),
        rows=tuple(found),
    )


def _compare(series: str, count: int, dim: int, cores: int, turns: Turns) -> Row:
    values = np.random.default_rng(dim).standard_normal((count, dim))
    promise = dp.Rows(norm=2.0 * dim**0.5 + 10.0, neighbors="add-remove")
    with only(cores):
        one, all_of_them = _product(values, 1), _product(values, cores)
        things = {
            "all": timed(all_of_them),  # whose threads go on waiting for more work for a while, on cores of their own
            "one": timed(one),
            "exact": timed(lambda: _exact(values, promise)),
        }
        seconds = turns.medians(things, REPETITIONS)
    product = min(seconds["one"], seconds["all"])
    figures: dict[str, Value] = {
        "n": float(count),
        "d": float(dim),
        "workers": float(cores),
        "seconds": seconds["exact"],
        "X.T @ X": product,
        "ratio": seconds["exact"] / product,
    }
    return Row(what=f"{series}: {count:,} × {dim}, {cores} workers", figures=figures)


def _exact(values: FloatArray, promise: dp.Rows) -> None:
    source = open_source(values, promise)
    accumulate(source.blocks(), [dp.Moment()], promise.bind(source.dim))


def _product(values: FloatArray, threads: int) -> Callable[[], None]:
    def run() -> None:
        with threadpool_limits(limits=threads, user_api="blas"):
            _ = values.T @ values

    return run


@contextmanager
def only(cores: int) -> Iterator[None]:
    """So many cores, for this thread and those that it starts."""
    all_of_them = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_of_them)[:cores])
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_of_them)


def _by_coordinates(rows: list[Row], *, wide: bool) -> list[tuple[float, float]]:
    """How often one nanosecond of a and of b goes into the time of a row, for those in doubles or the others."""
    figures = [row.figures for row in rows if row.what.startswith("coordinates")]
    return [_terms(each) for each in figures if (float(each["d"] or 0.0) >= lattice.TILE) is wide]


def _fitted(rows: list[Row]) -> tuple[float, float]:
    """a and b in seconds ≈ n (a d + b d²)/workers, by least squares on relative errors."""
    terms = np.array(_by_coordinates(rows, wide=False))
    found = np.linalg.lstsq(terms, np.ones(len(terms)), rcond=None)[0]
    return float(found[0]), float(found[1])


def _wide(rows: list[Row], cell: float) -> float:
    """c in the place of b, from the widest rows."""
    cells, products = _by_coordinates(rows, wide=True)[-1]
    return (1.0 - cell * cells) / products


def _terms(figures: dict[str, Value]) -> tuple[float, float]:
    n, d, workers, seconds = (float(figures[name] or 0.0) for name in ("n", "d", "workers", "seconds"))
    return n * d / workers / seconds, n * d * d / workers / seconds
