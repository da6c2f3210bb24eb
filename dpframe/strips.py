"""Compiled code for large tables: strips of cells, one for each column, to lattice integers, and the sums of these.

The operations on a cell are those of `dpframe.mapping` and `dpframe.lattice.integer_rows`, in the same order, and sums
are sums of integers that cannot overflow, so that every bit is the same as by NumPy.
"""

from __future__ import annotations

import math
import sys
from functools import reduce
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from dpframe import narrow
from dpframe.compiled import compiled
from dpframe.lattice import FloatArray, IntArray

LARGEST = sys.float_info.max

LANES = 16
"""That of `dpframe.narrow`, said again: compiled code is kept on disk for as long as this file does not change."""
if LANES != narrow.LANES:
    raise ImportError(f"strips of {narrow.LANES} lanes are not those of {LANES} that this is compiled for")

BLOCK = 3
"""Products of so many strips with as many others are summed at once: nine sums and their factors fit in registers."""

PASS = 2048
"""Rows whose strips stay in the first cache while all blocks go over them."""


def _in_llvm(function: Any) -> Any:
    """A function that compiled code calls without the first argument, which is Numba's."""
    return intrinsic(function)


def _cells_at(kind: Any) -> Any:
    """Cells of a type, by the address of the first."""

    @_in_llvm
    def pointer(_: Any, address: Any) -> Any:
        found = types.CPointer(kind)  # type: ignore[no-untyped-call]

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(found))

        return found(address), code

    return pointer


_singles, _doubles = _cells_at(types.float32), _cells_at(types.float64)


@numba.njit(nogil=True, error_model="numpy")
def strip(cells: NDArray[Any], integers: NDArray[Any], column: FloatArray, scale: float) -> bool:
    """Round the coordinates of the cells of a column; whether every cell is finite."""
    middle, half, low, high, missing = column[0], column[1], column[2], column[3], column[4]
    lost = 0
    for i in range(len(cells)):
        cell = np.float64(cells[i])
        value = (cell - middle) / half
        value = low if value < low else value
        value = high if value > high else value
        finite = abs(cell) <= LARGEST
        value = value if finite else missing
        lost += not finite
        integers[i] = np.rint(value * scale)
    return lost == 0


def round_strips(
    addresses: NDArray[np.uint64],
    single: NDArray[np.bool_],
    count: int,
    columns: FloatArray,
    scale: float,
    integers: NDArray[Any],
) -> bool:
    """Round the coordinates of columns to the lattice.

    Args:
        addresses: of the first cell of each column, aligned, with the others behind it.
        single: of each column, whether its cells are in single precision; otherwise they are doubles.
        count: how many cells there are in each column.
        columns: a row of each: the middle of its range, half its width, and the images of its low end, of its high end
            and of a cell that is not finite.
        scale: lattice steps per unit.
        integers: a row for each column, where coordinates · scale go, rounded, and zeros behind the last cell.

    Returns:
        Whether all coordinates are numbers. If not, narrow integers are not to be used.
    """
    complete = True
    for j in range(len(addresses)):
        if single[j]:
            finite = strip(carray(_singles(addresses[j]), count), integers[j], columns[j], scale)
        else:
            finite = strip(carray(_doubles(addresses[j]), count), integers[j], columns[j], scale)
        complete &= finite or math.isfinite(columns[j, 4])
        integers[j, count:] = 0
    return complete


_CELLS = (types.uint64[::1], types.boolean[::1], types.int64, types.float64[:, ::1], types.float64)

ROUND: dict[np.dtype[Any], Any] = {
    np.dtype(np.float64): compiled(*_CELLS, types.float64[:, ::1])(round_strips),
    np.dtype(np.int16): compiled(*_CELLS, types.int16[:, ::1])(round_strips),
}
"""The map to each type of integers."""


