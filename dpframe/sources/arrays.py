"""NumPy: two-dimensional arrays, structured arrays and dictionaries of columns, in memory or memory-mapped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from mmap import ALLOCATIONGRANULARITY, mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe import lattice
from dpframe.errors import DataError
from dpframe.reading.people import Person, check_dtype
from dpframe.reading.type_names import type_name
from dpframe.sources.opened import Cells, Meter, Opened, Raw, check_names, declared, what
from dpframe.sources.stamps import Stamp
from dpframe.spec.columns import Category
from dpframe.spec.rows import Rows

ALLOWED = (
    "Pass a two-dimensional numeric array or memory map, a structured array or mapping of named columns, a data frame, "
    "an Arrow table or dataset, the path of a CSV file, of a Parquet file or of a directory of Parquet files, a query, "
    "a Dask array or data frame, a Spark data frame, or an iterable of such chunks."
)


def is_columns(data: Any) -> bool:
    """Whether this is a dictionary of columns or a structured array."""
    return isinstance(data, dict) or (isinstance(data, np.ndarray) and data.dtype.names is not None)


def open_array(data: Any, rows: Rows, size: Callable[[int], int]) -> Opened:
    """Check the shape, names and types of an array or a dictionary of columns; no cell is read.

    Args:
        data: the array or dictionary.
        rows: the promise.
        size: gives the most rows in a block, for a number of coordinates.
    """
    checked = _checked(data, rows)
    columns = checked if isinstance(checked, dict) else {"": checked}
    maps = [each for each in map(memory_map, columns.values()) if each is not None]
    for each in maps:
        check_complete(each)
    stamps = [Stamp.of(Path(name)) for name in dict.fromkeys(each.filename for each in maps) if name is not None]
    # The size of a file is visible to anyone who may list it; that of an array in memory, or of a part of a file, would
    # reveal the number of rows.
    public = all(map(_is_whole_file, columns.values())) or rows.neighbors == "replace"
    most = size(rows.dim or checked.shape[1] if isinstance(checked, np.ndarray) else rows.known_dim)
    count = len(next(iter(columns.values())))

    def read(meter: Meter) -> Iterator[Raw]:
        with ExitStack() as watched:
            for stamp in stamps:
                watched.enter_context(stamp.unchanged())
            for start in range(0, count, most):
                block = {name: np.asarray(cells[start : start + most]) for name, cells in columns.items()}
                yield block if checked is columns else block[""]
                meter.bytes += sum(cells.nbytes for cells in block.values()) if public else 0

    return Opened(read, bytes=sum(cells.nbytes for cells in columns.values()) if public else None, count=count)


def memory_map(cells: Any) -> np.memmap[Any, Any] | None:
    """The memory map that an array is, or is a view of."""
    while isinstance(cells, np.ndarray):
        if isinstance(cells, np.memmap) and isinstance(cells.base, mmap):
            return cells
        cells = cells.base
    return None


def check_complete(cells: np.memmap[Any, Any]) -> None:
    """Refuse a memory map of a file that has become shorter: reading beyond its end would kill the process."""
    start = cells.offset - cells.offset % ALLOCATIONGRANULARITY
    assert isinstance(cells.base, mmap)
    if cells.base.size() < start + len(cells.base):
        name = "" if cells.filename is None else f" {Path(cells.filename).name!r}"
        raise DataError(
            f"the file{name} is shorter than when it was mapped into memory: it was truncated, or is being written. "
            "Map a complete copy that nobody writes to."
        )


def _is_whole_file(cells: NDArray[Any]) -> bool:
    """Whether this is a memory map up to the end of its file, and not a part of one."""
    if not isinstance(cells, np.memmap) or cells.filename is None:
        return False
    return bool(cells.offset + cells.nbytes == Stamp.of(Path(cells.filename)).bytes)


def _checked(raw: Any, rows: Rows) -> Raw:
    """The raw data as an array or a dictionary of the declared columns, with its schema checked."""
    _check_unmasked(raw)
    if is_columns(raw):
        return _checked_columns(raw, rows)
    if not isinstance(raw, np.ndarray):
        raise DataError(f"{what(raw)} cannot be read. {ALLOWED}")
    check_numeric(raw.dtype, "the array", rows=rows)
    check_shape(raw.shape, rows)
    return raw


def check_shape(shape: tuple[Any, ...], rows: Rows) -> None:
    """Refuse an array that does not have the columns of the plan; no message depends on its number of rows."""
    if len(shape) != 2 or shape[1] == 0:
        has = "no columns" if len(shape) == 2 else f"{len(shape)} dimensions"
        raise DataError(f"the array must be two-dimensional with at least one column; it has {has}.")
    if rows.person is not None:
        raise DataError(
            f"an array has no column {rows.person!r} that tells who a row belongs to (person=). Pass a table of named "
            "columns instead: a dictionary of arrays, a structured array, a data frame or a file."
        )
    wanted = rows.dim if rows.columns is None else len(rows.columns)
    if wanted is not None and shape[1] != wanted:
        raise DataError(
            f"the array does not have the {wanted} columns of the plan."
        )  # its own number would reveal n if it is transposed
    if shape[1] > lattice.MAX_DIM:
        raise DataError(
            f"the array has more than {lattice.MAX_DIM} columns. Its rows are those of people: transpose it?"
        )
    for column in rows.columns or ():
        if isinstance(column, Category) and column.is_text:
            raise DataError(f"category {column.name!r} has words as levels, which a numeric array cannot hold.")


def check_numeric(dtype: np.dtype[Any], where: str, *, rows: Rows | None = None) -> None:
    """Refuse a type that does not hold real numbers, or complex ones where these are promised.

    Args:
        dtype: the type.
        where: what holds it.
        rows: the promise about an array; None for a column, which is real.
    """
    wanted = rows is not None and rows.complex
    if wanted and dtype.kind in "biuf":
        raise DataError(f"{where} holds real numbers, but the promise is complex=True. Leave it out, or convert them.")
    if wanted and dtype.kind == "c":
        return
    if dtype.kind == "c":
        hint = "" if rows is None or rows.columns is not None else ": dp.Rows(..., complex=True) is for complex ones"
        raise DataError(f"{where} holds complex numbers; rows are real{hint}.")
    if dtype.kind not in "biuf":
        raise DataError(f"{where} holds {type_name(dtype)}; rows are numbers. Declare words with dp.Category.")


def _checked_columns(table: Any, rows: Rows) -> Cells:
    columns = declared(rows)
    check_names(table.dtype.names if isinstance(table, np.ndarray) else table, columns)
    cells = {column.name: table[column.name] for column in columns}
    for column in columns:
        values = cells[column.name]
        _check_unmasked(values)
        if not isinstance(values, np.ndarray) or values.ndim != 1:
            raise DataError(f"column {column.name!r} must be a one-dimensional array.")
        if isinstance(column, Person):
            check_dtype(values.dtype, column)
        elif isinstance(column, Category) and column.is_text:
            if values.dtype.kind not in "UT":
                raise DataError(
                    f"category {column.name!r} has words as levels; the column holds {type_name(values.dtype)}."
                )
        else:
            check_numeric(values.dtype, f"column {column.name!r}")
    if len({len(values) for values in cells.values()}) > 1:
        raise DataError("the columns of the table have different lengths.")
    return cells


def _check_unmasked(data: Any) -> None:
    if isinstance(data, np.ma.MaskedArray):
        raise DataError("masked arrays are not read; fill masked cells with NaN and state Column(missing=...) instead.")
