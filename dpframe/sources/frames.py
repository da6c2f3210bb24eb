"""Data frames of pandas and polars, eager and lazy, by way of Arrow."""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from functools import partial
from importlib import import_module
from numbers import Real
from typing import Any

import numpy as np

from dpframe.errors import DataError
from dpframe.person import Person, from_objects
from dpframe.rows import Category
from dpframe.sources.arrow import check_schema, in_blocks
from dpframe.sources.reading import Declared, Opened, Wanted, attempt, check_names, is_a, pyarrow


def open_pandas(frame: Any, columns: Declared, size: int, *, late: bool = False) -> Opened:
    """A pandas frame, converted block by block.

    Args:
        frame: the frame.
        columns: what is read of it.
        size: the most rows in a block.
        late: whether it comes after the charge. Pandas turns truth values into Python objects where one is missing, and
            words into floats where all are, and nothing but its own row may depend on a cell. So these are read then
            too, cell by cell.
    """
    check_names(frame.columns, columns)

    def table(start: int, stop: int) -> Any:
        part = frame.iloc[start:stop]
        return pyarrow().table({column.name: _from_pandas(part[column.name], column, late) for column in columns})

    check_schema(table(0, 0).schema, columns)
    parts = range(0, len(frame), size)
    return in_blocks(lambda _: (batch for i in parts for batch in table(i, i + size).to_batches()), columns, size)


def open_pandas_chunk(frame: Any, columns: Declared, size: int) -> Opened:
    """One of several frames, which comes after the charge."""
    check_names(frame.columns, columns)
    for column in columns:
        check_gaps(column, frame[column.name].dtype)
    return open_pandas(frame, columns, size, late=True)


def _from_pandas(series: Any, column: Wanted, late: bool) -> Any:
    """A column of a data frame in Arrow; Python objects may be words, of which only the levels are looked at."""
    wants_words = isinstance(column, Person) or (isinstance(column, Category) and column.is_text)
    objects = series.dtype == object or getattr(series.dtype, "storage", None) == "python"
    if objects or (late and wants_words and series.dtype.kind == "f"):
        if isinstance(column, Person):
            return from_objects(pyarrow(), series)
        if isinstance(column, Category) and column.is_text:
            levels = frozenset(column.levels)
            words = [cell if isinstance(cell, str) and cell in levels else None for cell in series]
            return pyarrow().array(words, pyarrow().large_string())
        if late and series.dtype == object:
            return pyarrow().array(np.array([_number(cell) for cell in series], dtype=np.float64))
        raise DataError(f"column {column.name!r} holds {series.dtype} values; convert it to numbers before the run.")
    conversion = partial(pyarrow().array, series, from_pandas=True)
    return attempt(conversion, f"column {column.name!r} holds {series.dtype} values, which Arrow cannot take over")


def check_gaps(column: Wanted, dtype: Any) -> None:
    """Refuse integers that must be told apart, and cannot be where pandas turns them into floats since one of them is
    missing: the rows of other people would depend on that cell. Floats may have been such integers."""
    apart = isinstance(column, Person) or (
        isinstance(column, Category) and any(isinstance(level, int) and abs(level) > 2**53 for level in column.levels)
    )
    if apart and isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        raise DataError(
            f"column {column.name!r} holds {dtype}. Where one of them is missing, pandas turns integers into floats, "
            "which do not tell large ones apart. Use nullable integers from the start, or text: "
            'dd.read_parquet(..., dtype_backend="pyarrow"), say, or frame.astype({name: "Int64"}) before '
            "dd.from_pandas."
        )


def _number(cell: Any) -> float:
    """A Python object as a number; not one where it is none, as a cell of a CSV file."""
    try:
        return float(cell) if isinstance(cell, Real | Decimal | np.bool_ | str) else math.nan
    except (ValueError, OverflowError):
        return math.nan


def open_polars(frame: Any, columns: Declared, size: int) -> Opened:
    """A lazy frame is evaluated in batches, by the streaming engine, each time the data is read."""
    polars, stream = sys.modules["polars"], pyarrow().RecordBatchReader.from_stream
    lazy, ordered = is_a(frame, "polars", "LazyFrame"), any(isinstance(column, Person) for column in columns)
    check_names(attempt(frame.collect_schema, "the lazy frame has no schema").names(), columns)

    def batches(part: Any) -> Any:
        return stream(part.collect_batches(chunk_size=size, maintain_order=ordered) if lazy else part)

    by_name = import_module("polars.selectors").by_name  # a plain name may be taken for a pattern
    chosen = frame.select(by_name(*(column.name for column in columns)))
    empty = polars.DataFrame(schema=chosen.collect_schema())
    for column in columns:
        why = f"column {column.name!r} holds {empty.schema[column.name]}, which Arrow cannot take over"
        check_schema(attempt(partial(stream, empty.select(by_name(column.name))), why).schema, (column,))
    if lazy:
        attempt(lambda: batches(empty.lazy()), "a lazy frame needs polars 1.38 or newer, or pass frame.collect()")
    return in_blocks(lambda _: batches(chosen), columns, size)
