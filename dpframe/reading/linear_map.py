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

from dpframe.lattice import FloatArray
from dpframe.reading.chunk import Chunk, MappedChunk
from dpframe.reading.scratch import Scratch
from dpframe.spec.rows import Rows

BITS = 35
"""Of the longest column of the matrix."""


def integer_matrix(matrix: FloatArray) -> tuple[FloatArray, float]:
    """The matrix in integers, and their unit, a power of two.

    Args:
        matrix: finite numbers.

    >>> integers, unit = integer_matrix(np.array([[0.75, 0.0], [0.0, 3.0]]))
    >>> (integers * unit).tolist(), float(integers.max()) <= 2.0**BITS
    ([[0.75, 0.0], [0.0, 3.0]], True)
    """
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
    """

    rows: Rows
    inner: Callable[[Any], Iterator[Chunk]]
    integers: FloatArray
    unit: float
    scratch: Scratch

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
        return cls(rows, inner(before, scratch.part()), integers, unit * before.step, scratch)

    def __call__(self, raw: Any) -> Iterator[Chunk]:
        """The chunks of a block of raw rows."""
        for chunk in self.inner(raw):
            yield MappedChunk(self.rows, self._product(chunk.integers()), scratch=self.scratch)

    def _product(self, before: FloatArray) -> FloatArray:
        """The coordinates of rows that are given as integers with a constant, which is 0 where a row is lost."""
        count, dim = len(before), self.rows.known_dim
        product = self.scratch.array("linear", count, dim, by_columns=True)
        np.matmul(self.integers.T, before[:, :dim].T, out=product.T)
        product *= self.unit
        lost = before[:, dim] == 0.0
        if lost.any():
            product[lost] = np.nan
        return product
