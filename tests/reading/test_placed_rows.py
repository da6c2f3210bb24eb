"""Rows about a center: the same integers in every way, and never moved by a person more than declared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.lattice import RADIUS
from dpframe.reading.kernels.buffers import PAIRS
from dpframe.reading.mapper import mapper
from dpframe.reading.scratch import Scratch
from dpframe.reading.totals import accumulate
from dpframe.reading.under import Under
from tests.support.compiled import compiler, expected_gram, one_chunk, reference_integers, zeros
from tests.support.int16 import promise, table

MORE = (dp.Category("c", [0, 1, 2]), dp.Column("y", -1.0, 1.0), dp.Category("e", [0, 1, 2, 3]))
DIM = 18 + 3 + 1 + 4
RANDOM = np.random.default_rng(8)
ABOUT = np.where(np.arange(DIM) % 5 == 4, RANDOM.choice([-1.0, 1.0], DIM), RANDOM.uniform(-1, 1, DIM))
SCALE = np.where(np.arange(DIM) % 3 == 2, 1.0, RANDOM.uniform(0.01, 3.0, DIM))


def placed(*more: dp.Column | dp.Category, **said: Any) -> dp.Rows:
    return promise(*(more or MORE), about=ABOUT, scale=SCALE, **said)


def cells_of(rows: dp.Rows, count: int) -> dict[str, NDArray[Any]]:
    cells = table(rows, count)
    cells["y"] = np.where(np.isfinite(cells["x0"]), cells["x0"], 0.5)
    cells["y"][:: 2 * PAIRS + 3] = np.nan
    return cells


def reference(rows: dp.Rows, cells: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    """The placed coordinates, cell by cell: clip to the range, subtract, multiply."""
    (shift, rate), at = rows.affine, 0
    columns = []
    for column in rows.columns or ():
        width = len(column.labels)
        columns += [_coordinates(column, j, cells[column.name], shift[at + j], rate[at + j]) for j in range(width)]
        at += width
    return np.array(columns).T


def _coordinates(column: Any, j: int, cells: NDArray[Any], shift: float, rate: float) -> list[float]:
    found = []
    for cell in cells.tolist():
        if isinstance(column, dp.Category):
            known = cell in column.levels
            found.append((float(cell == column.levels[j]) - shift) * rate if known else np.nan)
            continue
        value = cell if np.isfinite(cell) else np.nan if column.missing is None else column.missing
        clipped = min(max(value, column.low), column.high) if np.isfinite(value) else value
        mapped = (clipped - (column.middle + column.half_width * shift)) * (column.rate * rate)
        found.append(min(max(mapped, -1.0), 1.0) if (shift, rate) == (0.0, 1.0) else mapped)
    return found


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("norm", [None, 0.3, 2.4, 30.0])
@pytest.mark.parametrize("count", [1, 7, 2 * PAIRS, 4 * PAIRS + 9])
def test_integers_are_those_of_one_cell_after_the_other(
    compiled: bool, center: bool, norm: float | None, count: int
) -> None:
    rows = placed(norm=norm, center=center)
    cells = cells_of(rows, count)
    values = reference(rows, cells)
    assert np.isnan(values).any()
    with compiler(compiled):
        chunk = one_chunk(mapper(rows, Scratch()))(cells)
        total = zeros(rows)
        chunk.add_gram(total)
        integers = chunk.integers().copy()
        assert np.array_equal(values, chunk.values, equal_nan=True)
    assert expected_gram(values, rows) == total.tolist()
    assert reference_integers(values, rows.length).tolist() == integers[:, : rows.known_dim].tolist()


@pytest.mark.parametrize("compiled", [False, True])
def test_few_columns(compiled: bool) -> None:
    """Below 17 coordinates other kernels round them."""
    columns = (dp.Column("a", 0, 10), dp.Category("b", [0, 1]), dp.Column("y", -1, 1, missing=0.25))
    rows = dp.Rows(columns=columns, about=(0.5, 1.0, 0.0, -1.0), scale=(0.5, 1.0, 1.0, 3.0), neighbors="replace")
    cells = {"a": np.array([0.0, 7.5, 99.0, np.nan]), "b": np.array([0, 1, 2, 0]), "y": np.array([np.inf, 1, -9, 0])}
    values = reference(rows, cells)
    with compiler(compiled):
        total = accumulate([cells], [dp.Moment()], rows)[dp.Moment()]["moment"]
    assert expected_gram(values, rows) == total.tolist()


def test_statistics_of_different_promises_are_read_in_one_pass() -> None:
    plain, other = promise(*MORE), placed(norm=1.0)
    cells = cells_of(plain, 500)
    wanted: Sequence[dp.Statistic] = [
        dp.Moment(),
        Under(dp.Moment(), other),
        Under(dp.NormHistogram(edges=(1.0,)), other),
    ]
    found = accumulate([cells, cells], wanted, plain)
    assert (2 * accumulate([cells], [dp.Moment()], plain)[dp.Moment()]["moment"]).tolist() == found[wanted[0]][
        "moment"
    ].tolist()
    assert (2 * np.array(expected_gram(reference(other, cells), other))).tolist() == found[wanted[1]]["moment"].tolist()
    apart = accumulate([cells], [dp.NormHistogram(edges=(1.0,))], other)
    assert (2 * apart[dp.NormHistogram(edges=(1.0,))]["counts"]).tolist() == found[wanted[2]]["counts"].tolist()


CELLS = st.one_of(st.sampled_from([-5.0, 0.0, 0.5, 1.0, 5.0, 1e300, -1e300, np.nan, np.inf]), st.floats(-2, 2))
PLACES = st.one_of(st.sampled_from([-1.0, 0.0, 1.0]), st.floats(-1, 1))
SCALES = st.one_of(st.sampled_from([1e-6, 1.0, 1e6]), st.floats(1e-3, 1e3))


@settings(max_examples=200, deadline=None)
@given(
    cells=st.lists(st.tuples(CELLS, CELLS, st.sampled_from(["F", "M", "?"])), min_size=4, max_size=8),
    about=st.one_of(st.none(), st.tuples(PLACES, PLACES, PLACES, PLACES)),
    scale=st.one_of(st.none(), st.tuples(SCALES, SCALES, SCALES, SCALES)),
    norm=st.one_of(st.none(), st.floats(1e-3, 10.0)),
    relation=st.sampled_from(["add-remove", "replace"]),
    contributions=st.sampled_from([1, 2]),
    center=st.booleans(),
)
def test_neighbors_never_move_a_moment_or_a_sum_more_than_declared(
    cells: list[tuple[float, float, str]],
    about: tuple[float, ...] | None,
    scale: tuple[float, ...] | None,
    norm: float | None,
    relation: str,
    contributions: int,
    center: bool,
) -> None:
    """Centers at the corners of the box, and cells far outside of it."""
    rows = dp.Rows(
        columns=[dp.Column("a", -1, 1), dp.Column("b", 0, 1, missing=0.5), dp.Category("s", ["F", "M"])],
        neighbors=relation,
        contributions=contributions,
        center=center,
        about=about,
        scale=scale,
        norm=norm,
    )
    # One person has the first rows; in the neighboring data set they are gone, or the last rows stand in their place.
    one = cells[:-contributions]
    other = cells[contributions:] if relation == "replace" else one[contributions:]
    if relation == "replace":
        other = [*cells[-contributions:], *one[contributions:]]
    first, second = (_totals(rows, each) for each in (one, other))
    for statistic, name in ((dp.Moment(), "moment"), (dp.PlacedSum(), "sum")):
        moved, declared = (first[statistic][name] - second[statistic][name]).ravel(), statistic.sensitivity(rows)[name]
        assert sum(int(entry) ** 2 for entry in moved) <= declared.l2_squared
        assert declared.l1 is None or sum(abs(int(entry)) for entry in moved) <= declared.l1


def _totals(rows: dp.Rows, cells: list[tuple[float, float, str]]) -> Any:
    table = {name: np.array([row[i] for row in cells]) for i, name in enumerate(("a", "b", "s"))}
    if not cells:
        table = {"a": np.zeros(0), "b": np.zeros(0), "s": np.zeros(0, dtype="<U1")}
    return accumulate([table], [dp.Moment(), dp.PlacedSum()], rows)


@pytest.mark.parametrize(
    "said", [{"scale": (0.1, 0.1)}, {"about": (0.9, -0.9)}, {"about": (1.0, 1.0), "scale": (9.0, 9.0)}]
)
def test_rows_of_the_box_are_never_longer_than_promised(said: dict[str, Any]) -> None:
    """Without a norm, lengths are bounded by the ranges; also where a narrow range far from 0 is badly rounded."""
    for low in (-1.0, 1e15):
        columns = [dp.Column("a", low, low + 2), dp.Column("b", low, low + 2)]
        rows = dp.Rows(columns=columns, neighbors="add-remove", **said)
        for a in (low, low + 1, low + 2):
            for b in (low, low + 2):
                cells = {"a": np.array([a]), "b": np.array([b])}
                moment = accumulate([cells], [dp.Moment()], rows)[dp.Moment()]["moment"]
                assert np.trace(moment) <= RADIUS**2, (low, a, b)


def test_a_narrow_range_far_from_zero() -> None:
    """Its middle and the center are rounded, so that the coordinate of an end is larger than its formula says."""
    rows = dp.Rows(columns=[dp.Column("a", 1e15, 1e15 + 2)], neighbors="add-remove", about=(0.99,))
    moment = accumulate([{"a": np.array([1e15])}], [dp.Moment()], rows)[dp.Moment()]["moment"]
    assert moment.item() <= RADIUS**2


def test_the_bound_is_reached() -> None:
    """A center at a corner, and rows along both axes from it: no smaller sensitivity would do."""
    rows = dp.Rows(
        columns=[dp.Column("a", -1, 1), dp.Column("b", -1, 1)], neighbors="replace", about=(-1.0, -1.0), norm=1.0
    )
    one, other = {"a": np.array([1.0]), "b": np.array([-1.0])}, {"a": np.array([-1.0]), "b": np.array([1.0])}
    found = [accumulate([each], [dp.Moment()], rows)[dp.Moment()]["moment"] for each in (one, other)]
    moved = sum(int(entry) ** 2 for entry in (found[0] - found[1]).ravel())
    allowed = dp.Moment().sensitivity(rows)["moment"].l2_squared
    assert 0.9999 * allowed < moved <= allowed
    assert moved > dp.Moment().sensitivity(attrs.evolve(rows, neighbors="add-remove"))["moment"].l2_squared
