"""The same table in DuckDB, PostgreSQL and SQLite, random promises about it, and the integers that it must give."""

from __future__ import annotations

import math
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.reading.totals import accumulate
from dpframe.reading.under import under
from dpframe.sources import open_source
from dpframe.statistics import ColumnHistogram, NormHistogram, RowSum

ENGINES = ("duckdb", "postgres", "sqlite")
DOUBLES = {"duckdb": "DOUBLE", "postgres": "double precision", "sqlite": "REAL"}
NASTY = [0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e-160, 1e151, 1e308, math.inf, -math.inf, math.nan, None]
NASTY += [sys.float_info.max, -sys.float_info.max, 0.5, 1.5, 2.5, -0.5, 1.0, -1.0]

Cells = dict[str, list[Any]]


@contextmanager
def connected(engine: str, url: str) -> Iterator[Any]:
    """A connection to an empty database, or to the server of the tests."""
    if engine == "duckdb":
        import duckdb

        connection: Any = duckdb.connect()
    elif engine == "sqlite":
        connection = sqlite3.connect(":memory:")
    else:
        import psycopg

        connection = psycopg.connect(url, autocommit=True)
    try:
        yield connection
    finally:
        connection.close()


def run(connection: Any, sql: str) -> None:
    connection.execute(sql)
    if hasattr(connection, "in_transaction"):
        connection.commit()


def load(connection: Any, engine: str, cells: Cells, types: dict[str, str] | None = None, name: str = "people") -> None:
    """Make a table of these cells, in their order; doubles, text and integers unless types are given."""
    quoted = {column: '"' + column.replace('"', '""') + '"' for column in cells}
    declared = ", ".join(
        f"{quoted[column]} {types[column] if types and column in types else _type(engine, values)}"
        for column, values in cells.items()
    )
    run(connection, f"DROP TABLE IF EXISTS {name}")
    run(connection, f"CREATE TABLE {name} ({declared})")
    rows = list(zip(*cells.values(), strict=True))
    if not rows:
        return
    if engine == "postgres":
        with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        return
    if engine == "duckdb":
        places = f"({', '.join('?' for _ in cells)})"
        connection.execute(
            f"INSERT INTO {name} VALUES {', '.join([places] * len(rows))}", [c for row in rows for c in row]
        )
        return
    connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' for _ in cells)})", rows)
    connection.commit()


def _type(engine: str, values: Iterable[Any]) -> str:
    known = {type(value) for value in values if value is not None}
    if str in known:
        return "text"
    return "bigint" if known == {int} else DOUBLES[engine]


def types_of(rows: dp.Rows) -> dict[str, str]:
    """The types of text, which a column without a word does not show."""
    words = (each.name for each in rows.columns or () if isinstance(each, dp.Category) and each.is_text)
    return dict.fromkeys(words, "text")


def as_arrays(cells: Cells, rows: dp.Rows) -> dict[str, NDArray[Any]]:
    """The same table as NumPy columns; a missing word is no level."""
    found: dict[str, NDArray[Any]] = {}
    for name, values in cells.items():
        if name in types_of(rows) or any(isinstance(value, str) for value in values):
            found[name] = np.array(["" if value is None else value for value in values], dtype=np.dtypes.StringDType())
        elif name == rows.person:
            found[name] = np.array(values, dtype=np.int64)
        else:
            found[name] = np.array([math.nan if value is None else float(value) for value in values], dtype=np.float64)
    return found


Integers = list[dict[str, list[int]]]


def of_arrays(cells: Any, rows: dp.Rows, statistics: list[dp.Statistic]) -> Integers:
    """The integers of the array path."""
    found = accumulate(open_source(cells, rows).blocks(), statistics, rows)
    return _listed(found, statistics)


def of_engine(data: Any, rows: dp.Rows, statistics: list[dp.Statistic], *, tested: bool = False) -> Integers:
    """The integers of an engine."""
    source = open_source(data, rows)
    assert source.pushed is not None
    try:
        if tested:
            source.pushed.check(statistics, rows)
        return _listed(source.pushed.accumulate(statistics, rows, source.meter), statistics)
    finally:
        source.close()


def _listed(found: Any, statistics: list[dp.Statistic]) -> Integers:
    return [{name: np.asarray(part).ravel().tolist() for name, part in found[each].items()} for each in statistics]


# -- random tables and promises ----------------------------------------------------------------------------------------


