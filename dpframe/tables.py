"""Tables of other libraries and in files: data frames, Arrow objects, Parquet and CSV.

Each becomes blocks of NumPy columns, by name. Data frames, Arrow objects and Parquet files come through Arrow, so that
one conversion serves them all; CSV files need the standard library only. Opening looks at names and types, of every
file where there are several, and tries each conversion on a null: what cannot be read is refused before the charge.
After it no cell can fail. Whatever it holds becomes a number, one of the declared levels or a missing cell, which
depends on that cell alone.

What can be read again is read once for each pass and must give the same rows each time. A file that changes between
passes, or a lazy query that draws a random sample, is another data set, and then the guarantee is about none of them.
"""

from __future__ import annotations

import csv
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from itertools import count, islice
from pathlib import Path
from typing import Any, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.errors import DataError
from dpframe.private import Redacted
from dpframe.rows import Category, Column, Rows

READ_BUFFER = 1 << 18  # bytes of a Parquet column read at a time; Arrow would hold whole row groups, if not whole files
CSV_CELLS = 1 << 15  # Python strings held at a time
LONGEST_CELL = (1 << 31) - 1  # of a CSV file; at a limit the reader would go on inside the cell, and take it for rows

Cells = dict[str, NDArray[Any]]
Declared = tuple[Column | Category, ...]
Batches = Callable[[], Iterable[Any]]
T = TypeVar("T")


@attrs.frozen(repr=False, eq=False)
class Opened(Redacted):
    """A table whose schema fits; iterating over it reads it, in blocks of columns.

    Args:
        one_shot: whether it can be read only once.
        read: starts reading.
    """

    one_shot: bool
    _read: Callable[[], Iterator[Cells]] = attrs.field(alias="read")

    def __iter__(self) -> Iterator[Cells]:
        return self._read()


def is_table(data: Any) -> bool:
    """Whether this is a path or a table of another library; nothing is imported to find out."""
    return (
        isinstance(data, str | os.PathLike)
        or hasattr(type(data), "__arrow_c_stream__")
        or _is(data, "pandas", "DataFrame")
        or _is(data, "polars", "LazyFrame")
        or _is(data, "pyarrow.dataset", "Dataset")
    )


def open_table(data: Any, rows: Rows, size: int) -> Opened:
    """Check the names and types of a table; no cell is read.

    A stream is read once, whatever stands behind it: a DuckDB relation, for one, runs its query again when it is asked
    again, and nothing says that the same rows come out.

    Args:
        data: a ``Path`` that exists, a data frame, or an Arrow object.
        rows: the promise, with columns.
        size: the most rows in a block.
    """
    columns = declared(rows)
    if isinstance(data, Path) and data.suffix.lower() == ".csv":
        return Opened(one_shot=False, read=_open_csv(data, columns, size))
    arrow, one_shot = _arrow(), False
    if isinstance(data, Path):
        batches = _open_parquet(data, columns, size)
    elif _is(data, "pandas", "DataFrame"):
        batches = _open_pandas(data, columns, size)
    elif _is(data, "polars", "DataFrame") or _is(data, "polars", "LazyFrame"):
        batches = _open_polars(data, columns, size)
    elif _is(data, "pyarrow.dataset", "Dataset"):
        batches = _open_dataset(data, columns, size)
    elif isinstance(data, arrow.Table | arrow.RecordBatch):
        _check_schema(data.schema, columns)
        chosen = data.select([column.name for column in columns])
        batches = chosen.to_batches if isinstance(chosen, arrow.Table) else (lambda: [chosen])
    else:
        what = f"a {type(data).__module__}.{type(data).__name__}"
        opening = partial(arrow.RecordBatchReader.from_stream, data)
        stream = _attempt(opening, f"{what} cannot be read as a table of named columns")
        _check_schema(stream.schema, columns)
        batches, one_shot = partial(iter, stream), True
    return Opened(one_shot=one_shot, read=lambda: _blocks(batches(), columns, size))


