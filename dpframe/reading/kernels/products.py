"""Sums of products of coordinates, over pairs of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from dpframe.jit import compiled_part
from dpframe.lattice import IntArray
from dpframe.reading.kernels.buffers import GROUP, PAIRS, TALL, Buffers
from dpframe.reading.kernels.vectors import INTEGER, LANES, LONG, address_of, folded, in_llvm, spread


def _block(vectors: int) -> Any:
    """An intrinsic for one product tile: TALL coordinates times this many vectors of others, summed over pairs."""

    @in_llvm
    def add_block(
        _: Any, left: Any, right: Any, stride: Any, pairs: Any, per_carry: Any, sums: Any, across: Any
    ) -> Any:
        """Add the products of a tile to 64-bit sums.

        Compilers do not choose the instruction that multiplies and adds pairs, so this is written in vectors, which any
        machine has.

        Args:
            left: the address of the first of the TALL coordinates, in the first pair.
            right: the address of the first vector of coordinates to multiply them with, in the first pair.
            stride: from one pair to the next, in bytes.
            pairs: the number of pairs.
            per_carry: the number of pairs whose products fit in a 32-bit sum before it must be carried.
            sums: the address of the 64-bit sums to add to, a row for each of the TALL coordinates.
            across: from one such row to the next, in bytes.
        """
        integer, long = INTEGER, LONG
        words, wide = ir.VectorType(integer, LANES), ir.VectorType(long, LANES)
        halves, products = ir.VectorType(ir.IntType(16), 2 * LANES), ir.VectorType(integer, 2 * LANES)
        even, odd = (ir.Constant(words, list(range(start, 2 * LANES, 2))) for start in (0, 1))
        sixteen, rest = (ir.Constant(words, [number] * LANES) for number in (16, 0xFFFF))

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            left, right, stride, pairs, per_carry, sums, across = arguments
            places = [(i, j) for i in range(TALL) for j in range(vectors)]
            low, high = (
                [cgutils.alloca_once_value(builder, words(None)) for _ in places]  # type: ignore[no-untyped-call]
                for _ in range(2)
            )

            def address(start: Any, row: Any, offset: int, kind: Any) -> Any:
                return builder.inttoptr(
                    builder.add(start, builder.add(builder.mul(row, stride), long(offset))), kind.as_pointer()
                )

            def in_pairs(values: Any) -> Any:
                return builder.add(
                    *(builder.shuffle_vector(values, products(ir.Undefined), which) for which in (even, odd))
                )

            def add(value: Any, place: Any) -> None:
                builder.store(builder.add(builder.load(place), value), place)

            with cgutils.for_range_slice(builder, long(0), pairs, per_carry, inc=True) as (start, _):
                end = builder.add(start, per_carry)
                stop = builder.select(builder.icmp_signed("<", end, pairs), end, pairs)
                with cgutils.for_range_slice(builder, start, stop, long(1), inc=True) as (row, _):
                    others = [
                        builder.sext(builder.load(address(right, row, 4 * LANES * j, halves), align=4), products)
                        for j in range(vectors)
                    ]
                    for i in range(TALL):
                        word = builder.load(address(left, row, 4 * i, integer), align=4)
                        same = builder.sext(builder.bitcast(spread(builder, word, words), halves), products)
                        for j, other in enumerate(others):
                            add(in_pairs(builder.mul(same, other)), low[i * vectors + j])
                for small, large in zip(low, high, strict=True):
                    add(builder.ashr(builder.load(small), sixteen), large)
                    builder.store(builder.and_(builder.load(small), rest), small)
            for (i, j), small, large in zip(places, low, high, strict=True):
                offset = builder.add(builder.mul(across, long(i)), long(8 * LANES * j))
                total = builder.inttoptr(builder.add(sums, offset), wide.as_pointer())
                value = builder.shl(builder.sext(builder.load(large), wide), ir.Constant(wide, [16] * LANES))
                value = builder.add(value, builder.zext(builder.load(small), wide))
                builder.store(builder.add(builder.load(total, align=8), value), total, align=8)
            return context.get_dummy_value()

        address, number = types.uint64, types.int64
        return types.void(address, address, number, number, number, address, number), code

    return add_block


_add_one, _add_two = _block(1), _block(2)


@compiled_part
def add_pairs(half: int, pairs: int, width: int, per_carry: int, buffers: Buffers) -> None:
    """Add the products of coordinates, summed over pairs of rows: the lower triangle, in whole tiles.

    The right factors are the whole integers (half = 0), or their high (1) or low (2) halves. Sums with high halves go
    to a buffer of their own.
    """
    stride, across = 4 * buffers.pairs.shape[2], 8 * buffers.pairs.shape[2]
    left, sums = (
        address_of(buffers.pairs),
        address_of(buffers.sums) + np.uint64(across * buffers.sums.shape[1] * (half != 1)),
    )
    right = left + np.uint64(stride * PAIRS * half)
    for i in range(0, width, TALL):
        vectors = (min(i + TALL, width) + LANES - 1) // LANES
        these, row = left + np.uint64(4 * i), sums + np.uint64(across * i)
        for j in range(0, vectors - 1, 2):
            others, here = right + np.uint64(4 * LANES * j), row + np.uint64(8 * LANES * j)
            _add_two(these, others, stride, pairs, per_carry, here, across)
        if vectors % 2:
            others, here = right + np.uint64(4 * LANES * (vectors - 1)), row + np.uint64(8 * LANES * (vectors - 1))
            _add_one(these, others, stride, pairs, per_carry, here, across)


@compiled_part
def add_sums(sums: IntArray, weights: IntArray, total: IntArray) -> None:
    """Add the lower triangle of the sums, weighted, to both triangles of the total."""
    for a in range(len(weights)):
        for b in range(a + 1):
            entry = sums[a, b] * weights[a] * weights[b]
            total[a, b] += entry
            if a != b:
                total[b, a] += entry


@in_llvm
def _measure(_: Any, pairs: Any, stride: Any, count: Any, words: Any, squares: Any) -> Any:
    """For each GROUP of pairs, the largest sum of squares of a coordinate.

    Args:
        pairs: the address of the first pair.
        stride: from one pair to the next, in bytes.
        count: the number of pairs.
        words: the number of words of each pair that are read, in whole vectors.
        squares: the address of the sums, in eighths: the two squares of a word are added, the sum is divided by 8 and
            rounded down, and these are added up.
    """
    vector, products = ir.VectorType(INTEGER, LANES), ir.VectorType(INTEGER, 2 * LANES)
    halves = ir.VectorType(ir.IntType(16), 2 * LANES)
    even, odd = (ir.Constant(vector, list(range(start, 2 * LANES, 2))) for start in (0, 1))
    three = ir.Constant(vector, [3] * LANES)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pairs, stride, count, words, squares = arguments

        def larger(one: Any, other: Any) -> Any:
            return builder.select(builder.icmp_signed(">", one, other), one, other)

        sums, most = (cgutils.alloca_once(builder, vector) for _ in range(2))  # type: ignore[no-untyped-call]
        with cgutils.for_range_slice(builder, LONG(0), count, LONG(GROUP), inc=True) as (start, _):
            builder.store(vector(None), most)
            end = builder.add(start, LONG(GROUP))
            stop = builder.select(builder.icmp_signed("<", end, count), end, count)
            with cgutils.for_range_slice(builder, LONG(0), words, LONG(LANES), inc=True) as (column, _):
                builder.store(vector(None), sums)
                with cgutils.for_range_slice(builder, start, stop, LONG(1), inc=True) as (row, _):
                    offset = builder.add(builder.mul(row, stride), builder.mul(column, LONG(4)))
                    place = builder.inttoptr(builder.add(pairs, offset), halves.as_pointer())
                    values = builder.sext(builder.load(place, align=4), products)
                    values = builder.mul(values, values)
                    two = builder.add(
                        *(builder.shuffle_vector(values, products(ir.Undefined), which) for which in (even, odd))
                    )
                    builder.store(builder.add(builder.load(sums), builder.lshr(two, three)), sums)
                builder.store(larger(builder.load(sums), builder.load(most)), most)
            group = builder.mul(builder.udiv(start, LONG(GROUP)), LONG(4))
            place = builder.inttoptr(builder.add(squares, group), INTEGER.as_pointer())
            builder.store(folded(builder, builder.load(most), larger), place, align=4)
        return context.get_dummy_value()

    address, number = types.uint64, types.int64
    return types.void(address, number, number, number, address), code


@compiled_part
def pairs_that_fit(pairs: int, width: int, buffers: Buffers) -> int:
    """The number of pairs whose products fit in a 32-bit sum before it must be carried, for any two coordinates; 0
    if not even GROUP pairs fit.

    A sum of products of two coordinates is at most the larger of their sums of squares (Cauchy–Schwarz). So if the sum
    of squares of every coordinate, between any two carries, is at most 2³¹ − 2¹⁶, no sum of products exceeds that.
    """
    words = -(-width // LANES) * LANES
    _measure(address_of(buffers.pairs), 4 * buffers.pairs.shape[2], pairs, words, address_of(buffers.squares))
    groups, together = -(-pairs // GROUP), PAIRS // GROUP
    while together:
        fit = True
        for first in range(0, groups, together):
            most = 0
            for group in range(first, min(first + together, groups)):
                most += 8 * (int(buffers.squares[group]) + GROUP)
            fit &= most <= 2**31 - 2**16
        if fit:
            return together * GROUP
        together //= 2
    return 0


@compiled_part
def add_products(pairs: int, width: int, buffers: Buffers) -> None:
    """Add the products of some pairs: of whole integers if their sums fit in 32 bits, otherwise with both halves."""
    per_carry = pairs_that_fit(pairs, width, buffers)
    if per_carry:
        add_pairs(0, pairs, width, per_carry, buffers)
    else:
        add_pairs(1, pairs, width, PAIRS, buffers)
        add_pairs(2, pairs, width, PAIRS, buffers)
