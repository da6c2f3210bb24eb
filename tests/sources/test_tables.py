"""Tables of other libraries and in files: the same integers as from NumPy, and nothing that a cell can upset."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe import sources
from tests.support.tables import (
    DICTIONARY,
    PROMISE,
    ROWS,
    Capsule,
    arrow,
    both,
    chunked,
    connection,
    csv_file,
    folder,
    moment,
    pandas,
    polars,
    reader,
    relation,
    table,
    two_passes,
    written,
)

pa: Any = pytest.importorskip("pyarrow")
pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
ds: Any = pytest.importorskip("pyarrow.dataset")
feather: Any = pytest.importorskip("pyarrow.feather")


def exploding() -> Any:
    """A lazy frame with a column that must not be computed."""

    def explode(_: Any) -> Any:
        raise AssertionError

    return polars().lazy().with_columns(pl.col("age").map_batches(explode, return_dtype=pl.Float64).alias("extra"))


def feather_file(path: Path) -> Path:
    feather.write_feather(arrow(), path)
    return path


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
    "Arrow, slice": lambda _: pa.concat_tables([arrow().slice(5, 7), arrow()]).slice(7),
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
    "DuckDB": lambda _: relation(),
    "DuckDB over pandas": lambda path: connection().from_df(pandas(sex="string")[[*table()]]),
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
    "list with a reader": lambda _: [arrow().slice(0, 0), reader()],
    "iterator of frames": lambda _: iter([pandas()[:60], pandas()[60:]]),
    "reader of a dataset": lambda _: ds.dataset(arrow()).scanner(filter=ds.field("extra").is_valid()).to_reader(),
}


@pytest.mark.parametrize("make", AGAIN.values(), ids=AGAIN)
def test_the_same_cells_anywhere(make: Callable[[Path], Any], tmp_path: Path) -> None:
    data = make(tmp_path)
    assert both(table()) == both(data)
    assert two_passes().run(table(), insecure_seed=7)["moment"].tobytes() == (
        two_passes().run(data, insecure_seed=7)["moment"].tobytes()
    )


@pytest.mark.parametrize("make", ONCE.values(), ids=ONCE)
def test_streams_are_read_once(make: Callable[[Path], Any], tmp_path: Path) -> None:
    assert moment(table()) == moment(make(tmp_path))
    assert str(dp.check(table(), PROMISE)) == str(dp.check(make(tmp_path), PROMISE))
    with pytest.raises(dp.DataError, match="reads the data 2 times, but the source can be read only once"):
        two_passes().run(make(tmp_path))


def test_the_comparison_sees_a_difference() -> None:
    other = pandas()
    counted = np.flatnonzero((other["sex"] == "F") & other["age"].between(17, 90))[0]
    other.loc[counted, "age"] += 0.01
    assert moment(table()) != moment(other)
    assert moment(table()) != moment(arrow().slice(counted + 1))


@pytest.mark.parametrize("most", [1, 3, 100])
def test_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, most: int) -> None:
    wanted = both(table())
    monkeypatch.setattr(sources.source, "MAX_ROWS_PER_BLOCK", most)
    for make in (lambda _: pandas(), lambda _: polars().lazy(), lambda _: arrow(sex=DICTIONARY), folder):
        assert wanted == both(make(tmp_path / "folder"))
    path = csv_file(tmp_path / "t.csv")
    assert wanted == both(path)
    blocks = [len(block["age"]) for block in sources.open_source(path, PROMISE).blocks()]
    assert (most, ROWS) == (max(blocks), sum(blocks))


def test_no_rows_give_a_noisy_zero(tmp_path: Path) -> None:
    nothing = {name: cells[:0] for name, cells in table().items()}
    path = tmp_path / "t.csv"
    path.write_text("sex,group,hours,age\n")
    empty = [arrow().slice(0, 0), pandas()[:0], polars()[:0], polars()[:0].lazy(), [arrow().slice(0, 0)], path]
    for data in [*empty, written(tmp_path / "t.parquet", arrow().slice(0, 0)), ds.dataset([], schema=arrow().schema)]:
        assert moment(nothing) == moment(data)
        assert 0 == dp.check(data, PROMISE).rows