def declared(rows: Rows) -> Declared:
    """The columns of a promise, which tables need."""
    if rows.columns is None:
        raise DataError("a table of named columns needs dp.Rows(columns=[...]) with their public ranges.")
    return rows.columns


def check_names(names: Iterable[Any], columns: Declared, where: str = "the table") -> None:
    """Refuse a table in which a declared column is absent or there more than once."""
    found = Counter(iter(names))  # a mapping gives its names, not its columns
    for column in columns:
        if column.name not in found:
            raise DataError(f"{where} has no column {column.name!r}; it has: {', '.join(map(str, found))}.")
        if found[column.name] > 1:
            raise DataError(f"{where} has more than one column {column.name!r}; names must differ.")


# -- sources of Arrow batches ------------------------------------------------------------------------------------------


def _open_pandas(frame: Any, columns: Declared, size: int) -> Batches:
    check_names(frame.columns, columns)

    def table(start: int, stop: int) -> Any:
        part = frame.iloc[start:stop]
        return _arrow().table({column.name: _from_pandas(part[column.name], column) for column in columns})

    _check_schema(table(0, 0).schema, columns)
    return lambda: (batch for i in range(0, len(frame), size) for batch in table(i, i + size).to_batches())


def _from_pandas(series: Any, column: Column | Category) -> Any:
    """A column of a data frame in Arrow; Python objects may be words, of which only the levels are looked at."""
    if series.dtype == object or getattr(series.dtype, "storage", None) == "python":
        if isinstance(column, Category) and column.is_text:
            levels = frozenset(column.levels)
            words = [cell if isinstance(cell, str) and cell in levels else None for cell in series]
            return _arrow().array(words, _arrow().large_string())
        raise DataError(f"column {column.name!r} holds {series.dtype} values; convert it to numbers before the run.")
    conversion = partial(_arrow().array, series, from_pandas=True)
    return _attempt(conversion, f"column {column.name!r} holds {series.dtype} values, which Arrow cannot take over")


def _open_polars(frame: Any, columns: Declared, size: int) -> Batches:
    """A lazy frame is evaluated in batches, by the streaming engine, each time the data is read."""
    polars, stream = sys.modules["polars"], _arrow().RecordBatchReader.from_stream
    lazy = _is(frame, "polars", "LazyFrame")
    check_names(_attempt(frame.collect_schema, "the lazy frame has no schema").names(), columns)

    def batches(part: Any) -> Any:
        return stream(part.collect_batches(chunk_size=size, maintain_order=False) if lazy else part)

    chosen = frame.select([column.name for column in columns])
    empty = polars.DataFrame(schema=chosen.collect_schema())
    for column in columns:
        why = f"column {column.name!r} holds {empty.schema[column.name]}, which Arrow cannot take over"
        _check_schema(_attempt(partial(stream, empty.select([column.name])), why).schema, (column,))
    if lazy:
        _attempt(lambda: batches(empty.lazy()), "a lazy frame needs polars 1.38 or newer, or pass frame.collect()")
    return lambda: batches(chosen)


def _open_parquet(path: Path, columns: Declared, size: int) -> Batches:
    """Files and directories whose names begin with a dot or an underscore are bookkeeping, and left out."""
    files = [path]
    if path.is_dir():
        inside = {file: file.relative_to(path).parts for file in sorted(path.rglob("*")) if file.is_file()}
        files = [file for file, parts in inside.items() if not any(part.startswith((".", "_")) for part in parts)]
    if not files:
        raise DataError(f"the directory {path.name!r} holds no Parquet files.")
    for each in files:
        with _parquet_file(each, each.name) as file:
            _check_schema(file.schema_arrow, columns, f"{each.name!r}")
    names = [column.name for column in columns]

    def batches() -> Iterator[Any]:
        for each in files:
            with _parquet_file(each, each.name) as file:
                yield from file.iter_batches(size, columns=names)

    return batches


def _parquet_file(source: Any, name: str) -> Any:
    opening = partial(import_module("pyarrow.parquet").ParquetFile, source, pre_buffer=False, buffer_size=READ_BUFFER)
    return _attempt(opening, f"{name!r} cannot be read as a Parquet file (a CSV file is known by the ending .csv)")


