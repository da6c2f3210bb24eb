"""A large dimension: moment, noise and a few eigenvectors in bounded memory."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

import dpframe as dp
from benchmarks import fresh
from benchmarks.table import Row, Table, Value, at_most
from benchmarks.timing import Turns

ROWS, DIM, K = 20_000, 5_000, 10
CHUNK = 2_000
REPETITIONS = 3
WANTED = 4.0  # matrices of 8·d² bytes

PHASES = READING, NOISE, VECTORS = "exact moment", "noise", f"{K} eigenvectors"


class Rows:
    """Float32 rows with ten strong directions, made chunk by chunk each time they are read."""

    def __init__(self, rows: int, dim: int) -> None:
        self.rows, self.dim = rows, dim

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        random = np.random.default_rng(1)
        for start in range(0, self.rows, CHUNK):
            values = random.standard_normal((min(CHUNK, self.rows - start), self.dim), dtype=np.float32)
            values[:, :K] *= np.linspace(40, 20, K, dtype=np.float32)
            yield values


def measure(turns: Turns) -> Table:
    """A release with ten eigenvectors, and the product of the same rows, each in fresh processes."""
    turns.progress.expect(REPETITIONS)
    runs: list[fresh.Figures] = []

    def run() -> float:
        runs.append(fresh.run(release, ROWS, DIM))
        return runs[-1]["seconds"]

    def product() -> float:
        return fresh.run(multiply, ROWS, DIM)["seconds"]

    seconds = turns.medians({"run": run, "product": product}, REPETITIONS)
    most = max(figures["matrices"] for figures in runs)
    peak = max(figures["peak"] for figures in runs)
    phases = {name: float(np.median([figures[name] for figures in runs[1:]])) for name in PHASES}
    ratio = phases[READING] / seconds["product"]
    found = [Row(what="X.T @ X in chunks, float64", figures={"seconds": seconds["product"]})]
    for name in PHASES:
        figures: dict[str, Value] = {"seconds": phases[name]}
        if name == READING:
            figures["ratio"] = ratio
        found.append(Row(what=name, figures=figures))
    found += [
        Row(what="the whole run", figures={"seconds": seconds["run"]}),
        Row(
            what="most memory of a run",
            figures={"GiB": peak / 2**30, "matrices": most},
            goal=f"at most {WANTED:g} matrices",
            verdict=at_most(most, WANTED),
        ),
    ]
    return Table(
        title=f"A release of {DIM:,} × {DIM:,} with its {K} leading eigenvectors",
        notes=(
            f"{ROWS:,} rows of float32, made in chunks of {CHUNK:,} as they are read, which is part of the time of "
            f"moment and product. Fresh processes; median of {REPETITIONS} rounds in turns.",
            f"Memory is that of the process at its peak. In matrices of 8·d² bytes, {8 * DIM**2 / 1e6:.0f} MB each, it "
            "is what came on top of the loaded program.",
        ),
        rows=tuple(found),
    )


def release(rows: str, dim: str) -> fresh.Figures:
    """Seconds of each phase, and matrices at the peak, of a run."""
    for module in ("flint", "scipy.sparse.linalg", "scipy.special"):
        import_module(module)  # before the clock starts
    plan = dp.Plan(
        rows=dp.Rows(norm=150.0, neighbors="add-remove", dim=int(dim)),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("moment", "gaussian"), dp.derive("components", "top-subspace", of="moment", k=K)],
    )
    before, times = fresh.peak(), []
    start = time.perf_counter()
    plan.run(Rows(int(rows), int(dim)), progress=lambda _: times.append(time.perf_counter()))
    times.append(time.perf_counter())
    phases = [stop - begin for begin, stop in itertools.pairwise(times)]
    matrices = (fresh.peak() - before) / (8 * int(dim) ** 2)
    return {"seconds": times[-1] - start, "matrices": matrices, **dict(zip(PHASES, phases, strict=True))}


def multiply(rows: str, dim: str) -> fresh.Figures:
    """Seconds for the sum of X.T @ X over the chunks, in floats."""
    total = np.zeros((int(dim), int(dim)))
    start = time.perf_counter()
    for values in Rows(int(rows), int(dim)):
        wide = values.astype(np.float64)
        total += wide.T @ wide
    return {"seconds": time.perf_counter() - start}
