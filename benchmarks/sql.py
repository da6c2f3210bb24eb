"""The moment of a table inside a database, beside dpframe's own stream of the same rows; how it grows."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import dpframe as dp
from benchmarks import fresh, stream
from benchmarks.table import Row, Table, Value, at_most
from benchmarks.timing import Measured, Turns, timed

FILES, QUICK_FILES = 10, 1
REPETITIONS, FEW = 5, 3
WANTED = 4.0  # times the stream of Parquet files

STREAM, TABLE = "Parquet files, read by dpframe", "DuckDB, inside its own database"
ROWS, FILE_PUSH = "DuckDB, its rows read by dpframe", "DuckDB, inside, over the Parquet files"

GROWTH = ((500_000, 10), (500_000, 25), (500_000, 50), (500_000, 100), (1_000_000, 50), (2_000_000, 50))
OTHERS = ((20_000, 10), (20_000, 25), (20_000, 50), (200_000, 10))


def measure(turns: Turns) -> Table:
    """Runs on the same rows in fresh processes, in turns; then growth in DuckDB, PostgreSQL and SQLite."""
    turns.progress.expect(REPETITIONS + FEW * (2 if turns.quick else 3))
    files = QUICK_FILES if turns.quick else FILES
    found: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="dpframe-sql-") as scratch:
        directory = Path(scratch) / "parquet"
        directory.mkdir()
        for number in range(files):
            turns.progress.says(f"writing file {number + 1} of {files}")
            stream._write(directory / f"part-{number:02d}.parquet", number)
        database = Path(scratch) / "people.duckdb"
        with import_module("duckdb").connect(str(database)) as connection:
            connection.execute(f"CREATE TABLE people AS FROM '{directory}/*.parquet'")
        things = {
            STREAM: _in_turn(stream.run_plan, directory),
            TABLE: _in_turn(push_table, database),
            ROWS: _in_turn(read_rows, database),
            FILE_PUSH: _in_turn(push_files, directory),
        }
        seconds = turns.medians(things, REPETITIONS)
    rows = files * stream.GROUPS * stream.ROWS_PER_GROUP
    for name, taken in seconds.items():
        times = taken / seconds[STREAM]
        goal = {"goal": f"at most {WANTED:g} times", "verdict": at_most(times, WANTED)} if name == TABLE else {}
        figures: dict[str, Value] = {"rows": float(rows), "columns": float(stream.DIM), "seconds": taken}
        found.append(Row(what=name, figures=figures | {"times the stream": times}, **goal))
    found += _growth(turns)
    return Table(
        title="The moment inside a database",
        notes=(
            "Columns of float32 without missing cells, ranges of 4 standard deviations. Every run checks the schema, "
            "tests the engine on made-up rows, maps, clips and sums exactly and releases the moment. The first four "
            f"are fresh processes, less the time to import; median of {REPETITIONS} rounds in turns, {FEW} of others.",
            "PostgreSQL and SQLite compute one row after the other, on one core; DuckDB uses all.",
        ),
        rows=tuple(found),
    )


def _in_turn(task: fresh.Task, argument: Path) -> Measured:
    return lambda: fresh.run(task, argument)["seconds"]


def push_table(database: str) -> fresh.Figures:
    """Inside the database."""
    return _run(dp.table(database, "people"))


def read_rows(database: str) -> fresh.Figures:
    """Its rows, read."""
    return _run(dp.query("SELECT * FROM people", database))


def push_files(directory: str) -> fresh.Figures:
    """Inside DuckDB, which reads the files."""
    return _run(dp.query(f"SELECT * FROM '{directory}/*.parquet'", push=True))


def _run(data: Any) -> fresh.Figures:
    plan, start = stream._plan(), time.perf_counter()
    plan.run(data)
    return {"seconds": time.perf_counter() - start}


# -- growth ------------------------------------------------------------------------------------------------------------


def _growth(turns: Turns) -> Iterator[Row]:
    """Seconds by the numbers of rows and columns."""
    with ExitStack() as stack:
        duckdb = stack.enter_context(import_module("duckdb").connect())
        engines: dict[str, tuple[Any, tuple[tuple[int, int], ...]]] = {"DuckDB": (duckdb, GROWTH)}
        engines["SQLite"] = (stack.enter_context(_sqlite()), OTHERS)
        if (postgres := stack.enter_context(_postgres())) is not None:
            engines["PostgreSQL"] = (postgres, OTHERS)
        for name, (connection, sizes) in engines.items():
            things: dict[str, Measured] = {}
            for count, dim in sizes:
                turns.progress.says(f"{name}: making {count:,} × {dim}")
                _fill(connection, name, count, dim)
                plan, table = _plan(dim), dp.table(connection, f"t{count}_{dim}")
                things[f"{count} {dim}"] = timed(lambda plan=plan, table=table: plan.run(table))  # type: ignore[misc]
            seconds = turns.medians(things, FEW)
            for count, dim in sizes:
                taken = seconds[f"{count} {dim}"]
                figures: dict[str, Value] = {"rows": float(count), "columns": float(dim), "seconds": taken}
                figures["ns a product"] = taken / (count * dim * (dim + 1) / 2) * 1e9
                yield Row(what=f"{name}, growth", figures=figures)


def _plan(dim: int) -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(columns=[dp.Column(f"x{at}", -4.0, 4.0) for at in range(dim)], neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("moment", "gaussian")],
    )


def _fill(connection: Any, engine: str, count: int, dim: int) -> None:
    name = f"t{count}_{dim}"
    if engine == "DuckDB":
        cells = ", ".join(f"CAST(4 * random() - 2 AS FLOAT) AS x{at}" for at in range(dim))
        connection.execute(f"CREATE TABLE {name} AS SELECT {cells} FROM range({count})")
        return
    connection.execute(f"CREATE TABLE {name} ({', '.join(f'x{at} real' for at in range(dim))})")
    if engine == "PostgreSQL":
        cells = ", ".join("4 * random() - 2" for _ in range(dim))
        connection.execute(f"INSERT INTO {name} SELECT {cells} FROM generate_series(1, {count})")
        connection.execute(f"ANALYZE {name}")
        return
    drawn = np.random.default_rng(1).standard_normal((count, dim)).tolist()
    connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' for _ in range(dim))})", drawn)
    connection.commit()


@contextmanager
def _sqlite() -> Iterator[Any]:
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


@contextmanager
def _postgres() -> Iterator[Any]:
    """A server for the time of the measurement; None where it is not installed."""
    from tests.support.postgres import programs, server

    if programs() is None:
        yield None
        return
    with server() as url, import_module("psycopg").connect(url, autocommit=True) as connection:
        yield connection
