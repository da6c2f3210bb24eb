"""Tables of other libraries and in files: the same integers as from NumPy, and nothing that a cell can upset."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpframe.plugin as dp
from dpframe import sources
from dpframe.reading import process_state
from dpframe.reading.mapper import coordinates
from tests.support.refusals import SECRET, SECRETS, WORD, Watch, check_refused

pa: Any = pytest.importorskip("pyarrow")
pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
duckdb: Any = pytest.importorskip("duckdb")
ds: Any = pytest.importorskip("pyarrow.dataset")
pq: Any = pytest.importorskip("pyarrow.parquet")
feather: Any = pytest.importorskip("pyarrow.feather")

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


# -- the same cells in every library -----------------------------------------------------------------------------------


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


def exploding() -> Any:
    """A lazy frame with a column that must not be computed."""

    def explode(_: Any) -> Any:
        raise AssertionError

    return polars().lazy().with_columns(pl.col("age").map_batches(explode, return_dtype=pl.Float64).alias("extra"))


class Capsule:
    """An object of nobody's library that has the Arrow stream interface, and gives its stream once."""

    def __init__(self) -> None:
        self.streams = iter([reader()])

    def __arrow_c_schema__(self) -> Any:
        return reader().schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return next(self.streams).__arrow_c_stream__(requested_schema)


def connection() -> Any:
    """A connection of its own for each relation, which need not keep it."""
    CONNECTIONS.append(duckdb.connect())
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


class OneBuffer:
    """Batches that are all written to the same memory, against the rules of Arrow."""

    def __init__(self) -> None:
        self.buffer = np.empty(10_000)
        self.schema = pa.schema([("age", pa.float64())])

    def __iter__(self) -> Iterator[Any]:
        for age in range(100):
            self.buffer[:] = age
            yield pa.record_batch([pa.array(self.buffer)], schema=self.schema)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.RecordBatchReader.from_batches(self.schema, iter(self)).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "make",
    [
        OneBuffer,
        lambda: pa.RecordBatchReader.from_stream(OneBuffer()),
        lambda: [pa.RecordBatchReader.from_stream(OneBuffer())],
        lambda: iter(OneBuffer()),
    ],
    ids=["stream", "reader", "list with a reader", "iterator"],
)
def test_batches_in_the_same_memory_are_read_as_they_were(make: Callable[[], Any]) -> None:
    """A block waits for a worker while the next one is written over it, and would be summed twice."""
    waiting: list[Any] = list(sources.open_source(make(), AGE).blocks())
    assert list(range(100)) == [age for block in waiting for age in np.unique(block["age"]).tolist()]


def test_a_stream_that_is_refused_is_left_alone() -> None:
    stream = reader()
    with pytest.raises(dp.DataError, match="only once"):
        two_passes().run(stream)
    assert ROWS == stream.read_all().num_rows


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


CELLS = st.one_of(st.none(), st.floats(allow_subnormal=True), st.sampled_from([1.0, 2.5, 3.0, 17.0, 90.0]))
TABLES = st.lists(st.tuples(CELLS, CELLS, CELLS, st.none() | st.sampled_from(["F", "M", "f", "F "]) | st.text()))


@settings(max_examples=60, deadline=None)
@given(rows=TABLES, size=st.integers(1, 5))
def test_any_cells_in_any_batches(rows: list[tuple[Any, ...]], size: int) -> None:
    cells = list(zip(*rows, strict=True)) or [()] * 4
    names = [column.name for column in COLUMNS]
    kinds = [pa.float64()] * 3 + [pa.string()]
    data = pa.table([pa.array(c, k) for c, k in zip(cells, kinds, strict=True)], names=names)
    numbers = [np.array([NAN if c is None else c for c in column], dtype=float) for column in cells[:3]]
    words = np.array([c if c in ("F", "M") else "" for c in cells[3]], dtype=str)
    wanted = integers(dict(zip(names, [*numbers, words], strict=True)))
    assert wanted == integers(pa.Table.from_batches(data.to_batches(max_chunksize=size), data.schema))
    assert wanted == integers(pl.from_arrow(data)) == integers(data.to_pandas())


# -- types -------------------------------------------------------------------------------------------------------------

WHOLE = [0, 1, 7, 90, 100, 101]


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16"])
@pytest.mark.parametrize(("column", "rows"), [("age", AGE), ("group", GROUP)])
def test_numbers_of_any_width(name: str, column: str, rows: dp.Rows) -> None:
    wanted = both({column: np.array(WHOLE, dtype=name)}, rows)
    cells = pa.array(np.array(WHOLE, dtype=name))
    assert wanted == both(pa.table({column: cells}), rows) == both(pd.DataFrame({column: cells.to_numpy()}), rows)
    gaps = both({column: np.array([NAN, *WHOLE])}, rows)
    assert gaps == both(pa.table({column: pa.concat_arrays([pa.nulls(1, cells.type), cells])}), rows)


