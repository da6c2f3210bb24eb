"""Columns with a norm beside them in 16-bit integers: the same sums as in any other way."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.reading.kernels.buffers import PAIRS
from dpframe.reading.mapper import mapper
from dpframe.reading.scratch import Scratch
from dpframe.reading.totals import accumulate
from tests.support.compiled import compiler, expected_gram, one_chunk, reference_integers, reference_map, zeros
from tests.support.int16 import promise as narrow_promise
from tests.support.int16 import table

MORE = (dp.Category("c", [0, 1, 2]), dp.Column("y", -1.0, 1.0), dp.Category("e", [0, 1, 2, 3]))


def normed(norm: float, *, center: bool = False) -> dp.Rows:
    """Columns of all sorts, of which some lose rows."""
    return narrow_promise(*MORE, norm=norm, center=center)


def cells_of(rows: dp.Rows, count: int) -> dict[str, NDArray[Any]]:
    cells = table(rows, count)
    cells["y"] = np.where(np.isfinite(cells["x0"]), cells["x0"], 0.5)  # all finite here
    return cells


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("norm", [0.3, 1.7, 2.4, 3.0, 30.0])
@pytest.mark.parametrize("count", [1, 2, 7, 2 * PAIRS - 1, 2 * PAIRS, 4 * PAIRS + 9])
def test_columns_with_a_norm(center: bool, norm: float, count: int) -> None:
    rows = normed(norm, center=center)
    cells = cells_of(rows, count)
    cells["y"][:: 2 * PAIRS + 3] = np.nan
    values = reference_map(rows, cells)
    assert np.isnan(values).any()
    with compiler(True):
        chunk = one_chunk(mapper(rows, Scratch()))(cells)
        assert count == len(chunk)
        total = zeros(rows)
        chunk.add_gram(total)
        integers = chunk.integers().copy()
    assert expected_gram(values, rows) == total.tolist()
    assert reference_integers(values, norm).tolist() == integers[:, : rows.known_dim].tolist()
    assert np.array_equal(values, chunk.values, equal_nan=True)
    if center:
        assert np.where(np.isnan(values).any(axis=1), 0, rows.constant).tolist() == integers[:, -1].tolist()


def test_what_statistics_see_does_not_depend_on_who_was_first() -> None:
    """Rows that are left out are mapped once more, elsewhere."""
    rows = normed(2.0, center=True)
    cells = cells_of(rows, 600)
    cells["y"][::7] = np.nan
    with compiler(True):
        chunk = one_chunk(mapper(rows, Scratch()))(cells)
        total = zeros(rows)
        values, integers = chunk.values.copy(), chunk.integers().copy()
        chunk.add_gram(total)
        assert np.array_equal(values, chunk.values, equal_nan=True)
        assert integers.tolist() == chunk.integers().tolist()
    assert expected_gram(reference_map(rows, cells), rows) == total.tolist()


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_statistics_in_any_order(order: Sequence[int]) -> None:
    rows = normed(2.0)
    cells = cells_of(rows, 3000)
    cells["y"][::7] = np.nan
    statistics = [dp.Moment(), dp.NormHistogram(edges=(0.5, 1.5, 4.0)), dp.NormHistogram(edges=(1.0, 2.0))]
    found = {}
    for compiled in (False, True):
        with compiler(compiled):
            sums = accumulate([cells], [statistics[which] for which in order], rows)
        found[compiled] = [{name: part.tolist() for name, part in sums[each].items()} for each in statistics]
    assert found[False] == found[True]


def test_columns_in_one_direction_are_left_to_doubles() -> None:
    """Here all rows but some: each has a coordinate of more than half the norm."""
    rows = narrow_promise(norm=1.0)
    cells = {name: np.full(600, column.middle) for name, column in zip(rows_names(rows), columns_of(rows), strict=True)}
    cells["x3"][::2], cells["x7"][1::3] = 2.0, -3.0
    values = reference_map(rows, cells)
    assert (np.abs(reference_integers(values, 1.0)).max(axis=1) > 2**15).mean() > 0.5
    with compiler(True):
        total = zeros(rows)
        one_chunk(mapper(rows, Scratch()))(cells).add_gram(total)
    assert expected_gram(values, rows) == total.tolist()


def columns_of(rows: dp.Rows) -> list[dp.Column]:
    return [column for column in rows.columns or () if isinstance(column, dp.Column)]


def rows_names(rows: dp.Rows) -> list[str]:
    return [column.name for column in columns_of(rows)]


@pytest.mark.parametrize("center", [False, True])
def test_sums_of_columns_with_a_norm_are_those_of_numpy(center: bool) -> None:
    """Of many tiles, on all cores, as a table and as an array."""
    rows = normed(2.0, center=center)
    cells = cells_of(rows, 120_001)
    cells["y"][5::977] = np.inf
    plain = narrow_promise(norm=2.0, center=center)
    array = np.column_stack([cells[name] for name in rows_names(plain)])
    with np.errstate(over="ignore"):
        single = np.asfortranarray(array, dtype=np.float32)
    for promised, data in ((rows, cells), (plain, array), (plain, single)):
        sums = []
        for compiled in (False, True):
            with compiler(compiled):
                sums.append(accumulate([data, data], [dp.Moment()], promised)[dp.Moment()]["moment"].tolist())
        assert sums[0] == sums[1]