def _open_dataset(dataset: Any, columns: Declared, size: int) -> Batches:
    """Each file keeps its own types: Arrow would turn them into those of the first, and fail where one does not fit."""
    why = "the files of a filtered dataset cannot be seen; pass dataset.scanner(...).to_reader() instead"
    fragments = _attempt(lambda: list(dataset.get_fragments()), why)
    if not fragments:
        _check_schema(dataset.schema, columns, "the dataset")
    for fragment in fragments:
        name = Path(getattr(fragment, "path", "part of the dataset")).name
        if getattr(getattr(fragment, "format", None), "default_extname", "") in ("csv", "json"):
            raise DataError(f"{name!r} is text, whose types Arrow guesses from its cells; pass the path of a CSV file.")
        schema = _attempt(partial(getattr, fragment, "physical_schema"), f"the schema of {name!r} cannot be read")
        _check_schema(schema, columns, f"{name!r}")
    names = [column.name for column in columns]

    def batches() -> Iterator[Any]:
        for fragment in fragments:
            if hasattr(fragment, "row_groups"):
                groups = [group.id for group in fragment.row_groups]
                with fragment.open() as opened, _parquet_file(opened, Path(fragment.path).name) as file:
                    yield from file.iter_batches(size, row_groups=groups, columns=names)
            else:
                schema = fragment.physical_schema
                yield from fragment.to_batches(schema, columns=names, batch_size=size, batch_readahead=1)

    return batches


# -- from Arrow to NumPy -----------------------------------------------------------------------------------------------


def _check_schema(schema: Any, columns: Declared, where: str = "the table") -> None:
    check_names(schema.names, columns, where)
    for column in columns:
        found = schema.field(column.name).type
        holds = f"column {column.name!r} of {where} holds {found}"
        _check_type(found, column, holds)
        _attempt(
            partial(_cells, _arrow().nulls(1, found), column), f"{holds}, which this version of pyarrow cannot read"
        )


