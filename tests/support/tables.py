"""One table in the forms of other libraries and of files, and what a run makes of it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe import sources
from dpframe.reading.mapper import coordinates
from tests.support.refusals import SECRET

pa: Any = pytest.importorskip("pyarrow")
pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
duckdb: Any = pytest.importorskip("duckdb")
pq: Any = pytest.importorskip("pyarrow.parquet")

CONNECTIONS: list[Any] = []

Array = np.ndarray[Any, np.dtype[Any]]

ROWS = 211
NAN, INFINITY = float("nan"), float("inf")
COLUMNS = (
    dp.Column("age", 17, 90),
    dp.Column("hours", 1, 99, missing=40),
    dp.Category("group", [1, 2.5, 3], missing=3),
    dp.Category("sex", ["F", "M"]),
)
PROMISE = dp.Rows(columns=COLUMNS, neighbors="replace", center=True)
AGE = dp.Rows(columns=[dp.Column("age", 0, 100)], neighbors="replace")
SEX = dp.Rows(columns=[dp.Category("sex", ["F", "Mé"])], neighbors="replace")
YEARS = dp.Rows(columns=[dp.Column("years", 0, 100)], neighbors="replace")
GROUP = dp.Rows(columns=[dp.Category("group", [0, 1, 2.5])], neighbors="replace")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)


def table() -> dict[str, Array]:
    """Cells inside and outside of the ranges, missing ones and unknown words, as the array path takes them."""
    draws = np.random.default_rng(8)
    age, hours = draws.normal(50, 30, ROWS), draws.integers(0, 110, ROWS).astype(float)
    age[3], age[4], age[5], hours[::9] = NAN, INFINITY, -INFINITY, NAN
    return {
        "sex": draws.choice(["F", "M", "unknown", ""], ROWS),
        "group": draws.choice([1.0, 2.5, 3.0, 7.0, NAN], ROWS),
        "hours": hours,
        "age": age,
    }


def plan(rows: dp.Rows = PROMISE) -> dp.Plan:
    return dp.Plan(rows=rows, budget=BUDGET, steps=[dp.release("moment", "gaussian")])


def two_passes() -> dp.Plan:
    radius = dp.release("radius", "private-quantile", quantile=0.9, high=4.0)
    rows = dp.Rows(columns=COLUMNS, neighbors="replace", norm=dp.ref("radius"))
    return dp.Plan(rows=rows, budget=BUDGET, steps=[radius, dp.release("moment", "gaussian")])


def moment(data: Any, rows: dp.Rows = PROMISE) -> bytes:
    return plan(rows).run(data, insecure_seed=7)["moment"].tobytes()


def both(data: Any, rows: dp.Rows = PROMISE) -> tuple[bytes, str]:
    """What a run and a check make of a source that can be read again."""
    return moment(data, rows), str(dp.check(data, rows))


def integers(data: Any, rows: dp.Rows = PROMISE) -> list[list[float]]:
    """The rows on the lattice, in order."""
    blocks = sources.open_source(data, rows).blocks()
    return [row for block in blocks for row in dp.Chunk(rows, coordinates(rows, block)).integers().tolist()]


def nulled() -> dict[str, list[Any]]:
    """The table with None for cells that are NaN or an empty word."""
    return {
        name: [None if cell == "" or str(cell) == "nan" else cell for cell in cells.tolist()]
        for name, cells in table().items()
    }


def arrow(**types: Any) -> Any:
    """An Arrow table with nulls, an extra nested column, and types as asked for."""
    kinds = {"sex": pa.string(), "group": pa.float64(), "hours": pa.float64(), "age": pa.float64(), **types}
    columns = {"extra": pa.array([[SECRET]] * ROWS)}
    for name, cells in nulled().items():
        kind = kinds[name]
        plain = pa.array(cells)
        columns[name] = (plain.dictionary_encode() if pa.types.is_dictionary(kind) else plain).cast(kind)
    return pa.table(columns)


def chunked(size: int) -> Any:
    return pa.Table.from_batches(arrow().to_batches(max_chunksize=size))


def reader(size: int = 50) -> Any:
    return pa.RecordBatchReader.from_batches(arrow().schema, arrow().to_batches(max_chunksize=size))


def pandas(**types: Any) -> Any:
    frame = pd.DataFrame({**table(), "extra": [object()] * ROWS}).assign(**{"7": 1j}).rename(columns={"7": 7})
    return frame.assign(**{name: pd.array(nulled()[name], dtype=kind) for name, kind in types.items()})


def polars(**types: Any) -> Any:
    frame = pl.DataFrame({**nulled(), "extra": pl.Series([1] * ROWS, dtype=pl.Int128)}, strict=False)
    return frame.with_columns(**{name: pl.col(name).cast(kind) for name, kind in types.items()})


class Capsule:
    """An object of nobody's library that has the Arrow stream interface, and gives its stream once."""

    def __init__(self) -> None:
        self.streams = iter([reader()])

    def __arrow_c_schema__(self) -> Any:
        return reader().schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return next(self.streams).__arrow_c_stream__(requested_schema)


def connection() -> Any:
    """A connection of its own for each relation, which need not keep it; all are to one database, and share memory."""
    CONNECTIONS.append(CONNECTIONS[0].cursor() if CONNECTIONS else duckdb.connect())
    return CONNECTIONS[-1]


def relation() -> Any:
    return connection().from_arrow(arrow())


def written(path: Path, data: Any, **settings: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data, path, **settings)
    return path


def folder(path: Path) -> Path:
    """Files of one table with different types, in folders, among bookkeeping."""
    parts = [arrow(), arrow(age=pa.float64(), sex=pa.large_string()), arrow(sex=pa.dictionary(pa.int8(), pa.string()))]
    for number, part in enumerate(parts):
        written(path / f"year={number}" / f"{number}.parquet", part.slice(number * 71, 71), row_group_size=17)
    written(path / ".trash" / "old.parquet", arrow())
    (path / "_SUCCESS").write_text("")
    (path / "_delta_log").mkdir()
    (path / "_delta_log" / "0.json").write_text("{}")
    return path


def csv_file(path: Path, **settings: Any) -> Path:
    columns = {"extra": ["a,b\n\"c'"] * ROWS, **nulled()}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, **settings)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


DICTIONARY = pa.dictionary(pa.int8(), pa.string())


def text_file(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
