"""Tables that are refused: before the charge where that can be seen, and without a cell in the message."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from tests.support.refusals import SECRET, SECRETS, WORD, Watch, check_refused
from tests.support.tables import AGE, GROUP, SEX, YEARS, Capsule, connection, plan, reader, text_file, written

pa: Any = pytest.importorskip("pyarrow")
pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
duckdb: Any = pytest.importorskip("duckdb")
ds: Any = pytest.importorskip("pyarrow.dataset")


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
    "pandas, absent": (
        SEX,
        lambda _: pd.DataFrame(AGES),
        ("the table has no column 'sex'; of the plan's columns it has: none.",),
    ),
    "pandas, number as a name": (AGE, lambda _: pd.DataFrame({1: [1]}), ("no column 'age'; of",)),
    "polars, absent": (SEX, lambda _: pl.DataFrame(AGES), ("no column 'sex'; of",)),
    "polars lazy, absent": (SEX, lambda _: pl.LazyFrame(AGES), ("no column 'sex'; of",)),
    "Arrow, absent": (SEX, lambda _: pa.table(AGES), ("no column 'sex'; of",)),
    "dataset, absent": (SEX, lambda _: ds.dataset(pa.table(AGES)), ("no column 'sex'; of",)),
    "stream, absent": (YEARS, lambda _: Capsule(), ("no column 'years'; of",)),
    "DuckDB, absent": (AGE, lambda _: connection().sql("select 1234 as hours"), ("no column 'age'",)),
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
        ("'age' of the table holds ListType", NUMBERS),
    ),
    "Arrow, records": (
        AGE,
        lambda _: pa.table({"age": [{"x": 1}]}),
        ("'age' of the table holds StructType", NUMBERS),
    ),
    "Arrow, dictionary of words": (
        AGE,
        lambda _: pa.table({"age": pa.array([WORD]).dictionary_encode()}),
        ("'age' of the table holds DictionaryType", NUMBERS),
    ),
    "Arrow, dates": (
        AGE,
        lambda _: pa.table(DATES),
        ("'age' of the table holds date32[day]", "days since a public date"),
    ),
    "Arrow, spans": (AGE, lambda _: pa.table({"age": pa.array([1], "duration[s]")}), ("DurationType", "Turn dates")),
    "pandas, dates": (
        AGE,
        lambda _: pd.DataFrame(DATES),
        ("'age' of the table holds TimestampType", "days since a public date"),
    ),
    "pandas, words": (AGE, lambda _: pd.DataFrame({"age": [WORD]}), ("column 'age'", "holds")),
    "pandas, objects": (
        AGE,
        lambda _: pd.DataFrame({"age": [SECRET]}, dtype=object),
        ("'age' holds Python objects", "convert"),
    ),
    "pandas, words of Python": (
        AGE,
        lambda _: pd.DataFrame({"age": pd.array([WORD], dtype=pd.StringDtype("python"))}),
        ("'age' holds StringDtype", "convert"),
    ),
    "pandas, complex": (AGE, lambda _: pd.DataFrame({"age": [1j]}), ("'age' holds complex128",)),
    "pandas, sparse": (AGE, lambda _: pd.DataFrame({"age": pd.arrays.SparseArray([SECRET])}), ("'age'", "Sparse")),
    "pandas, periods": (
        AGE,
        lambda _: pd.DataFrame({"age": pd.period_range("2026", periods=2)}),
        ("'age'", "Period"),
    ),
    "pandas, mixed categories": (
        SEX,
        lambda _: pd.DataFrame({"sex": pd.Categorical([WORD, 1])}),
        ("'sex'", "CategoricalDtype"),
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
        ("one of the parts of the dataset is text", "path of a CSV file"),
    ),
    "dataset, absent in one file": (
        AGE,
        lambda p: ds.dataset(two_files(p, pa.table(WORDS)), format="parquet"),
        ("one of the parts of the dataset has no column 'age'; of the plan's columns it has: none.",),
    ),
    "dataset, file gone": (
        AGE,
        vanished,
        ("the schema of one of the parts of the dataset cannot be read (FileNotFoundError)",),
    ),
    "folder, absent in one file": (
        AGE,
        lambda p: two_files(p, pa.table(WORDS)),
        ("one of the files in the directory 'd' has no column 'age'",),
    ),
    "folder, words in one file": (
        AGE,
        lambda p: two_files(p, pa.table({"age": [WORD]})),
        ("'age' of one of the files in the directory 'd' holds string", NUMBERS),
    ),
    "folder, empty": (AGE, lambda p: p, ("holds no Parquet files",)),
    "folder, bookkeeping only": (AGE, lambda p: text_file(p / "d" / "_log" / "0", "").parent.parent, ("no Parquet",)),
    "folder, other file": (
        AGE,
        lambda p: text_file(p / "d" / "a.txt", WORD).parent,
        ("one of the files in the directory 'd' cannot be read as a Parquet file",),
    ),
    "Parquet, absent": (SEX, lambda p: written(p / "t.parquet", pa.table(AGES)), ("no column 'sex'; of",)),
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
    "list, second frame": (AGE, lambda _: [pa.table(AGES), pd.DataFrame(WORDS)], ("no column 'age'; of",)),
}


@pytest.mark.parametrize(("rows", "make", "says"), REFUSED.values(), ids=REFUSED)
def test_refused_before_the_charge(
    watch: Watch, tmp_path: Path, rows: dp.Rows, make: Callable[[Path], Any], says: tuple[str, ...]
) -> None:
    for attempt in (plan(rows).run, partial(dp.check, rows=rows)):
        error = check_refused(watch, partial(attempt, make(tmp_path)), dp.DataError, says)
        assert error.__context__ is None


def test_a_chunk_that_does_not_fit_leaves_the_charge_standing(watch: Watch) -> None:
    with pytest.raises(dp.ReleaseFailed, match=r"the table has no column 'age'; .* stands") as caught:
        plan(AGE).run(iter([pa.table(AGES), pd.DataFrame(WORDS)]))
    assert [] == [secret for secret in SECRETS if secret in str(caught.value)]
    assert 1 == watch.charges


def test_another_librarys_stream_is_asked_for_after_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may run a query: what that raises, and that it does, depends on the rows."""
    plan = dp.Plan(rows=AGE, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])
    with pytest.raises(
        dp.ReleaseFailed, match=r"Broken cannot be read as a table of named columns \(ValueError\)"
    ) as told:
        plan.run(Broken())
    assert WORD not in str(told.value)
