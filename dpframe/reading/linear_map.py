"""Rows multiplied by a released matrix, exactly: a function of the row and of released numbers alone.

A matrix product in floating point gives a row different last bits depending on its place in the block. So rows about
their center are rounded to the lattice first, and the matrix to a multiple of a power of two that is public, given the
matrix. Products and their partial sums are then integers of at most 2¹⁶ · 2³⁵ · (1 + √d · 2⁻³⁵) < 2⁵³, by the
inequality of Cauchy and Schwarz, and exact in any order. What follows is elementwise, as for other rows: the norm, and
every sensitivity with it, is enforced after the map.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

from dpframe import lattice
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading.chunk import Chunk, Grid, MappedChunk, rounded
from dpframe.reading.column_map import NormedChunk
from dpframe.reading.placed_rows import PlacedRows, depths, in_vectors
from dpframe.reading.scratch import Scratch
from dpframe.spec.rows import Rows

BITS = 35
"""Of the longest column of the matrix."""

LEAST = 2.0**-510
"""Smaller numbers of a matrix are 0: the root of the sum of their squares would be too small. They are far below the
lattice step of any norm."""

MOST_COMPILED = 128
"""The most coordinates for which rows are multiplied by a compiled kernel; larger matrices are left to BLAS."""


def integer_matrix(matrix: FloatArray) -> tuple[FloatArray, float]:
    """The matrix in integers, and their unit, a power of two.

    Args:
        matrix: finite numbers.

    >>> integers, unit = integer_matrix(np.array([[0.75, 0.0], [0.0, 3.0]]))
    >>> (integers * unit).tolist(), float(integers.max()) <= 2.0**BITS
    ([[0.75, 0.0], [0.0, 3.0]], True)
    """
    matrix = np.where(np.abs(matrix) < LEAST, 0.0, matrix)
    longest = float(np.sqrt(np.square(matrix).sum(axis=0)).max(initial=0.0))
    unit = 2.0 ** (math.frexp(longest)[1] - BITS) if longest > 0.0 else 1.0
    return np.rint(matrix / unit), unit


@attrs.frozen(eq=False)
class LinearMapper:
    """Maps raw rows to rows about their center, multiplied by a matrix.

    Args:
        rows: the promise.
        inner: maps raw rows to those before the linear map, with a constant coordinate.
        integers: the matrix.
        unit: the coordinate for a product of 1.
        scratch: the buffers of one worker.
        vectors: the matrix for kernels.
        depths: of the matrix, so that a triangular one takes half the products.
    """

    rows: Rows
    inner: Callable[[Any], Iterator[Chunk]]
    integers: FloatArray
    unit: float
    scratch: Scratch
    vectors: FloatArray
    depths: IntArray

    @classmethod
    def of(cls, rows: Rows, inner: Callable[[Rows, Scratch], Any], scratch: Scratch) -> LinearMapper:
        """The map of a promise.

        Args:
            rows: the promise, with its matrix known.
            inner: makes the map of a promise without one, with buffers of its own.
            scratch: the buffers of one worker.
        """
        before = attrs.evolve(rows.before_linear, center=True)
        integers, unit = integer_matrix(rows.multiplied)
        vectors = in_vectors(integers)
        inner_map = inner(before, scratch.part())
        return cls(rows, inner_map, integers, unit * before.step, scratch, vectors, depths(vectors))

    def __call__(self, raw: Any) -> Iterator[Chunk]:
        """The chunks of a block of raw rows."""
        for chunk in self.inner(raw):
            if isinstance(chunk, NormedChunk) and self.rows.known_dim <= MOST_COMPILED:
                yield LinearChunk(self.rows, self, chunk)
            else:
                yield MappedChunk(self.rows, self.product(chunk.integers()), scratch=self.scratch)

    def placed(self, before: PlacedRows) -> PlacedRows:
        """Rows before the linear map to rows after it, for kernels."""

        def values(indices: IntArray) -> FloatArray:
            return self.product(Chunk(before.rows, before.values(indices)).integers(), "skipped rows")

        scale = lattice.steps_per_unit(self.rows.known_dim, before.rows.length)
        numbers = np.array([scale, self.unit])
        return attrs.evolve(
            before, rows=self.rows, values=values, numbers=numbers, matrix=self.vectors, depths=self.depths
        )

    def product(self, before: FloatArray, use: str = "linear") -> FloatArray:
        """The coordinates of rows that are given as integers with a constant, which is 0 where a row is lost.

        They are in the scratch buffer of this use.
        """
        count, dim = len(before), self.rows.known_dim
        product = self.scratch.array(use, count, dim, by_columns=True)
        np.matmul(self.integers.T, before[:, :dim].T, out=product.T)
        product *= self.unit
        lost = before[:, dim] == 0.0
        if lost.any():
            product[lost] = np.nan
        return product


@attrs.frozen(repr=False, eq=False)
class LinearChunk(Chunk):
    """Rows that kernels place, multiply by a matrix and sum in one go.

    Args:
        map: the linear map.
        before: the same rows before it.
    """

    _given: None = attrs.field(init=False, default=None)
    map: LinearMapper
    before: NormedChunk

    def __len__(self) -> int:
        return len(self.before)

    def add_gram(self, total: IntArray) -> None:
        self.map.placed(self.before.placed()).add_gram(total)

    def length_counts(self, grid: Grid) -> IntArray:
        return self.map.placed(self.before.placed()).length_counts(grid)

    def _coordinates(self) -> FloatArray:
        return self.map.product(self.before.integers())

    def _to_lattice(self) -> FloatArray:
        return rounded(self.rows, self.values, self.map.scratch)
