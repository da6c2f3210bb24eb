"""The fast map of columns gives the numbers of the plain one, whatever the cells hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe import lattice
from dpframe.lattice import RADIUS
from dpframe.reading import affine_map
from dpframe.reading.chunk import MappedChunk
from dpframe.reading.column_map import RoundedChunk
from dpframe.reading.mapper import coordinates, mapper
from dpframe.reading.scratch import Scratch
from dpframe.reading.totals import accumulate
from dpframe.sources import open_source
from tests.support.compiled import NASTY, compiler, one_chunk, reference_integers, reference_map

ENDS = st.floats(-1e6, 1e6) | st.sampled_from([0.1, 0.7, -1e308, 1e308, 1e-300, 0.0])


@st.composite
def columns(draw: st.DrawFn) -> list[dp.Column | dp.Category]:
    found: list[dp.Column | dp.Category] = []
    for i in range(draw(st.integers(1, 5))):
        if draw(st.integers(0, 3)) == 0:
            found.append(dp.Category(f"x{i}", [0.0, 1.0, 0.1], missing=draw(st.sampled_from([None, 0.1]))))
            continue
        low, high = sorted([draw(ENDS), draw(ENDS)])
        try:
            missing = draw(st.sampled_from([None, low, high]))
            found.append(dp.Column(f"x{i}", low, high, missing=missing))
        except dp.PlanError:  # too narrow or too wide
            found.append(dp.Column(f"x{i}", 0.1, 0.7))
    return found


@st.composite
def cells(draw: st.DrawFn, found: list[dp.Column | dp.Category], count: int) -> dict[str, NDArray[Any]]:
    table = {}
    for column in found:
        ends = [] if isinstance(column, dp.Category) else [column.low, column.high, column.middle]
        ends += [np.nextafter(end, way) for end in ends for way in (-np.inf, np.inf)]
        dtype: Any = draw(st.sampled_from([np.float64, np.float32, np.float16, np.longdouble, np.int64, np.uint8]))
        if np.dtype(dtype).kind == "f":
            some = draw(hnp.arrays(np.float64, count, elements=st.sampled_from(NASTY + ends) | st.floats(-2, 2)))
            with np.errstate(all="ignore"):
                table[column.name] = some.astype(dtype)
        else:
            table[column.name] = draw(hnp.arrays(dtype, count))
    return table


@pytest.fixture(params=["NumPy", "compiled"], scope="module")
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Through which of both maps cells go."""
    with compiler(request.param == "compiled"):
        yield request.param


@settings(max_examples=100, deadline=None)
@given(data=st.data(), found=columns(), count=st.integers(1, 9), center=st.booleans())
def test_the_fast_map_gives_the_numbers_of_the_plain_one(
    way: str, data: st.DataObject, found: list[dp.Column | dp.Category], count: int, center: bool
) -> None:
    rows = dp.Rows(columns=found, neighbors="add-remove", center=center, norm=data.draw(st.sampled_from([None, 0.5])))
    table = data.draw(cells(found, count))
    fast = one_chunk(mapper(rows, Scratch()))
    fast({name: np.ones(20) for name in table}).integers()  # memory with something in it
    expected, chunk = reference_map(rows, table), fast(table)
    assert expected.tobytes() == chunk.values.tobytes() or np.isnan(expected).any()
    assert np.array_equal(expected, chunk.values, equal_nan=True)
    integers = reference_integers(expected, rows.length)
    assert isinstance(chunk, MappedChunk | RoundedChunk)
    assert (rows.norm is None and bool(np.isfinite(expected).all())) == chunk.within
    assert integers.tolist() == chunk.integers()[:, : rows.known_dim].tolist()
    if len(expected):
        alone = [fast({name: cells[i : i + 1] for name, cells in table.items()}).values.copy() for i in range(count)]
        assert np.array_equal(expected, np.concatenate(alone), equal_nan=True)
    moment = accumulate([table], [dp.Moment()], rows)[dp.Moment()]["moment"]
    constant = np.where(np.isfinite(expected).all(axis=1), rows.constant, 0)[:, None]
    exact = (np.hstack([integers, constant]) if center else integers).astype(np.int64).astype(object)
    assert (exact.T @ exact).tolist() == moment.tolist() if count else not moment.any()


