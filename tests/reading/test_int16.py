"""Columns in 16-bit integers: the same sums as in any other way, and never a sum that 32 bits do not hold."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe import lattice
from dpframe.reading import int16, kernel_loader, kernels
from dpframe.reading.column_map import Int16Chunk
from dpframe.reading.kernel_loader import KernelKind
from dpframe.reading.kernels import pairs, selftest
from dpframe.reading.kernels.buffers import PAIRS
from dpframe.reading.kernels.vectors import LANES
from dpframe.reading.mapper import coordinates, mapper
from dpframe.reading.scratch import Scratch
from dpframe.reading.totals import accumulate
from dpframe.sources import open_source
from tests.support.compiled import compiler, one_chunk, reference_integers, reference_map
from tests.support.int16 import COLUMNS, promise, table

CATEGORY = dp.Category("c", [0, 1, 2], missing=1)


def largest(steps: int) -> int:
    """The largest integer whose products may be added so many times, in pairs, to what a carry leaves."""
    return math.isqrt((2**31 - 2**16) // (2 * steps))


def exact(found: NDArray[Any]) -> list[list[int]]:
    wide = found.astype(np.int64)
    sums: list[list[int]] = (wide @ wide.T).tolist()
    return sums


def summed(transposed: NDArray[np.int16], steps: int, total: NDArray[np.int64] | None = None) -> list[list[int]]:
    total = np.zeros((len(transposed),) * 2, dtype=np.int64) if total is None else total
    kernels.add_int16_columns(transposed, steps, np.ones(len(transposed), dtype=np.int64), total)
    return total.tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("width", [LANES, 9, 12, 13, 19, 24, 48, 50])
@pytest.mark.parametrize("count", [0, 16, 48, 2 * PAIRS, 2 * PAIRS + 16, 4 * PAIRS + 32])
@pytest.mark.parametrize("steps", [4, 5, 12, 200])
def test_products_are_summed_exactly(width: int, count: int, steps: int) -> None:
    most = largest(steps)
    transposed = np.random.default_rng(width).integers(-most, most, (width, count), endpoint=True, dtype=np.int16)
    total = np.zeros((width, width), dtype=np.int64)
    assert exact(transposed) == summed(transposed, steps, total)
    assert (2 * np.array(exact(transposed))).tolist() == summed(transposed, steps, total)


@pytest.mark.parametrize("steps", [4, 5, 12, 25, 100])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_sums_fit_and_larger_ones_would_be_seen(steps: int, sign: int) -> None:
    transposed = np.full((LANES, 16 * 3 * steps), largest(steps), dtype=np.int16)
    transposed[1] *= sign
    assert exact(transposed) == summed(transposed, steps)
    assert exact(transposed) != summed(transposed, steps + steps // 4 + 1)


def test_there_is_room_beside_the_largest_sums_for_what_a_carry_leaves() -> None:
    """Sixteen bits of a sum stay where it was when the others are carried over; here they are all ones."""
    steps, most = next(
        (steps, most)
        for steps in range(4, 64)
        for most in [math.isqrt((2**31 - 1) // (2 * steps))]
        if 2 * steps * most**2 > 2**31 - 2**15
    )
    transposed = np.zeros((LANES, 2 * PAIRS), dtype=np.int16)
    transposed[:, 2 * steps : 4 * steps] = most
    transposed[0, 0], transposed[1, 0] = 255, 257  # 65535
    assert exact(transposed) != summed(transposed, steps)
    assert most > largest(steps)
    transposed[:, 2 * steps : 4 * steps] = largest(steps)
    assert exact(transposed) == summed(transposed, steps)


def test_strips_are_weighted() -> None:
    total = np.zeros((LANES, LANES), dtype=np.int64)
    weights = np.array([1] * (LANES - 1) + [1000])
    kernels.add_int16_columns(np.ones((LANES, 16), dtype=np.int16), 4, weights, total)
    assert (16 * np.outer(weights, weights)).tolist() == total.tolist()


def test_no_promise_lets_32_bits_overflow() -> None:
    widths = [*range(1, 200), *range(200, lattice.TILE, 37), lattice.TILE - 1]
    for width in widths:
        rows = dp.Rows(columns=[dp.Column(f"x{i}", 0, 1) for i in range(width)], neighbors="replace")
        steps = int16.pairs_per_carry(rows)
        assert (steps > 0) is (width >= 17)
        if steps:
            ends = coordinates(rows, np.array([[0.0] * width, [1.0] * width]))
            most = int(np.abs(np.rint(ends * lattice.steps_per_unit(width, rows.length))).max())
            assert most < 2**15
            assert 2 * steps * most**2 + 2**16 <= 2**31


@pytest.mark.parametrize("said", [{"norm": 1.0}, {"norm": 100.0}, {"norm": dp.ref("radius")}])
def test_a_norm_beside_the_columns_is_not_for_16_bits(said: Any) -> None:
    assert 0 == int16.pairs_per_carry(promise(**said))


def test_wide_rows_are_not_for_16_bits() -> None:
    room = lattice.TILE - len(COLUMNS)
    most, too_many = (dp.Category("level", list(range(count))) for count in (room - 1, room))
    assert 0 < int16.pairs_per_carry(promise(most))
    assert 0 == int16.pairs_per_carry(promise(most, center=True))
    assert 0 == int16.pairs_per_carry(promise(too_many))


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("count", [1, 15, 16, 17, 4099])
def test_the_integers_are_those_of_one_row_after_the_other(center: bool, count: int) -> None:
    rows = promise(CATEGORY, center=center)
    cells = table(rows, count)
    with compiler(True):
        mapped = one_chunk(mapper(rows, Scratch()))
        mapped(table(rows, 5000, nasty=False)).integers()  # memory with something in it
        chunk = mapped(cells)
    assert isinstance(chunk, Int16Chunk)
    assert count == len(chunk)
    values = reference_map(rows, cells)
    integers = reference_integers(values, rows.length)
    expected = np.hstack([integers, np.full((count, 1), rows.constant)]) if center else integers
    total = np.zeros((rows.width, rows.width), dtype=np.int64)
    chunk.add_gram(total)
    assert exact(expected.T.astype(np.int64)) == total.tolist()
    assert expected.tolist() == chunk.integers().tolist()
    assert values.tolist() == chunk.values.tolist()
    chunk.add_gram(again := np.zeros_like(total))  # the buffer is unchanged
    assert total.tolist() == again.tolist()


def other_ways(cells: NDArray[Any], column: dp.Column) -> dict[str, NDArray[Any]]:
    """Maps that are the same on paper."""
    return {
        "divided": (cells - column.middle) / column.half_width,
        "one product": cells * column.rate - column.middle * column.rate,
    }


@pytest.mark.parametrize("norm", [None, 3.0])
def test_cells_are_mapped_in_one_way(norm: float | None) -> None:
    """Cells on the edge between two integers, which other ways would round to the other."""
    column = dp.Column("x0", -1.3, 2.9)
    rows = dp.Rows(columns=[column, *COLUMNS[1:]], neighbors="add-remove", norm=norm)
    scale = lattice.steps_per_unit(rows.known_dim, rows.length)
    halves = (np.arange(-9000, 9000) + 0.5) / scale
    cells = column.middle + column.half_width * halves[np.abs(halves) < 0.6]
    cells = np.concatenate([cells, np.nextafter(cells, -np.inf), np.nextafter(cells, np.inf)])
    mapped = np.rint((cells - column.middle) * column.rate * scale)
    for name, other in other_ways(cells, column).items():
        assert (mapped != np.rint(other * scale)).sum() > 100, name
    found = {each.name: np.zeros(len(cells)) for each in COLUMNS} | {"x0": cells}
    values = reference_map(rows, found)
    assert mapped.tolist() == np.rint(values[:, 0] * scale).tolist()
    total = np.zeros((rows.width, rows.width), dtype=np.int64)
    with compiler(True):
        one_chunk(mapper(rows, Scratch()))(found).add_gram(total)
    assert exact(reference_integers(values, rows.length).T) == total.tolist()


@pytest.mark.parametrize("said", [{}, {"norm": 2.0}])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("count", [17, 19])
def test_arrays_of_other_columns_are_not_read(said: Any, compiled: bool, count: int) -> None:
    with compiler(compiled), pytest.raises(IndexError, match=f"{count} columns, where 18 were promised"):
        one_chunk(mapper(promise(**said), Scratch()))(np.ones((3, count)))


@pytest.mark.parametrize("said", [{}, {"norm": 2.0}])
@pytest.mark.parametrize("shape", [(5, 1), (5, 2), (5, 0)])
def test_columns_of_two_dimensions_are_not_read(said: Any, shape: tuple[int, int]) -> None:
    rows = promise(**said)
    with compiler(True), pytest.raises(IndexError, match="lengths"):
        one_chunk(mapper(rows, Scratch()))({**table(rows, 5), "x3": np.ones(shape)})


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("lost", [dp.Column("y", -1, 1), dp.Category("y", [0, 1])])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
def test_a_lost_row_contributes_nothing(center: bool, lost: dp.Column | dp.Category, wrong: float, dtype: type) -> None:
    rows = promise(lost, dp.Column("z", -1, 1), center=center)
    cells = table(rows, 40)
    cells["y"], cells["z"] = np.ones(40, dtype=dtype), np.ones(40, dtype=dtype)
    cells["y"][7] = cells["y"][39] = cells["z"][0] = wrong
    with compiler(True):
        chunk = one_chunk(mapper(rows, Scratch()))(cells)
    integers = reference_integers(reference_map(rows, cells), rows.length)
    integers = np.hstack([integers, np.full((40, 1), rows.constant)]) if center else integers
    integers[[0, 7, 39]] = 0
    assert integers.any(axis=1).sum() == 37
    assert isinstance(chunk, Int16Chunk)
    total = np.zeros((rows.width, rows.width), dtype=np.int64)
    chunk.add_gram(total)
    assert exact(integers.T) == total.tolist()
    assert integers.tolist() == chunk.integers().tolist()


@pytest.mark.parametrize("center", [False, True])
def test_the_sums_are_those_of_numpy(center: bool) -> None:
    """Of many tiles, on all cores."""
    rows = promise(CATEGORY, center=center)
    cells = table(rows, 70_001)
    sums = []
    for compiled in (False, True):
        with compiler(compiled):
            sums.append(accumulate([cells, cells], [dp.Moment()], rows)[dp.Moment()]["moment"].tolist())
    assert sums[0] == sums[1]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_arrays_are_tables(order: Any, dtype: Any) -> None:
    rows = promise()
    random = np.random.default_rng(8)
    values = np.asarray(random.integers(-4, 4, (40_000, 18)) + random.random((40_000, 18)), dtype=dtype, order=order)
    for block in (values, values[::2], values[100:, ::-1]):
        with compiler(False):
            expected = accumulate([block], [dp.Moment()], rows)[dp.Moment()]["moment"]
        with compiler(True):
            found = accumulate([block], [dp.Moment()], rows)[dp.Moment()]["moment"]
        table = {f"x{i}": block[:, i] for i in range(18)}
        assert exact_of(rows, table) == expected.tolist() == found.tolist()


def exact_of(rows: dp.Rows, cells: dict[str, NDArray[Any]]) -> list[list[int]]:
    """The moment from the plain map of each column."""
    integers = np.rint(reference_map(rows, cells) * lattice.steps_per_unit(rows.known_dim, rows.length))
    return exact(integers.T.astype(np.int64))


@pytest.mark.parametrize("size", [500, 1024, 5000, 20_000, 50_000])
def test_files_of_any_grouping(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code takes over midway."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = promise(CATEGORY, center=True)
    cells = table(rows, 50_000)
    expected = accumulate([cells], [dp.Moment()], rows)[dp.Moment()]["moment"]
    frame = pa.table({name: np.ascontiguousarray(column) for name, column in cells.items()})
    for number, start in enumerate(range(0, 50_000, 25_000)):
        pq.write_table(frame.slice(start, 25_000), tmp_path / f"{number}.parquet", row_group_size=size)
    monkeypatch.setattr(kernel_loader, "COMPILED_FROM", 30_000 * rows.known_dim)
    monkeypatch.setattr(kernel_loader, "loader", kernel_loader.KernelLoader())
    source = open_source(tmp_path, rows)
    assert expected.tolist() == accumulate(source.all_blocks(), [dp.Moment()], rows)[dp.Moment()]["moment"].tolist()
    assert kernel_loader.loader.kernels(KernelKind.INT16_COLUMNS, 0) is not None


@pytest.mark.parametrize("what", ["round_columns", "add_int16_columns"])
def test_code_that_gives_other_integers_is_not_used(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    selftest.check_int16_columns()
    monkeypatch.setattr(selftest, what, lambda *_: True)
    with pytest.raises(RuntimeError, match="compiled code does not"):
        selftest.check_int16_columns()


@pytest.mark.parametrize("what", ["SHORT", "MODERATE"])
def test_code_for_other_lengths_is_not_loaded(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept on disk as long as its own folder does not change."""
    monkeypatch.setattr(lattice, what, 2.0**40)
    with pytest.raises(ImportError, match="lengths"):
        importlib.reload(pairs)


