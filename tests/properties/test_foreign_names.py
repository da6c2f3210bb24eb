"""Errors hold nothing of a source but its shape: no name, type, category or cell that the plan does not declare.

A file without a header line has a person's cells as names of columns; pivoted tables have them as fields, categories
and lengths of types.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from tests.support.tables import connection, plan, text_file, written

pa: Any = pytest.importorskip("pyarrow")
pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
dd: Any = pytest.importorskip("dask.dataframe")
da: Any = pytest.importorskip("dask.array")
ds: Any = pytest.importorskip("pyarrow.dataset")

TOKEN = "Al1ce_Sm1th"
LENGTH = 1979
SECRETS = (TOKEN, TOKEN.lower(), str(LENGTH))

AGE = dp.Column("age", 0, 100)
NUMBER = dp.Rows(columns=[AGE], neighbors="add-remove")
WORDS = dp.Rows(columns=[dp.Category("age", ["F", "M"])], neighbors="add-remove")
LEVELS = dp.Rows(columns=[dp.Category("age", [2**53, 1])], neighbors="add-remove")
PERSON = dp.Rows(columns=[dp.Column("hours", 0, 100)], person="age", neighbors="add-remove")
PROMISES = {"number": NUMBER, "words": WORDS, "large levels": LEVELS, "person": PERSON}


def said(error: BaseException | None) -> str:
    """The whole traceback, and the messages and notes of all that is chained, whether it is shown or not."""
    texts = traceback.format_exception(error) if error is not None else []
    while error is not None:
        texts += [str(error), repr(error), *getattr(error, "__notes__", ())]
        error = error.__cause__ or error.__context__
    return "".join(texts)


def check_silent(rows: dp.Rows, data: Callable[[], Any]) -> None:
    """Neither a run nor a check says anything of the data, in an error or in a warning."""
    for attempt in (plan(rows).run, lambda source: dp.check(source, rows)):
        source = data()
        with warnings.catch_warnings(record=True, action="always") as warned, pytest.raises(dp.DPFrameError) as caught:
            attempt(source)
        spoken = said(caught.value) + "".join(str(warning.message) for warning in warned)
        assert [] == [secret for secret in SECRETS if secret in spoken], str(caught.value)


def table(age: Any, name: str = "age") -> Any:
    cells = age if isinstance(age, pa.Array) else pa.array(age)
    return pa.table({name: cells, "hours": np.arange(float(len(cells)))})


ALL, NOT_TEXT, NOT_BYTES = tuple(PROMISES), ("number", "large levels"), ("number", "words", "large levels")
FOREIGN: dict[str, tuple[tuple[str, ...], Callable[[], Any]]] = {
    "name of a column": (ALL, lambda: table([1.0, 2.0], TOKEN)),
    "cell": (NOT_TEXT, lambda: table([TOKEN, TOKEN])),
    "category": (NOT_TEXT, lambda: table(pa.array([TOKEN, TOKEN]).dictionary_encode())),
    "field": (ALL, lambda: table([{TOKEN: 1}, {TOKEN: 2}])),
    "field of a list": (ALL, lambda: table([[{TOKEN: 1}], []])),
    "length": (NOT_BYTES, lambda: table(pa.array([b"x" * LENGTH] * 2, pa.binary(LENGTH)))),
    "length of a list": (ALL, lambda: table(pa.array([[1] * LENGTH] * 2, pa.list_(pa.int64(), LENGTH)))),
}


def frame(content: Any) -> Any:
    return content.to_pandas(types_mapper=pd.ArrowDtype)


class Opaque:
    """A stream of nobody's library, without a schema before it is read."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.content.__arrow_c_stream__(requested_schema)


def folder(path: Path, content: Any) -> Path:
    written(path / "d" / f"patient={TOKEN}" / f"{TOKEN}.parquet", content)
    return path / "d"


def after_a_good_one(content: Any) -> Iterator[Any]:
    yield pa.table({"hours": [1.0]}).append_column("age", pa.nulls(1))
    yield content


