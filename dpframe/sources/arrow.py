"""Arrow: the conversion to NumPy for data frames, Parquet, queries and all other Arrow streams.

Opening reads names and types, and tries each conversion on a null: a type that cannot be read is refused before the
charge. After it no cell can fail: a cell becomes a number, one of the declared levels or a missing cell, depending on
that cell alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.errors import DataError
from dpframe.reading.people import Person, check_type, from_arrow
from dpframe.reading.type_names import type_name
from dpframe.sources.opened import Cells, Declared, Meter, Opened, Wanted, attempt, check_names, pyarrow, what
from dpframe.spec.columns import Category

Batches = Callable[[Meter], Iterable[Any]]

IN_MEMORY = ("pyarrow", "polars", "pandas")
"""Libraries whose streams are of data in memory, so that their schema is known without computing anything."""


def open_arrow(data: Any, columns: Declared, size: int) -> Opened:
    """Open an Arrow table, a batch, or any object with an Arrow stream, which is read once.

    An object of another library may compute its rows when the stream is opened. Its schema is checked before the charge
    if the object gives it separately, and otherwise when it is read.
    """
    arrow = pyarrow()
    if isinstance(data, arrow.Table | arrow.RecordBatch):
        check_schema(data.schema, columns)
        chosen = data.select([column.name for column in columns])
        batches = chosen.to_batches if isinstance(chosen, arrow.Table) else lambda: [chosen]
        return in_blocks(lambda _: batches(), columns, size, count=chosen.num_rows)
    opening = partial(arrow.RecordBatchReader.from_stream, data)
    reading = partial(attempt, opening, f"{what(data)} cannot be read as a table of named columns")
    if type(data).__module__.partition(".")[0] in IN_MEMORY:
        stream = reading()
        check_schema(stream.schema, columns)
        return in_blocks(lambda _: stream, columns, size, one_shot=True)
    if hasattr(type(data), "__arrow_c_schema__"):
        check_schema(attempt(partial(arrow.schema, data), f"{what(data)} has no schema"), columns)

    def streamed(_: Meter) -> Iterator[Any]:
        stream = reading()  # may run a query, so not before the charge
        check_schema(stream.schema, columns)
        yield from stream

    return in_blocks(streamed, columns, size, one_shot=True)


def in_blocks(
    batches: Batches,
    columns: Declared,
    size: int,
    *,
    one_shot: bool = False,
    total: int | None = None,
    count: int | None = None,
) -> Opened:
    """Opened data that reads batches as blocks of NumPy columns, of at most ``size`` rows."""

    def read(meter: Meter) -> Iterator[Cells]:
        for batch in batches(meter):
            for start in range(0, batch.num_rows, size):
                part = batch.slice(start, size)
                arrays = dict(zip(part.schema.names, part.columns, strict=True))
                yield {column.name: _cells(arrays[column.name], column) for column in columns}

    return Opened(read, one_shot=one_shot, bytes=total, count=count)


def check_schema(schema: Any, columns: Declared, where: str = "the table") -> None:
    """Refuse an Arrow schema that lacks a declared column, or has it with a type that cannot be read."""
    check_names(schema.names, columns, where)
    for column in columns:
        actual = schema.field(column.name).type
        holds = f"column {column.name!r} of {where} holds {type_name(actual)}"
        _check_type(actual, column, holds)
        if str(actual) in FLOATS:
            continue  # read without conversion
        attempt(
            partial(_cells, pyarrow().nulls(1, actual), column), f"{holds}, which this version of pyarrow cannot read"
        )


def _check_type(actual: Any, column: Wanted, holds: str) -> None:
    types = pyarrow().types
    inner = actual.value_type if types.is_dictionary(actual) else actual
    if isinstance(column, Person):
        check_type(types, inner, holds)
        return
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


FLOATS = ("double", "float", "halffloat")  # as Arrow names its types


def _cells(array: Any, column: Wanted) -> NDArray[Any]:
    """An Arrow array as a NumPy array of the same numbers; a null is NaN, or a word that is not a level."""
    if isinstance(column, Person):
        return from_arrow(pyarrow(), array)
    if str(array.type) in FLOATS and not array.null_count:
        return np.from_dlpack(array)  # no copy; to_numpy does the same, but imports pandas if it is installed
    arrow, compute = pyarrow(), import_module("pyarrow.compute")
    types = arrow.types
    if types.is_dictionary(array.type):
        values = (array.dictionary, arrow.nulls(1, array.type.value_type))
        codes = array.indices.cast(arrow.int64()).fill_null(len(array.dictionary))
        cells: NDArray[Any] = np.concatenate([_cells(part, column) for part in values])[codes.to_numpy()]
        return cells
    if isinstance(column, Category) and column.is_text:
        levels = arrow.array(column.levels, arrow.large_string())
        codes = compute.index_in(array.cast(arrow.large_string()), levels).fill_null(len(levels))
        return words_of(codes.to_numpy(), column)
    if isinstance(column, Category) and types.is_integer(array.type):
        no_level = next(number for number in count() if number not in column.levels)
        wide = arrow.uint64() if types.is_uint64(array.type) else arrow.int64()
        return np.asarray(array.cast(wide).fill_null(no_level).to_numpy())
    if types.is_decimal(array.type):
        array = array.cast(arrow.string())  # the direct cast is off by one bit for 0.07, for example
    numbers = array.cast(arrow.float64(), safe=False)
    return np.from_dlpack(numbers.fill_null(_not_a_number()) if numbers.null_count else numbers)


@cache
def _not_a_number() -> Any:
    """NaN as an Arrow scalar.

    Made from a Python float, Arrow would import pandas if it is installed, as ``to_numpy`` would: that takes longer
    than reading a million cells.
    """
    arrow = pyarrow()
    return arrow.Array.from_buffers(arrow.float64(), 1, [None, arrow.py_buffer(np.array([math.nan]))])[0]


def words_of(codes: NDArray[Any], column: Category) -> NDArray[Any]:
    """The levels with these codes; the code after the last one gives a word that is not a level."""
    levels = [str(level) for level in column.levels]
    words: NDArray[Any] = np.array([*levels, max(levels, key=len) + "?"])[codes]
    return words
