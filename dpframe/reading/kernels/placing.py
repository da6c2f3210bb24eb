"""Cells of columns to rows of coordinates: mapped, taken about a center, divided by scales or multiplied by a matrix.

Cells are read column by column, or row by row where an array has them so. Rows of coordinates are written in whole
vectors, with zeros after the last coordinate.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numpy.typing import NDArray

from dpframe.jit import compiled_part
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading.kernels.buffers import PAIRS
from dpframe.reading.kernels.pairs import MAGIC, SHORT
from dpframe.reading.kernels.vectors import (
    DOUBLE,
    INTEGER,
    LANES,
    LONG,
    address_of,
    doubles_at,
    folded,
    in_llvm,
    masked,
    prefetch,
    singles_at,
    spread,
    transpose_doubles,
)
from dpframe.reading.scratch import zeros_in_lines

LARGEST = sys.float_info.max

MOST = 2 * PAIRS
"""Rows that are placed at a time."""

TALL = 8
"""Rows that are mapped, measured or multiplied by the matrix at a time: what they share, or their sums, stay in
registers."""

AHEAD = 2 * TALL
"""Rows from those that are mapped to those that are fetched from memory meanwhile."""

VECTOR = ir.VectorType(DOUBLE, LANES)


class Cells(NamedTuple):
    """Where the cells of some rows are."""

    addresses: NDArray[np.uint64]  # of the first cell of each column; if they stand row by row, of the first row
    single: NDArray[np.bool_]  # for each of these, whether its cells are in single precision rather than double
    stride: int  # from one row to the next, in bytes, if cells stand row by row; 0 if columns are contiguous
    rows: int  # how many there are


class Map(NamedTuple):
    """How a row of cells becomes a row of coordinates."""

    columns: FloatArray  # five rows, in whole vectors: see `placing`
    numbers: FloatArray  # lattice steps per unit before the linear map, and the coordinate for a product of 1
    matrix: FloatArray  # integers, in whole vectors; no rows if there is no linear map
    depths: IntArray  # for each vector of its columns, the number of rows of it after which there are only zeros


class Rooms(NamedTuple):
    """The buffers of one kernel call."""

    coordinates: FloatArray  # LANES columns of coordinates, before they are transposed
    rows: FloatArray  # rows of coordinates
    products: FloatArray  # rows multiplied by the matrix
    squares: FloatArray  # squared lengths of rows

    @classmethod
    def of(cls, dim: int) -> Rooms:
        """Buffers for rows of this many coordinates."""
        words = -(-dim // LANES) * LANES
        shapes = (LANES, MOST), (MOST, words), (MOST, words), (MOST,)
        return cls(*map(zeros_in_lines, shapes))


CELLS = numba.typeof(Cells(np.zeros(1, np.uint64), np.zeros(1, np.bool_), 0, 0))  # type: ignore[no-untyped-call]
MAP = numba.typeof(Map(np.zeros((5, 1)), np.zeros(2), np.zeros((1, 1)), np.zeros(1, np.int64)))  # type: ignore[no-untyped-call]
ROOMS = numba.typeof(Rooms.of(1))  # type: ignore[no-untyped-call]


def _at(builder: Any, address: Any, offset: Any) -> Any:
    """A pointer to the vector of doubles this many bytes behind an address."""
    return builder.inttoptr(builder.add(address, offset), VECTOR.as_pointer())


def _load(builder: Any, address: Any, offset: Any) -> Any:
    return builder.load(_at(builder, address, offset), align=8)


def _rounded(builder: Any, values: Any) -> Any:
    """Values below 2⁵¹ in size, rounded, ties to even; anything else stays as large, or no number."""
    magic = ir.Constant(VECTOR, [MAGIC] * LANES)
    return builder.fsub(builder.fadd(values, magic), magic)


def _clipped(builder: Any, values: Any, low: Any, high: Any) -> Any:
    """Values between two bounds; what is no number stays so."""
    values = builder.select(builder.fcmp_ordered("<", values, low), low, values)
    return builder.select(builder.fcmp_ordered(">", values, high), high, values)


def _placing(*, single: bool) -> Any:
    """An intrinsic that maps TALL rows of contiguous floats or doubles."""

    @in_llvm
    def place_rows(_: Any, cells: Any, stride: Any, last: Any, dim: Any, columns: Any, across: Any, target: Any) -> Any:
        """Map the cells of TALL rows to coordinates.

        Args:
            cells: the address of the first row.
            stride: from one row to the next, in bytes.
            last: the index of the last row that there is, which is repeated up to TALL rows.
            dim: the number of cells of a row.
            columns: the address of five rows of numbers, one for each column: the middle of its range, the inverse of
                half its width, and the images of its low end, of its high end and of a cell that is not finite.
            across: from one of these rows to the next, in bytes; also of the coordinates.
            target: the address of the coordinates, which are written in whole vectors.
        """
        words = ir.VectorType(INTEGER, LANES)
        floats, size = (ir.VectorType(ir.FloatType(), LANES), 4) if single else (VECTOR, 8)
        lanes = ir.Constant(words, list(range(LANES)))
        largest, least = (ir.Constant(VECTOR, [each] * LANES) for each in (LARGEST, -LARGEST))

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            cells, stride, last, dim, columns, across, target = arguments
            starts = []
            for row in range(TALL):
                there = builder.select(builder.icmp_signed("<", LONG(row), last), LONG(row), last)
                starts.append(builder.add(cells, builder.mul(there, stride)))
            targets = [builder.add(target, builder.mul(across, LONG(row))) for row in range(TALL)]

            def place_some(column: Any, load: Callable[[Any], Any]) -> None:
                offset = builder.mul(column, LONG(8))
                middle, rate, low, high, missing = (
                    _load(builder, columns, builder.add(offset, builder.mul(across, LONG(row)))) for row in range(5)
                )
                for start, place in zip(starts, targets, strict=True):
                    here = builder.add(start, builder.mul(column, LONG(size)))
                    prefetch(builder, builder.add(here, builder.mul(stride, LONG(AHEAD))))
                    values = load(here)
                    values = builder.fpext(values, VECTOR) if single else values
                    image = _clipped(builder, builder.fmul(builder.fsub(values, middle), rate), low, high)
                    finite = builder.and_(
                        builder.fcmp_ordered("<=", values, largest), builder.fcmp_ordered(">=", values, least)
                    )
                    builder.store(builder.select(finite, image, missing), _at(builder, place, offset), align=8)

            def load_all(address: Any) -> Any:
                return builder.load(builder.inttoptr(address, floats.as_pointer()), align=size)

            def load_last(address: Any) -> Any:
                left = spread(builder, builder.trunc(builder.sub(dim, whole), INTEGER), words)
                return masked(builder, address, floats, size, builder.icmp_signed("<", lanes, left))

            whole = builder.and_(dim, LONG(-LANES))
            with cgutils.for_range_slice(builder, LONG(0), whole, LONG(LANES), inc=True) as (column, _):
                place_some(column, load_all)
            with builder.if_then(builder.icmp_signed("<", whole, dim)):
                place_some(whole, load_last)
            return context.get_dummy_value()

        address, number = types.uint64, types.int64
        return types.void(address, number, number, number, address, number, address), code

    return place_rows


_place_singles, _place_doubles = _placing(single=True), _placing(single=False)


def _measuring(*, write: bool) -> Any:
    """An intrinsic that rounds TALL rows of coordinates to a lattice and gives their squared lengths."""

    @in_llvm
    def measure(_: Any, rows: Any, across: Any, words: Any, scale: Any, limit: Any, squares: Any) -> Any:
        """Multiply the coordinates of rows, clip them to ±limit, round them, and add up their squares.

        Args:
            rows: the address of the first row, which are overwritten by the integers if ``write``.
            across: from one row to the next, in bytes.
            words: the number of coordinates, in whole vectors.
            scale: what they are multiplied by.
            limit: an integer below 2⁵¹, or infinity.
            squares: the address of the squared lengths, which are written.
        """

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows, across, words, scale, limit, squares = arguments
            steps, high = spread(builder, scale, VECTOR), spread(builder, limit, VECTOR)
            low = builder.fneg(high)
            starts = [builder.add(rows, builder.mul(across, LONG(row))) for row in range(TALL)]
            sums = [cgutils.alloca_once_value(builder, VECTOR(None)) for _ in range(TALL)]  # type: ignore[no-untyped-call]
            with cgutils.for_range_slice(builder, LONG(0), words, LONG(LANES), inc=True) as (column, _):
                offset = builder.mul(column, LONG(8))
                for row, total in zip(starts, sums, strict=True):
                    values = builder.fmul(_load(builder, row, offset), steps)
                    values = _rounded(builder, _clipped(builder, values, low, high))
                    if write:
                        builder.store(values, _at(builder, row, offset), align=8)
                    builder.store(builder.fadd(builder.load(total), builder.fmul(values, values)), total)
            for row, total in enumerate(sums):
                place = builder.inttoptr(builder.add(squares, LONG(8 * row)), DOUBLE.as_pointer())
                builder.store(folded(builder, builder.load(total), builder.fadd), place, align=8)
            return context.get_dummy_value()

        address, number = types.uint64, types.int64
        return types.void(address, number, number, types.float64, types.float64, address), code

    return measure


round_rows, measure_rows = _measuring(write=True), _measuring(write=False)


@in_llvm
def add_rows_of_integers(_: Any, rows: Any, across: Any, words: Any, total: Any) -> Any:
    """Add TALL rows to a total.

    Args:
        rows: the address of the first row.
        across: from one row to the next, in bytes.
        words: the number of coordinates, in whole vectors.
        total: the address of the total.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, across, words, total = arguments
        with cgutils.for_range_slice(builder, LONG(0), words, LONG(LANES), inc=True) as (column, _):
            offset = builder.mul(column, LONG(8))
            place = _at(builder, total, offset)
            added = builder.load(place, align=8)
            for row in range(TALL):
                there = builder.add(rows, builder.mul(across, LONG(row)))
                added = builder.fadd(added, _load(builder, there, offset))
            builder.store(added, place, align=8)
        return context.get_dummy_value()

    address, number = types.uint64, types.int64
    return types.void(address, number, number, address), code