SOURCES: dict[str, Callable[[Path, Any], Any]] = {
    "Arrow": lambda _, content: content,
    "Arrow reader": lambda _, content: content.to_reader(),
    "Arrow stream": lambda _, content: Opaque(content),
    "Arrow dataset": lambda path, content: ds.dataset(folder(path, content), format="parquet"),
    "pandas": lambda _, content: frame(content),
    "polars": lambda _, content: pl.from_arrow(content),
    "polars lazy": lambda _, content: pl.from_arrow(content).lazy(),
    "Dask": lambda _, content: dd.from_pandas(frame(content), npartitions=1, sort=False),
    "DuckDB": lambda _, content: connection().from_arrow(content),
    "query": lambda path, content: dp.query(f"select * from '{written(path / 'q.parquet', content)}'"),
    "Parquet": lambda path, content: written(path / "t.parquet", content),
    "directory": folder,
    "list of chunks": lambda _, content: [content, frame(content)],
    "chunks": lambda _, content: after_a_good_one(content),
    "chunks of pandas": lambda _, content: after_a_good_one(frame(content)),
    "chunks of polars": lambda _, content: after_a_good_one(pl.from_arrow(content)),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("foreign", FOREIGN)
def test_tables(tmp_path: Path, source: str, foreign: str) -> None:
    refused, make = FOREIGN[foreign]
    for name in refused:
        check_silent(PROMISES[name], lambda: SOURCES[source](tmp_path, make()))


PANDAS: dict[str, Callable[[], Any]] = {
    "names": lambda: pd.DataFrame([[1, 2]], columns=[TOKEN, f" {TOKEN} "]),
    "levels of names": lambda: pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("age", TOKEN)])),
    "categories": lambda: pd.DataFrame({"age": pd.Categorical([(TOKEN,), (LENGTH,)])}),
    "intervals": lambda: pd.DataFrame({"age": pd.arrays.IntervalArray.from_breaks([0, LENGTH])}),
    "sparse, with a fill value": lambda: pd.DataFrame({"age": pd.arrays.SparseArray([1.0], fill_value=LENGTH)}),
    "time zones": lambda: pd.DataFrame({"age": pd.Series(pd.to_datetime([0]).tz_localize("Asia/Tokyo"))}),
}


@pytest.mark.parametrize("make", PANDAS.values(), ids=PANDAS)
def test_frames_of_pandas(make: Callable[[], Any]) -> None:
    for wrapped in (make, lambda: [make()], lambda: after_a_good_one(make())):
        check_silent(NUMBER, wrapped)


def test_objects_of_pandas() -> None:
    """Refused before the charge only: later, their type may depend on a cell."""
    check_silent(NUMBER, lambda: pd.DataFrame({"age": pd.Series([TOKEN, 1.0], dtype=object)}))


ARRAYS: dict[str, tuple[dp.Rows, Callable[[], Any]]] = {
    "array of text": (dp.Rows(norm=1.0, neighbors="replace"), lambda: np.array([["x" * LENGTH]])),
    "array of bytes": (dp.Rows(norm=1.0, neighbors="replace"), lambda: np.array([[b"x" * LENGTH]])),
    "array with more columns": (dp.Rows(norm=1.0, neighbors="replace", dim=2), lambda: np.zeros((3, LENGTH))),
    "array of three dimensions": (dp.Rows(norm=1.0, neighbors="replace"), lambda: np.zeros((3, LENGTH, 2))),
    "array that is transposed": (
        dp.Rows(norm=1.0, neighbors="replace"),
        lambda: np.broadcast_to(0.0, (3, LENGTH * 10**6)),
    ),
    "ragged chunks": (dp.Rows(norm=1.0, neighbors="replace"), lambda: [np.zeros((2, 3)), np.zeros((3, LENGTH))]),
    "later chunk": (
        dp.Rows(norm=1.0, neighbors="replace", dim=3),
        lambda: iter([np.zeros((2, 3)), np.zeros((3, LENGTH))]),
    ),
    "dictionary, name": (NUMBER, lambda: {TOKEN: np.zeros(2)}),
    "dictionary, length": (NUMBER, lambda: {"age": np.array(["x" * LENGTH])}),
    "dictionary, records": (NUMBER, lambda: {"age": np.zeros(2, dtype=[(TOKEN, "f8")])}),
    "dictionary, words": (WORDS, lambda: {"age": np.zeros(2, dtype=[(TOKEN, "f8")])}),
    "dictionary, person": (PERSON, lambda: {"hours": np.zeros(2), "age": np.zeros(2, dtype=f"S{LENGTH}")}),
    "structured, name": (NUMBER, lambda: np.zeros(2, dtype=[(TOKEN, "f8")])),
    "structured, nested": (NUMBER, lambda: np.zeros(2, dtype=[("age", [(TOKEN, "f8")])])),
    "Dask array of text": (
        dp.Rows(norm=1.0, neighbors="replace"),
        lambda: da.from_array(np.array([["x" * LENGTH]])),
    ),
}


