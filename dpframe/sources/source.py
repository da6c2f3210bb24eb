"""An opened source, and the choice of its reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from io import IOBase
from types import GeneratorType
from typing import Any

import attrs
import numpy as np

from dpframe.display.redacted import Redacted
from dpframe.errors import DataError
from dpframe.reading.given_matrix import GivenMatrix
from dpframe.reading.people import Counter, counted
from dpframe.sources.arrays import ALLOWED, is_columns, open_array
from dpframe.sources.dask import is_dask, open_dask
from dpframe.sources.dispatch import is_table, open_table
from dpframe.sources.matrices import open_matrix
from dpframe.sources.opened import Meter, Opened, Raw, declared, is_a, what
from dpframe.sources.partial_totals import Partitioned
from dpframe.sources.queries import Query
from dpframe.sources.spark import is_spark, open_spark
from dpframe.sources.sql.pushed import Pushed
from dpframe.sources.sql.table import Table, open_pushed
from dpframe.spec.matrix import Matrix
from dpframe.spec.rows import Rows

ARRAY_CELLS = 1 << 20  # per block of an array, the task of a worker: few, so that all workers get the same share
COLUMNS_CELLS = 1 << 21  # per block of columns in memory: more, since each column has a fixed overhead
TABLE_CELLS = 8_000_000  # per block of a table that is read: many, so that reading is fast and threads rarely wait
MAX_ROWS_PER_BLOCK = 160_000  # measured with Parquet: Arrow takes a fifth longer for 2¹⁷


@attrs.frozen(repr=False, eq=False)
class Source(Redacted):
    """An opened source.

    Args:
        dim: the number of coordinates of a row.
        one_shot: whether it can be read only once.
        chunks: opened data, or an iterable of chunks, each of which is opened and checked when it comes.
        rows: the promise.
        meter: the progress of a pass.
        partitions: the partitions of a Dask collection or a Spark frame: statistics are computed where they are.
        pushed: the table of a database that computes statistics itself, if it is one.
        matrix: the matrix that was computed elsewhere, if the promise is about one. Then there are no rows.
    """

    dim: int
    one_shot: bool
    _chunks: Iterable[Any] = attrs.field(alias="chunks")
    _rows: Rows = attrs.field(alias="rows")
    meter: Meter = attrs.field(factory=Meter)
    partitions: Partitioned | None = None
    pushed: Pushed | None = None
    matrix: GivenMatrix | None = None

    def close(self) -> None:
        """End what was begun for reading; the source is not read any more."""
        if self.pushed is not None:
            self.pushed.close()

    @property
    def expected(self) -> int:
        """The number of cells, as far as it is known before they are read. Private: only speed depends on it."""
        known = isinstance(self._chunks, list)
        return self.dim * sum(chunk.count or 0 for chunk in self._chunks) if known else 0

    def blocks(self) -> Iterator[Raw]:
        """The raw rows that count, in blocks of a size that suits the caches; each call starts from the beginning."""
        blocks, person = self.all_blocks(), self._rows.person
        return blocks if person is None else counted(blocks, person, Counter(self._rows.contributions))

    def all_blocks(self) -> Iterator[Raw]:
        """All raw rows, with the column of ids if the promise names one."""
        meter = self.meter
        meter.start()
        for chunk in _withholding(self._chunks):
            opened = _opened(chunk, self._rows, late=True)
            reused = opened.one_shot or not isinstance(chunk, Opened)
            for raw in opened.read(meter):
                yield _copied(raw) if reused else raw
                meter.rows += len(raw) if isinstance(raw, np.ndarray) else len(next(iter(raw.values())))
        meter.finish()


def _copied(raw: Raw) -> Raw:
    """A copy of a block. While a block waits for a worker, its iterable or stream may go on and write the next rows to
    the same memory; these would then count several times."""
    return raw.copy() if isinstance(raw, np.ndarray) else {name: cells.copy() for name, cells in raw.items()}


def _withholding(chunks: Iterable[Any]) -> Iterator[Any]:
    """The chunks; an error of a foreign iterable is replaced by our own, since its message may hold a cell."""
    iterator = iter(chunks)
    while True:
        failed = None
        try:
            chunk = next(iterator)
        except StopIteration:
            return
        except Exception as error:
            failed = type(error).__name__
        if failed is not None:  # raised outside the handler, so that the original is not chained to it
            raise RuntimeError(f"the source raised {failed}")
        yield chunk


def array_rows(dim: int) -> int:
    """Rows per block of an array."""
    return _rows_of(ARRAY_CELLS, dim)


def columns_rows(dim: int) -> int:
    """Rows per block of NumPy columns."""
    return _rows_of(COLUMNS_CELLS, dim)


def table_rows(dim: int) -> int:
    """Rows per block of any other table."""
    return _rows_of(TABLE_CELLS, dim)


def _rows_of(cells: int, dim: int) -> int:
    return min(MAX_ROWS_PER_BLOCK, max(cells // dim, min(dim, 2048)))


def open_source(data: Any, rows: Rows) -> Source:
    """Check the public schema of a source; no value is read."""
    if isinstance(rows, Matrix):
        matrix = open_matrix(data, rows)
        return Source(dim=len(matrix.values), one_shot=False, chunks=[], rows=rows, matrix=matrix)
    if is_dask(data) or is_spark(data):
        parts: Partitioned = (open_dask if is_dask(data) else open_spark)(data, rows, table_rows)
        return Source(dim=parts.rows.known_dim, one_shot=False, chunks=parts, rows=parts.rows, partitions=parts)
    if isinstance(data, Table) or (isinstance(data, Query) and data.push):
        declared(rows)
        pushed = open_pushed(data, rows)
        return Source(dim=rows.known_dim, one_shot=False, chunks=pushed, rows=rows, pushed=pushed)
    if isinstance(data, np.ndarray) or is_columns(data) or is_table(data):
        data = [data]
    if isinstance(data, Mapping):
        raise DataError(f"{what(data)} may read when it is looked at; pass dict(...) of it.")
    if not _may_give_chunks(data):
        raise DataError(f"{what(data)} cannot be read. {ALLOWED}")
    if isinstance(data, GeneratorType) and data.gi_frame is None:
        raise DataError("the generator was read before, and has nothing more to give. Make it anew for each run.")
    meter, one_shot = Meter(), isinstance(data, Iterator)
    if isinstance(data, list | tuple):
        opened = [_opened(chunk, rows) for chunk in data]
        one_shot = any(chunk.one_shot for chunk in opened)
        sizes = [chunk.bytes for chunk in opened if chunk.bytes is not None]
        meter = Meter(total_bytes=sum(sizes) if len(sizes) == len(opened) else None)
        rows, data = _bound(rows, data), opened
    if rows.dim is None:
        raise DataError(
            "the number of columns of an iterable of chunks cannot be seen before it is read; "
            "say dp.Rows(..., dim=...)."
        )
    return Source(dim=rows.known_dim, one_shot=one_shot, chunks=data, rows=rows, meter=meter)


def _bound(rows: Rows, chunks: Iterable[Any]) -> Rows:
    """The promise, bound to the number of columns of the chunks."""
    widths = {chunk.shape[1] for chunk in chunks if isinstance(chunk, np.ndarray) and chunk.ndim == 2}
    if rows.dim is None and len(widths) > 1:
        raise DataError("the chunks have different numbers of columns. They must agree.")
    return rows.bind(widths.pop()) if rows.dim is None and widths else rows


def _opened(chunk: Any, rows: Rows, *, late: bool = False) -> Opened:
    """A chunk with its schema checked; late, if that is after the charge."""
    if isinstance(chunk, Opened):
        return chunk
    if is_table(chunk):
        return open_table(chunk, rows, table_rows(rows.dim or 1), late=late)
    if _is_sparse(chunk):
        raise DataError(f"{what(chunk)} cannot be read. {ALLOWED}")
    return open_array(chunk, rows, columns_rows if is_columns(chunk) else array_rows)


def _may_give_chunks(data: Any) -> bool:
    """Whether data may be an iterable of chunks, judged by its type: an open file gives bytes or lines."""
    if isinstance(data, bytes | bytearray | memoryview | range | Set | IOBase) or is_a(data, "pyarrow", "NativeFile"):
        return False
    return isinstance(data, Iterable) and not hasattr(data, "__array__") and not _is_sparse(data)


def _is_sparse(data: Any) -> bool:
    return any(kind.__module__.startswith("scipy.sparse") for kind in type(data).__mro__)
