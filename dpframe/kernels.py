"""Compiled code for large data: cells to lattice integers, and the sums of products of these.

The operations on a cell are those of `dpframe.mapping` and `dpframe.lattice`, in the same order, and sums are sums of
integers that cannot overflow, so that every bit is the same as by NumPy.

Products are of 16-bit integers, because one instruction multiplies many of them and adds them in pairs. Two rows that
follow each other are held as *pairs*: a word of 32 bits for each coordinate, with the integer of the first row in its
lower half and that of the second in its upper. Word times word is then the sum of two products.

All of it is in this file, since compiled code is kept on disk for as long as its own file does not change.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from dpframe import lattice
from dpframe.compiled import compiled
from dpframe.lattice import FloatArray, IntArray
from dpframe.narrow import Kind

LARGEST = sys.float_info.max

SHORT, MODERATE = 2.0**32, 2.0**52
if (SHORT, MODERATE) != (lattice.SHORT, lattice.MODERATE):
    raise ImportError("compiled code, which is kept on disk, is for rows of other lengths than those of the lattice")

PAIRS = 128
"""So many pairs of rows go through all products together: the words of a block stay in the first cache, and all of them
in the second."""

LANES = 8
"""Words in a vector."""

TALL = 6
"""Products of so many coordinates with one or two vectors of others are summed at once: sums and factors fit in the
registers of a core."""

LINE = 16
"""Words in a line of a cache."""

GROUP = 4
"""Products of fewer pairs between two carries take as long as those with both halves."""


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
def _start(array: NDArray[Any]) -> Any:
    """The address of an array."""
    return np.uint64(array.ctypes.data)


class Room(NamedTuple):
    """Memory for one call of compiled code."""

    pairs: NDArray[np.int32]  # of some rows, and of the high and the low halves of their integers
    sums: IntArray  # of products with high halves, and of those with low halves or with whole integers
    squares: NDArray[np.int32]  # for each GROUP of pairs, the largest sum of squares of a coordinate, in eighths
    places: NDArray[np.uint64]  # addresses of two rows, and of where their pairs and both halves go
    numbers: FloatArray  # factors of two rows, their squared lengths before that, and the largest these may be
    bits: NDArray[np.uint32]  # of two rows, from 2¹⁶ on where 16 do not hold one

    @classmethod
    def of(cls, width: int) -> Room:
        """For rows of so many coordinates. Rows of pairs take an odd number of lines, so that the words of a coordinate
        in many rows do not fall on the same place of a cache."""
        words = LINE * ((width + TALL + LINE - 2) // LINE | 1)
        return cls(
            pairs=np.zeros((3, PAIRS, words), dtype=np.int32),
            sums=np.zeros((2, width + TALL, words), dtype=np.int64),
            squares=np.zeros(PAIRS // GROUP, dtype=np.int32),
            places=np.zeros(5, dtype=np.uint64),
            numbers=np.zeros(6),
            bits=np.zeros(2, dtype=np.uint32),
        )


_ROOM = numba.typeof(Room.of(1))  # type: ignore[no-untyped-call]


_INTEGER, _LONG, _DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()


def _spread(builder: Any, number: Any, vector: Any) -> Any:
    """A vector with the same number in all lanes."""
    first = builder.insert_element(vector(ir.Undefined), number, _INTEGER(0))
    return builder.shuffle_vector(first, vector(ir.Undefined), ir.VectorType(_INTEGER, vector.count)(None))


def _added(builder: Any, vector: Any, add: Any) -> Any:
    """The sum of the lanes of a vector, or what else comes of two, one half with the other at a time."""
    count = vector.type.count
    while count > 1:
        count //= 2
        parts = [ir.Constant(ir.VectorType(_INTEGER, count), list(range(start, start + count))) for start in (0, count)]
        vector = add(*(builder.shuffle_vector(vector, vector.type(ir.Undefined), part) for part in parts))
    return builder.extract_element(vector, _INTEGER(0))


def _masked(builder: Any, address: Any, vector: Any, size: int, mask: Any) -> Any:
    """The cells that a mask tells, of so many bytes each, and zeros in the others, which are not read."""
    pointer = vector.as_pointer()
    kind = ir.FunctionType(vector, [pointer, _INTEGER, ir.VectorType(ir.IntType(1), vector.count), vector])
    name = f"llvm.masked.load.v{vector.count}f{8 * size}.p0"
    load = cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]
    return builder.call(load, [builder.inttoptr(address, pointer), _INTEGER(size), mask, vector(None)])


# Columns to strips of integers


@numba.njit(nogil=True, error_model="numpy")
def _image(cell: float, middle: float, rate: float, low: float, high: float, missing: float) -> float:
    """The coordinate of a cell."""
    value = (cell - middle) * rate
    value = low if value < low else value
    value = high if value > high else value
    return value if abs(cell) <= LARGEST else missing


@numba.njit(nogil=True, error_model="numpy")
def _round_strip(cells: NDArray[Any], column: FloatArray, scale: float, integers: NDArray[Any]) -> bool:
    """Round the coordinates of the cells of a column; whether every cell is finite."""
    middle, rate, low, high, missing = column[0], column[1], column[2], column[3], column[4]
    lost = 0
    for i in range(len(cells)):
        cell = np.float64(cells[i])
        lost += not abs(cell) <= LARGEST
        integers[i] = np.rint(_image(cell, middle, rate, low, high, missing) * scale)
    return lost == 0


def _round_strips(
    addresses: NDArray[np.uint64],
    single: NDArray[np.bool_],
    count: int,
    columns: FloatArray,
    public: NDArray[np.bool_],
    scale: float,
    integers: NDArray[Any],
) -> bool:
    complete = True
    for j in range(len(addresses)):
        if single[j]:
            finite = _round_strip(carray(_singles(addresses[j]), count), columns[j], scale, integers[j])
        else:
            finite = _round_strip(carray(_doubles(addresses[j]), count), columns[j], scale, integers[j])
        complete &= finite or public[j]
        integers[j, count:] = 0
    return complete


_CELLS = (types.uint64[::1], types.boolean[::1], types.int64, types.float64[:, ::1])  # of columns, and how to map them
_TO: dict[np.dtype[Any], Any] = {
    np.dtype(np.float64): types.float64[:, ::1],
    np.dtype(np.int16): types.int16[:, ::1],
}


@cache
def _rounding(dtype: np.dtype[Any]) -> Any:
    return compiled(*_CELLS, types.boolean[::1], types.float64, _TO[dtype])(_round_strips)


def round_strips(
    addresses: NDArray[np.uint64],
    single: NDArray[np.bool_],
    count: int,
    columns: FloatArray,
    public: NDArray[np.bool_],
    scale: float,
    integers: NDArray[Any],
) -> bool:
    """Round the coordinates of columns to the lattice.

    Args:
        addresses: of the first cell of each column, aligned, with the others behind it.
        single: of each column, whether its cells are in single precision; otherwise they are doubles.
        count: how many cells there are in each column.
        columns: a row of each: the middle of its range, the inverse of half its width, and the images of its low end,
            of its high end and of a cell that is not finite; all of them numbers where integers are narrow.
        public: of each column, whether a cell that is not finite has a public image. If not, its row is lost.
        scale: lattice steps per unit.
        integers: a row for each column, in doubles or 16 bits, where coordinates · scale go, rounded, and zeros behind
            the last cell.

    Returns:
        Whether no row is lost.
    """
    complete: bool = _rounding(integers.dtype)(addresses, single, count, columns, public, scale, integers)
    return complete


# Pairs to sums of products


def _block(vectors: int) -> Any:
    """The code for products of TALL coordinates with so many vectors of others, summed over pairs of rows."""

    @_in_llvm
    def add_block(_: Any, left: Any, right: Any, stride: Any, pairs: Any, steps: Any, sums: Any, across: Any) -> Any:
        """Compilers do not find the instruction that multiplies and adds pairs, so this is spelled out in vectors, of
        any machine.

        Args:
            left: the address of the first word of TALL coordinates, in the first pair of rows.
            right: the same of vectors of coordinates to multiply them with.
            stride: from a pair of rows to the next, in bytes.
            pairs: how many there are.
            steps: how many words' products 32-bit sums hold.
            sums: the address of a row of 64-bit sums for each of the TALL coordinates, which are added to.
            across: from one such row to the next, in bytes.
        """
        integer, long = _INTEGER, _LONG
        words, wide = ir.VectorType(integer, LANES), ir.VectorType(long, LANES)
        halves, products = ir.VectorType(ir.IntType(16), 2 * LANES), ir.VectorType(integer, 2 * LANES)
        even, odd = (ir.Constant(words, list(range(start, 2 * LANES, 2))) for start in (0, 1))
        sixteen, rest = (ir.Constant(words, [number] * LANES) for number in (16, 0xFFFF))

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            left, right, stride, pairs, steps, sums, across = arguments
            places = [(i, j) for i in range(TALL) for j in range(vectors)]
            low, high = (
                [cgutils.alloca_once_value(builder, words(None)) for _ in places]  # type: ignore[no-untyped-call]
                for _ in range(2)
            )

            def address(start: Any, row: Any, offset: int, kind: Any) -> Any:
                return builder.inttoptr(
                    builder.add(start, builder.add(builder.mul(row, stride), long(offset))), kind.as_pointer()
                )

            def in_pairs(found: Any) -> Any:
                return builder.add(
                    *(builder.shuffle_vector(found, products(ir.Undefined), which) for which in (even, odd))
                )

            def add(found: Any, place: Any) -> None:
                builder.store(builder.add(builder.load(place), found), place)

            with cgutils.for_range_slice(builder, long(0), pairs, steps, inc=True) as (start, _):
                end = builder.add(start, steps)
                stop = builder.select(builder.icmp_signed("<", end, pairs), end, pairs)
                with cgutils.for_range_slice(builder, start, stop, long(1), inc=True) as (row, _):
                    others = [
                        builder.sext(builder.load(address(right, row, 4 * LANES * j, halves), align=4), products)
                        for j in range(vectors)
                    ]
                    for i in range(TALL):
                        word = builder.load(address(left, row, 4 * i, integer), align=4)
                        same = builder.sext(builder.bitcast(_spread(builder, word, words), halves), products)
                        for j, other in enumerate(others):
                            add(in_pairs(builder.mul(same, other)), low[i * vectors + j])
                for small, large in zip(low, high, strict=True):
                    add(builder.ashr(builder.load(small), sixteen), large)
                    builder.store(builder.and_(builder.load(small), rest), small)
            for (i, j), small, large in zip(places, low, high, strict=True):
                offset = builder.add(builder.mul(across, long(i)), long(8 * LANES * j))
                total = builder.inttoptr(builder.add(sums, offset), wide.as_pointer())
                found = builder.shl(builder.sext(builder.load(large), wide), ir.Constant(wide, [16] * LANES))
                found = builder.add(found, builder.zext(builder.load(small), wide))
                builder.store(builder.add(builder.load(total, align=8), found), total, align=8)
            return context.get_dummy_value()

        address, number = types.uint64, types.int64
        return types.void(address, address, number, number, number, address, number), code

    return add_block


_add_one, _add_two = _block(1), _block(2)


@numba.njit(nogil=True, error_model="numpy")
def _add_pairs(half: int, pairs: int, width: int, steps: int, room: Room) -> None:
    """Add sums over pairs of rows of products of coordinates with those up to them, and some beyond: of the whole
    integers (half = 0), or of them with their high (1) or low (2) halves. Sums with high halves are kept apart."""
    stride, across = 4 * room.pairs.shape[2], 8 * room.pairs.shape[2]
    left, sums = _start(room.pairs), _start(room.sums) + np.uint64(across * room.sums.shape[1] * (half != 1))
    right = left + np.uint64(stride * PAIRS * half)
    for i in range(0, width, TALL):
        vectors = (min(i + TALL, width) + LANES - 1) // LANES
        these, row = left + np.uint64(4 * i), sums + np.uint64(across * i)
        for j in range(0, vectors - 1, 2):
            others, here = right + np.uint64(4 * LANES * j), row + np.uint64(8 * LANES * j)
            _add_two(these, others, stride, pairs, steps, here, across)
        if vectors % 2:
            others, here = right + np.uint64(4 * LANES * (vectors - 1)), row + np.uint64(8 * LANES * (vectors - 1))
            _add_one(these, others, stride, pairs, steps, here, across)


@numba.njit(nogil=True, error_model="numpy")
def _add_sums(sums: IntArray, weights: IntArray, total: IntArray) -> None:
    """Add what was summed, weighted, to both halves of the total."""
    for a in range(len(weights)):
        for b in range(a + 1):
            found = sums[a, b] * weights[a] * weights[b]
            total[a, b] += found
            if a != b:
                total[b, a] += found


def _turn(bits: int) -> Any:
    """The code that turns LANES strips of words, at LANES places each, to rows."""

    @_in_llvm
    def turn(_: Any, strips: Any, stride: Any, rows: Any, across: Any) -> Any:
        """Read strips and write rows.

        Args:
            strips: the address of the first word.
            stride: from a strip to the next, in bytes.
            rows: the address of the first word of the first row.
            across: from a row to the next, in bytes.
        """
        long, words = ir.IntType(64), ir.VectorType(ir.IntType(bits), LANES)
        halves = [
            ir.Constant(
                ir.VectorType(ir.IntType(32), LANES), [lane // 2 + start + LANES * (lane % 2) for lane in range(LANES)]
            )
            for start in (0, LANES // 2)
        ]

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            strips, stride, rows, across = arguments

            def place(start: Any, step: Any, number: int) -> Any:
                return builder.inttoptr(builder.add(start, builder.mul(step, long(number))), words.as_pointer())

            found = [builder.load(place(strips, stride, number), align=bits // 8) for number in range(LANES)]
            for _ in range(LANES.bit_length() - 1):  # each time vectors are interleaved with those half of the way on
                both = zip(found[: LANES // 2], found[LANES // 2 :], strict=True)
                found = [builder.shuffle_vector(one, other, half) for one, other in both for half in halves]
            for number, row in enumerate(found):
                builder.store(row, place(rows, across, number), align=bits // 8)
            return context.get_dummy_value()

        address, number = types.uint64, types.int64
        return types.void(address, number, address, number), code

    return turn


_turn_words, _turn_doubles = _turn(32), _turn(64)


def _add_strips(strips: NDArray[np.int16], steps: int, weights: IntArray, total: IntArray, room: Room) -> None:
    width, count, across = len(strips), strips.shape[1] // 2, 4 * room.pairs.shape[2]
    for start in range(0, count, PAIRS):
        some = min(PAIRS, count - start)
        for first in range(0, width, LANES):
            j = min(first, width - LANES)  # the last may begin with strips that are there already
            for k in range(0, some, LANES):
                here = _start(strips) + np.uint64(4 * (count * j + start + k))
                there = _start(room.pairs) + np.uint64(across * k + 4 * j)
                _turn_words(here, 4 * count, there, across)
        _add_pairs(0, some, width, steps, room)
    _add_sums(room.sums[1], weights, total)


@cache
def _adding_strips() -> Any:
    return compiled(types.int16[:, ::1], types.int64, types.int64[::1], types.int64[:, ::1], _ROOM)(_add_strips)


def add_strips(strips: NDArray[np.int16], steps: int, weights: IntArray, total: IntArray) -> None:
    """Add the products of narrow strips, each with each, summed over the rows.

    Args:
        strips: at least LANES of them, one for each coordinate, of a multiple of 2 · LANES rows.
        steps: 2 · steps · (the largest integer)² is at most 2³¹ − 2¹⁶.
        weights: what the integers of each strip are to be multiplied with.
        total: what the sums are added to; both halves of it.
    """
    _adding_strips()(strips, steps, weights, total, Room.of(len(strips)))


# Rows to pairs, and their sums

MAGIC = 1.5 * 2.0**52
"""Adding this to a number below 2⁵¹ rounds it, ties to even, and its lowest bits are then those of the integer."""

HALF = 1 << 8
"""A 16-bit integer is high · HALF + low, with −128 ≤ high < 128 and 0 ≤ low < 256. Sums of its products with either,
2 · PAIRS of them, are at most 2 · 128 · 2¹⁵ · 255 in size, which is below 2³¹."""


def _rounded(*, single: bool) -> Any:
    """The code that rounds a pair of rows of a type of floats."""

    @_in_llvm
    def round_pair(_: Any, dim: Any, scale: Any, places: Any, numbers: Any, seen: Any) -> Any:
        """The integers of two rows as pairs, and halves of them.

        Args:
            dim: how many cells a row has.
            scale: lattice steps per unit.
            places: the address of five addresses: of both rows, and of where pairs go, and their high and low halves.
            numbers: the address of what the rounded rows are then multiplied with, and rounded again; behind them the
                squared lengths of the rows before that, which are overwritten.
            seen: the address of 32-bit integers for both, from 2¹⁶ on if 16 bits do not hold a row; overwritten.
        """
        words, bits, doubles = (ir.VectorType(kind, LANES) for kind in (_INTEGER, _LONG, _DOUBLE))
        floats, size = (ir.VectorType(ir.FloatType(), LANES), 4) if single else (doubles, 8)
        shorts = ir.VectorType(ir.IntType(16), 2 * LANES)
        eight = ir.Constant(shorts, [8] * (2 * LANES))
        lanes, magic = ir.Constant(words, list(range(LANES))), ir.Constant(doubles, [MAGIC] * LANES)

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            dim, scale, places, numbers, seen = arguments

            def constant(number: int) -> Any:
                return ir.Constant(words, [number] * LANES)

            def place(address: Any, number: Any, bytes_each: int) -> Any:
                return builder.add(address, builder.mul(number, _LONG(bytes_each)))

            def read(address: Any, kind: Any, number: int) -> Any:
                return builder.load(builder.inttoptr(place(address, _LONG(number), 8), kind.as_pointer()), align=8)

            def write(found: Any, address: Any, number: Any, bytes_each: int) -> None:
                where = builder.inttoptr(place(address, number, bytes_each), found.type.as_pointer())
                builder.store(found, where, align=bytes_each)

            def add(found: Any, where: Any, how: Any) -> None:
                builder.store(how(builder.load(where), found), where)

            steps = _spread(builder, scale, doubles)
            factors = [_spread(builder, read(numbers, _DOUBLE, row), doubles) for row in (0, 1)]
            starts, targets = ([read(places, _LONG, which) for which in some] for some in (range(2), range(2, 5)))
            lengths, outside = (
                [cgutils.alloca_once_value(builder, kind(None)) for _ in (0, 1)]  # type: ignore[no-untyped-call]
                for kind in (doubles, words)
            )

            def round_some(column: Any, load: Callable[[Any], Any]) -> None:
                found = []
                for row in (0, 1):
                    values = load(place(starts[row], column, size))
                    values = builder.fpext(values, doubles) if single else values
                    rounded = builder.fsub(builder.fadd(builder.fmul(values, steps), magic), magic)
                    add(builder.fmul(rounded, rounded), lengths[row], builder.fadd)
                    shown = builder.fadd(builder.fmul(rounded, factors[row]), magic)
                    found.append(builder.trunc(builder.bitcast(shown, bits), words))
                    add(builder.add(found[row], constant(1 << 15)), outside[row], builder.or_)
                both = builder.or_(builder.and_(found[0], constant(0xFFFF)), builder.shl(found[1], constant(16)))
                high = builder.bitcast(builder.ashr(builder.bitcast(both, shorts), eight), words)
                for target, part in zip(targets, (both, high, builder.and_(both, constant(0x00FF00FF))), strict=True):
                    write(part, target, column, 4)

            def load_all(address: Any) -> Any:
                return builder.load(builder.inttoptr(address, floats.as_pointer()), align=size)

            def load_last(address: Any) -> Any:
                left = _spread(builder, builder.trunc(builder.sub(dim, whole), _INTEGER), words)
                return _masked(builder, address, floats, size, builder.icmp_signed("<", lanes, left))

            whole = builder.and_(dim, _LONG(-LANES))
            with cgutils.for_range_slice(builder, _LONG(0), whole, _LONG(LANES), inc=True) as (column, _):
                round_some(column, load_all)
            with builder.if_then(builder.icmp_signed("<", whole, dim)):
                round_some(whole, load_last)
            for row in (0, 1):
                write(_added(builder, builder.load(lengths[row]), builder.fadd), numbers, _LONG(2 + row), 8)
                write(_added(builder, builder.load(outside[row]), builder.or_), seen, _LONG(row), 4)
            return context.get_dummy_value()

        address = types.uint64
        return types.void(types.int64, types.float64, address, address, address), code

    return round_pair


_round_singles, _round_doubles = _rounded(single=True), _rounded(single=False)


@numba.njit(nogil=True, error_model="numpy")
def _round_row(cells: NDArray[Any], scale: float, factor: float, most: float, integers: FloatArray) -> bool:
    """Round the cells of a row, multiply them by a factor and round again, if their squared length between both is at
    most as large as it was."""
    square = 0.0
    for i in range(len(cells)):
        integers[i] = np.rint(np.float64(cells[i]) * scale)
        square += integers[i] * integers[i]
    for i in range(len(cells)):
        integers[i] = np.rint(integers[i] * factor)
    return square <= most


@numba.njit(nogil=True, error_model="numpy")
def _to_doubles(
    address: Any, single: bool, scale: float, factor: float, most: float, dim: int, integers: FloatArray
) -> bool:
    """The same for a row by its address."""
    if single:
        return _round_row(carray(_singles(address), dim), scale, factor, most, integers)
    return _round_row(carray(_doubles(address), dim), scale, factor, most, integers)


@numba.njit(nogil=True, error_model="numpy")
def _round_both(single: bool, dim: int, scale: float, inner: float, room: Room) -> None:
    """Round the rows at the first two places, and once more if one of them is too long.

    They are read twice then. Somebody may write to them meanwhile, so that a row is good only if its squared length is
    at most the one that its factor is for.
    """
    places, numbers, bits = _start(room.places), _start(room.numbers), _start(room.bits)
    factors, squares, most = room.numbers[:2], room.numbers[2:4], room.numbers[4:]
    factors[:], most[:], again = 1.0, SHORT, True
    while again:
        if single:
            _round_singles(dim, scale, places, numbers, bits)
        else:
            _round_doubles(dim, scale, places, numbers, bits)
        again = False
        if factors[0] == 1.0 and factors[1] == 1.0:
            for row in range(2):
                if squares[row] > SHORT and squares[row] < MODERATE:
                    most[row], factors[row], again = squares[row], inner / math.sqrt(squares[row]), True


@numba.njit(nogil=True, error_model="numpy")
def _to_pairs(
    address: Any,
    single: bool,
    stride: int,
    count: int,
    dim: int,
    scale: float,
    inner: float,
    center: bool,
    aside: IntArray,
    beyond: FloatArray,
    room: Room,
) -> tuple[int, int]:
    """Round at most 2 · PAIRS rows to pairs and their halves, with ones as the constant coordinate where the plan is
    centred. Others go to ``beyond``, or their numbers to ``aside``; how many do."""
    across, left_out, wide = 4 * room.pairs.shape[2], 0, 0
    for k in range((count + 1) // 2):
        for which in range(3):
            room.places[2 + which] = _start(room.pairs) + np.uint64(across * (PAIRS * which + k))
        for row in range(2):  # the last may stand for a row that is not there
            room.places[row] = address + np.uint64(min(2 * k + row, count - 1) * stride)
        _round_both(single, dim, scale, inner, room)
        ones = 0x10001
        for row in range(2):
            short, there = room.numbers[2 + row] <= room.numbers[4 + row], 2 * k + row < count
            if short and there and room.bits[row] < 1 << 16:
                continue
            ones &= 0xFFFF << 16 * (1 - row)
            if short and there:
                factor, most = room.numbers[row], room.numbers[4 + row]
                short = _to_doubles(room.places[row], single, scale, factor, most, dim, beyond[wide])
                wide += short
            if there and not short:
                aside[left_out] = 2 * k + row
                left_out += 1
        if ones != 0x10001:
            for which in range(3):
                for i in range(dim):
                    room.pairs[which, k, i] &= 0xFFFF * ones
        if center:
            room.pairs[0, k, dim] = room.pairs[2, k, dim] = ones  # whose high halves are zero, as they are there
    return left_out, wide


@_in_llvm
def _measure(_: Any, pairs: Any, stride: Any, count: Any, words: Any, squares: Any) -> Any:
    """For each GROUP of pairs, the largest sum of the squares of a coordinate.

    Args:
        pairs: the address of the first.
        stride: from a pair to the next, in bytes.
        count: how many there are.
        words: how many of each are looked at, in whole vectors.
        squares: the address of the sums, in eighths, where those of two squares are rounded down before they are added.
    """
    vector, products = ir.VectorType(_INTEGER, LANES), ir.VectorType(_INTEGER, 2 * LANES)
    halves = ir.VectorType(ir.IntType(16), 2 * LANES)
    even, odd = (ir.Constant(vector, list(range(start, 2 * LANES, 2))) for start in (0, 1))
    three = ir.Constant(vector, [3] * LANES)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pairs, stride, count, words, squares = arguments

        def larger(one: Any, other: Any) -> Any:
            return builder.select(builder.icmp_signed(">", one, other), one, other)

        sums, most = (cgutils.alloca_once(builder, vector) for _ in range(2))  # type: ignore[no-untyped-call]
        with cgutils.for_range_slice(builder, _LONG(0), count, _LONG(GROUP), inc=True) as (start, _):
            builder.store(vector(None), most)
            end = builder.add(start, _LONG(GROUP))
            stop = builder.select(builder.icmp_signed("<", end, count), end, count)
            with cgutils.for_range_slice(builder, _LONG(0), words, _LONG(LANES), inc=True) as (column, _):
                builder.store(vector(None), sums)
                with cgutils.for_range_slice(builder, start, stop, _LONG(1), inc=True) as (row, _):
                    offset = builder.add(builder.mul(row, stride), builder.mul(column, _LONG(4)))
                    place = builder.inttoptr(builder.add(pairs, offset), halves.as_pointer())
                    found = builder.sext(builder.load(place, align=4), products)
                    found = builder.mul(found, found)
                    two = builder.add(
                        *(builder.shuffle_vector(found, products(ir.Undefined), which) for which in (even, odd))
                    )
                    builder.store(builder.add(builder.load(sums), builder.lshr(two, three)), sums)
                builder.store(larger(builder.load(sums), builder.load(most)), most)
            group = builder.mul(builder.udiv(start, _LONG(GROUP)), _LONG(4))
            place = builder.inttoptr(builder.add(squares, group), _INTEGER.as_pointer())
            builder.store(_added(builder, builder.load(most), larger), place, align=4)
        return context.get_dummy_value()

    address, number = types.uint64, types.int64
    return types.void(address, number, number, number, address), code


@numba.njit(nogil=True, error_model="numpy")
def _steps(pairs: int, width: int, room: Room) -> int:
    """How many pairs of products may be added in 32 bits, whatever two coordinates are multiplied; zero if none may.

    The sum of the products of two coordinates is at most the larger of their sums of squares (Cauchy and Schwarz). So
    where those of every coordinate are at most 2³¹ − 2¹⁶, over all groups between two carries, so are these.
    """
    words = -(-width // LANES) * LANES
    _measure(_start(room.pairs), 4 * room.pairs.shape[2], pairs, words, _start(room.squares))
    groups, together = -(-pairs // GROUP), PAIRS // GROUP
    while together:
        fit = True
        for first in range(0, groups, together):
            most = 0
            for group in range(first, min(first + together, groups)):
                most += 8 * (int(room.squares[group]) + GROUP)
            fit &= most <= 2**31 - 2**16
        if fit:
            return together * GROUP
        together //= 2
    return 0


@numba.njit(nogil=True, error_model="numpy")
def _add_products(pairs: int, width: int, room: Room) -> None:
    """Add the products of some pairs: of whole integers where 32 bits hold their sums, otherwise with both halves."""
    steps = _steps(pairs, width, room)
    if steps:
        _add_pairs(0, pairs, width, steps, room)
    else:
        _add_pairs(1, pairs, width, PAIRS, room)
        _add_pairs(2, pairs, width, PAIRS, room)


@numba.njit(nogil=True, error_model="numpy")
def _add_some(
    address: Any,
    single: bool,
    stride: int,
    start: int,
    count: int,
    dim: int,
    scale: float,
    inner: float,
    width: int,
    aside: IntArray,
    beyond: FloatArray,
    done: tuple[int, int],
    room: Room,
) -> tuple[int, int]:
    """Add the products of at most 2 · PAIRS rows, the first of which has the number ``start``; how many rows are in
    ``aside`` and in ``beyond``, with those that were before."""
    left_out, wide = done
    more, wider = _to_pairs(
        address, single, stride, count, dim, scale, inner, width > dim, aside[left_out:], beyond[wide:], room
    )
    for i in range(left_out, left_out + more):
        aside[i] += start
    _add_products((count + 1) // 2, width, room)
    return left_out + more, wide + wider


@numba.njit(nogil=True, error_model="numpy")
def _add_both(weights: IntArray, total: IntArray, room: Room) -> None:
    """Add the sums of products with both halves to the total."""
    for i in range(len(weights)):
        for j in range(i + 1):
            room.sums[1, i, j] += HALF * room.sums[0, i, j]
    _add_sums(room.sums[1], weights, total)


def _add_rows(
    address: int,
    single: bool,
    stride: int,
    count: int,
    dim: int,
    scale: float,
    inner: float,
    weights: IntArray,
    total: IntArray,
    aside: IntArray,
    beyond: FloatArray,
    room: Room,
) -> tuple[int, int]:
    width, done = len(weights), (0, 0)
    for start in range(0, count, 2 * PAIRS):
        some, here = min(2 * PAIRS, count - start), address + np.uint64(start * stride)
        done = _add_some(here, single, stride, start, some, dim, scale, inner, width, aside, beyond, done, room)
    _add_both(weights, total, room)
    return done


_HOW = (  # rows are summed
    types.float64,
    types.float64,
    types.int64[::1],
    types.int64[:, ::1],
    types.int64[::1],
    types.float64[:, ::1],
    _ROOM,
)


@cache
def _adding_rows() -> Any:
    return compiled(types.uint64, types.boolean, types.int64, types.int64, types.int64, *_HOW)(_add_rows)


def add_rows(
    rows: NDArray[Any],
    scale: float,
    inner: float,
    weights: IntArray,
    total: IntArray,
    aside: IntArray,
    beyond: FloatArray,
) -> tuple[int, int]:
    """Round rows to the lattice, scale down those that are longer than the norm, and add their products.

    Args:
        rows: floats or doubles, aligned, those of a row one behind the other.
        scale: lattice steps per unit.
        inner: the length to which long rows are scaled down, in lattice steps.
        weights: a one for each coordinate, and what the constant coordinate is, where there is one.
        total: what the sums are added to; both halves of it.
        aside: room for the numbers of rows.
        beyond: room for integer rows, without the constant coordinate.

    Returns:
        How many rows were left out, whose numbers are then in ``aside``: those with a cell that is not finite, or a
        thousand norms long. And how many have an integer that 16 bits do not hold: they are then in ``beyond``, and
        their products are not added.
    """
    place = rows.__array_interface__["data"][0], rows.itemsize == 4, rows.strides[0], *rows.shape
    room = Room.of(len(weights))
    found: tuple[int, int] = _adding_rows()(*place, scale, inner, weights, total, aside, beyond, room)
    return found


# Columns to rows, and their sums


@numba.njit(nogil=True, error_model="numpy")
def _map_strip(cells: NDArray[Any], column: FloatArray, values: FloatArray) -> None:
    """The coordinates of the cells of a column."""
    middle, rate, low, high, missing = column[0], column[1], column[2], column[3], column[4]
    for i in range(len(cells)):
        values[i] = _image(np.float64(cells[i]), middle, rate, low, high, missing)


def _add_columns(
    addresses: NDArray[np.uint64],
    single: NDArray[np.bool_],
    count: int,
    columns: FloatArray,
    strips: FloatArray,
    rows: FloatArray,
    scale: float,
    inner: float,
    weights: IntArray,
    total: IntArray,
    aside: IntArray,
    beyond: FloatArray,
    room: Room,
) -> tuple[int, int]:
    dim, width, across, done = len(addresses), len(weights), 8 * rows.shape[1], (0, 0)
    for start in range(0, count, 2 * PAIRS):
        some = min(2 * PAIRS, count - start)
        for first in range(0, dim, LANES):
            for j in range(first, min(first + LANES, dim)):
                here = addresses[j] + np.uint64((4 if single[j] else 8) * start)
                if single[j]:
                    _map_strip(carray(_singles(here), some), columns[j], strips[j - first])
                else:
                    _map_strip(carray(_doubles(here), some), columns[j], strips[j - first])
            for k in range(0, some, LANES):
                there = _start(rows) + np.uint64(across * k + 8 * first)
                _turn_doubles(_start(strips) + np.uint64(8 * k), 8 * 2 * PAIRS, there, across)
        done = _add_some(_start(rows), False, across, start, some, dim, scale, inner, width, aside, beyond, done, room)
    _add_both(weights, total, room)
    return done


@cache
def _adding_columns() -> Any:
    return compiled(*_CELLS, types.float64[:, ::1], types.float64[:, ::1], *_HOW)(_add_columns)


def add_columns(
    addresses: NDArray[np.uint64],
    single: NDArray[np.bool_],
    count: int,
    columns: FloatArray,
    scale: float,
    inner: float,
    weights: IntArray,
    total: IntArray,
    aside: IntArray,
    beyond: FloatArray,
) -> tuple[int, int]:
    """Map the cells of columns to coordinates, and do with the rows of these what `add_rows` does.

    Args:
        addresses: of the first cell of each column, aligned, with the others behind it.
        single: of each column, whether its cells are in single precision; otherwise they are doubles.
        count: how many cells there are in each column.
        columns: a row of each, as for `round_strips`.
        scale: lattice steps per unit.
        inner: the length to which long rows are scaled down, in lattice steps.
        weights: a one for each coordinate, and what the constant coordinate is, where there is one.
        total: what the sums are added to; both halves of it.
        aside: room for the numbers of rows.
        beyond: room for integer rows, without the constant coordinate.

    Returns:
        What `add_rows` does.
    """
    strips, rows = np.zeros((LANES, 2 * PAIRS)), np.zeros((2 * PAIRS, -(-len(addresses) // LANES) * LANES))
    room = Room.of(len(weights))
    found: tuple[int, int] = _adding_columns()(
        addresses, single, count, columns, strips, rows, scale, inner, weights, total, aside, beyond, room
    )
    return found


# Whether it works here


def check_rounding(dtype: np.dtype[Any]) -> NDArray[Any]:
    """Raise unless compiled code for columns rounds as NumPy does; else the strips, with zeros behind them."""
    cells, yes = np.linspace(-3.0, 3.0, 33), np.ones(LANES, dtype=np.bool_)
    expected = np.zeros(48)
    expected[:33] = np.rint(np.clip((cells - 0.5) * 0.5, -1.0, 1.0) * 100.0)
    integers, columns = np.ones((LANES, 48), dtype=dtype), np.array([[0.5, 0.5, -1.0, 1.0, 0.0]] * LANES)
    addresses = np.full(LANES, cells.ctypes.data, dtype=np.uint64)
    if not round_strips(addresses, ~yes, 33, columns, yes, 100.0, integers) or (integers != expected).any():
        raise RuntimeError("compiled code does not round as NumPy does")
    return integers


def check_columns() -> None:
    """Raise unless compiled code for columns works, and gives what NumPy gives."""
    check_rounding(np.dtype(np.float64))


def check_narrow_columns() -> None:
    """The same for columns in 16 bits."""
    strips, total = check_rounding(np.dtype(np.int16)), np.zeros((LANES, LANES), dtype=np.int64)
    add_strips(strips, 4, np.ones(LANES, dtype=np.int64), total)
    if (total != lattice.gram(strips.T.astype(np.float64))).any():
        raise RuntimeError("compiled code does not sum as NumPy does")


def _check_sums(add: Callable[..., tuple[int, int]]) -> None:
    """Raise unless compiled code sums rows as NumPy does, but for those that it should not sum."""
    cells = np.linspace(-1.0, 1.0, 33)[:9]
    rows = np.vstack([cells / 10.0, cells, np.full(9, math.nan), np.eye(9)[0], cells / 5.0])
    scale, inner, weights = lattice.steps_per_unit(9, 1.0), lattice.inner_radius(9), np.array([1] * 9 + [7])
    for floats in (rows.astype(np.float32), rows):
        aside, beyond, total = np.zeros(5, dtype=np.int64), np.zeros((5, 9)), np.zeros((10, 10), dtype=np.int64)
        left_out, wide = add(floats, scale, inner, weights, total, aside, beyond)
        integers = lattice.integer_rows(floats, 1.0)[0]
        kept = np.hstack([integers[[0, 1, 4]], np.full((3, 1), 7.0)])
        others = aside[:left_out].tolist(), beyond[:wide].tolist()
        if others != ([2], [integers[3].tolist()]) or (total != lattice.gram(kept)).any():
            raise RuntimeError("compiled code does not sum rows as NumPy does")


def check_rows() -> None:
    """The same for rows with a norm."""
    _check_sums(add_rows)


def check_normed_columns() -> None:
    """The same for columns with a norm."""
    check_rounding(np.dtype(np.float64))

    def add(rows: NDArray[Any], *how: Any) -> tuple[int, int]:
        columns, single = np.array([[0.0, 1.0, -1.0, 1.0, math.nan]] * 9), np.full(9, rows.itemsize == 4)
        strips = np.ascontiguousarray(rows.T)
        addresses = np.array([strip.ctypes.data for strip in strips], dtype=np.uint64)
        return add_columns(addresses, single, 5, columns, *how)

    _check_sums(add)


CHECKS = {
    Kind.ROWS: check_rows,
    Kind.NORMED_COLUMNS: check_normed_columns,
    Kind.NARROW_COLUMNS: check_narrow_columns,
    Kind.COLUMNS: check_columns,
}
"""What tells, of each kind of data, whether its compiled code works here."""
