"""Where rows come from: arrays, memory maps, tables of named columns, and iterables of chunks.

Opening a source looks at its public schema only: shape, dtype and column names. Values are read when the runner asks
for blocks, which is after the charge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.errors import DataError
from dpframe.private import Redacted
from dpframe.rows import Category, Rows

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
        for chunk in self._chunks:
            raw = _checked(chunk, self._rows)
            length = len(raw) if isinstance(raw, np.ndarray) else len(next(iter(raw.values())))
            for start in range(0, length, size):
                if isinstance(raw, np.ndarray):
                    yield np.asarray(raw[start : start + size])
                else:
                    yield {name: cells[start : start + size] for name, cells in raw.items()}


def block_rows(dim: int) -> int:
    """Rows per block: few enough for the cache, enough for the Gram matrix to dominate."""
    return min(MAX_ROWS_PER_BLOCK, max(BLOCK_ENTRIES // dim, min(dim, 2048)))


def open_source(data: Any, rows: Rows) -> Source:
    """Check the public schema of a source; no value is read."""
    if isinstance(data, np.ndarray) or _is_table(data):
        raw = _checked(data, rows)
        dim = rows.known_dim if rows.columns is not None or isinstance(raw, dict) else int(raw.shape[1])
        return Source(dim=dim, one_shot=False, chunks=(data,), rows=rows)
    if isinstance(data, str | bytes) or not isinstance(data, Iterable) or _is_sparse(data):
        raise DataError(f"{_what(data)} cannot be read. {_ALLOWED}")
    if isinstance(data, list | tuple):
        for chunk in data:
            _checked(chunk, rows)
        widths = {chunk.shape[1] for chunk in data if isinstance(chunk, np.ndarray) and chunk.ndim == 2}
        if rows.dim is None and len(widths) > 1:
            raise DataError(f"the chunks have different numbers of columns: {sorted(widths)}. They must agree.")
        rows = rows.bind(widths.pop()) if rows.dim is None and widths else rows
    if rows.dim is None:
        raise DataError(
            "the number of columns of an iterable of chunks cannot be seen before it is read; "
            "say dp.Rows(..., dim=...)."
        )
    return Source(dim=rows.known_dim, one_shot=isinstance(data, Iterator), chunks=data, rows=rows)


_ALLOWED = (
    "Pass a two-dimensional numeric array or memory map, a structured array or mapping of named columns, "
    "or an iterable of such chunks."
)


def _checked(raw: Any, rows: Rows) -> NDArray[Any] | dict[str, NDArray[Any]]:
    """The raw data as an array or a dictionary of the wanted columns, its schema checked."""
    if _is_table(raw):
        return _checked_table(raw, rows)
    if isinstance(raw, np.ma.MaskedArray):
        raise DataError("masked arrays are not read; fill masked cells with NaN and state Column(missing=...) instead.")
    if not isinstance(raw, np.ndarray) or _is_sparse(raw):
        raise DataError(f"{_what(raw)} cannot be read. {_ALLOWED}")
    _check_numeric(raw.dtype, "the array")
    if raw.ndim != 2 or raw.shape[1] == 0:
        raise DataError(f"the array must be two-dimensional with at least one column; it has shape {_shape(raw)}.")
    wanted = rows.dim if rows.columns is None else len(rows.columns)
    if wanted is not None and raw.shape[1] != wanted:
        raise DataError(f"the array has {raw.shape[1]} columns; the plan has {wanted}.")
    for column in rows.columns or ():
        if isinstance(column, Category) and column.is_text:
            raise DataError(f"category {column.name!r} has words as levels, which a numeric array cannot hold.")
    return raw


def _checked_table(table: Any, rows: Rows) -> dict[str, NDArray[Any]]:
    if rows.columns is None:
        raise DataError("a table of named columns needs dp.Rows(columns=[...]) with their public ranges.")
    names = table.dtype.names if isinstance(table, np.ndarray) else tuple(table)
    if absent := [column.name for column in rows.columns if column.name not in names]:
        raise DataError(f"the table has no column {absent[0]!r}; it has: {', '.join(map(str, names))}.")
    cells = {column.name: table[column.name] for column in rows.columns}
    for column in rows.columns:
        values = cells[column.name]
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
    return isinstance(data, Mapping) or (isinstance(data, np.ndarray) and data.dtype.names is not None)


def _is_sparse(data: Any) -> bool:
    return type(data).__module__.startswith("scipy.sparse")


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
