"""Tables of other libraries and in files: the same integers as from NumPy, and nothing that a cell can upset."""

from __future__ import annotations

import csv
import io
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpframe as dp
from dpframe import registry, sources
from tests.test_bad_input import SECRET, SECRETS, WORD, Watch, check_refused

pa: Any = pytest.importorskip("pyarrow")
pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
duckdb: Any = pytest.importorskip("duckdb")
ds: Any = pytest.importorskip("pyarrow.dataset")
pq: Any = pytest.importorskip("pyarrow.parquet")
feather: Any = pytest.importorskip("pyarrow.feather")

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


# -- the same cells in every library -----------------------------------------------------------------------------------


def nulled() -> dict[str, list[Any]]:
    """The table with None for cells that are NaN or an empty word."""
    return {name: [None if c in ("", "nan") or c != c else c for c in cells.tolist()] for name, cells in table().items()}


def arrow(**types: Any) -> Any:
    """An Arrow table with nulls, an extra nested column, and types as asked for."""
    kinds = {"sex": pa.string(), "group": pa.float64(), "hours": pa.float64(), "age": pa.float64(), **types}
    columns = {"extra": pa.array([[SECRET]] * ROWS)}
    for name, cells in nulled().items():
        kind = kinds[name]
        plain = pa.array(cells, kind.value_type if pa.types.is_dictionary(kind) else kind)
        columns[name] = plain.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else plain
    return pa.table(columns)


def chunked(size: int) -> Any:
    return pa.Table.from_batches(arrow().to_batches(max_chunksize=size))


def reader(size: int = 50) -> Any:
    return pa.RecordBatchReader.from_batches(arrow().schema, arrow().to_batches(max_chunksize=size))


def pandas(**types: Any) -> Any:
    frame = pd.DataFrame({**table(), "extra": [object()] * ROWS, 7: 1j})
    return frame.assign(**{name: pd.array(nulled()[name], dtype=kind) for name, kind in types.items()})


def polars(**types: Any) -> Any:
    frame = pl.DataFrame({**nulled(), "extra": pl.Series([1] * ROWS, dtype=pl.Int128)}, strict=False)
    return frame.with_columns(**{name: pl.col(name).cast(kind) for name, kind in types.items()})


def exploding() -> Any:
    """A lazy frame with a column that must not be computed."""

    def explode(_: Any) -> Any:
        raise AssertionError

    return polars().lazy().with_columns(pl.col("age").map_batches(explode, return_dtype=pl.Float64).alias("extra"))


class Capsule:
    """An object of nobody's library that has the Arrow stream interface, and gives its stream once."""

    def __init__(self) -> None:
        self.streams = iter([reader()])

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return next(self.streams).__arrow_c_stream__(requested_schema)


def relation() -> Any:
    cells = arrow()  # noqa: F841, DuckDB finds it by its name
    return duckdb.connect().sql("select * exclude extra from cells union all select * exclude extra from cells limit 0")


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


def feather_file(path: Path) -> Path:
    feather.write_feather(arrow(), path)
    return path


DICTIONARY = pa.dictionary(pa.int8(), pa.string())