def test_truth_values() -> None:
    wanted = both({"group": np.array([1.0, 0.0, NAN, 1.0])}, GROUP)
    cells = [True, False, None, True]
    assert wanted == both(pa.table({"group": cells}), GROUP) == both(pl.DataFrame({"group": cells}), GROUP)
    assert wanted == both(pd.DataFrame({"group": pd.array(cells, dtype="boolean")}), GROUP)
    assert moment({"age": np.array([True, False])}, AGE) == moment(pd.DataFrame({"age": [True, False]}), AGE)


def test_single_precision_is_widened_exactly() -> None:
    rows = dp.Rows(columns=[dp.Column("age", 0, 1), dp.Category("group", [0.1, 0.5])], neighbors="replace")
    narrow = {"age": np.array([0.1, 0.2, 0.3, np.inf], "f4"), "group": np.array([0.1, 0.5, 0.5, 0.5], "f4")}
    wide = {name: cells.astype(float) for name, cells in narrow.items()}
    assert both(wide, rows) == both(pa.table(narrow), rows) == both(pl.DataFrame(narrow), rows)
    assert both(wide, rows) == both(pd.DataFrame(narrow), rows)


@pytest.mark.parametrize(("kind", "most"), [(np.int64, 2**62), (np.uint64, 2**63 + 2**62)])
def test_whole_numbers_beyond_double_precision(kind: Any, most: int) -> None:
    """Columns round as NumPy does; levels are compared exactly, with or without nulls in the batch."""
    cells = np.array([most - 17 * i for i in range(3000)], dtype=kind)
    column = dp.Rows(columns=[dp.Column("age", most - 2.0**15, most)], neighbors="replace")
    assert moment({"age": cells}, column) == moment(pa.table({"age": cells}), column)
    level = dp.Rows(columns=[dp.Category("group", [0, most - 17, 5])], neighbors="replace")
    wanted = both({"group": cells}, level)
    assert wanted == both(pa.table({"group": cells}), level) == both(pl.DataFrame({"group": cells}), level)
    assert 2999 == dp.check(pa.table({"group": cells}), level).dropped
    assert wanted[0] == moment(pa.table({"group": pa.array([None, *cells.tolist()], pa.from_numpy_dtype(kind))}), level)


@pytest.mark.parametrize("kind", [f"decimal{bits}" for bits in (32, 64, 128, 256) if hasattr(pa, f"decimal{bits}")])
def test_decimals_are_rounded_once(kind: str) -> None:
    """Arrow's own conversion takes many of these to a neighbour of the nearest double."""
    cells = [Decimal(cents).scaleb(-2) for cents in range(-300, 9999, 7)]
    nearest = np.array([float(cell) for cell in cells])
    exact = pa.array(cells, getattr(pa, kind)(9, 2))
    assert 0 < np.count_nonzero(exact.cast(pa.float64()).to_numpy() != nearest)
    found = next(iter(sources.open_source(pa.table({"age": exact}), AGE).blocks()))
    assert not isinstance(found, np.ndarray)
    assert nearest.tobytes() == found["age"].tobytes()


@pytest.mark.parametrize("lazy", [False, True])
def test_names_are_no_patterns(lazy: bool) -> None:
    """Polars takes such a name for a regular expression."""
    rows = dp.Rows(columns=[dp.Column("^a.*$", 0, 100)], neighbors="replace")
    frame = pl.DataFrame({"age": [1.0, 2.0], "^a.*$": [30.0, 40.0]})
    assert integers({"^a.*$": np.array([30.0, 40.0])}, rows) == integers(frame.lazy() if lazy else frame, rows)


def test_a_column_of_nothing_is_missing() -> None:
    rows = dp.Rows(columns=[COLUMNS[1], dp.Category("sex", ["F", "M"], missing="M")], neighbors="replace")
    filled = {"hours": np.array([40.0, 40.0]), "sex": np.array(["M", "M"])}
    nothing = {"hours": [None, None], "sex": [None, None]}
    assert moment(filled, rows) == moment(pa.table(nothing), rows) == moment(pl.DataFrame(nothing), rows)


def test_words_as_objects_may_hold_anything() -> None:
    """What is no word is missing, and a word that no encoding can write is only another word."""
    cells = np.array(["F", 1, None, NAN, b"F", "\ud800", ["F"], "Mé"], dtype=object)
    wanted = moment({"sex": np.array(["F", "Mé"])}, SEX)
    assert wanted == moment(pd.DataFrame({"sex": cells}), SEX)
    assert 6 == dp.check(pd.DataFrame({"sex": cells}), SEX).dropped
    python = pd.DataFrame({"sex": pd.array(["F", "\ud800", None, "Mé"], dtype=pd.StringDtype("python"))})
    assert wanted == moment(python, SEX)