def _check_type(found: Any, column: Column | Category, holds: str) -> None:
    types = _arrow().types
    inner = found.value_type if types.is_dictionary(found) else found
    text = (types.is_null, types.is_string, types.is_large_string, types.is_string_view)
    number = (types.is_null, types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    wants_text = isinstance(column, Category) and column.is_text
    if any(fits(inner) for fits in (text if wants_text else number)):
        return
    if wants_text:
        raise DataError(f"{holds}; its levels are words, so it must hold text, plain or dictionary-encoded.")
    advice = "Declare words with dp.Category and words as levels."
    if types.is_temporal(inner):
        advice = "Turn dates and times into numbers first, say days since a public date."
    raise DataError(f"{holds}; it must hold integers, floats, decimals or truth values. {advice}")


def _blocks(batches: Iterable[Any], columns: Declared, size: int) -> Iterator[Cells]:
    for batch in batches:
        for start in range(0, batch.num_rows, size):
            part = batch.slice(start, size)
            yield {column.name: _cells(part.column(column.name), column) for column in columns}


def _cells(array: Any, column: Column | Category) -> NDArray[Any]:
    """Arrow cells as NumPy's: the same numbers as a NumPy array of them would give, NaN or another word for a null."""
    arrow, compute = _arrow(), import_module("pyarrow.compute")
    types = arrow.types
    if types.is_dictionary(array.type):
        values = (array.dictionary, arrow.nulls(1, array.type.value_type))
        codes = array.indices.cast(arrow.int64()).fill_null(len(array.dictionary))
        found: NDArray[Any] = np.concatenate([_cells(part, column) for part in values])[codes.to_numpy()]
        return found
    if isinstance(column, Category) and column.is_text:
        levels = arrow.array(column.levels, arrow.large_string())
        codes = compute.index_in(array.cast(arrow.large_string()), levels).fill_null(len(levels))
        return _words(codes.to_numpy(), column)
    if isinstance(column, Category) and types.is_integer(array.type):
        no_level = next(number for number in count() if number not in column.levels)
        wide = arrow.uint64() if types.is_uint64(array.type) else arrow.int64()
        return np.asarray(array.cast(wide).fill_null(no_level).to_numpy())
    if types.is_floating(array.type) and not array.null_count:
        return np.asarray(array.to_numpy())  # as they are: the map of a column takes any precision to doubles
    if types.is_decimal(array.type):
        array = array.cast(arrow.string())  # the direct way is off by one bit for 0.07, say
    return np.asarray(array.cast(arrow.float64(), safe=False).fill_null(math.nan).to_numpy())


def _words(codes: NDArray[Any], column: Category) -> NDArray[Any]:
    """Levels by number; the number after the last is a word that is none of them."""
    levels = [str(level) for level in column.levels]
    words: NDArray[Any] = np.array([*levels, max(levels, key=len) + "?"])[codes]
    return words


# -- CSV ---------------------------------------------------------------------------------------------------------------


def _open_csv(path: Path, columns: Declared, size: int) -> Callable[[], Iterator[Cells]]:
    """UTF-8 with commas, a line of names, and quotes as in RFC 4180; types are what the plan declares.

    A number is what Python's float() reads. Any other cell of a numeric column is missing, as are all cells of a row
    that has more or fewer than the line of names, or is malformed. Rows are the records of the file, as long as their
    cells may be: that their quotes are closed and doubled is a promise about whoever wrote it, for a quote that opens a
    cell and is never closed joins the rows of others into that cell. (Arrow's reader is faster, but such a quote makes
    it stop, and so does a very long cell; a run may not stop because of a cell.)
    """

    def records() -> Iterator[list[str]]:
        with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
            csv.field_size_limit(LONGEST_CELL)  # for all readers of this process
            reader = csv.reader(map(_without_returns, file))
            yield next(reader, [])
            while True:
                try:
                    yield from filter(None, reader)  # empty lines are no rows
                except csv.Error:  # in the last line, or beyond the longest cell
                    yield [""]
                else:
                    return

    header = _attempt(lambda: next(records()), f"{path.name!r} cannot be read as CSV")
    for column in columns:
        if header.count(column.name) != 1:  # the line is not shown: without names it would be somebody's row
            raise DataError(f"the first line of {path.name!r} must name the column {column.name!r} once, and does not.")
    places = [header.index(column.name) for column in columns]
    unreadable, most = [""] * len(header), min(size, max(CSV_CELLS // len(header), 1))

    def read() -> Iterator[Cells]:
        rows = islice(records(), 1, None)
        while block := [row if len(row) == len(header) else unreadable for row in islice(rows, most)]:
            yield {
                column.name: _parsed([row[place] for row in block], column)
                for column, place in zip(columns, places, strict=True)
            }

    return read


def _without_returns(line: str) -> str:
    """A line without carriage returns but at its end: the reader would stop at one, and take the rest for rows."""
    return line if line.find("\r", 0, -2) < 0 else line[:-2].replace("\r", " ") + line[-2:]


def _parsed(texts: list[str], column: Column | Category) -> NDArray[Any]:
    if isinstance(column, Category) and column.is_text:
        codes = {level: code for code, level in enumerate(column.levels)}
        return _words(np.array([codes.get(text, len(codes)) for text in texts], dtype=np.intp), column)
    try:
        return np.array(list(map(float, texts)))
    except ValueError:
        return np.array([_number(text) for text in texts])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


# -- small things ------------------------------------------------------------------------------------------------------


def _is(data: Any, module: str, name: str) -> bool:
    """Whether data is of a class of a library that may not even be imported."""
    return isinstance(data, getattr(sys.modules.get(module), name, ()))


def _arrow() -> Any:
    try:
        return import_module("pyarrow")
    except ImportError:
        raise DataError("data frames and Parquet files need pyarrow: pip install 'dpframe[tables]'.") from None


def _attempt(work: Callable[[], T], why: str) -> T:
    """Let another library work, and refuse in our words where it fails: its own, and its frames, may hold a cell."""
    try:
        return work()
    except Exception as error:
        failure = DataError(f"{why} ({type(error).__name__}).")
    raise failure
