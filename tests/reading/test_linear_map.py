"""Rows multiplied by a matrix: the same numbers in every way, and never moved by a person more than declared."""

from __future__ import annotations

import gc
import math
import pickle
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.lattice import inner_radius
from dpframe.reading.linear_map import BITS, integer_matrix
from dpframe.reading.mapper import coordinates, mapper
from dpframe.reading.scratch import Scratch
from dpframe.reading.totals import Totals, accumulate
from tests.support.compiled import compiler, one_chunk

DIM = 20
RANDOM = np.random.default_rng(3)
MATRIX = RANDOM.standard_normal((DIM, DIM)) * 2.0 ** RANDOM.integers(-9, 3, DIM)
ABOUT = tuple(RANDOM.uniform(-1, 1, DIM).tolist())


def promise(dim: int = DIM, **said: Any) -> dp.Rows:
    columns = [dp.Column(f"x{i}", -1, 1) for i in range(dim)]
    return dp.Rows(columns=columns, **{"neighbors": "replace", "about": ABOUT, "linear": MATRIX, **said})


def cells(count: int) -> NDArray[Any]:
    found = np.random.default_rng(count).uniform(-2, 2, (count, DIM))
    found[::7, 3] = np.nan
    return found


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("center", [False, True])
def test_products_are_exact(compiled: bool, center: bool) -> None:
    """Rows rounded to the lattice and a rounded matrix, multiplied in rational numbers."""
    rows, table = promise(norm=1.5, center=center), cells(60)
    with compiler(compiled):
        found = one_chunk(mapper(rows, Scratch()))(table).values.copy()
    shift, _ = rows.affine
    placed = np.clip(table, -1, 1) - shift
    steps = np.rint(placed * (inner_radius(DIM) / rows.before_linear.length))
    integers, unit = integer_matrix(MATRIX)
    lost = np.isnan(table).any(axis=1)
    assert np.isnan(found[lost]).all()
    step = unit * rows.before_linear.step
    for row, values in zip(steps[~lost], found[~lost], strict=True):
        columns = (zip(row, column, strict=True) for column in integers.T)
        whole = [sum(Fraction(q) * Fraction(each) for q, each in column) for column in columns]
        assert [float(each) * step for each in whole] == values.tolist()
    np.testing.assert_allclose(found[~lost], (placed @ MATRIX)[~lost], atol=1e-3 * float(np.linalg.norm(MATRIX)))


@pytest.mark.parametrize("compiled", [False, True])
def test_a_row_has_the_same_coordinates_wherever_it_stands(compiled: bool) -> None:
    rows, table = promise(norm=1.5), cells(501)
    with compiler(compiled):
        together = coordinates(rows, table)
        for size in (1, 7, 100):
            apart = [coordinates(rows, table[start : start + size]) for start in range(0, len(table), size)]
            assert np.array_equal(together, np.concatenate(apart), equal_nan=True)
        backwards = coordinates(rows, np.asfortranarray(table[::-1]))
    assert np.array_equal(together, backwards[::-1], equal_nan=True)


def test_lost_rows_count_for_nothing() -> None:
    rows = promise(norm=1.5, center=True)
    table = cells(70)
    kept = table[~np.isnan(table).any(axis=1)]
    one, other = (accumulate([each], [dp.Moment()], rows)[dp.Moment()]["moment"] for each in (table, kept))
    assert one.tolist() == other.tolist()
    assert len(kept) * rows.constant**2 == one[-1, -1]


@pytest.mark.parametrize("factor", [1e-100, 1e-6, 1.0, 1e6])
def test_the_matrix_in_integers(factor: float) -> None:
    """Columns of at most 2^35 in length, up to rounding, and no coarser than needed: sums stay below 2^53."""
    integers, unit = integer_matrix(MATRIX * factor)
    lengths = np.linalg.norm(integers, axis=0)
    assert 2.0 ** (BITS - 1) <= lengths.max() <= 2.0**BITS + DIM
    assert unit == 2.0 ** round(np.log2(unit))
    assert 2.0**16 * (2.0**BITS + np.sqrt(DIM)) < 2.0**53
    np.testing.assert_array_equal(integer_matrix(np.zeros((2, 2)))[0], np.zeros((2, 2)))


