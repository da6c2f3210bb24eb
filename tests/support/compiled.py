"""Maps of cells by one's own compiler, and what they must give: one row after the other."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.lattice import RADIUS, direction_bits, inner_radius
from dpframe.reading import kernel_loader
from dpframe.reading.kernel_loader import KernelKind
from dpframe.reading.mapper import Mapper

NASTY = [0.0, -0.0, 5e-324, -5e-324, 1e-310, np.nan, np.inf, -np.inf, 1.7e308, -1.7e308, 3.4e38, 1e151, 0.1, 0.7, 1.0]
NASTY += [sys.float_info.max, -sys.float_info.max]


def reference_map(rows: dp.Rows, table: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    assert rows.columns is not None
    with np.errstate(all="ignore"):
        return np.concatenate([column.map(table[column.name]) for column in rows.columns], axis=1)


def reference_integers(values: NDArray[Any], norm: float) -> NDArray[np.float64]:
    """The map to the lattice, one row after the other."""
    return np.concatenate([_reference_row(row, norm) for row in values] or [np.empty((0, values.shape[1]))])


def _reference_row(row: NDArray[Any], norm: float) -> Any:
    dim = len(row)
    with np.errstate(all="ignore"):
        wide = row.astype(np.float64)
        if not np.isfinite(wide).all():
            return np.zeros((1, dim))
        integers = np.rint(wide * np.float64(inner_radius(dim) / norm))
        square = sum(int(entry) ** 2 for entry in integers) if np.isfinite(integers).all() else 2**60
        if square <= RADIUS**2:
            return integers[None]
        if square < 2**52:
            return np.rint(integers * (inner_radius(dim) / np.sqrt(np.float64(square))))[None]
        directions = np.rint(wide / np.abs(wide).max() * 2.0 ** direction_bits(dim))
        length = np.sqrt(np.float64(sum(int(entry) ** 2 for entry in directions)))
        return np.rint(directions * (inner_radius(dim) / length))[None]


def one_chunk(mapped: Mapper) -> Callable[[Any], dp.Chunk]:
    """A map of blocks that are small enough to come as one chunk, or none."""

    def first(raw: Any) -> dp.Chunk:
        (chunk,) = mapped(raw)
        return chunk

    return first


@contextmanager
def compiler(compiled: bool) -> Iterator[kernel_loader.KernelLoader]:
    """A compiler of one's own, with compiled code or without."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_loader, "COMPILED_FROM", 0 if compiled else math.inf)
        patch.setattr(kernel_loader, "loader", found := kernel_loader.KernelLoader())
        for kind in KernelKind:
            assert compiled is (found.kernels(kind, 1) is not None)
        yield found


def expected_gram(values: NDArray[Any], rows: dp.Rows) -> list[list[int]]:
    """From the integers of one row after the other, in Python's integers."""
    integers = reference_integers(values, rows.length)
    with np.errstate(over="ignore"):
        finite = np.isfinite(values.astype(np.float64)).all(axis=1)
    if rows.center:
        integers = np.hstack([integers, np.where(finite, rows.constant, 0)[:, None]])
    whole: Any = integers.astype(np.int64).astype(object)
    return [[int(entry) for entry in line] for line in whole.T @ whole]


def zeros(rows: dp.Rows) -> NDArray[np.int64]:
    return np.zeros((rows.width, rows.width), dtype=np.int64)
