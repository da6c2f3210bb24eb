"""Blocks of raw rows to chunks: the map that a promise defines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import hermitian
from dpframe.lattice import IntArray
from dpframe.reading import int16, kernel_loader
from dpframe.reading.chunk import Chunk, MappedChunk
from dpframe.reading.column_map import ColumnMap
from dpframe.reading.linear_map import LinearMapper
from dpframe.reading.scratch import Scratch
from dpframe.reading.tiles import INT16_ENTRIES, TILE_ENTRIES, tiles
from dpframe.spec.rows import Rows


class Mapper(Protocol):
    """Maps a block of raw rows to chunks. A chunk is valid until the next one: they share buffers."""

    def __call__(self, raw: Any) -> Iterator[Chunk]:
        """The chunks of a block."""
        ...


def mapper(rows: Rows, scratch: Scratch, *, expected: int = 0) -> Mapper:
    """The map of a promise.

    Args:
        rows: the promise, with its dimension known.
        scratch: the buffers of one worker.
        expected: the number of cells to come, as far as it is known. Only speed depends on it.
    """
    if rows.is_moved and rows.norm is None:
        rows = attrs.evolve(rows, norm=rows.length)  # the same promise, with a bound that takes long to compute
    if rows.linear is not None:
        return LinearMapper.of(rows, partial(mapper, expected=expected), scratch)
    if rows.columns is None:
        return partial(_array_chunks, rows, scratch, expected)
    return ColumnMap.of(rows, rows.columns, scratch, expected)


def coordinates(rows: Rows, raw: Any) -> NDArray[Any]:
    """Raw rows to coordinates, (rows, dim): each row on its own, NaN in rows that contribute nothing."""
    copies = [chunk.values.copy("K") for chunk in mapper(rows, Scratch())(raw)]
    return np.concatenate(copies) if copies else np.empty((0, rows.known_dim), rows.dtype)


def _array_chunks(rows: Rows, scratch: Scratch, expected: int, raw: Any) -> Iterator[Chunk]:
    """The chunks of an array whose entries are the coordinates."""
    values = np.asarray(raw)
    kernels = kernel_loader.loader.kernels(kernel_loader.kernel_kind(rows), values.size, expected=expected)
    for tile in tiles(len(values), rows.real_dim, INT16_ENTRIES if kernels else TILE_ENTRIES):
        if kernels:
            yield RowKernelChunk(rows, values[tile], scratch=scratch, add_rows=kernels.add_rows)
        else:
            yield MappedChunk(rows, values[tile], scratch=scratch)


@attrs.frozen(repr=False, eq=False)
class RowKernelChunk(MappedChunk):
    """Rows of an array whose Gram matrix a kernel adds up.

    Args:
        add_rows: `dpframe.reading.kernels.add_rows`.
    """

    add_rows: Any = attrs.field(kw_only=True)

    def add_gram(self, total: IntArray) -> None:
        values = hermitian.real_rows(self._given) if self.rows.complex else self._given
        int16.add_rows(values, self.rows.as_real, self.add_rows, total)
