"""The names and types of the columns of a file, for a plan that is yet to be written; no cell is read.

The first line of a CSV file is public only if it is a header line. Without one it is a row, and its cells would become
the names of columns in a plan file: where the line looks like a row, that is said, and the cells are shown nowhere.
"""

from __future__ import annotations

import math
import os
import re
from functools import partial
from typing import Any

import attrs

from dpframe.errors import DataError
from dpframe.reading.process_state import long_csv_cells
from dpframe.sources.csv import first_line, number_of
from dpframe.sources.csv_format import SEPARATORS, CSVFile, csv, ending
from dpframe.sources.dispatch import existing
from dpframe.sources.opened import attempt, pyarrow
from dpframe.sources.parquet import parquet_schema

NUMBER, TRUTH, WORDS, TIME, OTHER, UNKNOWN = TYPES = ("number", "truth value", "words", "time", "other", "unknown")
"""What a column holds, by its type; a CSV file does not say."""

LIKE_A_CELL = re.compile(r"\d{1,4}[-/.:]\d{1,2}([-/.:]\d.*)?|[^@\s]+@[^@\s]+\.[^@\s]+")
"""A date, a time, or an address."""


@attrs.frozen
class Named:
    """A column of a file.

    Args:
        name: its name.
        holds: what it holds, by its type.
    """

    name: str
    holds: str


def named_columns(data: str | os.PathLike[str] | CSVFile, *, is_header: bool = False) -> list[Named]:
    """The columns of a CSV or Parquet file, or of a directory of Parquet files.

    Args:
        data: its path, or a CSV file written in another way.
        is_header: whether the first line of a CSV file is known to be a header line, whatever it looks like.
    """
    if not isinstance(data, CSVFile):
        path = existing(data)
        if ending(path) not in SEPARATORS:
            pyarrow()
            schema = parquet_schema(path)
            return [Named(field.name, _holds(field.type)) for field in _distinct(list(schema), path.name)]
        data = csv(path)
    return _of_csv(data, is_header)


def _of_csv(file: CSVFile, is_header: bool) -> list[Named]:
    name = file.path.name
    with long_csv_cells():
        header = attempt(partial(first_line, file), f"{name!r} cannot be read as CSV")
    if not header:
        raise DataError(f"the first line of {name!r} is empty, or has a quote that is not closed in it.")
    suspicious = sum(map(_like_a_cell, header))
    if suspicious and not is_header:
        raise DataError(
            f"the first line of {name!r} looks like a row, not like names of columns: {suspicious} of its "
            f"{len(header)} cells look like a number, a date, an address or nothing. It is not shown, and nothing was "
            "written. If the file has no header line, add one; if these are the names, say --header."
        )
    return [Named(field.name, UNKNOWN) for field in _distinct([Named(cell, UNKNOWN) for cell in header], name)]


def _like_a_cell(cell: str) -> bool:
    text = cell.strip()
    return not text or not math.isnan(number_of(text.replace(",", "."))) or LIKE_A_CELL.fullmatch(text) is not None


def _distinct(fields: list[Any], source: str) -> list[Any]:
    names = [field.name for field in fields]
    if not names:
        raise DataError(f"{source!r} has no columns.")
    if len(set(names)) < len(names) or not all(name.strip() for name in names):
        raise DataError(f"{source!r} has a name of a column twice, or a column without a name. Nothing was written.")
    return fields


def _holds(kind: Any) -> str:
    types = pyarrow().types
    inner = kind.value_type if types.is_dictionary(kind) else kind
    known = {
        TRUTH: (types.is_boolean,),
        NUMBER: (types.is_integer, types.is_floating, types.is_decimal),
        WORDS: (types.is_string, types.is_large_string, types.is_string_view),
        TIME: (types.is_temporal,),
    }
    return next((name for name, tests in known.items() if any(test(inner) for test in tests)), OTHER)
