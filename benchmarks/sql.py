"""The moment of a table where it is, in databases and Spark, beside the stream of the same rows; and how they grow.

What other programs do on the machine slows down runs of many threads more than others. So the processor time of all
threads and processes that take part is compared: that of a server of PostgreSQL and of Spark's is read from ``/proc``.
"""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import numpy as np

import dpframe as dp
from benchmarks import fresh, processes, stream
from benchmarks.table import Row, Table, Value, at_most
from benchmarks.timing import Measured, Turns

FILES, QUICK_FILES = 10, 1
REPETITIONS = 3
WANTED = 4.0  # times the stream of Parquet files
MEMORY = "1GB"  # of DuckDB, which otherwise keeps what it has read

STREAM, TABLE = "Parquet files, read by dpframe", "DuckDB, inside its own database"
ROWS, BARE = "DuckDB, its rows read by dpframe", "DuckDB, products of integers that it holds, and no more"

DUCKDB = ((500_000, 10), (500_000, 25), (500_000, 50), (500_000, 100), (1_000_000, 50), (2_000_000, 50))
FEW_ROWS = ((20_000, 10), (20_000, 25), (20_000, 50), (100_000, 10))
SPARK = ((200_000, 10), (200_000, 25), (200_000, 50), (1_000_000, 50))

Wall = dict[str, list[float]]


def measure(turns: Turns) -> Table:
    """Runs on the same rows in fresh processes, in turns; then growth in DuckDB, PostgreSQL, SQLite and Spark."""
    turns.progress.expect(REPETITIONS * 6)
    with tempfile.TemporaryDirectory(prefix="dpframe-sql-") as scratch:
        found = [*_beside_the_stream(turns, Path(scratch)), *_growth(turns, Path(scratch))]
    return Table(
        title="The moment where the data lives",
        notes=(
            "Columns of float32 without missing cells, ranges of 4 standard deviations. Every run checks the schema, "
            "maps, clips and sums exactly and releases the moment; databases are tested on made-up rows first. The "
            f"first three rows are fresh processes, less the time to import; medians of {REPETITIONS} rounds in turns. "
            "Processor seconds are those of all threads and processes; the goal is about these.",
            "PostgreSQL and SQLite compute one row after the other, on one core. Spark is in local mode: its workers "
            "are the threads of one Java process, each with a process of Python.",
        ),
        rows=tuple(found),
    )


# -- beside the stream -------------------------------------------------------------------------------------------------


def _beside_the_stream(turns: Turns, scratch: Path) -> Iterator[Row]:
    files = QUICK_FILES if turns.quick else FILES
    directory, database = scratch / "parquet", scratch / "people.duckdb"
    directory.mkdir()
    for number in range(files):
        turns.progress.says(f"writing file {number + 1} of {files}")
        stream._write(directory / f"part-{number:02d}.parquet", number)
    turns.progress.says("writing the database")
    with import_module("duckdb").connect(str(database), config={"memory_limit": MEMORY}) as connection:
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(f"CREATE TABLE people AS FROM '{directory}/*.parquet'")
    tasks = {STREAM: (run_plan, directory), TABLE: (push_table, database), ROWS: (read_rows, database)}
    wall: Wall = {}
    things = {name: _in_turn(name, *task, wall) for name, task in tasks.items()}
    seconds = turns.medians(things, REPETITIONS)
    rows = files * stream.GROUPS * stream.ROWS_PER_GROUP
    for name, taken in seconds.items():
        times = taken / seconds[STREAM]
        goal = {"goal": f"at most {WANTED:g} times", "verdict": at_most(times, WANTED)} if name == TABLE else {}
        yield Row(
            what=name, figures=_figures(rows, stream.DIM, taken, wall[name]) | {"times the stream": times}, **goal
        )
    for path in (*directory.iterdir(), database):
        path.unlink()