FORMS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "as they are": np.asarray,
    "every second": lambda cells: np.repeat(cells, 2)[::2],
    "backwards": lambda cells: cells[::-1].copy()[::-1],
    "read-only": lambda cells: np.frombuffer(cells.tobytes(), cells.dtype),
    "not aligned": lambda cells: np.frombuffer(b"x" + cells.tobytes(), np.uint8)[1:].view(cells.dtype),
    "of the other end": lambda cells: cells.astype(cells.dtype.newbyteorder()),
    "a subclass": lambda cells: cells.view(np.recarray),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.usefixtures("way")
def test_cells_in_any_form(form: str, dtype: Any) -> None:
    """Thousands of cells, so that compiled loops are vectorized, with every nasty one at every place of a vector."""
    rows = dp.Rows(columns=[dp.Column("x", -0.3, 0.7, missing=0.1), dp.Column("y", 0.1, 3.3)], neighbors="add-remove")
    random = np.random.default_rng(20)
    plain = random.uniform(-1, 4, 4099)
    with np.errstate(all="ignore"):
        plain[random.choice(4099, 900, replace=False)] = random.choice(NASTY, 900)
        plain = plain.astype(dtype)
    cells = FORMS[form](plain)
    assert np.array_equal(plain, cells, equal_nan=True)
    table = {"x": cells, "y": cells}
    expected, chunk = reference_map(rows, table), one_chunk(mapper(rows, Scratch()))(table)
    assert np.array_equal(expected, chunk.values, equal_nan=True)
    assert reference_integers(expected, rows.length).tolist() == chunk.integers().tolist()


def test_cells_that_are_written_to_meanwhile_are_looked_at_once() -> None:
    """A cell is no number when it is copied, and is one right after that."""
    cells = np.array([0.25, math.nan, 0.75])

    class Room(np.ndarray):
        def min(self, *how: Any, **more: Any) -> Any:  # the first thing that is asked of the copy
            cells[1] = 0.25
            return super().min(*how, **more)

    values = np.zeros((1, 3)).view(Room)
    numbers = affine_map.Numbers.of([dp.Column("x", -1, 1, missing=0.5)], np.zeros(1), np.ones(1))
    assert numbers.fill(values, [cells])
    assert [[0.25, 0.5, 0.75]] == values.tolist()
    assert [0.25, 0.25, 0.75] == cells.tolist()


def test_a_norm_that_is_not_known_yet() -> None:
    """The pass that finds the norm has no lattice."""
    rows = dp.Rows(columns=[dp.Column("x", -1, 1)], norm=dp.ref("norm"), neighbors="add-remove")
    with compiler(True):
        assert [[0.5]] == one_chunk(mapper(rows, Scratch()))({"x": np.array([0.5])}).values.tolist()


@pytest.mark.parametrize("other", [dp.Column("y", -1, 1), dp.Category("y", [0, 1])])
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.usefixtures("way")
def test_columns_of_different_lengths_are_not_read_beyond_their_end(other: dp.Column | dp.Category, count: int) -> None:
    rows = dp.Rows(columns=[dp.Column("x", -1, 1), other], neighbors="add-remove")
    with pytest.raises(IndexError, match="different lengths"):
        one_chunk(mapper(rows, Scratch()))({"x": np.zeros(3), "y": np.zeros(count)})


def test_coordinates_are_mapped_when_a_statistic_asks_for_them() -> None:
    rows = dp.Rows(columns=[dp.Column("x", -1, 1), dp.Category("y", [0, 1])], neighbors="add-remove", center=True)
    table = {"x": np.array([-0.5, 0.25, 3.0]), "y": np.array([0, 1, 1])}
    with compiler(True):
        scratch = Scratch()
        chunk = one_chunk(mapper(rows, scratch))(table)
        assert 3 == len(chunk.integers())
        assert {"integers"} == {use for use, _ in scratch._kept}
        assert reference_map(rows, table).tolist() == chunk.values.tolist()
        assert chunk.values is chunk.values
        with pytest.raises(ValueError, match="read-only"):
            chunk.values[0, 0] = 1.0


