"""Pairs of rows to sums of products of their coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from dpframe.jit import compiled_part
from dpframe.lattice import IntArray
from dpframe.reading.kernels.buffers import GROUP, PAIRS, TALL, Room
from dpframe.reading.kernels.vectors import INTEGER, LANES, LONG, address_of, folded, in_llvm, spread


def _block(vectors: int) -> Any:
    """The code for products of TALL coordinates with so many vectors of others, summed over pairs of rows."""

    @in_llvm
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
        integer, long = INTEGER, LONG
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
                        same = builder.sext(builder.bitcast(spread(builder, word, words), halves), products)
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


@compiled_part
def add_pairs(half: int, pairs: int, width: int, steps: int, room: Room) -> None:
    """Add sums over pairs of rows of products of coordinates with those up to them, and some beyond: of the whole
    integers (half = 0), or of them with their high (1) or low (2) halves. Sums with high halves are kept apart."""
    stride, across = 4 * room.pairs.shape[2], 8 * room.pairs.shape[2]
    left, sums = address_of(room.pairs), address_of(room.sums) + np.uint64(across * room.sums.shape[1] * (half != 1))
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


@compiled_part
def add_sums(sums: IntArray, weights: IntArray, total: IntArray) -> None:
    """Add what was summed, weighted, to both halves of the total."""
    for a in range(len(weights)):
        for b in range(a + 1):
            found = sums[a, b] * weights[a] * weights[b]
            total[a, b] += found
            if a != b:
                total[b, a] += found


@in_llvm
def _measure(_: Any, pairs: Any, stride: Any, count: Any, words: Any, squares: Any) -> Any:
    """For each GROUP of pairs, the largest sum of the squares of a coordinate.

    Args:
        pairs: the address of the first.
        stride: from a pair to the next, in bytes.
        count: how many there are.
        words: how many of each are looked at, in whole vectors.
        squares: the address of the sums, in eighths, where those of two squares are rounded down before they are added.
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
                    found = builder.sext(builder.load(place, align=4), products)
                    found = builder.mul(found, found)
                    two = builder.add(
                        *(builder.shuffle_vector(found, products(ir.Undefined), which) for which in (even, odd))
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
def fitting_steps(pairs: int, width: int, room: Room) -> int:
    """How many pairs of products may be added in 32 bits, whatever two coordinates are multiplied; zero if none may.

    The sum of the products of two coordinates is at most the larger of their sums of squares (Cauchy and Schwarz). So
    where those of every coordinate are at most 2³¹ − 2¹⁶, over all groups between two carries, so are these.
    """
    words = -(-width // LANES) * LANES
    _measure(address_of(room.pairs), 4 * room.pairs.shape[2], pairs, words, address_of(room.squares))
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


@compiled_part
def add_products(pairs: int, width: int, room: Room) -> None:
    """Add the products of some pairs: of whole integers where 32 bits hold their sums, otherwise with both halves."""
    steps = fitting_steps(pairs, width, room)
    if steps:
        add_pairs(0, pairs, width, steps, room)
    else:
        add_pairs(1, pairs, width, PAIRS, room)
        add_pairs(2, pairs, width, PAIRS, room)