def test_numbers_whose_squares_are_no_doubles_are_zero() -> None:
    """The length of such a column would be taken for an eighth of what it is."""
    matrix = np.full((200, 3), 1.57e-162)
    matrix[0] = 2.23e-162
    for factor in (1.0, 2.0**28):
        integers, unit = integer_matrix(matrix * factor)
        longest = max(sum(int(each) ** 2 for each in column) for column in integers.T)
        assert longest <= (2.0**BITS + math.sqrt(200)) ** 2
    np.testing.assert_allclose(integers * unit, matrix * 2.0**28)


CELLS = st.one_of(st.sampled_from([-5.0, -1.0, 0.0, 1.0, 1e300, np.nan, np.inf]), st.floats(-2, 2))
PLACES = st.one_of(st.sampled_from([-1.0, 0.0, 1.0]), st.floats(-1, 1))
ENTRIES = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 1e6, 1e-6]), st.floats(-10, 10))


@settings(max_examples=200, deadline=None)
@given(
    rows_of_cells=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=4, max_size=8),
    about=st.tuples(PLACES, PLACES, PLACES),
    linear=st.tuples(*[st.tuples(ENTRIES, ENTRIES, ENTRIES)] * 3),
    norm=st.one_of(st.none(), st.floats(1e-3, 10.0)),
    relation=st.sampled_from(["add-remove", "replace"]),
    contributions=st.sampled_from([1, 2]),
    center=st.booleans(),
)
def test_neighbors_never_move_a_moment_or_a_sum_more_than_declared(
    rows_of_cells: list[tuple[float, float, float]],
    about: tuple[float, ...],
    linear: tuple[tuple[float, ...], ...],
    norm: float | None,
    relation: str,
    contributions: int,
    center: bool,
) -> None:
    """Any center, corners too, any matrix, and cells far outside of their ranges."""
    rows = promise(
        3, about=about, linear=linear, norm=norm, neighbors=relation, contributions=contributions, center=center
    )
    table = np.array(rows_of_cells)
    one = table[:-contributions]
    other = one[contributions:]
    if relation == "replace":
        other = np.concatenate([table[-contributions:], other])
    first, second = (accumulate([each], [dp.Moment(), dp.PlacedSum()], rows) for each in (one, other))
    for statistic, name in ((dp.Moment(), "moment"), (dp.PlacedSum(), "sum")):
        moved = sum(int(entry) ** 2 for entry in (first[statistic][name] - second[statistic][name]).ravel())
        assert moved <= statistic.sensitivity(rows)[name].l2_squared


def test_the_bound_is_reached() -> None:
    """Rows that the map makes orthogonal and long; no smaller sensitivity would do."""
    rows = promise(2, about=(0.0, 0.0), linear=((3.0, 3.0), (3.0, -3.0)), norm=1.0)
    found = [
        accumulate([np.array([each])], [dp.Moment()], rows)[dp.Moment()]["moment"] for each in ([1.0, 0.0], [0.0, 1.0])
    ]
    moved = sum(int(entry) ** 2 for entry in (found[0] - found[1]).ravel())
    allowed = dp.Moment().sensitivity(rows)["moment"].l2_squared
    assert 0.9999 * allowed < moved <= allowed
    assert moved > dp.Moment().sensitivity(attrs.evolve(rows, neighbors="add-remove"))["moment"].l2_squared


def _filled() -> list[Scratch]:
    return [each for each in gc.get_objects() if isinstance(each, Scratch) and each._kept]


@pytest.mark.parametrize("pickled", [False, True])
def test_what_is_kept_for_long_holds_no_rows(pickled: bool) -> None:
    totals = Totals([dp.Moment()], promise(norm=1.5))
    if pickled:
        totals = pickle.loads(pickle.dumps(totals))
    others = _filled()
    totals.read(cells(60))
    kept = [each for each in _filled() if each not in others]
    assert len(kept) >= 2  # after the map and before it
    totals.finish()
    assert not any(each._kept for each in kept)


def test_the_length_of_mapped_rows_is_the_same_number_on_every_machine() -> None:
    """The root of the exactly rounded sum of squares, in any order."""
    exact = float(sum(Fraction(float(each)) for each in np.square(MATRIX).ravel()))
    assert math.sqrt(exact) * promise().before_linear.length == promise().length