@settings(max_examples=100, deadline=None)
@given(
    values=hnp.arrays(
        st.sampled_from([np.float64, np.float32]),
        st.tuples(st.integers(1, 8), st.integers(1, 6)),
        elements=st.sampled_from([0.0, -0.0, 1e-300, np.nan, np.inf, 1e30, -1e30, 7e5]) | st.floats(-4, 4, width=16),
    ),
    norm=st.sampled_from([1e-3, 0.7, 1.0, 3.0, 1e5]),
    order=st.sampled_from(["C", "F"]),
)
def test_the_lattice_is_that_of_one_row_after_the_other(values: NDArray[Any], norm: float, order: Any) -> None:
    integers, _ = lattice.integer_rows(np.asarray(values, order=order), norm)
    assert reference_integers(values, norm).tolist() == integers.tolist()


def test_ends_that_round_beyond_one_are_clipped() -> None:
    """A range with an end that would go a last bit beyond ±1 without a clip: it may not be left out."""

    def unclipped(column: dp.Column) -> list[float]:
        return [(end - column.middle) * column.rate for end in (column.low, column.high)]

    ranges = ((low / 10, high / 10) for low in range(-40, 40) for high in range(low + 1, 60))
    beyond = [column for column in (dp.Column("x", *each) for each in ranges) if max(map(abs, unclipped(column))) > 1]
    assert beyond
    for column in beyond:
        ends = np.array([column.low, column.high])
        mapped = coordinates(dp.Rows(columns=[column], neighbors="add-remove"), {"x": ends})
        assert column.map(ends).tolist() == mapped.tolist()
        assert 1.0 == np.abs(mapped).max()


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_with_columns_is_a_table(order: Any) -> None:
    rows = dp.Rows(columns=[dp.Column("a", -1, 1), dp.Category("b", [0, 1]), dp.Column("c", 0, 5)], neighbors="replace")
    values = np.asarray(np.random.default_rng(3).integers(-2, 7, size=(50, 3)), dtype=np.float32, order=order)
    table = {name: values[:, i] for i, name in enumerate("abc")}
    assert np.array_equal(coordinates(rows, table), coordinates(rows, values), equal_nan=True)


ALIKE = [2**60 + i for i in range(100)]  # one double


@pytest.mark.parametrize(
    ("levels", "cells"),
    [
        (ALIKE, np.array([2.0**60, np.nan, 2.0**61])),
        ([2.0**53, 2**53 + 1], np.array([2**53, 2**53 + 1, 2**53 + 2])),
        (["a", "a\0", "a\0\0"], np.array(["a", "b", "a"])),
        ([1, 2**70], np.array([True, False])),
    ],
)
@pytest.mark.parametrize("missing", [0, None])
def test_a_cell_is_never_two_levels(levels: list[Any], cells: NDArray[Any], missing: int | None) -> None:
    """Nobody measures a row of categories; one with several ones would be longer than the norm."""
    category = dp.Category("code", levels, missing=None if missing is None else levels[missing])
    rows = dp.Rows(columns=[category], neighbors="add-remove")
    for cell in cells[:, None]:
        moment = accumulate([{"code": cell}], [dp.Moment()], rows)[dp.Moment()]["moment"]
        assert np.trace(moment) <= RADIUS**2


def test_words_of_arrow_are_never_two_levels() -> None:
    pa = pytest.importorskip("pyarrow")
    rows = dp.Rows(columns=[dp.Category("code", ["a", "a\0"])], neighbors="add-remove")
    blocks = open_source(pa.table({"code": ["a"]}), rows).blocks()
    assert np.trace(accumulate(blocks, [dp.Moment()], rows)[dp.Moment()]["moment"]) <= RADIUS**2
