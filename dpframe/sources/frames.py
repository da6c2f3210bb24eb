"""Data frames of pandas and polars, eager and lazy, by way of Arrow."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from dpframe.errors import DataError
from dpframe.person import Person, from_objects
from dpframe.rows import Category
from dpframe.sources.arrow import check_schema, in_blocks
from dpframe.sources.reading import Declared, Opened, Wanted, attempt, check_names, is_a, pyarrow


def open_pandas(frame: Any, columns: Declared, size: int) -> Opened:
    """A pandas frame, converted block by block."""
    check_names(frame.columns, columns)

    def table(start: int, stop: int) -> Any:
        part = frame.iloc[start:stop]
        return pyarrow().table({column.name: _from_pandas(part[column.name], column) for column in columns})

    check_schema(table(0, 0).schema, columns)
    parts = range(0, len(frame), size)
    return in_blocks(lambda _: (batch for i in parts for batch in table(i, i + size).to_batches()), columns, size)


def _from_pandas(series: Any, column: Wanted) -> Any:
    """A column of a data frame in Arrow; Python objects may be words, of which only the levels are looked at."""
    if series.dtype == object or getattr(series.dtype, "storage", None) == "python":
        if isinstance(column, Person):
            return from_objects(pyarrow(), series)
        if isinstance(column, Category) and column.is_text:
            levels = frozenset(column.levels)
            words = [cell if isinstance(cell, str) and cell in levels else None for cell in series]
            return pyarrow().array(words, pyarrow().large_string())
        raise DataError(f"column {column.name!r} holds {series.dtype} values; convert it to numbers before the run.")
    conversion = partial(pyarrow().array, series, from_pandas=True)
    return attempt(conversion, f"column {column.name!r} holds {series.dtype} values, which Arrow cannot take over")


def open_polars(frame: Any, columns: Declared, size: int) -> Opened:
    """A lazy frame is evaluated in batches, by the streaming engine, each time the data is read."""
    polars, stream = sys.modules["polars"], pyarrow().RecordBatchReader.from_stream
    lazy, ordered = is_a(frame, "polars", "LazyFrame"), any(isinstance(column, Person) for column in columns)
    check_names(attempt(frame.collect_schema, "the lazy frame has no schema").names(), columns)

    def batches(part: Any) -> Any:
        return stream(part.collect_batches(chunk_size=size, maintain_order=ordered) if lazy else part)

    chosen = frame.select([column.name for column in columns])
    empty = polars.DataFrame(schema=chosen.collect_schema())
    for column in columns:
        why = f"column {column.name!r} holds {empty.schema[column.name]}, which Arrow cannot take over"
        check_schema(attempt(partial(stream, empty.select([column.name])), why).schema, (column,))
    if lazy:
        attempt(lambda: batches(empty.lazy()), "a lazy frame needs polars 1.38 or newer, or pass frame.collect()")
    return in_blocks(lambda _: batches(chosen), columns, size)
