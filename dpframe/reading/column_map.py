"""The map of columns: raw cells to coordinates, many cells at a time.

:meth:`dpframe.Column.map` defines the coordinate of a cell. Here the same numbers are computed for all numeric columns
of a tile at once (`dpframe.reading.affine_map`), in as few passes as NumPy allows.

For large data, compiled kernels (`dpframe.reading.kernels`) map cells to lattice integers directly: the same integers
bit for bit, in 16 bits where they fit (`dpframe.reading.int16`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import lattice
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading import int16, kernel_loader
from dpframe.reading.affine_map import Levels, Numbers, Rounder
from dpframe.reading.chunk import Chunk, Grid, MappedChunk, set_constant
from dpframe.reading.kernel_loader import KernelKind
from dpframe.reading.placed_rows import PlacedRows, in_vectors, reads_by_rows
from dpframe.reading.scratch import Scratch
from dpframe.reading.tiles import INT16_ENTRIES, TILE_ENTRIES, tiles
from dpframe.spec.columns import Category, Column
from dpframe.spec.rows import Rows

Raw = NDArray[Any] | Mapping[str, NDArray[Any]]


@attrs.frozen(eq=False)
class ColumnMap:
    """Maps tables, or arrays with as many columns as were declared, to coordinates."""

    rows: Rows
    names: tuple[str, ...]
    parts: tuple[tuple[slice, slice, Numbers | Levels], ...]  # which columns, their coordinates, and the map
    images: FloatArray  # for each coordinate a row as in Numbers.columns
    scratch: Scratch
    kind: KernelKind | None
    expected: int
    vectors: FloatArray = attrs.field(init=False)  # the images, transposed

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "vectors", in_vectors(self.images.T))

    @classmethod
    def of(cls, rows: Rows, columns: Sequence[Column | Category], scratch: Scratch, expected: int) -> ColumnMap:
        """The map of declared columns; for the arguments see `dpframe.reading.mapper.mapper`."""
        parts: list[tuple[slice, slice, Numbers | Levels]] = []
        start = dim = 0
        shift, rate = rows.affine
        while start < len(columns):
            first, stop = columns[start], start + 1
            if isinstance(first, Category):
                here = slice(dim, dim + len(first.labels))
                part: Numbers | Levels = Levels(first, shift[here], rate[here])
            else:
                while stop < len(columns) and isinstance(columns[stop], Column):
                    stop += 1
                numeric = [column for column in columns[start:stop] if isinstance(column, Column)]
                here = slice(dim, dim + len(numeric))
                part = Numbers.of(numeric, shift[here], rate[here])
            parts.append((slice(start, stop), here, part))
            start, dim = stop, here.stop
        images = np.vstack([part.columns for _, _, part in parts])
        names = tuple(column.name for column in columns)
        return cls(rows, names, tuple(parts), images, scratch, kernel_loader.kernel_kind(rows), expected)

    def __call__(self, raw: Raw) -> Iterator[Chunk]:
        """The chunks of a block of raw rows."""
        if not isinstance(raw, np.ndarray):
            yield from self._block([raw[name] for name in self.names])
        elif raw.strides[0] == raw.itemsize:
            yield from self._block(list(raw.T))
        else:
            yield from self._array(raw)

    def _array(self, raw: NDArray[Any]) -> Iterator[Chunk]:
        """The chunks of a block whose cells stand row by row."""
        dim, kernels = self.rows.known_dim, None
        if self.kind in (KernelKind.INT16_COLUMNS, KernelKind.NORMED_COLUMNS) and self._reads_by_rows(raw):
            kernels = kernel_loader.loader.kernels(self.kind, raw.size, expected=self.expected)
        if kernels is None:
            for tile in tiles(len(raw), dim):
                yield from self._block(list(np.ascontiguousarray(raw[tile].T)))
        elif self.kind is KernelKind.INT16_COLUMNS:
            for tile in tiles(len(raw), dim):
                some = raw[tile]
                yield Int16ArrayChunk(self.rows, self, list(some.T), slice(0, len(some)), array=some, kernels=kernels)
        else:
            for tile in tiles(len(raw), dim, INT16_ENTRIES):
                some = raw[tile]
                yield NormedChunk(self.rows, self, list(some.T), slice(0, len(some)), array=some, kernels=kernels)

    def _reads_by_rows(self, raw: NDArray[Any]) -> bool:
        """Whether kernels can read the cells of an array row by row: it has a coordinate for each column."""
        numbers = all(isinstance(part, Numbers) for _, _, part in self.parts)
        return numbers and raw.shape[1] == len(self.names) and reads_by_rows(raw)

    def _block(self, cells: Sequence[NDArray[Any]]) -> Iterator[Chunk]:
        """The chunks of a block, given as columns."""
        count, dim = len(cells[0]), self.rows.known_dim
        if len(cells) != len(self.names):
            raise IndexError(f"a block of {len(cells)} columns, where {len(self.names)} were promised")
        if any(column.shape != (count,) for column in cells):
            raise IndexError("the columns of a block have different lengths")
        kernels = kernel_loader.loader.kernels(self.kind, count * dim, expected=self.expected)
        if kernels is None:
            for tile in tiles(count, dim):
                values, complete = self.coordinates(cells, tile)
                yield MappedChunk(self.rows, values, within=self._within(complete), scratch=self.scratch)
            return
        size = TILE_ENTRIES if self.kind is KernelKind.COLUMNS else INT16_ENTRIES
        pieces = [slice(tile.start, min(tile.stop, count)) for tile in tiles(count, dim, size)]
        if self.kind is KernelKind.NORMED_COLUMNS:
            yield from (NormedChunk(self.rows, self, cells, tile, kernels=kernels) for tile in pieces)
            return
        rounders = self.rounders(cells, kernels)
        yield from (self.rounded_chunk(cells, tile, rounders, kernels) for tile in pieces)

    def rounded_chunk(
        self, cells: Sequence[NDArray[Any]], tile: slice, rounders: Sequence[tuple[slice, Rounder]], kernels: Any
    ) -> Chunk:
        """A tile of rows, rounded by a kernel."""
        if self.kind is KernelKind.INT16_COLUMNS:
            count = tile.stop - tile.start
            transposed = int16.transposed_buffer(count, self.rows, self.scratch)
            complete = min(rounder(tile, transposed[here]) for here, rounder in rounders)
            lost = 0
            if not complete:
                transposed[:, :count][:, which := self._lost(cells, tile)] = 0
                lost = int(which.sum())
            return Int16Chunk(
                self.rows,
                self,
                cells,
                tile,
                integer_rows=int16.Int16Rows(transposed, count, self.rows, kernels.add_int16_columns),
                contributing=count - lost,
            )
        steps, complete = self.in_steps(tile, rounders)
        return RoundedChunk(self.rows, self, cells, tile, steps=steps, within=self._within(complete))

    def in_steps(self, tile: slice, rounders: Sequence[tuple[slice, Rounder]]) -> tuple[FloatArray, bool]:
        """A buffer for integer rows, with the coordinates in lattice steps, rounded; and whether no row is lost."""
        steps = self.scratch.integers(tile.stop - tile.start, self.rows, by_columns=True)
        return steps, min(rounder(tile, steps.T[here]) for here, rounder in rounders)

    def placed(
        self, cells: Sequence[NDArray[Any]], tile: slice, kernels: Any, array: NDArray[Any] | None = None
    ) -> PlacedRows:
        """A tile of rows, for kernels that place them.

        Args:
            cells: the columns of the block.
            tile: the rows.
            kernels: `dpframe.reading.kernels`.
            array: the same rows, if the kernels can read their cells row by row.
        """
        some = [column[tile] for column in cells]

        def values(indices: IntArray) -> FloatArray:
            return self.coordinates([column[indices] for column in some], slice(None), "skipped rows")[0]

        if array is not None:
            return PlacedRows.of_array(array, self.vectors, self.rows, values, kernels)
        columns = [column for which, _, part in self.parts for column in part.for_kernel(some[which])]
        return PlacedRows.of_columns(columns, self.vectors, self.rows, values, kernels)

    def coordinates(
        self, cells: Sequence[NDArray[Any]], tile: slice, use: str = "coordinates"
    ) -> tuple[FloatArray, bool]:
        """Coordinates of some rows, in the scratch buffer of this use, and whether none is NaN."""
        some = [column[tile] for column in cells]
        mapped = self.scratch.array(use, len(some[0]), self.rows.known_dim, by_columns=True)  # as the cells are
        values, complete = mapped.T, True
        with np.errstate(over="ignore", invalid="ignore"):
            for which, here, part in self.parts:
                complete &= part.fill(values[here], some[which])
        return mapped, complete

    def _lost(self, cells: Sequence[NDArray[Any]], tile: slice) -> NDArray[np.bool_]:
        """Which of some rows contribute nothing."""
        lost: NDArray[np.bool_] = np.logical_or.reduce(
            [part.lost([column[tile] for column in cells[which]]) for which, _, part in self.parts]
        )
        return lost

    def _within(self, complete: bool) -> bool:
        """Whether rows are known to be finite and within the norm.

        Without a norm in the promise, each column contributes at most 1 to the squared length, so they are unless a
        row is lost.
        """
        return complete and self.rows.norm is None and not self.rows.is_moved

    def rounders(self, cells: Sequence[NDArray[Any]], kernels: Any) -> list[tuple[slice, Rounder]]:
        """The rounders of a block, each with its coordinates."""
        scale = lattice.steps_per_unit(self.rows.known_dim, self.rows.length)
        return [(here, part.rounder(cells[which], scale, kernels)) for which, here, part in self.parts]


@attrs.frozen(repr=False, eq=False)
class KernelChunk(Chunk):
    """Rows of columns whose integers a kernel computes; coordinates are mapped only if a statistic reads them.

    Args:
        map: the map of the columns.
        cells: the columns of the block.
        tile: the rows of the block that are in this chunk.
    """

    _given: None = attrs.field(init=False, default=None)
    map: ColumnMap
    cells: Sequence[NDArray[Any]]
    tile: slice

    def __len__(self) -> int:
        count: int = self.tile.stop - self.tile.start
        return count

    def _coordinates(self) -> NDArray[Any]:
        return self.map.coordinates(self.cells, self.tile)[0]

    def _shortened(self, steps: FloatArray, *, within: bool = False) -> FloatArray:
        """Rounded coordinates in lattice steps, scaled down to the norm where they are longer, in place."""
        lost = None if within else lattice.shorten(steps[:, : self.rows.known_dim], lambda: self.values)
        set_constant(self.rows, steps, lost)
        return steps


@attrs.frozen(repr=False, eq=False)
class RoundedChunk(KernelChunk):
    """Columns that a kernel has rounded.

    Args:
        steps: a buffer for integer rows that holds the coordinates in lattice steps, rounded.
        within: whether every row is known to be finite and no longer than the promise states.
    """

    steps: FloatArray = attrs.field(kw_only=True)
    within: bool = attrs.field(kw_only=True)

    def _to_lattice(self) -> FloatArray:
        return self._shortened(self.steps, within=self.within)


@attrs.frozen(repr=False, eq=False)
class NormedChunk(KernelChunk):
    """Columns with a norm beside them, or placed, that kernels map, round and sum in one go.

    Args:
        kernels: `dpframe.reading.kernels`.
        array: the same rows, if the kernels can read their cells row by row.
    """

    kernels: Any = attrs.field(kw_only=True)
    array: NDArray[Any] | None = attrs.field(default=None, kw_only=True)

    def placed(self) -> PlacedRows:
        """The rows, for kernels that place them."""
        return self.map.placed(self.cells, self.tile, self.kernels, self.array)

    def add_gram(self, total: IntArray) -> None:
        self.placed().add_gram(total)

    def length_counts(self, grid: Grid) -> IntArray:
        return self.placed().length_counts(grid)

    def _to_lattice(self) -> FloatArray:
        return self._shortened(self.map.in_steps(self.tile, self.map.rounders(self.cells, self.kernels))[0])


@attrs.frozen(repr=False, eq=False)
class Int16Chunk(KernelChunk):
    """Columns whose integers fit in 16 bits.

    Args:
        integer_rows: the integers.
        contributing: the number of rows that contribute.
    """

    integer_rows: int16.Int16Rows = attrs.field(kw_only=True)
    contributing: int = attrs.field(kw_only=True)

    def add_gram(self, total: IntArray) -> None:
        self.integer_rows.add_gram(total)

    def total(self) -> IntArray:
        return self.integer_rows.total()

    def count(self) -> int:
        return self.contributing

    def _to_lattice(self) -> FloatArray:
        integers = self.map.scratch.integers(len(self), self.rows, by_columns=True)
        self.integer_rows.widen(integers)
        return integers


@attrs.frozen(repr=False, eq=False)
class Int16ArrayChunk(KernelChunk):
    """Columns whose integers fit in 16 bits and whose cells stand row by row. They are turned into columns of integers
    only for what needs these.

    Args:
        array: the rows.
        kernels: `dpframe.reading.kernels`.
    """

    array: NDArray[Any] = attrs.field(kw_only=True)
    kernels: Any = attrs.field(kw_only=True)
    _sums: tuple[IntArray, int] | None = attrs.field(default=None, init=False)

    def add_gram(self, total: IntArray) -> None:
        self._as_columns().add_gram(total)

    def total(self) -> IntArray:
        return self._sum_and_count()[0]

    def count(self) -> int:
        return self._sum_and_count()[1]

    def _sum_and_count(self) -> tuple[IntArray, int]:
        """The sum of the integer rows and the number of rows that contribute, which a kernel finds together."""
        if self._sums is None:
            kind = KernelKind.NORMED_COLUMNS
            kernels = kernel_loader.loader.kernels(kind, self.array.size, expected=self.map.expected)
            if kernels:
                sums = self.map.placed(self.cells, self.tile, kernels, self.array).sum_and_count()
            else:
                columns = self._as_columns()
                sums = columns.total(), columns.count()
            object.__setattr__(self, "_sums", sums)
        assert self._sums is not None  # set above
        return self._sums

    def _as_columns(self) -> Chunk:
        cells = list(np.ascontiguousarray(self.array.T))
        return self.map.rounded_chunk(cells, self.tile, self.map.rounders(cells, self.kernels), self.kernels)

    def _to_lattice(self) -> FloatArray:
        return self._as_columns().integers()