@pytest.mark.parametrize(("rows", "make"), ARRAYS.values(), ids=ARRAYS)
def test_arrays(rows: dp.Rows, make: Callable[[], Any]) -> None:
    check_silent(rows, make)


CSV = {
    "without a header": f"{TOKEN},1\n{TOKEN},{LENGTH}\n",
    "with semicolons": f"{TOKEN};1\n{TOKEN};{LENGTH}\n",
    "twice": f"age,age,{TOKEN}\n1,2,{LENGTH}\n",
}


@pytest.mark.parametrize("text", CSV.values(), ids=CSV)
def test_csv(tmp_path: Path, text: str) -> None:
    path = text_file(tmp_path / "t.csv", text)
    for data in (path, [path], dp.csv(path, separator=";")):
        check_silent(NUMBER, lambda data=data: data)  # type: ignore[misc]
    check_silent(dp.Rows(norm=1.0, neighbors="replace", dim=1), lambda: iter([path]))


def raising(*_: Any) -> Any:
    raise ValueError(f"cannot convert {TOKEN}")


def partitions(meta: dict[str, Any], part: Any) -> Any:
    """A collection whose partition is not what its metadata says."""
    good = dd.from_pandas(pd.DataFrame({"age": [1.0]}), npartitions=1, sort=False)
    return good.map_partitions(lambda _: part() if callable(part) else part, meta=meta)


class Panic(BaseException):
    """What a library in Rust raises."""

    __module__ = "pyo3_runtime"


def panicking() -> Iterator[Any]:
    yield pa.table({"age": [1.0]})
    raise Panic(TOKEN)


READING: dict[str, Callable[[Path], Any]] = {
    "chunks that raise": lambda _: (raising() for _ in range(1)),
    "chunks that panic": lambda _: panicking(),
    "lazy frame": lambda _: pl.LazyFrame({"age": [1.0]}).select(
        pl.col("age").map_batches(raising, return_dtype=pl.Float64)
    ),
    "DuckDB": lambda _: connection().sql(f"select cast(x as double) as age from (values ('{TOKEN}')) t(x)"),
    "Dask, raising": lambda _: partitions({"age": "f8"}, raising),
    "Dask, names": lambda _: partitions({"age": "f8"}, pd.DataFrame({TOKEN: [1.0]})),
    "Dask, types": lambda _: partitions({"age": "f8"}, frame(table([{TOKEN: 1}]))[["age"]]),
}


def damaged(path: Path) -> Path:
    """A file whose pages were overwritten with a person's name."""
    file = written(path / "t.parquet", pa.table({"age": np.arange(5000.0)}), compression="none", use_dictionary=False)
    content = bytearray(file.read_bytes())
    content[4:200] = (TOKEN * 40).encode()[:196]
    file.write_bytes(content)
    return file


@pytest.mark.parametrize("make", [*READING.values(), damaged], ids=[*READING, "Parquet, damaged"])
def test_what_fails_while_it_is_read(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    check_silent(NUMBER, lambda: make(tmp_path))


def test_what_is_said_instead() -> None:
    rows = dp.Rows(columns=[AGE, dp.Column("hours", 0, 9)], neighbors="replace")
    with pytest.raises(dp.DataError) as caught:
        plan(rows).run(pa.table({" Age ": [1.0], "hours": [1.0], TOKEN: [1.0]}))
    assert (
        "the table has no column 'age'; of the plan's columns it has: 'hours'. It has 'age' but for upper and lower "
        "case, or spaces around it. Other names are not shown, since they are cells if the file has no header line."
    ) == str(caught.value)


def test_the_reader_of_these_tests_finds_a_name() -> None:
    """The check itself can fail: a message with the name is found, also where it is chained or a note."""
    plain, noted, chained = ValueError(TOKEN), ValueError(), ValueError()
    noted.add_note(TOKEN)
    chained.__context__ = plain
    assert all(TOKEN in said(error) for error in (plain, noted, chained))