@pytest.mark.parametrize("levels", [["F"], ["F", ""], ["F", "F?", "F??"], ["?", "??"]])
def test_an_unknown_word_is_no_level(levels: list[str]) -> None:
    rows = dp.Rows(columns=[dp.Category("sex", levels)], neighbors="replace")
    cells = [*levels, "other", "F???", None]
    told = dp.check(pa.table({"sex": cells}), rows)
    assert (len(levels) + 3, 3) == (told.rows, told.dropped)
    assert told == dp.check(pa.table({"sex": pa.array(cells).dictionary_encode()}), rows)
    assert told == dp.check(pd.DataFrame({"sex": np.array(cells, dtype=object)}), rows)


def test_no_rows_give_a_noisy_zero(tmp_path: Path) -> None:
    nothing = {name: cells[:0] for name, cells in table().items()}
    path = tmp_path / "t.csv"
    path.write_text("sex,group,hours,age\n")
    empty = [arrow().slice(0, 0), pandas()[:0], polars()[:0], polars()[:0].lazy(), [arrow().slice(0, 0)], path]
    for data in [*empty, written(tmp_path / "t.parquet", arrow().slice(0, 0)), ds.dataset([], schema=arrow().schema)]:
        assert moment(nothing) == moment(data)
        assert 0 == dp.check(data, PROMISE).rows


# -- what is not read --------------------------------------------------------------------------------------------------


