"""Released values as data frames of whatever library is installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from dpframe.errors import DataError
from dpframe.intervals.interval import Interval
from dpframe.kinds import Kind
from dpframe.run.labeled import Table, tidy, wide

LIBRARIES = ("pandas", "polars", "pyarrow")
"""In the order in which they are preferred."""


def framed(name: str, value: Kind, interval: Interval | None, library: str | None, *, matrix: bool) -> Any:
    """A value as a frame.

    Args:
        name: the name of the result, for messages.
        value: the value.
        interval: its interval, where it has one.
        library: one of `LIBRARIES`; None for the first that is installed.
        matrix: whether a matrix is shown as it is; else each number has a row.
    """
    wanted = LIBRARIES if library is None else (library,)
    found = next((each for each in wanted if find_spec(each) is not None), None)
    if found is None:
        raise DataError(f"a frame needs {' or '.join(wanted)}: pip install {wanted[0]}. The result is not lost.")
    return _matrix(name, value, found) if matrix else _made(tidy(value, interval), found)


def _made(table: Table, library: str) -> Any:
    module = import_module(library)
    return module.table(table) if library == "pyarrow" else module.DataFrame(table)


def _matrix(name: str, value: Kind, library: str) -> Any:
    """A matrix with the labels of its rows: the index of a pandas frame, the first column of others."""
    rows, columns = wide(name, value)
    title = rows.name
    while title in columns:
        title += "_"
    frame = _made({title: list(rows.labels), **columns}, library)
    return frame.set_index(title) if library == "pandas" else frame