@in_llvm
def _multiply(_: Any, rows: Any, across: Any, dim: Any, matrix: Any, stride: Any, unit: Any, products: Any) -> Any:
    """Multiply TALL rows of integers by a vector of columns of a matrix of integers, and the products by the unit.

    All sums are integers below 2⁵³, so it does not matter in which order they are added, and whether a product is
    rounded before it is added: it is exact.

    Args:
        rows: the address of the first row.
        across: from one row to the next, in bytes; also of the products.
        dim: the number of integers of a row that are multiplied, from the first on.
        matrix: the address of the vector in the first row of the matrix.
        stride: from one row of the matrix to the next, in bytes.
        unit: what the sums are multiplied by.
        products: the address of the vector in the first row of the products.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, across, dim, matrix, stride, unit, products = arguments
        fused = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, ir.FunctionType(VECTOR, [VECTOR] * 3), f"llvm.fmuladd.v{LANES}f64"
        )
        sums = [cgutils.alloca_once_value(builder, VECTOR(None)) for _ in range(TALL)]  # type: ignore[no-untyped-call]
        with cgutils.for_range_slice(builder, LONG(0), dim, LONG(1), inc=True) as (column, _):
            factors = _load(builder, matrix, builder.mul(column, stride))
            for row, total in enumerate(sums):
                offset = builder.add(builder.mul(across, LONG(row)), builder.mul(column, LONG(8)))
                place = builder.inttoptr(builder.add(rows, offset), DOUBLE.as_pointer())
                number = spread(builder, builder.load(place, align=8), VECTOR)
                builder.store(builder.call(fused, [number, factors, builder.load(total)]), total)
        units = spread(builder, unit, VECTOR)
        for row, total in enumerate(sums):
            place = _at(builder, products, builder.mul(across, LONG(row)))
            builder.store(builder.fmul(builder.load(total), units), place, align=8)
        return context.get_dummy_value()

    address, number = types.uint64, types.int64
    return types.void(address, number, number, address, number, types.float64, address), code


@compiled_part
def image(cell: float, middle: float, rate: float, low: float, high: float, missing: float) -> float:
    """The coordinate of a cell."""
    value = (cell - middle) * rate
    value = low if value < low else value
    value = high if value > high else value
    return value if abs(cell) <= LARGEST else missing


@compiled_part
def _map_column(cells: NDArray[Any], columns: FloatArray, j: int, values: FloatArray) -> None:
    """Map the cells of a column to coordinates."""
    middle, rate, low, high, missing = columns[0, j], columns[1, j], columns[2, j], columns[3, j], columns[4, j]
    for i in range(len(cells)):
        values[i] = image(np.float64(cells[i]), middle, rate, low, high, missing)


@compiled_part
def _place_columns(cells: Cells, start: int, some: int, columns: FloatArray, rooms: Rooms) -> None:
    """Write rows of coordinates from columns of cells."""
    dim, across = len(cells.addresses), 8 * rooms.rows.shape[1]
    for first in range(0, dim, LANES):
        for j in range(first, first + LANES):
            if j >= dim:
                rooms.coordinates[j - first] = 0.0
                continue
            here = cells.addresses[j] + np.uint64((4 if cells.single[j] else 8) * start)
            if cells.single[j]:
                _map_column(carray(singles_at(here), some), columns, j, rooms.coordinates[j - first])
            else:
                _map_column(carray(doubles_at(here), some), columns, j, rooms.coordinates[j - first])
        for k in range(0, some, LANES):
            there = address_of(rooms.rows) + np.uint64(across * k + 8 * first)
            transpose_doubles(address_of(rooms.coordinates) + np.uint64(8 * k), 8 * MOST, there, across)


@compiled_part
def _place_rows(cells: Cells, start: int, some: int, dim: int, columns: FloatArray, rooms: Rooms) -> None:
    """Write rows of coordinates from rows of cells."""
    across = 8 * rooms.rows.shape[1]
    for k in range(0, some, TALL):
        here = cells.addresses[0] + np.uint64((start + k) * cells.stride)
        there = address_of(rooms.rows) + np.uint64(k * across)
        if cells.single[0]:
            _place_singles(here, cells.stride, some - k - 1, dim, address_of(columns), across, there)
        else:
            _place_doubles(here, cells.stride, some - k - 1, dim, address_of(columns), across, there)


@compiled_part
def _multiply_rows(some: int, how: Map, rooms: Rooms) -> None:
    """Round rows to the lattice, and multiply them by the matrix.

    A row that is lost, or too long for the lattice, gets a coordinate that is no number.
    """
    words, across = rooms.rows.shape[1], 8 * rooms.rows.shape[1]
    scale, unit = how.numbers[0], how.numbers[1]
    for first in range(0, some, TALL):
        here = address_of(rooms.rows) + np.uint64(first * across)
        there = address_of(rooms.products) + np.uint64(first * across)
        round_rows(here, across, words, scale, math.inf, address_of(rooms.squares) + np.uint64(8 * first))
        for j in range(0, words, LANES):
            column = np.uint64(8 * j)
            depth = how.depths[j // LANES]
            _multiply(here, across, depth, address_of(how.matrix) + column, across, unit, there + column)
        for k in range(TALL):
            if not rooms.squares[first + k] <= SHORT:
                rooms.products[first + k, 0] = math.nan


@compiled_part
def place(cells: Cells, start: int, some: int, dim: int, how: Map, rooms: Rooms) -> FloatArray:
    """Coordinates of at most MOST rows, the first of which has index ``start``, in one of the buffers.

    A row with a coordinate that is no number is lost, or left to NumPy.
    """
    if cells.stride:
        _place_rows(cells, start, some, dim, how.columns, rooms)
    else:
        _place_columns(cells, start, some, how.columns, rooms)
    if len(how.matrix):
        _multiply_rows(some, how, rooms)
        return rooms.products
    return rooms.rows