def test_extra_columns_of_a_file_are_not_read(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", arrow().set_column(0, "extra", pa.array(table()["age"])))
    chunks = pq.ParquetFile(path).metadata.row_group(0)
    extra = next(chunks.column(i) for i in range(5) if chunks.column(i).path_in_schema == "extra")
    with path.open("r+b") as file:
        file.seek(extra.dictionary_page_offset or extra.data_page_offset)
        file.write(b"\xff" * extra.total_compressed_size)
    with pytest.raises(OSError, match=r"\w"):
        pq.read_table(path)
    assert moment(table()) == moment(path) == moment(ds.dataset(path))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_opening_reads_no_cell(tmp_path: Path, suffix: str) -> None:
    """Everything between the names and the end of a file is destroyed; only reading notices."""
    path = csv_file(tmp_path / "t.csv") if suffix == "csv" else written(tmp_path / "t.parquet", arrow())
    content = path.read_bytes()
    start, stop = (content.index(b"\n") + 1, len(content)) if suffix == "csv" else (4, len(content) // 2)
    path.write_bytes(content[:start] + b"\xff" * (stop - start) + content[stop:])
    sources.open_source(path, PROMISE)
    if suffix == "parquet":
        with pytest.raises(dp.ReleaseFailed, match=r"failed after the charge \(\w+\)\..* stands"):
            plan().run(path)


class Noted(str):
    """A word that counts how often it is looked up."""

    times = 0

    def __hash__(self) -> int:
        Noted.times += 1
        return super().__hash__()


def test_opening_looks_at_no_cell_in_memory() -> None:
    frame = pd.DataFrame({"sex": pd.Series([Noted("F"), Noted("F")], dtype=object)})
    Noted.times = 0
    source = sources.open_source(frame, SEX)
    assert 0 == Noted.times
    assert [2] == [len(block["sex"]) for block in source.blocks()]
    assert 2 == Noted.times
    taken = []
    batches = (taken.append(number) or arrow().to_batches()[0] for number in range(3))  # type: ignore[func-returns-value]
    source = sources.open_source(pa.RecordBatchReader.from_batches(arrow().schema, batches), PROMISE)
    assert [] == taken
    assert 3 * ROWS == sum(len(block["sex"]) for block in source.blocks())
    assert [0, 1, 2] == taken


def test_nothing_is_imported_unless_needed(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "t.csv")
    heavy = ["pyarrow", "pandas", "polars", "duckdb", "dask", "distributed"]
    code = f"""
import sys, dpframe as dp, numpy as np
columns = [dp.Column("age", 17, 90)]
plan = dp.Plan(rows=dp.Rows(columns=columns, neighbors="replace"), budget=dp.Budget(epsilon=1.0, delta=1e-6),
               steps=[dp.release("moment", "gaussian")])
plan.run({{"age": np.zeros(3)}})
plan.run({os.fspath(path)!r})
print([name for name in {heavy!r} if name in sys.modules])
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "[]" == printed.strip()


def test_without_arrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path, parquet, wanted = csv_file(tmp_path / "t.csv"), written(tmp_path / "t.parquet", arrow()), moment(table())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for data in (parquet, pandas(), polars().lazy(), polars()):
        with pytest.raises(dp.DataError, match=r"need pyarrow: pip install 'dpframe\[tables\]'"):
            plan().run(data)
    assert wanted == moment(path)


# -- memory ------------------------------------------------------------------------------------------------------------

MEASURE = """
import resource, sys
import pyarrow as pa, dpframe as dp

columns = [dp.Column(f"x{i}", -3, 3) for i in range(5)] + [dp.Category("sex", ["F", "M"])]
plan = dp.Plan(rows=dp.Rows(columns=columns, neighbors="replace"), budget=dp.Budget(epsilon=1.0, delta=1e-6),
               steps=[dp.release("moment", "gaussian")])
plan.run(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
plan.run(sys.argv[2])
print(pa.default_memory_pool().max_memory(), 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


def test_a_long_file_needs_no_more_memory(tmp_path: Path) -> None:
    """Three million rows in one row group, 144 MB of numbers and words: nearly nothing beyond what 0.2 million need."""
    draws = np.random.default_rng(4)
    long = 3_000_000
    columns = {f"x{i}": draws.standard_normal(long) for i in range(5)}
    data = pa.table({**columns, "sex": pa.array(["F", "M", "?"]).take(pa.array(draws.integers(0, 3, long)))})
    paths = [
        written(tmp_path / "short.parquet", data.slice(0, 200_000)),
        written(tmp_path / "long.parquet", data, row_group_size=long, compression="none"),
    ]
    size = paths[1].stat().st_size
    assert 100e6 < size
    done = subprocess.run([sys.executable, "-c", MEASURE, *paths], capture_output=True, text=True, check=True)
    arrows, more = map(int, done.stdout.split())
    assert arrows < size / 3
    assert more < size / 3


def test_a_stream_is_read_batch_by_batch() -> None:
    """Of a hundred batches only a few are there at any time: the stream does not run ahead, nothing is kept."""
    alive: list[int] = [0]
    most = 0

    def gone() -> None:
        alive[0] -= 1

    def batches() -> Iterator[Any]:
        for _ in range(100):
            cells = np.zeros(1000)
            alive[0] += 1
            weakref.finalize(cells, gone)
            yield pa.record_batch({"age": pa.array(cells)})  # which holds on to the cells

    stream = pa.RecordBatchReader.from_batches(pa.schema({"age": pa.float64()}), batches())
    for block in sources.open_source(stream, AGE).blocks():
        assert 1000 == len(block["age"])
        most = max(most, alive[0])
    assert 1 <= most <= 4


def test_a_csv_file_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "t.csv"
    path.write_text("age,extra\n" + "12.25,something that is not wanted\n" * 60_000)
    monkeypatch.setattr(sources.source, "MAX_ROWS_PER_BLOCK", 1000)
    source = sources.open_source(path, AGE)
    tracemalloc.start()
    try:
        assert 60_000 == sum(len(block["age"]) for block in source.blocks())
        assert tracemalloc.get_traced_memory()[1] < path.stat().st_size / 4
    finally:
        tracemalloc.stop()


# -- CSV ---------------------------------------------------------------------------------------------------------------

MIXED = dp.Rows(
    columns=[dp.Column("age", 0, 100), dp.Column("hours", 0, 10, missing=5), dp.Category("sex", ["F", "Mé"])],
    neighbors="replace",
)


def mixed(*rows: tuple[float, float, str]) -> dict[str, Array]:
    age, hours, sex = zip(*rows, strict=True)
    return {"age": np.array(age, float), "hours": np.array(hours, float), "sex": np.array(sex)}


GOOD = (30.0, 4.0, "F")
LOST = (NAN, NAN, "")
HEADER = "age,hours,sex"

CSV_FILES = {
    "plain": ("age,hours,sex\n30,4,F\n", [GOOD]),
    "no last line end": ("age,hours,sex\n30,4,F", [GOOD]),
    "carriage returns": ("age,hours,sex\r\n30,4,F\r\n", [GOOD]),
    "byte order mark": ("\ufeffage,hours,sex\n30,4,F\n", [GOOD]),
    "other order": ("sex,x,age,hours\nF,?,30,4\n", [GOOD]),
    "quoted": ('"age","hours","sex"\n"30","4","F"\n', [GOOD]),
    "line end in a cell": ('x,age,hours,sex\n"one\n2,3,4,5\n",30,4,F\n1,30,4,F\n', [GOOD, GOOD]),
    "empty lines": ("age,hours,sex\n\n30,4,F\n\n\n30,4,F\n\n", [GOOD, GOOD]),
    "spaces and signs": ("age,hours,sex\n 30 ,+4,F\n3e1,4.,F\n", [GOOD, GOOD]),
    "empty cells": ("age,hours,sex\n,4,F\n30,,F\n30,4,\n", [(NAN, 4, "F"), (30, NAN, "F"), (30, 4, "")]),
    "nothing but commas": ("age,hours,sex\n,,\n", [LOST]),
    "not finite": ("age,hours,sex\nnan,4,F\n30,inf,F\n1e999,4,F\n", [(NAN, 4, "F"), (30, NAN, "F"), (NAN, 4, "F")]),
    "no numbers": ("age,hours,sex\nabc,4,F\n30,1.5.2,F\n0x1F,4,F\n", [(NAN, 4, "F"), (30, NAN, "F"), (NAN, 4, "F")]),
    "truth values": ("age,hours,sex\ntrue,False,F\nTRUE, false ,F\n", [(1, 0, "F"), (1, 0, "F")]),
    "unknown words": ("age,hours,sex\n30,4,X\n30,4, F\n30,4,Mé\n", [(30, 4, ""), (30, 4, ""), (30, 4, "Mé")]),
    "too few cells": ("age,hours,sex\n30,4\n30\n30,4,F\n", [LOST, LOST, GOOD]),
    "too many cells": ("age,hours,sex\n30,4,F,\n30,4,F\n", [LOST, GOOD]),
    "stray quote in a cell": ('age,hours,sex\n30,4",F\n30,4,F\n', [(30, NAN, "F"), GOOD]),
    "carriage return in a cell": ("age,hours,sex\n30,4\r5,F\n30,4,F\n", [(30, NAN, "F"), GOOD]),
    "carriage return in the last line": ("age,hours,sex\n30,4,F\n30,4,F\rF", [GOOD, LOST]),
    "carriage return before a text": ('x,age,hours,sex\na\rb,30,4,"\n1,30,4,F\n"\n1,30,4,F\n', [(30, 4, ""), GOOD]),
    "returns in a text": ('x,age,hours,sex\n"\r\n1,30,4,F\r\r\n1,30,4,F\r\n",30,4,F\n1,30,4,F\n', [GOOD, GOOD]),
    "zero byte": ("age,hours,sex\n3\x000,4,F\n30,4,F\n", [(NAN, 4, "F"), GOOD]),
    "very long number": ("age,hours,sex\n30," + "9" * 5000 + ",F\n30,4,F\n", [(30, NAN, "F"), GOOD]),
    "very long cell": ("age,hours,sex\n30,4," + "F" * 200_000 + "\n30,4,F\n", [(30, 4, ""), GOOD]),
    "very long text": ('age,hours,sex\n30,4,"' + "\n30,4,F" * 50_000 + '"\n30,4,F\n', [(30, 4, ""), GOOD]),
    "quote that never ends": ('age,hours,sex\n30,4,F\n30,4,"F\n30,4,F\n', [GOOD, (30, 4, "")]),
}


@pytest.mark.parametrize(("text", "rows"), CSV_FILES.values(), ids=CSV_FILES)
def test_csv_cells(tmp_path: Path, text: str, rows: list[tuple[float, float, str]]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    assert integers(mixed(*rows), MIXED) == integers(path, MIXED)
    assert dp.check(mixed(*rows), MIXED) == dp.check(path, MIXED)


def test_a_csv_cell_beyond_the_longest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(process_state, "LONGEST_CELL", 1000)
    before = csv.field_size_limit(1000)
    try:
        path = text_file(tmp_path / "t.csv", "age,hours,sex\n30,4,F\n30,4," + "F" * 1001 + "\n30,4,F\n")
        assert integers(mixed(GOOD, LOST, GOOD), MIXED) == integers(path, MIXED)
    finally:
        csv.field_size_limit(before)


def test_csv_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("age,hours,sex\n30,4,Mé\n30,4,F\n".encode("latin-1"))
    assert integers(mixed((30, 4, ""), GOOD), MIXED) == integers(path, MIXED)


def test_levels_say_whether_cells_are_words(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("group\n1\n01\n1.0\n2\n")
    words = dp.Rows(columns=[dp.Category("group", ["1", "01"])], neighbors="replace")
    numbers = dp.Rows(columns=[dp.Category("group", [1, 4])], neighbors="replace")
    assert moment({"group": np.array(["1", "01", "1.0", "2"])}, words) == moment(path, words)
    assert moment({"group": np.array([1, 1, 1, 2])}, numbers) == moment(path, numbers)


@settings(max_examples=150, deadline=None)
@given(content=st.binary(max_size=60) | st.text('0,1"\r\n.F', max_size=60).map(str.encode))
def test_no_content_of_a_csv_file_upsets_a_run(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(b"age,hours,sex\n" + content)
    assert len(integers(path, MIXED)) <= 1 + content.count(b"\n")


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.lists(st.text() | st.floats().map(str) | st.just("F"), min_size=3, max_size=3), min_size=1))
def test_any_cells_in_a_csv_file(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    """Whatever a cell holds, it changes neither the cells nor the rows beside it."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([["age", "hours", "sex"], *rows])
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    path.write_bytes(buffer.getvalue().encode())

    def number(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            return NAN

    wanted = [(number(age), number(hours), sex if sex in ("F", "Mé") else "") for age, hours, sex in rows]
    assert integers(mixed(*wanted), MIXED) == integers(path, MIXED)


@settings(max_examples=200, deadline=None)
@given(rows=st.lists(st.lists(st.text('\r\n",1', max_size=6), min_size=3, max_size=3)))
def test_a_record_is_a_row(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    """With these line ends some writers, such as pandas, leave a cell with a carriage return without quotes."""
    path = tmp_path_factory.getbasetemp() / "records.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["age", "hours", "sex"], *rows])
    assert len(rows) == len(integers(path, MIXED))


# -- what is refused ---------------------------------------------------------------------------------------------------


def text_file(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def two_files(path: Path, second: Any) -> Path:
    written(path / "d" / "0.parquet", pa.table({"age": [SECRET]}))
    written(path / "d" / "1.parquet", second)
    return path / "d"


def vanished(path: Path) -> Any:
    dataset = ds.dataset(two_files(path, pa.table(AGES)), format="parquet")
    (path / "d" / "1.parquet").unlink()
    return dataset


class Broken:
    """A stream that fails as engines do, with a cell in its words."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise ValueError(f"could not convert {WORD}")


PLAIN = dp.Rows(norm=1.0, neighbors="add-remove")
NUMBERS = "it must hold integers, floats, decimals or truth values"
AGES = {"age": [SECRET]}
WORDS = {"sex": [WORD]}
DATES = {"age": np.array(["2026-01-01"], dtype="M8[D]")}


def closed() -> Any:
    database = duckdb.connect()
    relation = database.sql("select 1.0 as age")
    database.close()
    return relation


REFUSED: dict[str, tuple[dp.Rows, Callable[[Path], Any], tuple[str, ...]]] = {
    "DuckDB, closed": (AGE, lambda _: closed(), ("DuckDB does not know the relation", "open")),
    "a pattern": (AGE, lambda p: f"{p}/*.parquet", ("no such file", "a list of paths", "pyarrow.dataset")),
    "pandas, no columns declared": (PLAIN, lambda _: pd.DataFrame(AGES), ("named columns", "dp.Rows(columns=")),
    "polars, no columns declared": (PLAIN, lambda _: pl.DataFrame(AGES), ("named columns", "dp.Rows(columns=")),
    "reader, no columns declared": (PLAIN, lambda _: reader(), ("named columns", "dp.Rows(columns=")),
    "CSV, no columns declared": (PLAIN, lambda p: text_file(p / "t.csv", "age\n1234\n"), ("dp.Rows(columns=",)),
    "pandas, absent": (SEX, lambda _: pd.DataFrame(AGES), ("the table has no column 'sex'; it has: age.",)),
    "pandas, number as a name": (AGE, lambda _: pd.DataFrame({1: [1]}), ("no column 'age'; it has: 1.",)),
    "polars, absent": (SEX, lambda _: pl.DataFrame(AGES), ("no column 'sex'; it has: age.",)),
    "polars lazy, absent": (SEX, lambda _: pl.LazyFrame(AGES), ("no column 'sex'; it has: age.",)),
    "Arrow, absent": (SEX, lambda _: pa.table(AGES), ("no column 'sex'; it has: age.",)),
    "dataset, absent": (SEX, lambda _: ds.dataset(pa.table(AGES)), ("no column 'sex'; it has: age.",)),
    "stream, absent": (YEARS, lambda _: Capsule(), ("no column 'years'; it has: extra, sex, group, hours, age.",)),
    "DuckDB, absent": (AGE, lambda _: connection().sql("select 1234 as hours"), ("no column 'age'", "has: hours")),
    "pandas, twice": (AGE, lambda _: pd.DataFrame([[1, 2]], columns=["age", "age"]), ("more than one column 'age'",)),
    "Arrow, twice": (AGE, lambda _: pa.table([[1], [2]], names=["age", "age"]), ("more than one column 'age'",)),
    "Arrow, words": (
        AGE,
        lambda _: pa.table({"age": [WORD]}),
        ("column 'age' of the table holds string", NUMBERS, "dp.Category"),
    ),
    "Arrow, words for numbers": (
        GROUP,
        lambda _: pa.table({"group": ["1"]}),
        ("'group' of the table holds string", "words"),
    ),
    "Arrow, numbers for words": (
        SEX,
        lambda _: pa.table({"sex": [1]}),
        ("'sex' of the table holds int64; its levels are words",),
    ),
    "Arrow, bytes for words": (
        SEX,
        lambda _: pa.table({"sex": [b"F"]}),
        ("'sex' of the table holds binary", "it must hold text"),
    ),
    "Arrow, lists": (
        AGE,
        lambda _: pa.table({"age": [[SECRET]]}),
        ("'age' of the table holds list<item: double>", NUMBERS),
    ),
    "Arrow, records": (
        AGE,
        lambda _: pa.table({"age": [{"x": 1}]}),
        ("'age' of the table holds struct<x: int64>", NUMBERS),
    ),
    "Arrow, dictionary of words": (
        AGE,
        lambda _: pa.table({"age": pa.array([WORD]).dictionary_encode()}),
        ("'age' of the table holds dictionary<values=string", NUMBERS),
    ),
    "Arrow, dates": (
        AGE,
        lambda _: pa.table(DATES),
        ("'age' of the table holds date32[day]", "days since a public date"),
    ),
    "Arrow, spans": (AGE, lambda _: pa.table({"age": pa.array([1], "duration[s]")}), ("duration", "Turn dates")),
    "pandas, dates": (
        AGE,
        lambda _: pd.DataFrame(DATES),
        ("'age' of the table holds timestamp", "days since a public date"),
    ),
    "pandas, words": (AGE, lambda _: pd.DataFrame({"age": [WORD]}), ("column 'age'", "holds")),
    "pandas, objects": (
        AGE,
        lambda _: pd.DataFrame({"age": [SECRET]}, dtype=object),
        ("'age' holds object", "convert"),
    ),
    "pandas, words of Python": (
        AGE,
        lambda _: pd.DataFrame({"age": pd.array([WORD], dtype=pd.StringDtype("python"))}),
        ("'age' holds string", "convert"),
    ),
    "pandas, complex": (AGE, lambda _: pd.DataFrame({"age": [1j]}), ("'age' holds complex128",)),
    "pandas, sparse": (AGE, lambda _: pd.DataFrame({"age": pd.arrays.SparseArray([SECRET])}), ("'age'", "Sparse")),
    "pandas, periods": (AGE, lambda _: pd.DataFrame({"age": pd.period_range("2026", periods=2)}), ("'age'", "period")),
    "pandas, mixed categories": (
        SEX,
        lambda _: pd.DataFrame({"sex": pd.Categorical([WORD, 1])}),
        ("'sex'", "category"),
    ),
    "pandas, one column": (AGE, lambda _: pd.Series([SECRET], name="age"), ("Series cannot be read",)),
    "polars, one column": (AGE, lambda _: pl.Series("age", [SECRET]), ("Series cannot be read as a table",)),
    "polars, dates": (
        AGE,
        lambda _: pl.DataFrame(DATES),
        ("'age' of the table holds date32[day]", "days since a public date"),
    ),
    "polars, objects": (AGE, lambda _: pl.DataFrame({"age": pl.Series([{1}], dtype=pl.Object)}), ("'age' of", NUMBERS)),
    "polars, wide integers": (
        AGE,
        lambda _: pl.DataFrame({"age": pl.Series([1], dtype=pl.Int128)}),
        ("column 'age' holds Int128, which Arrow cannot take over",),
    ),
    "polars lazy, words": (
        AGE,
        lambda _: pl.LazyFrame({"age": [WORD]}),
        ("'age' of the table holds string_view", NUMBERS),
    ),
    "polars lazy, broken": (AGE, lambda _: pl.LazyFrame(AGES).select("hours"), ("lazy frame has no schema",)),
    "Arrow column": (AGE, lambda _: pa.chunked_array([[SECRET]]), ("ChunkedArray cannot be read as a table",)),
    "dataset, filtered": (AGE, lambda _: ds.dataset(pa.table(AGES)).filter(ds.field("age") > 0), ("to_reader()",)),
    "dataset of text": (
        AGE,
        lambda p: ds.dataset(text_file(p / "t.csv", "age\n1234\n"), format="csv"),
        ("'t.csv' is text", "path of a CSV file"),
    ),
    "dataset, absent in one file": (
        AGE,
        lambda p: ds.dataset(two_files(p, pa.table(WORDS)), format="parquet"),
        ("'1.parquet' has no column 'age'; it has: sex.",),
    ),
    "dataset, file gone": (
        AGE,
        vanished,
        ("the schema of '1.parquet' cannot be read (FileNotFoundError)",),
    ),
    "folder, absent in one file": (AGE, lambda p: two_files(p, pa.table(WORDS)), ("'1.parquet' has no column 'age'",)),
    "folder, words in one file": (
        AGE,
        lambda p: two_files(p, pa.table({"age": [WORD]})),
        ("'age' of '1.parquet' holds string", NUMBERS),
    ),
    "folder, empty": (AGE, lambda p: p, ("holds no Parquet files",)),
    "folder, bookkeeping only": (AGE, lambda p: text_file(p / "d" / "_log" / "0", "").parent.parent, ("no Parquet",)),
    "folder, other file": (
        AGE,
        lambda p: text_file(p / "d" / "a.txt", WORD).parent,
        ("'a.txt' cannot be read as a Parquet file",),
    ),
    "Parquet, absent": (SEX, lambda p: written(p / "t.parquet", pa.table(AGES)), ("no column 'sex'; it has: age.",)),
    "Parquet, words": (AGE, lambda p: written(p / "t.parquet", pa.table({"age": [WORD]})), ("holds string", NUMBERS)),
    "Parquet, other content": (
        AGE,
        lambda p: text_file(p / "t.parquet", WORD),
        ("'t.parquet' cannot be read as a Parquet file",),
    ),
    "Parquet, empty": (
        AGE,
        lambda p: text_file(p / "t.parquet", ""),
        ("'t.parquet' cannot be read as a Parquet file",),
    ),
    "path, absent": (AGE, lambda p: p / "gone", ("gone' cannot be read: there is no such file or directory",)),
    "path as text, absent": (AGE, lambda _: "gone.parquet", ("'gone.parquet' cannot be read", "no such file")),
    "path as text, in a list": (AGE, lambda _: ["gone.CSV"], ("'gone.CSV' cannot be read", "no such file")),
    "text": (AGE, lambda _: f"age\n{WORD}\n", ("a str cannot be read as a path", "no such file")),
    "long text": (AGE, lambda _: WORD * 9999, ("a str cannot be read as a path",)),
    "text with a zero": (AGE, lambda _: "\0", ("a str cannot be read as a path",)),
    "no text": (AGE, lambda _: "", ("a str cannot be read as a path",)),
    "CSV, absent": (AGE, lambda p: text_file(p / "t.csv", "years\n1234\n"), ("'t.csv' must name", "'age' once")),
    "CSV, twice": (AGE, lambda p: text_file(p / "t.csv", "age,age\n1,2\n"), ("'t.csv' must name", "'age' once")),
    "CSV, without names": (AGE, lambda p: text_file(p / "t.csv", "1234.5678\n"), ("the first line of 't.csv'",)),
    "CSV, empty": (AGE, lambda p: text_file(p / "t.csv", ""), ("the first line of 't.csv'",)),
    "CSV, unreadable names": (AGE, lambda p: text_file(p / "t.csv", "age\rx\n"), ("the first line of 't.csv'",)),
    "CSV, a folder": (AGE, lambda p: text_file(p / "t.csv" / "x", "").parent, ("cannot be read as CSV (IsADirectory",)),
    "list, second frame": (AGE, lambda _: [pa.table(AGES), pd.DataFrame(WORDS)], ("no column 'age'; it has: sex.",)),
}


@pytest.mark.parametrize(("rows", "make", "says"), REFUSED.values(), ids=REFUSED)
def test_refused_before_the_charge(
    watch: Watch, tmp_path: Path, rows: dp.Rows, make: Callable[[Path], Any], says: tuple[str, ...]
) -> None:
    for attempt in (plan(rows).run, partial(dp.check, rows=rows)):
        error = check_refused(watch, partial(attempt, make(tmp_path)), dp.DataError, says)
        assert error.__context__ is None


def test_a_chunk_that_does_not_fit_leaves_the_charge_standing(watch: Watch) -> None:
    with pytest.raises(dp.ReleaseFailed, match=r"the table has no column 'age'; it has: sex.* stands") as caught:
        plan(AGE).run(iter([pa.table(AGES), pd.DataFrame(WORDS)]))
    assert [] == [secret for secret in SECRETS if secret in str(caught.value)]
    assert 1 == watch.charges


def test_an_engine_that_fails_while_it_is_read_tells_nothing() -> None:
    lazy = pl.LazyFrame({"age": [WORD]}).select(pl.col("age").cast(pl.Float64))
    with pytest.raises(dp.ReleaseFailed, match="stands") as caught:
        plan(AGE).run(lazy)
    assert WORD not in str(caught.value)
    assert caught.value.__context__ is None


def test_another_librarys_stream_is_asked_for_after_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may run a query: what that raises, and that it does, depends on the rows."""
    plan = dp.Plan(rows=AGE, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])
    with pytest.raises(
        dp.ReleaseFailed, match=r"Broken cannot be read as a table of named columns \(ValueError\)"
    ) as told:
        plan.run(Broken())
    assert WORD not in str(told.value)