def _in_turn(name: str, task: fresh.Task, argument: Path, wall: Wall) -> Measured:
    def once() -> float:
        figures = fresh.run(task, argument)
        wall.setdefault(name, []).append(figures["wall"])
        return figures["seconds"]

    return once


def run_plan(directory: str) -> fresh.Figures:
    """The files, in a stream."""
    return _run(Path(directory))


def push_table(database: str) -> fresh.Figures:
    """Inside the database."""
    with _opened(database) as connection:
        return _run(dp.table(connection, "people"))


def read_rows(database: str) -> fresh.Figures:
    """Its rows, read."""
    with _opened(database) as connection:
        return _run(dp.query("SELECT * FROM people", connection))


def _opened(database: str) -> Any:
    return import_module("duckdb").connect(database, read_only=True, config={"memory_limit": MEMORY})


def _run(data: Any) -> fresh.Figures:
    plan, start, began = stream._plan(), time.process_time(), time.perf_counter()
    plan.run(data)
    return {"seconds": time.process_time() - start, "wall": time.perf_counter() - began}


def _figures(rows: int, columns: int, taken: float, wall: list[float]) -> dict[str, Value]:
    products = rows * columns * (columns + 1) / 2
    return {
        "rows": float(rows),
        "columns": float(columns),
        "processor seconds": taken,
        "seconds": statistics.median(wall[-REPETITIONS:]),  # not the round that warms up
        "ns a product": taken / products * 1e9,
    }


# -- growth ------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Place:
    """Where tables are made and summed.

    Args:
        name: the engine, with its number of workers.
        sizes: the numbers of rows and columns.
        make: makes the data of a size.
        processes: those of the engine that are not this one.
    """

    name: str
    sizes: tuple[tuple[int, int], ...]
    make: Callable[[int, int], Any]
    processes: Callable[[], list[int]] = list


def _growth(turns: Turns, scratch: Path) -> Iterator[Row]:
    """Processor seconds by the numbers of rows, columns and workers; one engine after the other."""
    for place in (_duckdb, _bare, _sqlite, _postgres, _spark):
        yield from place(turns, scratch)


def _measured(turns: Turns, place: Place) -> Iterator[Row]:
    things: dict[str, Measured] = {}
    wall: Wall = {}
    turns.servers = place.processes
    for count, dim in place.sizes:
        turns.progress.says(f"{place.name}: making {count:,} × {dim}")
        data, plan = place.make(count, dim), _plan(dim)
        things[f"{count} {dim}"] = _clocked(lambda data=data, plan=plan: plan.run(data), place, wall, f"{count} {dim}")  # type: ignore[misc]
    seconds = turns.medians(things, REPETITIONS)
    for count, dim in place.sizes:
        name = f"{count} {dim}"
        yield Row(what=place.name, figures=_figures(count, dim, seconds[name], wall[name]))


def _clocked(action: Callable[[], object], place: Place, wall: Wall, name: str) -> Measured:
    def once() -> float:
        others = place.processes()
        start, before, began = time.process_time(), processes.seconds(others), time.perf_counter()
        action()
        wall.setdefault(name, []).append(time.perf_counter() - began)
        return time.process_time() - start + processes.seconds(others) - before

    return once


def _plan(dim: int) -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(columns=[dp.Column(f"x{at}", -4.0, 4.0) for at in range(dim)], neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("moment", "gaussian")],
    )


def _duckdb(turns: Turns, _: Path) -> Iterator[Row]:
    with import_module("duckdb").connect() as connection:

        def make(count: int, dim: int) -> Any:
            cells = ", ".join(f"CAST(4 * random() - 2 AS FLOAT) AS x{at}" for at in range(dim))
            connection.execute(f"CREATE TABLE IF NOT EXISTS t{count}_{dim} AS SELECT {cells} FROM range({count})")
            return dp.table(connection, f"t{count}_{dim}")

        for threads, sizes in ((1, DUCKDB), (2, DUCKDB[-1:])):
            connection.execute(f"SET threads = {threads}")
            yield from _measured(
                turns, Place(f"DuckDB, {threads} {'thread' if threads == 1 else 'threads'}", sizes, make)
            )


