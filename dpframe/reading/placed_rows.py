"""Rows of columns that compiled kernels place and sum in one go, cells to sums.

The kernels leave out rows whose cells are no numbers, or that are too long for exact arithmetic in the fast way. NumPy
computes those, one by one: a row's integers depend on that row alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import lattice
from dpframe.display.redacted import Redacted
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading import int16
from dpframe.reading.affine_map import ColumnPointers
from dpframe.reading.chunk import Chunk, Grid
from dpframe.reading.scratch import zeros_in_lines
from dpframe.spec.rows import Rows

LANES = 8
"""The kernels read numbers in vectors of this many."""


def in_vectors(matrix: FloatArray) -> FloatArray:
    """The matrix with columns of zeros up to a whole vector."""
    rows, columns = matrix.shape
    padded = zeros_in_lines((rows, columns + -columns % LANES))
    padded[:, :columns] = matrix
    return padded


def depths(matrix: FloatArray) -> IntArray:
    """For each vector of columns, the number of rows of the matrix after which there are only zeros.

    Args:
        matrix: in whole vectors.

    >>> depths(in_vectors(np.triu(np.ones((10, 10))))).tolist()
    [8, 10]
    """
    here = np.any(matrix.reshape(len(matrix), -1, LANES) != 0.0, axis=2)
    return np.asarray((here * np.arange(1, len(matrix) + 1)[:, None]).max(axis=0, initial=0), dtype=np.int64)


@attrs.frozen(repr=False, eq=False)
class PlacedRows(Redacted):
    """Some rows of cells, and how they become coordinates.

    Args:
        rows: the promise.
        cells: where the cells are, for the kernels.
        holds: what keeps them there.
        images: the map of the columns, (5, coordinates), in vectors.
        values: gives the coordinates of rows by their indices.
        kernels: `dpframe.reading.kernels`.
        numbers: lattice steps per unit before the linear map, and the coordinate for a product of 1.
        matrix: the linear map in integers, in vectors; no rows if there is none.
        depths: those of the matrix.
    """

    rows: Rows
    cells: Any
    holds: Any
    images: FloatArray
    values: Callable[[IntArray], NDArray[Any]]
    kernels: Any
    numbers: FloatArray = attrs.field(factory=lambda: np.ones(2))
    matrix: FloatArray = attrs.field(factory=lambda: np.zeros((0, LANES)))
    depths: IntArray = attrs.field(factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def of_columns(
        cls, columns: Sequence[NDArray[Any]], images: FloatArray, rows: Rows, values: Any, kernels: Any
    ) -> PlacedRows:
        """Rows whose cells stand column by column."""
        pointers = ColumnPointers.of(columns)
        cells = kernels.Cells(*pointers.at(slice(None))[:2], 0, len(columns[0]))
        return cls(rows, cells, pointers, images, values, kernels)

    @classmethod
    def of_array(cls, array: NDArray[Any], images: FloatArray, rows: Rows, values: Any, kernels: Any) -> PlacedRows:
        """Rows whose cells stand row by row, in an array of which `reads_by_rows` is true."""
        start = np.array([array.__array_interface__["data"][0]], dtype=np.uint64)
        cells = kernels.Cells(start, np.array([array.itemsize == 4]), array.strides[0], len(array))
        return cls(rows, cells, array, images, values, kernels)

    @property
    def _how(self) -> Any:
        return self.kernels.Map(self.images, self.numbers, self.matrix, self.depths)

    def add_gram(self, total: IntArray) -> None:
        """Add the exact Gram matrix of the integer rows, with the constant coordinate."""
        add = partial(self.kernels.add_placed, self.cells, self._how)
        int16.add_gram_with_fallback(add, self.cells.rows, self.rows, self.values, total)

    def length_counts(self, grid: Grid) -> IntArray:
        """See `Chunk.length_counts`."""
        counts, skipped_rows = np.zeros(len(grid.squares) + 1, dtype=np.int64), np.empty(self.cells.rows, np.int64)
        how = self.rows.known_dim, grid.per_unit, grid.last + 1.0, grid.squares
        skipped = self.kernels.count_lengths(self.cells, self._how, *how, counts, skipped_rows)
        if skipped:
            counts += Chunk(self.rows, self.values(skipped_rows[:skipped])).length_counts(grid)
        return counts

    def sum_and_count(self) -> tuple[IntArray, int]:
        """The sum of the integer rows, without the constant coordinate, and the number of rows that contribute."""
        dim, skipped_rows = self.rows.known_dim, np.empty(self.cells.rows, dtype=np.int64)
        scale = lattice.steps_per_unit(dim, self.rows.length)
        total, skipped = self.kernels.sum_placed(self.cells, self._how, dim, scale, skipped_rows)
        if not skipped:
            return total, self.cells.rows
        others = Chunk(self.rows, self.values(skipped_rows[:skipped]))
        return total + others.total(), self.cells.rows - skipped + others.count()


def reads_by_rows(array: NDArray[Any]) -> bool:
    """Whether the kernels can read the cells of an array row by row."""
    return int16.is_plain(array) and array.strides[1] == array.itemsize and array.strides[0] > 0
