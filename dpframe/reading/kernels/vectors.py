"""What compiled code does with vectors, spelled out for LLVM where compilers do not find the instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from dpframe.jit import compiled_part

LANES = 8
"""Words in a vector."""

INTEGER, LONG, DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()


def in_llvm(function: Any) -> Any:
    """A function that compiled code calls without the first argument, which is Numba's."""
    return intrinsic(function)


def _cells_at(kind: Any) -> Any:
    """Cells of a type, by the address of the first."""

    @in_llvm
    def pointer(_: Any, address: Any) -> Any:
        found = types.CPointer(kind)  # type: ignore[no-untyped-call]

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(found))

        return found(address), code

    return pointer


singles_at, doubles_at = _cells_at(types.float32), _cells_at(types.float64)


@compiled_part
def address_of(array: NDArray[Any]) -> Any:
    """The address of an array."""
    return np.uint64(array.ctypes.data)


def spread(builder: Any, number: Any, vector: Any) -> Any:
    """A vector with the same number in all lanes."""
    first = builder.insert_element(vector(ir.Undefined), number, INTEGER(0))
    return builder.shuffle_vector(first, vector(ir.Undefined), ir.VectorType(INTEGER, vector.count)(None))


def folded(builder: Any, vector: Any, add: Any) -> Any:
    """The sum of the lanes of a vector, or what else comes of two, one half with the other at a time."""
    count = vector.type.count
    while count > 1:
        count //= 2
        parts = [ir.Constant(ir.VectorType(INTEGER, count), list(range(start, start + count))) for start in (0, count)]
        vector = add(*(builder.shuffle_vector(vector, vector.type(ir.Undefined), part) for part in parts))
    return builder.extract_element(vector, INTEGER(0))


def masked(builder: Any, address: Any, vector: Any, size: int, mask: Any) -> Any:
    """The cells that a mask tells, of so many bytes each, and zeros in the others, which are not read."""
    pointer = vector.as_pointer()
    kind = ir.FunctionType(vector, [pointer, INTEGER, ir.VectorType(ir.IntType(1), vector.count), vector])
    name = f"llvm.masked.load.v{vector.count}f{8 * size}.p0"
    load = cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]
    return builder.call(load, [builder.inttoptr(address, pointer), INTEGER(size), mask, vector(None)])


def _turn(bits: int) -> Any:
    """The code that turns LANES strips of words, at LANES places each, to rows."""

    @in_llvm
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


turn_words, turn_doubles = _turn(32), _turn(64)