def test_narrow_rows_are_not_printed() -> None:
    rows = promise()
    with compiler(True):
        chunk = one_chunk(mapper(rows, Scratch()))(table(rows, 3))
    assert isinstance(chunk, Int16Chunk)
    assert "<Int16Rows: private>" == repr(chunk.integer_rows)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("missing", [None, 0.5])
def test_sums_and_counts_are_those_of_the_rows_one_by_one(compiled: bool, center: bool, missing: float | None) -> None:
    """Also where rows are lost: with a cell that is not finite and has no public value, or of an unknown level."""
    more = (dp.Column("y", -1.0, 1.0, missing=missing), dp.Category("c", [0, 1, 2]))
    rows = promise(*more, center=center)
    cells = table(rows, 3 * PAIRS + 5)
    values = reference_map(rows, cells)
    contributing = np.isfinite(values).all(axis=1)
    assert 0 < contributing.sum() < len(values)
    with compiler(compiled):
        found = accumulate([cells], [dp.RowSum()], rows)[dp.RowSum()]["sum"]
        assert isinstance(one_chunk(mapper(rows, Scratch()))(cells), Int16Chunk) is compiled
    integers = reference_integers(values, rows.length).astype(np.int64)
    assert [*integers.sum(axis=0).tolist(), dp.RowSum.constant * int(contributing.sum())] == found.tolist()


def test_finite_sums_mean_finite_rows_and_no_others_are_left_out() -> None:
    """Infinities that cancel, and finite cells whose sum overflows."""
    rows = dp.Rows(norm=1.0, neighbors="replace", dim=2)
    for cells, counted in (([[math.inf, -math.inf], [1.0, 2.0]], 1), ([[1e308, 1e308], [1e308, 1e308]], 2)):
        chunk = dp.Chunk(rows, np.array(cells))
        assert (counted, counted) == (chunk.count(), len(chunk.finite()))
