"""Rows that compiled code places, multiplies and sums: the integers of NumPy, in every layout, type and split."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.reading import kernel_loader
from dpframe.reading.column_map import Int16ArrayChunk, NormedChunk
from dpframe.reading.kernel_loader import KernelKind
from dpframe.reading.kernels.buffers import PAIRS
from dpframe.reading.linear_map import MOST_COMPILED, LinearChunk
from dpframe.reading.mapper import mapper
from dpframe.reading.scratch import Scratch
from dpframe.reading.totals import accumulate
from dpframe.statistics import FoldMoments
from tests.support.compiled import NASTY, compiler, one_chunk, reference_integers

DIM = 19
COUNTS = [1, 7, 8, 9, 2 * PAIRS - 1, 2 * PAIRS, 2 * PAIRS + 9]
EDGES = (1e-3, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
WANTED = (dp.Moment(), dp.NormHistogram(edges=EDGES), dp.RowSum(), dp.PlacedSum())
PLACES = ("box", "norm", "about", "scale", "linear")


def promise(place: str, random: np.random.Generator, *, center: bool, norm: float | None) -> dp.Rows:
    columns = [dp.Column(f"x{i}", -1.0 - i / 7, 2.0, missing=0.5 if i % 3 else None) for i in range(DIM)]
    said: dict[str, Any] = {}
    if place in ("about", "scale", "linear"):
        said["about"] = np.where(random.random(DIM) < 0.2, 1.0, random.uniform(-1, 1, DIM))
    if place == "scale":
        said["scale"] = 2.0 ** random.integers(-6, 6, DIM) * random.uniform(0.5, 1.0, DIM)
    if place == "linear":
        said["linear"] = random.standard_normal((DIM, DIM)) * 2.0 ** random.integers(-9, 3, DIM)
    return dp.Rows(columns=columns, neighbors="replace", center=center, norm=None if place == "box" else norm, **said)


def cells_of(count: int, random: np.random.Generator, dtype: Any) -> NDArray[Any]:
    """Cells in their ranges, at their ends and half-way between lattice points, and nasty ones in few of the rows."""
    found = random.choice([0.3, 1.0, 3.0]) * random.standard_normal((count, DIM)) + random.uniform(-1, 1, DIM)
    found[:, 0] = np.round(found[:, 0] * 64) / 64
    found[random.random(count) < 0.1] = random.choice([0.0, -0.0, 0.5, 2.0])
    nasty = (random.random(count) < 0.3)[:, None] & (random.random((count, DIM)) < 0.1)
    found[nasty] = random.choice(NASTY, nasty.sum())
    with np.errstate(all="ignore"):
        cells: NDArray[Any] = found.astype(dtype)
    return cells


def layouts(table: NDArray[Any]) -> dict[str, Any]:
    wide = np.full((2 * len(table), DIM + 3), np.nan, dtype=table.dtype)
    wide[::2, :DIM] = table
    columns = {f"x{i}": np.ascontiguousarray(column) for i, column in enumerate(table.T)}
    return {
        "by rows": np.ascontiguousarray(table),
        "by columns": np.asfortranarray(table),
        "rows of a wider array": wide[::2, :DIM],
        "every second cell": np.repeat(table, 2, axis=1)[:, ::2],
        "backwards": np.ascontiguousarray(table[::-1])[::-1],
        "of the other end": table.astype(table.dtype.newbyteorder()),
        "not aligned": np.frombuffer(b"x" + table.tobytes(), np.uint8)[1:].view(table.dtype).reshape(table.shape),
        "a table": columns,
    }


def summed(blocks: list[Any], rows: dp.Rows) -> list[Any]:
    found = accumulate(blocks, WANTED, rows)
    return [part.tolist() for statistic in WANTED for part in found[statistic].values()]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    place=st.sampled_from(PLACES),
    count=st.sampled_from(COUNTS),
    dtype=st.sampled_from([np.float64, np.float32]),
    center=st.booleans(),
    norm=st.sampled_from([None, 0.05, 1.1, 3.0, 40.0]),
)
def test_every_layout_gives_the_integers_of_numpy(
    seed: int, place: str, count: int, dtype: Any, center: bool, norm: float | None
) -> None:
    random = np.random.default_rng(seed)
    rows = promise(place, random, center=center, norm=norm or (1.7 if place == "norm" else None))
    table = cells_of(count, random, dtype)
    with compiler(False):
        expected = summed(list(table[:, None, :]) if count < 10 else [table], rows)
    with compiler(True):
        for name, data in layouts(table).items():
            assert expected == summed([data], rows), name
        at = int(random.integers(0, count + 1))
        assert expected == summed([table[at:][::-1], table[:at]], rows)


@pytest.mark.parametrize(("place", "kind"), [("box", Int16ArrayChunk), ("norm", NormedChunk), ("linear", LinearChunk)])
def test_arrays_go_through_compiled_code(place: str, kind: type) -> None:
    """And what statistics of third parties ask of these rows is what NumPy gives."""
    random = np.random.default_rng(2)
    rows, table = promise(place, random, center=True, norm=2.0), cells_of(301, random, np.float64)
    with compiler(False):
        plain = one_chunk(mapper(rows, Scratch()))(table)
        values, integers, finite = plain.values.copy(), plain.integers().copy(), plain.finite().copy()
        total, count = plain.total(), plain.count()
    with compiler(True):
        chunk = one_chunk(mapper(rows, Scratch()))(table)
        assert isinstance(chunk, kind)
        assert len(chunk) == 301
        assert count < 301
        assert (total.tolist(), count) == (chunk.total().tolist(), chunk.count())
        assert np.array_equal(values, chunk.values, equal_nan=True)
        assert integers.tolist() == chunk.integers().tolist()
        assert finite.tolist() == chunk.finite().tolist()


@pytest.mark.parametrize("place", PLACES)
def test_no_statistic_changes_what_the_next_ones_see(place: str) -> None:
    """Coordinates that are kept stay as they are while kernels leave rows to NumPy, which computes those alone."""
    random = np.random.default_rng(8)
    rows, table = promise(place, random, center=False, norm=2.0), cells_of(301, random, np.float64)
    folds: dp.Statistic = FoldMoments(folds=3)
    for order in (folds, dp.Moment(), dp.PlacedSum()), (dp.NormHistogram(edges=EDGES), folds, *WANTED[:2], *WANTED[3:]):
        found = []
        for compiled in (False, True):
            with compiler(compiled):
                parts = accumulate([table], order, rows)
            found.append([part.tolist() for each in order for part in parts[each].values()])
        assert found[0] == found[1]
    with compiler(True):
        chunk = one_chunk(mapper(rows, Scratch()))(table)
        before, grid = chunk.values.copy(), dp.NormHistogram(edges=EDGES).grid(DIM)
        chunk.add_gram(np.zeros((DIM, DIM), dtype=np.int64))
        chunk.length_counts(grid)
        assert np.array_equal(before, chunk.values, equal_nan=True)


@pytest.mark.parametrize("norm", [0.3, 2.5])
def test_sums_of_rows_of_which_some_are_scaled_down(norm: float) -> None:
    random = np.random.default_rng(4)
    rows, table = promise("about", random, center=True, norm=norm), cells_of(301, random, np.float64)
    with compiler(True):
        chunk = one_chunk(mapper(rows, Scratch()))(table)
        assert isinstance(chunk, NormedChunk)
        total, count = chunk.placed().sum_and_count()
    integers = reference_integers(chunk.values, norm).astype(np.int64)
    assert (integers.sum(axis=0).tolist(), int(np.isfinite(chunk.values).all(axis=1).sum())) == (total.tolist(), count)


def test_lengths_on_an_edge_are_below_it() -> None:
    """Rows along one axis, on an edge, a grid step beyond it and just where rounding to the grid is a tie."""
    edges = (0.25, 0.5, 1.0)
    rows = dp.Rows(
        columns=[dp.Column(f"x{i}", -1, 1) for i in range(DIM)], neighbors="replace", about=(0.0,) * DIM, norm=1.0
    )
    grid = dp.NormHistogram(edges=edges).grid(DIM)
    step = 1.0 / grid.per_unit
    lengths = [0.0, 0.25, 0.25 + step / 2, 0.25 + step, 0.5, 0.5 + 1.5 * step, 0.5 + 2 * step, 1.0]
    table = np.zeros((len(lengths), DIM))
    table[:, 4] = lengths
    for compiled in (False, True):
        with compiler(compiled):
            counts = accumulate([table], [dp.NormHistogram(edges=edges)], rows)[dp.NormHistogram(edges=edges)]["counts"]
        assert counts.tolist() == [3, 2, 3, 0]


@pytest.mark.parametrize("count", [1, 2, 3, 200])
def test_any_number_of_edges(count: int) -> None:
    random = np.random.default_rng(count)
    rows, table = promise("about", random, center=False, norm=1.0), cells_of(600, random, np.float64)
    histogram = dp.NormHistogram(edges=tuple(np.geomspace(0.5, 4.0, count).tolist()))
    found = []
    for compiled in (False, True):
        with compiler(compiled):
            found.append(accumulate([table], [histogram], rows)[histogram]["counts"].tolist())
    assert found[0] == found[1]
    assert len(found[0]) == count + 1


@pytest.mark.parametrize("dim", [MOST_COMPILED, MOST_COMPILED + 1])
def test_large_matrices_are_left_to_blas(dim: int) -> None:
    random = np.random.default_rng(dim)
    rows = dp.Rows(
        columns=[dp.Column(f"x{i}", -1, 1) for i in range(dim)],
        neighbors="replace",
        linear=random.standard_normal((dim, dim)),
        about=(0.5,) * dim,
        norm=20.0,
    )
    table, found = random.uniform(-1, 1, (300, dim)), []
    for compiled in (False, True):
        with compiler(compiled):
            chunk = one_chunk(mapper(rows, Scratch()))(table)
            assert isinstance(chunk, LinearChunk) is (compiled and dim <= MOST_COMPILED)
            found.append(accumulate([table], [dp.Moment()], rows)[dp.Moment()]["moment"].tolist())
    assert found[0] == found[1]


def test_sums_while_only_the_code_for_products_is_loaded() -> None:
    random = np.random.default_rng(6)
    rows, table = promise("box", random, center=True, norm=None), cells_of(500, random, np.float64)
    with compiler(False):
        expected = summed([table], rows)
    with compiler(True), pytest.MonkeyPatch.context() as patch:
        patch.setitem(kernel_loader.loader._kernels, KernelKind.NORMED_COLUMNS, None)
        assert expected == summed([table], rows)


def test_products_are_exact_at_their_largest() -> None:
    """Rows and columns of a matrix in one direction, as long as they can be: the sum is near 2^51."""
    rows = dp.Rows(
        columns=[dp.Column(f"x{i}", -1, 1) for i in range(DIM)],
        neighbors="replace",
        about=(0.0,) * DIM,
        linear=np.full((DIM, DIM), math.pi),
        norm=1e3,
    )
    table = np.where(np.arange(300)[:, None] % 2, 1.0, -1.0) * np.full((300, DIM), np.nextafter(1.0, 0.0))
    table[7, 3] = 0.123
    with compiler(False):
        expected = summed([table], rows)
    with compiler(True):
        assert expected == summed([table], rows)
