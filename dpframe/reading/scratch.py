"""Buffers that a worker reuses for every block."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.display.redacted import Redacted
from dpframe.lattice import FloatArray
from dpframe.spec.rows import Rows

LINE_BYTES = 64
"""Bytes in a cache line."""


def zeros_in_lines(shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
    """An array of zeros that begins with a cache line, so that its vectors lie in as few lines as they can.

    >>> rows = zeros_in_lines((3, 8))
    >>> rows.shape, rows.ctypes.data % LINE_BYTES, float(rows.sum())
    ((3, 8), 0, 0.0)
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.zeros(size + LINE_BYTES, dtype=np.uint8)
    start = -memory.ctypes.data % LINE_BYTES
    found: NDArray[Any] = memory[start : start + size].view(dtype).reshape(shape)
    return found


class Scratch(Redacted):
    """The buffers of one worker, reused for every block: new pages would cost as much as the arithmetic on them."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, Any], NDArray[Any]] = {}
        self._parts: list[Scratch] = []

    def array(self, use: str, rows: int, columns: int, *, by_columns: bool, dtype: Any = np.float64) -> NDArray[Any]:
        """An uninitialized array (rows, columns), in Fortran order if by columns.

        It takes the memory of the last array of the same use, which is then invalid.
        """
        size, key = rows * columns, (use, dtype)
        if key not in self._kept or self._kept[key].size < size:
            self._kept[key] = np.empty(size, dtype=dtype)
        flat = self._kept[key][:size]
        return flat.reshape(columns, rows).T if by_columns else flat.reshape(rows, columns)

    def integers(self, count: int, rows: Rows, *, by_columns: bool) -> FloatArray:
        """A buffer for integer rows, with the constant coordinate if they have one."""
        return self.array("integers", count, rows.width, by_columns=by_columns)

    def part(self) -> Scratch:
        """Buffers of their own for a map within a map, freed with these."""
        self._parts.append(Scratch())
        return self._parts[-1]

    def clear(self) -> None:
        """Free the memory."""
        self._kept.clear()
        for part in self._parts:
            part.clear()

    def __reduce__(self) -> tuple[type[Scratch], tuple[()], dict[str, Any]]:
        return Scratch, (), {"_parts": self._parts}  # pickled empty