@_in_llvm
def _products(_: Any, first: Any, second: Any, stride: Any, count: Any, steps: Any, sums: Any) -> Any:
    """The sums over rows of products of strips, two by two.

    Compilers do not find the instruction that multiplies 16-bit integers, adds pairs of products and puts twice as many
    of them in a register as there are doubles, so this is spelled out in vectors, of any machine.

    Args:
        first: the address of the first of BLOCK strips of int16.
        second: the same of BLOCK strips to multiply them with.
        stride: from a strip to the next, in bytes.
        count: of rows, a multiple of LANES.
        steps: how many times LANES products may be added, in pairs, to 32-bit sums.
        sums: the address of BLOCK² 64-bit integers, which are overwritten.
    """
    integer, long = ir.IntType(32), ir.IntType(64)
    pairs = [(i, j) for i in range(BLOCK) for j in range(BLOCK)]
    cells, wide = ir.VectorType(ir.IntType(16), LANES), ir.VectorType(integer, LANES)
    half, total = ir.VectorType(integer, LANES // 2), ir.VectorType(long, LANES // 2)
    even, odd = (ir.Constant(half, list(range(start, LANES, 2))) for start in (0, 1))

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first, second, stride, count, steps, sums = arguments
        few, many = ([cgutils.alloca_once(builder, kind) for _ in pairs] for kind in (half, total))  # type: ignore[no-untyped-call]

        def loaded(strips: Any, number: int, row: Any) -> Any:
            offset = builder.add(builder.mul(stride, long(number)), builder.mul(row, long(2)))
            address = builder.inttoptr(builder.add(strips, offset), cells.as_pointer())
            return builder.sext(builder.load(address, align=2), wide)

        def in_pairs(products: Any) -> Any:
            return builder.add(*(builder.shuffle_vector(products, wide(ir.Undefined), which) for which in (even, odd)))

        def add(value: Any, place: Any) -> None:
            builder.store(builder.add(builder.load(place), value), place)

        for place in many:
            builder.store(total(None), place)
        most = builder.mul(steps, long(LANES))
        with cgutils.for_range_slice(builder, long(0), count, most, inc=True) as (start, _):
            for place in few:
                builder.store(half(None), place)
            end = builder.add(start, most)
            stop = builder.select(builder.icmp_signed("<", end, count), end, count)
            with cgutils.for_range_slice(builder, start, stop, long(LANES), inc=True) as (row, _):
                left = [loaded(first, i, row) for i in range(BLOCK)]
                right = [loaded(second, j, row) for j in range(BLOCK)]
                for (i, j), place in zip(pairs, few, strict=True):
                    add(in_pairs(builder.mul(left[i], right[j])), place)
            for small, large in zip(few, many, strict=True):
                add(builder.sext(builder.load(small), total), large)
        for number, place in enumerate(many):
            vector = builder.load(place)
            parts = [builder.extract_element(vector, integer(lane)) for lane in range(LANES // 2)]
            address = builder.inttoptr(builder.add(sums, long(8 * number)), long.as_pointer())
            builder.store(reduce(builder.add, parts), address)
        return context.get_dummy_value()

    address, number = types.uint64, types.int64
    return types.void(address, address, number, number, number, address), code


@compiled(types.int16[:, ::1], types.int64, types.int64[::1], types.int64[:, ::1])
def add_products(strips: NDArray[np.int16], steps: int, weights: IntArray, total: IntArray) -> None:
    """Add the products of narrow strips, each with each, summed over the rows.

    Args:
        strips: at least BLOCK strips, of a multiple of LANES rows.
        steps: 2 · steps · (the largest integer)² is below 2³¹.
        weights: what the integers of each strip are to be multiplied with.
        total: what the sums are added to; both halves of it.
    """
    width, rows = strips.shape
    sums = np.empty(BLOCK * BLOCK, dtype=np.int64)
    first, stride = np.uint64(strips.ctypes.data), 2 * rows
    for start in range(0, rows, PASS):
        count = min(PASS, rows - start)
        for i in range(0, width, BLOCK):
            left = min(i, width - BLOCK)  # the last block may begin with strips that were summed before
            for j in range(0, i + 1, BLOCK):
                right = min(j, width - BLOCK)
                _products(
                    first + np.uint64(left * stride + 2 * start),
                    first + np.uint64(right * stride + 2 * start),
                    stride,
                    count,
                    steps,
                    np.uint64(sums.ctypes.data),
                )
                for a in range(max(i, left), left + BLOCK):
                    for b in range(max(j, right), min(right + BLOCK, a + 1)):
                        found = sums[(a - left) * BLOCK + b - right] * weights[a] * weights[b]
                        total[a, b] += found
                        if a != b:
                            total[b, a] += found


def check() -> None:
    """Raise unless compiled code works here, and gives what NumPy gives."""
    cells = np.linspace(-3.0, 3.0, 2 * LANES + 1)
    columns = np.array([[0.5, 2.0, -1.0, 1.0, 0.0]] * BLOCK)
    expected = np.rint(np.clip((cells - 0.5) / 2.0, -1.0, 1.0) * 100.0)
    strips: NDArray[Any] = np.ones((BLOCK, 3 * LANES), dtype=np.int16)
    for dtype, rounding in ROUND.items():
        integers = strips.astype(dtype)
        addresses = np.full(BLOCK, cells.ctypes.data, dtype=np.uint64)
        complete = rounding(addresses, np.zeros(BLOCK, dtype=np.bool_), len(cells), columns, 100.0, integers)
        if not complete or (integers[:, : len(cells)] != expected).any() or integers[:, len(cells) :].any():
            raise RuntimeError("compiled code does not round as NumPy does")
        strips = integers.astype(np.int16)
    total = np.zeros((BLOCK, BLOCK), dtype=np.int64)
    add_products(strips, 4, np.ones(BLOCK, dtype=np.int64), total)
    if (total != np.dot(expected, expected)).any():
        raise RuntimeError("compiled code does not sum as NumPy does")
