"""Vector operations, written in LLVM where compilers do not choose the right instructions."""

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
    """An intrinsic: a function that emits LLVM code. Kernels call it without its first argument, which is Numba's."""
    return intrinsic(function)


def _cells_at(kind: Any) -> Any:
    """An intrinsic that turns an address into a pointer to cells of a type."""

    @in_llvm
    def pointer(_: Any, address: Any) -> Any:
        result = types.CPointer(kind)  # type: ignore[no-untyped-call]

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(result))

        return result(address), code

    return pointer


singles_at, doubles_at = _cells_at(types.float32), _cells_at(types.float64)


@compiled_part
def address_of(array: NDArray[Any]) -> Any:
    """The address of the first entry of an array."""
    return np.uint64(array.ctypes.data)


def spread(builder: Any, number: Any, vector: Any) -> Any:
    """A vector with the same number in all lanes."""
    first = builder.insert_element(vector(ir.Undefined), number, INTEGER(0))
    return builder.shuffle_vector(first, vector(ir.Undefined), ir.VectorType(INTEGER, vector.count)(None))


def folded(builder: Any, vector: Any, add: Any) -> Any:
    """The reduction of the lanes of a vector by an operation such as addition, combining halves."""
    count = vector.type.count
    while count > 1:
        count //= 2
        parts = [ir.Constant(ir.VectorType(INTEGER, count), list(range(start, start + count))) for start in (0, count)]
        vector = add(*(builder.shuffle_vector(vector, vector.type(ir.Undefined), part) for part in parts))
    return builder.extract_element(vector, INTEGER(0))


def masked(builder: Any, address: Any, vector: Any, size: int, mask: Any) -> Any:
    """A masked load of cells of ``size`` bytes: zero, and not read, where the mask is false."""
    pointer = vector.as_pointer()
    kind = ir.FunctionType(vector, [pointer, INTEGER, ir.VectorType(ir.IntType(1), vector.count), vector])
    name = f"llvm.masked.load.v{vector.count}f{8 * size}.p0"
    load = cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]
    return builder.call(load, [builder.inttoptr(address, pointer), INTEGER(size), mask, vector(None)])


def prefetch(builder: Any, address: Any) -> None:
    """Have the memory at an address brought to the caches; nothing is read, so it may lie outside of any array."""
    pointer = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [pointer, INTEGER, INTEGER, INTEGER])
    hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")  # type: ignore[no-untyped-call]
    to_read, to_all_caches, data = INTEGER(0), INTEGER(3), INTEGER(1)
    builder.call(hint, [builder.inttoptr(address, pointer), to_read, to_all_caches, data])


def _transpose(bits: int) -> Any:
    """An intrinsic that transposes a tile of LANES × LANES words of this many bits."""

    @in_llvm
    def transpose(_: Any, columns: Any, stride: Any, rows: Any, across: Any) -> Any:
        """Read contiguous columns and write contiguous rows.

        Args:
            columns: the address of the first word of the first column.
            stride: from one column to the next, in bytes.
            rows: the address of the first word of the first row.
            across: from one row to the next, in bytes.
        """
        long, words = ir.IntType(64), ir.VectorType(ir.IntType(bits), LANES)
        halves = [
            ir.Constant(
                ir.VectorType(ir.IntType(32), LANES), [lane // 2 + start + LANES * (lane % 2) for lane in range(LANES)]
            )
            for start in (0, LANES // 2)
        ]

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            columns, stride, rows, across = arguments

            def place(start: Any, step: Any, number: int) -> Any:
                return builder.inttoptr(builder.add(start, builder.mul(step, long(number))), words.as_pointer())

            tile = [builder.load(place(columns, stride, number), align=bits // 8) for number in range(LANES)]
            for _ in range(
                LANES.bit_length() - 1
            ):  # each time, interleave the first half of the vectors with the second
                both = zip(tile[: LANES // 2], tile[LANES // 2 :], strict=True)
                tile = [builder.shuffle_vector(one, other, half) for one, other in both for half in halves]
            for number, row in enumerate(tile):
                builder.store(row, place(rows, across, number), align=bits // 8)
            return context.get_dummy_value()

        address, number = types.uint64, types.int64
        return types.void(address, number, address, number), code

    return transpose


transpose_words, transpose_doubles = _transpose(32), _transpose(64)