AGAIN: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda _: pandas(),
    "pandas, other index": lambda _: pandas().set_index(np.arange(ROWS)[::-1] % 5),
    "pandas, nullable types": lambda _: pandas(age="Float64", hours="Int64", sex="string"),
    "pandas, words as objects": lambda _: pandas(sex=object),
    "pandas, words of Python": lambda _: pandas(sex=pd.StringDtype("python")),
    "pandas, words of Arrow": lambda _: pandas(sex=pd.StringDtype("pyarrow")),
    "pandas, categories": lambda _: pandas(sex="category", group="category", hours="category"),
    "pandas on Arrow": lambda _: pd.DataFrame({n: arrow()[n].to_pandas(types_mapper=pd.ArrowDtype) for n in table()}),
    "pandas, extra columns of the same name": lambda _: pandas().rename(columns={7: "extra"}),
    "polars": lambda _: polars(),
    "polars in chunks": lambda _: pl.concat([polars()[:60], polars()[60:61], polars()[61:]], rechunk=False),
    "polars, categories": lambda _: polars(sex=pl.Categorical),
    "polars, enumeration": lambda _: polars(sex=pl.Enum(["unknown", "M", "F"])),
    "polars, whole hours": lambda _: polars(hours=pl.UInt8),
    "polars, decimals": lambda _: polars(hours=pl.Decimal(10, 2), group=pl.Decimal(10, 1)),
    "polars, lazy": lambda _: polars().lazy(),
    "polars, lazy with an extra column": lambda _: exploding(),
    "polars, lazy from a file": lambda path: pl.scan_parquet(written(path / "t.parquet", arrow())),
    "Arrow": lambda _: arrow(),
    "Arrow in chunks": lambda _: chunked(10),
    "Arrow, slice": lambda _: pa.concat_tables([arrow(), arrow()]).slice(ROWS - 50, ROWS).slice(50).slice(0, 0)
    if False
    else pa.concat_tables([arrow().slice(5, 7), arrow()]).slice(7),
    "Arrow, large strings": lambda _: arrow(sex=pa.large_string()),
    "Arrow, string views": lambda _: arrow(sex=pa.string_view()),
    "Arrow, dictionary": lambda _: arrow(sex=DICTIONARY, group=pa.dictionary(pa.int32(), pa.float64())),
    "Arrow, decimals": lambda _: arrow(hours=pa.decimal128(9, 2)),
    "Arrow, half precision": lambda _: arrow(hours=pa.float16(), group=pa.float16()),
    "Arrow batch": lambda _: arrow().combine_chunks().to_batches()[0],
    "dataset in memory": lambda _: ds.dataset(chunked(50)),
    "dataset of files": lambda path: ds.dataset(folder(path), format="parquet", partitioning="hive"),
    "dataset of Arrow files": lambda path: ds.dataset(feather_file(path / "t.arrow"), format="ipc"),
    "datasets together": lambda path: ds.dataset(
        [
            ds.dataset(written(path / "t.parquet", arrow().slice(0, 99), row_group_size=7)),
            ds.dataset(arrow().slice(99)),
        ]
    ),
    "Parquet": lambda path: written(path / "t.parquet", arrow()),
    "Parquet, path as text": lambda path: str(written(path / "t.parquet", arrow())),
    "Parquet, any ending": lambda path: written(path / "part-0000", arrow()),
    "Parquet, small row groups": lambda path: written(path / "t.parquet", arrow(), row_group_size=10),
    "Parquet, one column chunk": lambda path: written(path / "t.parquet", arrow(sex=DICTIONARY), compression="gzip"),
    "Parquet of pandas": lambda path: (pandas(sex="category")[[*table()]].to_parquet(path / "t"), path / "t")[1],
    "Parquet of polars": lambda path: (polars()[[*table()]].write_parquet(path / "t"), path / "t")[1],
    "folder": folder,
    "folder, path as text": lambda path: os.fspath(folder(path)),
    "CSV": lambda path: csv_file(path / "t.csv"),
    "CSV, path as text": lambda path: str(csv_file(path / "T.CSV")),
    "CSV, all quoted": lambda path: csv_file(path / "t.csv", quoting=csv.QUOTE_ALL),
    "CSV, Unix lines": lambda path: csv_file(path / "t.csv", lineterminator="\n"),
    "frames as chunks": lambda _: [pandas()[:60], polars()[60:100], arrow().slice(100, 11), pandas()[111:]],
    "paths as chunks": lambda path: [
        written(path / "0.parquet", arrow().slice(0, 99)),
        str(written(path / "1.parquet", arrow().slice(99))),
    ],
    "tables of several kinds as chunks": lambda _: (
        arrow().slice(0, 99),
        {name: cells[99:] for name, cells in table().items()},
    ),
}
ONCE: dict[str, Callable[[Path], Any]] = {
    "Arrow reader": lambda _: reader(),
    "Arrow reader, single rows": lambda _: reader(1),
    "Arrow stream": lambda _: Capsule(),
    "DuckDB": lambda _: relation(),
    "DuckDB over pandas": lambda path: duckdb.connect().from_df(pandas(sex="string")[[*table()]]),
    "list with a reader": lambda _: [arrow().slice(0, 0), reader()],
    "iterator of frames": lambda _: iter([pandas()[:60], pandas()[60:]]),
    "reader of a filtered dataset": lambda _: ds.dataset(arrow()).filter(ds.field("extra").is_valid()).scanner().to_reader(),
}