def _bare(turns: Turns, _: Path) -> Iterator[Row]:
    """What DuckDB takes for the products alone: no map, no missing cells, nothing to check."""
    count, dim = DUCKDB[-1]
    with import_module("duckdb").connect() as connection:
        connection.execute("SET threads = 1")
        cells = ", ".join(f"CAST(9000 * (2 * random() - 1) AS INTEGER) AS q{at}" for at in range(dim))
        connection.execute(f"CREATE TABLE q AS SELECT {cells} FROM range({count})")
        sums = ", ".join(f"SUM(q{i} * q{j})" for i in range(dim) for j in range(i, dim))
        wall: Wall = {}
        place = Place(BARE, (), lambda count, dim: None)
        once = _clocked(lambda: connection.execute(f"SELECT {sums} FROM q").fetchall(), place, wall, BARE)
        seconds = turns.medians({BARE: once}, REPETITIONS)
    yield Row(what=f"{BARE}, 1 thread", figures=_figures(count, dim, seconds[BARE], wall[BARE]))


def _sqlite(turns: Turns, _: Path) -> Iterator[Row]:
    connection = sqlite3.connect(":memory:")

    def make(count: int, dim: int) -> Any:
        name, places = f"t{count}_{dim}", ", ".join("?" for _ in range(dim))
        connection.execute(f"CREATE TABLE {name} ({', '.join(f'x{at} real' for at in range(dim))})")
        drawn = np.random.default_rng(1).standard_normal((count, dim)).tolist()
        connection.executemany(f"INSERT INTO {name} VALUES ({places})", drawn)
        connection.commit()
        return dp.table(connection, name)

    yield from _measured(turns, Place("SQLite", FEW_ROWS, make))
    connection.close()


def _postgres(turns: Turns, _: Path) -> Iterator[Row]:
    """A server for the time of the measurement; nothing where it is not installed."""
    from tests.support.postgres import programs, server

    if programs() is None:
        return
    with server() as url, import_module("psycopg").connect(url, autocommit=True) as connection:

        def make(count: int, dim: int) -> Any:
            name, cells = f"t{count}_{dim}", ", ".join("4 * random() - 2" for _ in range(dim))
            connection.execute(f"CREATE TABLE {name} ({', '.join(f'x{at} real' for at in range(dim))})")
            connection.execute(f"INSERT INTO {name} SELECT {cells} FROM generate_series(1, {count})")
            connection.execute(f"VACUUM ANALYZE {name}")
            return dp.table(connection, name)

        yield from _measured(turns, Place("PostgreSQL", FEW_ROWS, make, lambda: [connection.info.backend_pid]))


def _spark(turns: Turns, scratch: Path) -> Iterator[Row]:
    """Sessions of one and of two workers; nothing where Spark or Java is not installed."""
    from tests.support import spark

    if spark.missing() is not None:
        return
    for workers, sizes in ((1, SPARK), (2, SPARK[-1:])):
        for session in spark.session(f"local[{workers}]", batch=10_000):

            def make(count: int, dim: int, session: Any = session) -> Any:
                return session.read.parquet(str(_parquet(scratch / f"t{count}_{dim}", count, dim)))

            name = f"Spark, {workers} {'worker' if workers == 1 else 'workers'}"
            yield from _measured(turns, Place(name, sizes, make, processes.descendants))


def _parquet(folder: Path, count: int, dim: int) -> Path:
    """Four files, so that each worker has some."""
    if not folder.exists():
        folder.mkdir()
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
        random = np.random.default_rng(1)
        for part in range(4):
            cells = {f"x{at}": random.standard_normal(count // 4, dtype=np.float32) for at in range(dim)}
            parquet.write_table(arrow.table(cells), folder / f"part-{part}.parquet")
    return folder
