"""Data frames of pandas and polars, eager and lazy, converted through Arrow."""

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
from dpframe.reading.people import Person, from_objects
from dpframe.reading.type_names import type_name
from dpframe.sources.arrow import check_schema, in_blocks
from dpframe.sources.csv import number_of
from dpframe.sources.opened import Declared, Opened, Wanted, attempt, check_names, is_a, pyarrow
from dpframe.spec.columns import Category
from dpframe.validators import is_int


def open_pandas(frame: Any, columns: Declared, size: int, *, late: bool = False) -> Opened:
    """Open a pandas frame, which is converted block by block.

    Args:
        frame: the frame.
        columns: the columns to read.
        size: the most rows in a block.
        late: whether it is opened after the charge. Pandas turns truth values into Python objects if one is missing,
            and gives any type to a column in which all cells are missing; only a cell's own row may depend on it. So
            objects are then read as numbers too, and such columns are read whatever their type.
    """
    check_names(frame.columns, columns)
    empty = {column.name for column in columns if late and frame[column.name].isna().all()}
    for column in columns:
        if column.name not in empty and (late or not isinstance(column, Person)):
            check_gaps(column, frame[column.name].dtype)

    def cells(part: Any, column: Wanted) -> Any:
        if column.name in empty:
            return pyarrow().nulls(len(part))
        return _from_pandas(part[column.name], column, late)

    def table(start: int, stop: int) -> Any:
        part = frame.iloc[start:stop]
        return pyarrow().table({column.name: cells(part, column) for column in columns})

    check_schema(table(0, 0).schema, columns)
    parts = range(0, len(frame), size)
    return in_blocks(lambda _: (batch for i in parts for batch in table(i, i + size).to_batches()), columns, size)


def _from_pandas(series: Any, column: Wanted, late: bool) -> Any:
    """A column of a data frame as an Arrow array; of words as Python objects only the levels are kept."""
    if series.dtype == object or getattr(series.dtype, "storage", None) == "python":
        if isinstance(column, Person):
            return from_objects(pyarrow(), series)
        if isinstance(column, Category) and column.is_text:
            levels = frozenset(column.levels)
            words = [cell if isinstance(cell, str) and cell in levels else None for cell in series]
            return pyarrow().array(words, pyarrow().large_string())
        if late and series.dtype == object:
            return pyarrow().array(np.array([_number(cell) for cell in series], dtype=np.float64))
        raise DataError(
            f"column {column.name!r} holds {type_name(series.dtype)}; convert it to numbers before the run."
        )
    conversion = partial(pyarrow().array, series, from_pandas=True)
    return attempt(conversion, f"column {column.name!r} holds {type_name(series.dtype)}, which Arrow cannot take over")


def check_gaps(column: Wanted, dtype: Any) -> None:
    """Refuse a column whose integers must stay distinct, in a type where they may not: if one is missing, pandas turns
    integers into floats, and the rows of other people would depend on that cell. It is refused whether a cell is
    missing or not."""
    if must_stay_distinct(column) and not _keeps_distinct(column, dtype):
        raise DataError(
            f"column {column.name!r} holds {type_name(dtype)}. Where one of them is missing, pandas turns integers "
            "into floats, which do not tell large ones apart. Use nullable integers from the start, or text: "
            'dd.read_parquet(..., dtype_backend="pyarrow"), say, or frame.astype({name: "Int64"}) before '
            "dd.from_pandas."
        )


def must_stay_distinct(column: Wanted) -> bool:
    """Whether this is a column of ids, or of levels with an integer that a float may not hold exactly."""
    if isinstance(column, Category) and not column.is_text:
        return any(is_int(level) and abs(int(level)) >= 2**53 for level in column.levels)
    return isinstance(column, Person)


def _keeps_distinct(column: Wanted, dtype: Any) -> bool:
    """Whether a type stays the same if cells are missing: nullable integers do, and text, which may be ids."""
    if dtype.name == "category":
        return _keeps_distinct(column, dtype.categories.dtype)
    if dtype.kind in "iu":
        return not isinstance(dtype, np.dtype)
    return bool(dtype.kind == "O") and isinstance(column, Person)


def _number(cell: Any) -> float:
    """A Python object as a number: text as in a CSV file, NaN if it is not a number."""
    try:
        if isinstance(cell, str):
            return number_of(cell)
        return float(cell) if isinstance(cell, Real | Decimal | np.bool_) else math.nan
    except Exception:  # raised by the object, which claims to be a number
        return math.nan


def open_polars(frame: Any, columns: Declared, size: int) -> Opened:
    """Open a polars frame. A lazy one is evaluated in batches, by the streaming engine, each time it is read."""
    polars, stream = sys.modules["polars"], pyarrow().RecordBatchReader.from_stream
    lazy, ordered = is_a(frame, "polars", "LazyFrame"), any(isinstance(column, Person) for column in columns)
    no_schema = "the lazy frame has no schema"
    check_names(attempt(frame.collect_schema, no_schema).names(), columns)

    def batches(part: Any) -> Any:
        return stream(part.collect_batches(chunk_size=size, maintain_order=ordered) if lazy else part)

    by_name = import_module("polars.selectors").by_name  # select() would read some names as patterns
    chosen = frame.select(by_name(*(column.name for column in columns)))
    empty = polars.DataFrame(schema=attempt(chosen.collect_schema, no_schema))
    for column in columns:
        why = f"column {column.name!r} holds {type_name(empty.schema[column.name])}, which Arrow cannot take over"
        check_schema(attempt(partial(stream, empty.select(by_name(column.name))), why).schema, (column,))
    if lazy:
        attempt(lambda: batches(empty.lazy()), "a lazy frame needs polars 1.38 or newer, or pass frame.collect()")
    return in_blocks(lambda _: batches(chosen), columns, size)
