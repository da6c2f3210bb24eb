"""Rows of floats to pairs of integer rows, scaled down to a norm."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numpy.typing import NDArray

from dpframe import lattice
from dpframe.jit import compiled_part
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading.kernels.buffers import PAIRS, Buffers
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
    singles_at,
    spread,
)

SHORT, MODERATE = 2.0**32, 2.0**52
# Repeated here, since the disk cache of compiled code is keyed by the files of this folder.
if (SHORT, MODERATE) != (lattice.SHORT, lattice.MODERATE):
    raise ImportError("the limits on squared lengths differ from those of dpframe.lattice")

MAGIC = 1.5 * 2.0**52
"""Adding this to a number below 2⁵¹ rounds it, ties to even; the lowest bits of the sum are those of the integer."""

HALF = 1 << 8
"""A 16-bit integer is high · HALF + low, with −128 ≤ high < 128 and 0 ≤ low < 256. A sum of 2 · PAIRS products of a
16-bit integer with a high or a low half is at most 2 · 128 · 2¹⁵ · 255 in absolute value, which is below 2³¹."""


def _rounded(*, single: bool) -> Any:
    """An intrinsic that rounds a pair of rows of floats or doubles."""

    @in_llvm
    def round_pair(_: Any, dim: Any, scale: Any, places: Any, numbers: Any, seen: Any) -> Any:
        """Round two rows, multiply them by their factors, round again, and write the integers as pairs and halves.

        Args:
            dim: the number of cells in a row.
            scale: lattice steps per unit.
            places: the address of five addresses: of both rows, and of the outputs: pairs, high halves, low halves.
            numbers: the address of the factors of both rows, followed by their squared lengths between both roundings,
                which are overwritten.
            seen: the address of two 32-bit integers, overwritten: 2¹⁶ or more if the row does not fit in 16 bits.
        """
        words, bits, doubles = (ir.VectorType(kind, LANES) for kind in (INTEGER, LONG, DOUBLE))
        floats, size = (ir.VectorType(ir.FloatType(), LANES), 4) if single else (doubles, 8)
        shorts = ir.VectorType(ir.IntType(16), 2 * LANES)
        eight = ir.Constant(shorts, [8] * (2 * LANES))
        lanes, magic = ir.Constant(words, list(range(LANES))), ir.Constant(doubles, [MAGIC] * LANES)

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            dim, scale, places, numbers, seen = arguments

            def constant(number: int) -> Any:
                return ir.Constant(words, [number] * LANES)

            def place(address: Any, number: Any, bytes_each: int) -> Any:
                return builder.add(address, builder.mul(number, LONG(bytes_each)))

            def read(address: Any, kind: Any, number: int) -> Any:
                return builder.load(builder.inttoptr(place(address, LONG(number), 8), kind.as_pointer()), align=8)

            def write(value: Any, address: Any, number: Any, bytes_each: int) -> None:
                where = builder.inttoptr(place(address, number, bytes_each), value.type.as_pointer())
                builder.store(value, where, align=bytes_each)

            def add(value: Any, where: Any, how: Any) -> None:
                builder.store(how(builder.load(where), value), where)

            steps = spread(builder, scale, doubles)
            factors = [spread(builder, read(numbers, DOUBLE, row), doubles) for row in (0, 1)]
            starts, targets = ([read(places, LONG, which) for which in some] for some in (range(2), range(2, 5)))
            lengths, outside = (
                [cgutils.alloca_once_value(builder, kind(None)) for _ in (0, 1)]  # type: ignore[no-untyped-call]
                for kind in (doubles, words)
            )

            def round_some(column: Any, load: Callable[[Any], Any]) -> None:
                integers = []
                for row in (0, 1):
                    values = load(place(starts[row], column, size))
                    values = builder.fpext(values, doubles) if single else values
                    rounded = builder.fsub(builder.fadd(builder.fmul(values, steps), magic), magic)
                    add(builder.fmul(rounded, rounded), lengths[row], builder.fadd)
                    shown = builder.fadd(builder.fmul(rounded, factors[row]), magic)
                    integers.append(builder.trunc(builder.bitcast(shown, bits), words))
                    add(builder.add(integers[row], constant(1 << 15)), outside[row], builder.or_)
                both = builder.or_(builder.and_(integers[0], constant(0xFFFF)), builder.shl(integers[1], constant(16)))
                high = builder.bitcast(builder.ashr(builder.bitcast(both, shorts), eight), words)
                for target, part in zip(targets, (both, high, builder.and_(both, constant(0x00FF00FF))), strict=True):
                    write(part, target, column, 4)

            def load_all(address: Any) -> Any:
                return builder.load(builder.inttoptr(address, floats.as_pointer()), align=size)

            def load_last(address: Any) -> Any:
                left = spread(builder, builder.trunc(builder.sub(dim, whole), INTEGER), words)
                return masked(builder, address, floats, size, builder.icmp_signed("<", lanes, left))

            whole = builder.and_(dim, LONG(-LANES))
            with cgutils.for_range_slice(builder, LONG(0), whole, LONG(LANES), inc=True) as (column, _):
                round_some(column, load_all)
            with builder.if_then(builder.icmp_signed("<", whole, dim)):
                round_some(whole, load_last)
            for row in (0, 1):
                write(folded(builder, builder.load(lengths[row]), builder.fadd), numbers, LONG(2 + row), 8)
                write(folded(builder, builder.load(outside[row]), builder.or_), seen, LONG(row), 4)
            return context.get_dummy_value()

        address = types.uint64
        return types.void(types.int64, types.float64, address, address, address), code

    return round_pair


_round_singles, _round_doubles = _rounded(single=True), _rounded(single=False)


@compiled_part
def _round_row(cells: NDArray[Any], scale: float, factor: float, most: float, integers: FloatArray) -> bool:
    """Round the cells of a row, multiply them by a factor and round again; return whether their squared length between
    both roundings is at most ``most``, so that the factor makes the row short enough."""
    square = 0.0
    for i in range(len(cells)):
        integers[i] = np.rint(np.float64(cells[i]) * scale)
        square += integers[i] * integers[i]
    for i in range(len(cells)):
        integers[i] = np.rint(integers[i] * factor)
    return square <= most


@compiled_part
def _to_doubles(
    address: Any, single: bool, scale: float, factor: float, most: float, dim: int, integers: FloatArray
) -> bool:
    """`_round_row` of the row at an address."""
    if single:
        return _round_row(carray(singles_at(address), dim), scale, factor, most, integers)
    return _round_row(carray(doubles_at(address), dim), scale, factor, most, integers)


@compiled_part
def _round_both(single: bool, dim: int, scale: float, inner: float, buffers: Buffers) -> None:
    """Round the rows at the first two addresses of ``buffers.places``, and once more if one of them is too long.

    The second time they are read again, and another thread may have written to them. So a row is accepted only if its
    squared length is at most the one that its factor was computed for.
    """
    places, numbers, bits = address_of(buffers.places), address_of(buffers.numbers), address_of(buffers.bits)
    factors, squares, most = buffers.numbers[:2], buffers.numbers[2:4], buffers.numbers[4:]
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


@compiled_part
def to_pairs(
    address: Any,
    single: bool,
    stride: int,
    count: int,
    dim: int,
    scale: float,
    inner: float,
    center: bool,
    skipped_rows: IntArray,
    wide_rows: FloatArray,
    buffers: Buffers,
) -> tuple[int, int]:
    """Round at most 2 · PAIRS rows to pairs and halves, with 1 as the constant coordinate if the plan is centered.

    Rows that do not fit in 16 bits go to ``wide_rows``; the indices of rows for NumPy go to ``skipped_rows``. Both are
    zero in the pairs. Returns the numbers of skipped and of wide rows.
    """
    across, skipped, wide = 4 * buffers.pairs.shape[2], 0, 0
    for k in range((count + 1) // 2):
        for which in range(3):
            buffers.places[2 + which] = address_of(buffers.pairs) + np.uint64(across * (PAIRS * which + k))
        for row in range(2):  # an odd last row is paired with itself, masked out below
            buffers.places[row] = address + np.uint64(min(2 * k + row, count - 1) * stride)
        _round_both(single, dim, scale, inner, buffers)
        ones = 0x10001
        for row in range(2):
            short, there = buffers.numbers[2 + row] <= buffers.numbers[4 + row], 2 * k + row < count
            if short and there and buffers.bits[row] < 1 << 16:
                continue
            ones &= 0xFFFF << 16 * (1 - row)
            if short and there:
                factor, most = buffers.numbers[row], buffers.numbers[4 + row]
                short = _to_doubles(buffers.places[row], single, scale, factor, most, dim, wide_rows[wide])
                wide += short
            if there and not short:
                skipped_rows[skipped] = 2 * k + row
                skipped += 1
        if ones != 0x10001:
            for which in range(3):
                for i in range(dim):
                    buffers.pairs[which, k, i] &= 0xFFFF * ones
        if center:
            buffers.pairs[0, k, dim] = buffers.pairs[2, k, dim] = (
                ones  # its high halves are zero, as the buffer already is there
            )
    return skipped, wide
