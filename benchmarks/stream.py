"""A directory of Parquet files, larger than a run may hold in memory: reading it, and the exact moment of it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import dpframe as dp
from benchmarks import fresh
from benchmarks.table import Row, Table, at_least, at_most
from benchmarks.timing import Measured, Turns
from dpframe.reading import kernel_loader
from dpframe.sources.parquet import READ_BUFFER
from dpframe.sources.source import table_rows

FILES, GROUPS, ROWS_PER_GROUP, DIM = 10, 2, 1_000_000, 50
REPETITIONS = 9
WANTED, MEMORY = 0.5, 1.0  # share of the throughput of reading alone; GiB

GROUPWISE, BATCHES = "reading alone, by row groups", "reading alone, in batches"
DATASET, RUN = "reading alone, as a dataset", "plan.run"
LOAD = "loading compiled code alone, once for a process"


def measure(turns: Turns) -> Table:
    """Time and memory of reading alone, in three ways, and of a run, each in fresh processes, in turns."""
    turns.progress.expect(REPETITIONS)
    with tempfile.TemporaryDirectory(prefix="dpframe-stream-") as directory:
        for number in range(FILES):
            turns.progress.says(f"writing file {number + 1} of {FILES}")
            _write(Path(directory) / f"part-{number:02d}.parquet", number)
        size = sum(file.stat().st_size for file in Path(directory).iterdir())
        peaks: dict[str, float] = {}
        tasks = {GROUPWISE: read_groups, BATCHES: read_batches, DATASET: read_dataset, RUN: run_plan, LOAD: load}
        things = {name: _in_turn(name, task, directory, peaks) for name, task in tasks.items()}
        seconds = turns.medians(things, REPETITIONS)
    rows = FILES * GROUPS * ROWS_PER_GROUP
    alone = min(seconds[GROUPWISE], seconds[BATCHES], seconds[DATASET])
    share = alone / seconds[RUN]
    gibibytes = {name: peak / 2**30 for name, peak in peaks.items()}
    found = [
        Row(
            what=name,
            figures={
                "seconds": seconds[name],
                "million rows a second": rows / seconds[name] / 1e6,
                "peak GiB": gibibytes[name],
            },
        )
        for name in tasks
        if name != LOAD
    ]
    found += [
        Row(what=LOAD, figures={"seconds": seconds[LOAD]}),
        Row(
            what="throughput of a run, as a share of that of reading",
            figures={"share": share},
            goal=f"at least {WANTED:g}",
            verdict=at_least(share, WANTED),
        ),
        Row(
            what="the same without the time to load compiled code",
            figures={"share": alone / (seconds[RUN] - seconds[LOAD])},
        ),
        Row(
            what="most memory of a run",
            figures={"peak GiB": gibibytes[RUN]},
            goal=f"at most {MEMORY:g} GiB",
            verdict=at_most(gibibytes[RUN], MEMORY),
        ),
    ]
    return Table(
        title=f"{rows:,} × {DIM} rows in a directory of Parquet files",
        notes=(
            f"{FILES} files of float32 columns as pyarrow writes them, {size / 1e9:.1f} GB, in the system's cache. "
            f"Each reading is a process of its own; median of {REPETITIONS} rounds in turns, less the time to import.",
            "Reading alone takes all columns to Arrow arrays, with as many threads as a run has; the share is of the "
            "fastest of three ways. plan.run reads, maps and clips every cell, sums exactly and releases the moment, "
            "and loads compiled code meanwhile.",
        ),
        rows=tuple(found),
    )


def _in_turn(name: str, task: fresh.Task, directory: str, peaks: dict[str, float]) -> Measured:
    def once() -> float:
        figures = fresh.run(task, directory)
        peaks[name] = max(peaks.get(name, 0.0), figures["peak"])
        return figures["seconds"]

    return once


def _write(path: Path, seed: int) -> None:
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    random = np.random.default_rng(seed)
    schema = pa.schema([(name, pa.float32()) for name in _names()])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(GROUPS):
            cells = [random.standard_normal(ROWS_PER_GROUP, dtype=np.float32) for _ in range(DIM)]
            writer.write_table(pa.table(cells, schema=schema))


def _names() -> list[str]:
    return [f"x{i}" for i in range(DIM)]


def _files(directory: str) -> list[Path]:
    return sorted(Path(directory).iterdir())


def _exhausted(batches: Callable[[], Iterator[Any]]) -> fresh.Figures:
    start = time.perf_counter()
    for _ in batches():
        pass
    return {"seconds": time.perf_counter() - start}


def read_groups(directory: str) -> fresh.Figures:
    """Row group by row group, each as a whole, with the defaults of pyarrow."""
    pq = import_module("pyarrow.parquet")

    def tables() -> Iterator[Any]:
        for path in _files(directory):
            with pq.ParquetFile(path) as file:
                for number in range(file.num_row_groups):
                    yield file.read_row_group(number)

    return _exhausted(tables)


def read_batches(directory: str) -> fresh.Figures:
    """File by file, in batches and by pieces of files as a run does."""
    pq = import_module("pyarrow.parquet")

    def batches() -> Iterator[Any]:
        for path in _files(directory):
            with pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_BUFFER) as file:
                yield from file.iter_batches(table_rows(DIM))

    return _exhausted(batches)


def read_dataset(directory: str) -> fresh.Figures:
    """By the scanner of pyarrow, with its defaults."""
    dataset = import_module("pyarrow.dataset").dataset(_files(directory))
    return _exhausted(lambda: iter(dataset.to_batches()))


def _plan() -> dp.Plan:
    """The moment of these columns, of which a few rows are released: what is loaded for any plan is loaded then."""
    import_module("pyarrow.parquet")  # before the clock starts, as for reading alone
    plan = dp.Plan(
        rows=dp.Rows(columns=[dp.Column(name, -4.0, 4.0) for name in _names()], neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("moment", "gaussian")],
    )
    plan.run({name: np.zeros(10) for name in _names()})
    return plan


def run_plan(directory: str) -> fresh.Figures:
    """The moment, released."""
    plan, start = _plan(), time.perf_counter()
    plan.run(Path(directory))
    return {"seconds": time.perf_counter() - start}


def load(directory: str) -> fresh.Figures:
    """Compiled code, as a run loads it."""
    plan, start = _plan(), time.perf_counter()
    kernel_loader.loader.kernels(kernel_loader.kernel_kind(plan.rows), kernel_loader.COMPILED_FROM)
    return {"seconds": time.perf_counter() - start}
