"""Where rows come from: arrays, memory maps, tables of named columns, files, and iterables of chunks.

Opening a source looks at its public schema only: shape, dtype and column names. Values are read when the runner asks
for blocks, which is after the charge.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.errors import DataError
from dpframe.private import Redacted
from dpframe.rows import Category, Rows
from dpframe.tables import Opened, check_names, declared, is_table, open_table

BLOCK_ENTRIES = 1 << 19  # 4 MiB of float64: stays in the cache of one core
MAX_ROWS_PER_BLOCK = 1 << 16

Table = Mapping[str, NDArray[Any]]


@attrs.frozen(repr=False, eq=False)
class Source(Redacted):
    """An opened source.

    Args:
        dim: the number of coordinates its rows make.
        one_shot: whether it can be read only once.
        chunks: the raw data: arrays or tables, each checked against the schema when it comes.
    """

    dim: int
    one_shot: bool
    _chunks: Iterable[Any] = attrs.field(alias="chunks")
    _rows: Rows = attrs.field(alias="rows")

    def blocks(self) -> Iterator[NDArray[Any] | Table]:
        """Raw rows in blocks of a size that suits the caches."""
        size = block_rows(self.dim)
        for chunk in _withholding(self._chunks):
            for raw in _opened(chunk, self._rows):
                length = len(raw) if isinstance(raw, np.ndarray) else len(next(iter(raw.values())))
                for start in range(0, length, size):
                    if isinstance(raw, np.ndarray):
                        yield np.asarray(raw[start : start + size])
                    else:
                        yield {name: cells[start : start + size] for name, cells in raw.items()}


def _withholding(chunks: Iterable[Any]) -> Iterator[Any]:
    """The chunks; what a foreign iterable raises loses its words, which may hold a cell."""
    iterator = iter(chunks)
    while True:
        failed = None
        try:
            chunk = next(iterator)
        except StopIteration:
            return
        except Exception as error:
            failed = type(error).__name__
        if failed is not None:  # raised outside the handler, so that it does not carry the original
            raise RuntimeError(f"the source raised {failed}")
        yield chunk


def block_rows(dim: int) -> int:
    """Rows per block: few enough for the cache, enough for the Gram matrix to dominate."""
    return min(MAX_ROWS_PER_BLOCK, max(BLOCK_ENTRIES // dim, min(dim, 2048)))


def open_source(data: Any, rows: Rows) -> Source:
    """Check the public schema of a source; no value is read."""
    if isinstance(data, np.ndarray) or _is_table(data):
        raw = _checked(data, rows)
        dim = rows.known_dim if rows.columns is not None or isinstance(raw, dict) else int(raw.shape[1])
        return Source(dim=dim, one_shot=False, chunks=(data,), rows=rows)
    if is_table(data):
        data = [data]
    if isinstance(data, Mapping):
        raise DataError(f"{_what(data)} may read when it is looked at; pass dict(...) of it.")
    if not isinstance(data, Iterable) or isinstance(data, bytes) or hasattr(data, "__array__") or _is_sparse(data):
        raise DataError(f"{_what(data)} cannot be read. {_ALLOWED}")
    one_shot = isinstance(data, Iterator)
    if isinstance(data, list | tuple):
        data = [_opened(chunk, rows) if is_table(chunk) else chunk for chunk in data]
        one_shot = any(isinstance(chunk, Opened) and chunk.one_shot for chunk in data)
        for chunk in data:
            _opened(chunk, rows)
        widths = {chunk.shape[1] for chunk in data if isinstance(chunk, np.ndarray) and chunk.ndim == 2}
        if rows.dim is None and len(widths) > 1:
            raise DataError(f"the chunks have different numbers of columns: {sorted(widths)}. They must agree.")
        rows = rows.bind(widths.pop()) if rows.dim is None and widths else rows
    if rows.dim is None:
        raise DataError(
            "the number of columns of an iterable of chunks cannot be seen before it is read; "
            "say dp.Rows(..., dim=...)."
        )
    return Source(dim=rows.known_dim, one_shot=one_shot, chunks=data, rows=rows)


_ALLOWED = (
    "Pass a two-dimensional numeric array or memory map, a structured array or mapping of named columns, a data frame, "
    "an Arrow table, the path of a CSV file, a Parquet file or a directory of these, or an iterable of such chunks."
)


def _opened(chunk: Any, rows: Rows) -> Iterable[NDArray[Any] | Table]:
    """A chunk whose schema fits: as it is, or in blocks where it comes from another library or a file."""
    if isinstance(chunk, Opened):
        return chunk
    if not is_table(chunk):
        return (_checked(chunk, rows),)
    table = _existing(chunk) if isinstance(chunk, str | os.PathLike) else chunk
    return open_table(table, rows, block_rows(rows.dim or 1))


def _existing(data: str | os.PathLike[str]) -> Path:
    """A path that exists. A text that does not look like one is not shown: it may be data."""
    path = Path(data)
    try:
        if os.fspath(data) and path.exists():
            return path
    except OSError:
        pass
    shown = not isinstance(data, str) or path.suffix.lower() in (".csv", ".parquet")
    what = f"{os.fspath(path)!r} cannot be read" if shown else f"{_what(data)} cannot be read as a path"
    raise DataError(f"{what}: there is no such file or directory. {_ALLOWED}")


def _checked(raw: Any, rows: Rows) -> NDArray[Any] | dict[str, NDArray[Any]]:
    """The raw data as an array or a dictionary of the wanted columns, its schema checked."""
    _check_unmasked(raw)
    if _is_table(raw):
        return _checked_table(raw, rows)
    if not isinstance(raw, np.ndarray) or _is_sparse(raw):
        raise DataError(f"{_what(raw)} cannot be read. {_ALLOWED}")
    _check_numeric(raw.dtype, "the array")
    if raw.ndim != 2 or raw.shape[1] == 0:
        raise DataError(f"the array must be two-dimensional with at least one column; it has shape {_shape(raw)}.")
    wanted = rows.dim if rows.columns is None else len(rows.columns)
    if wanted is not None and raw.shape[1] != wanted:
        raise DataError(f"the array does not have the {wanted} columns of the plan.")  # a transposed one would tell n
    for column in rows.columns or ():
        if isinstance(column, Category) and column.is_text:
            raise DataError(f"category {column.name!r} has words as levels, which a numeric array cannot hold.")
    return raw


def _checked_table(table: Any, rows: Rows) -> dict[str, NDArray[Any]]:
    columns = declared(rows)
    check_names(table.dtype.names if isinstance(table, np.ndarray) else table, columns)
    cells = {column.name: table[column.name] for column in columns}
    for column in columns:
        values = cells[column.name]
        _check_unmasked(values)
        if not isinstance(values, np.ndarray) or values.ndim != 1:
            raise DataError(f"column {column.name!r} must be a one-dimensional array.")
        if isinstance(column, Category) and column.is_text:
            if values.dtype.kind not in "UT":
                raise DataError(f"category {column.name!r} has words as levels; the column holds {values.dtype}.")
        else:
            _check_numeric(values.dtype, f"column {column.name!r}")
    if len({len(values) for values in cells.values()}) > 1:
        raise DataError("the columns of the table have different lengths.")
    return cells


def _is_table(data: Any) -> bool:
    return isinstance(data, dict) or (isinstance(data, np.ndarray) and data.dtype.names is not None)


def _is_sparse(data: Any) -> bool:
    return any(kind.__module__.startswith("scipy.sparse") for kind in type(data).__mro__)


def _check_unmasked(data: Any) -> None:
    if isinstance(data, np.ma.MaskedArray):
        raise DataError("masked arrays are not read; fill masked cells with NaN and state Column(missing=...) instead.")


def _check_numeric(dtype: np.dtype[Any], what: str) -> None:
    if dtype.kind == "c":
        raise DataError(f"{what} holds complex numbers; rows are real.")
    if dtype.kind not in "biuf":
        raise DataError(f"{what} holds {dtype} values; rows are numbers. Declare words with dp.Category.")


def _shape(raw: NDArray[Any]) -> tuple[str | int, ...]:
    """The shape without the number of rows, which may be private."""
    return ("rows", *raw.shape[1:])


def _what(data: Any) -> str:
    kind = type(data)
    return f"a {kind.__module__}.{kind.__name__}" if kind.__module__ != "builtins" else f"a {kind.__name__}"