def case(seed: int) -> tuple[Cells, dp.Rows, list[dp.Statistic]]:
    """A small table with nasty cells, a promise about it, and statistics."""
    random = np.random.default_rng(seed)
    columns: list[dp.Column | dp.Category] = [_column(f"x{at}", random) for at in range(random.integers(1, 6))]
    if random.random() < 0.4:
        columns.append(dp.Category("sex", ["F", "M", "it's \\ é"], missing=["F", None][random.integers(2)]))
    if random.random() < 0.3:
        columns.append(dp.Category("group", [1, 2.5, -3], missing=[2.5, None][random.integers(2)]))
    count = int(random.choice([0, 1, 7, 40]))
    cells: Cells = {column.name: _cells(column, count, random) for column in columns}
    dim = sum(len(column.labels) for column in columns)
    said: dict[str, Any] = {"center": bool(random.random() < 0.5)}
    if random.random() < 0.6:
        said["norm"] = float(random.choice([1.0, 0.3, 1e-3, 1e-7, 1e-139, 5.0, 1e139, random.uniform(0.1, 3)]))
    if random.random() < 0.4:
        said["about"] = random.choice([-1.0, 1.0, 0.0, 0.37, -0.2], dim).tolist()
    if random.random() < 0.3:
        said["scale"] = random.choice([1e-6, 1.0, 0.3, 7.0, 1e6], dim).tolist()
    elif random.random() < 0.5:
        said["linear"] = _matrix(dim, random)
    if random.random() < 0.4:
        said |= {"person": "who", "contributions": int(random.integers(1, 4))}
        people: list[Any] = [7, -1, 2**40, 0] if random.random() < 0.5 else ["Ann", "ann", "", "é", "Ann ", "7"]
        cells["who"] = [people[at] for at in random.integers(0, len(people), count)]
    rows = dp.Rows(columns=columns, neighbors="add-remove", **said)
    edges = np.sort(random.uniform(1e-3, 4, 3)).tolist()
    first = columns[0]
    assert isinstance(first, dp.Column)
    cuts = sorted({first.low, first.middle, float(random.uniform(first.low, first.high)), 0.0, 1e300})
    statistics: list[dp.Statistic] = [dp.Moment(), RowSum(), dp.PlacedSum(), NormHistogram(edges=edges)]
    statistics.append(ColumnHistogram(column=first.name, edges=cuts))
    return cells, rows, [under(each, rows, rows, {}) for each in statistics]


def _matrix(dim: int, random: np.random.Generator) -> list[list[float]]:
    """A matrix with columns of very different lengths, some of them of few numbers or none, in any unit."""
    matrix = random.standard_normal((dim, dim)) * 2.0 ** random.integers(-40, 10, dim)
    matrix *= random.random((dim, dim)) < random.choice([1.0, 0.5, 0.1])
    found: list[list[float]] = np.clip(matrix * random.choice([1.0, 1e-3, 1e-150, 1e-310, 900.0]), -1e6, 1e6).tolist()
    return found


def _column(name: str, random: np.random.Generator) -> dp.Column:
    kind = random.integers(0, 5)
    if kind == 0:
        half = float(random.choice([1.0, 4.0, 0.1, 1e-139, 1e139, 3.0]))
        low, high = -half, half
    elif kind == 1:
        low, high = 0.0, float(random.choice([1.0, 100.0, 0.7, 1e-100, 1e100]))
    elif kind == 2:
        low = float(random.choice([17.0, 1e15, -1e6, 1e-5]))
        high = low + max(abs(low), 1.0) * float(random.uniform(1e-6, 2))
    else:
        low, high = sorted(random.normal(0, 10, 2).tolist())
    missing = low + (high - low) / 3 if random.random() < 0.3 else None
    return dp.Column(name, low, high, missing=missing)


def _cells(column: dp.Column | dp.Category, count: int, random: np.random.Generator) -> list[Any]:
    if isinstance(column, dp.Category):
        known: list[Any] = [*column.levels, *column.levels, None, "f" if column.is_text else 7.0]
        found = [known[at] for at in random.integers(0, len(known), count)]
        return found if column.is_text else [None if cell is None else float(cell) for cell in found]
    step = column.half_width / 2**14
    near: list[Any] = [column.low, column.high, column.middle, math.nextafter(column.middle, math.inf)]
    pool: list[Any] = [*NASTY, *near, *near]
    wide = random.uniform(column.low - column.half_width, column.high + column.half_width, count).tolist()
    ties = (column.middle + step * (np.floor(random.normal(0, 3000, count)) + 0.5)).tolist()
    chosen = random.choice(3, count, p=[0.25, 0.4, 0.35])
    picked = [pool[at] for at in random.integers(0, len(pool), count)]
    return [(picked[at], wide[at], ties[at])[which] for at, which in enumerate(chosen.tolist())]
