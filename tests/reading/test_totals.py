"""Exact totals: any order, any tree of merges and any size give the integers that Python gives."""

from __future__ import annotations

import functools
import math
import pickle
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

import dpframe.plugin as dp
from dpframe import lattice
from dpframe.reading import process_state
from dpframe.reading import totals as accumulating
from dpframe.reading.exact_sum import ExactSum
from dpframe.reading.totals import Totals, accumulate, totals
from dpframe.sources import open_source

ROWS = dp.Rows(norm=1.0, neighbors="add-remove", dim=2)
INT64 = st.integers(-(2**63), 2**63 - 1)
LARGE = st.sampled_from([sign * 2**power + off for sign in (1, -1) for power in (60, 61, 62) for off in (-1, 0, 1)])
EXTREME = st.sampled_from([-(2**63), 2**63 - 1])


@attrs.frozen(kw_only=True)
class Cells(dp.Statistic):
    """The cells themselves, as integers: whatever a test wants to add up."""

    name = "cells"

    def sensitivity(self, rows: dp.Rows) -> Mapping[str, dp.Sensitivity]:
        return {"sum": dp.Sensitivity(l2_squared=1)}

    def partial(self, chunk: dp.Chunk) -> Mapping[str, Any]:
        return {"sum": chunk.values.sum(axis=0).astype(np.int64)}


@pytest.mark.parametrize("start", [2**63 - 5 * 2**32, -(2**63) + 5 * 2**32])
@pytest.mark.parametrize("rows", [ROWS, attrs.evolve(ROWS, center=True)], ids=["plain", "centered"])
def test_a_moment_says_how_much_it_adds(rows: dp.Rows, start: int) -> None:
    """Many rows as long as they may be, to a sum that is next to overflowing."""
    sums, chunk = {"moment": ExactSum((rows.width, rows.width))}, dp.Chunk(rows, np.full((1000, 2), math.sqrt(0.5)))
    sums["moment"].add(np.full((rows.width, rows.width), start))
    dp.Moment().add_to(chunk, sums)
    added = dp.Moment().partial(chunk)["moment"]
    assert [[start + entry for entry in row] for row in added.tolist()] == sums["moment"].exact().tolist()


def of(parts: list[list[int]]) -> Totals:
    found = Totals([Cells()], ROWS)
    for part in parts:
        found.add({Cells(): {"sum": np.array(part, dtype=np.int64)}})
    return found


def summed(parts: list[list[int]]) -> list[int]:
    return [sum(part[i] for part in parts) for i in range(2)]


def check(expected: list[int], found: Totals) -> None:
    """The right integers, in int64 exactly where noise has room there."""
    actual = found.exact()[Cells()]["sum"]
    assert expected == actual.tolist()
    assert (np.int64 if max(map(abs, expected)) < 2**61 else object) == actual.dtype
    assert all(type(value) is int for value in actual.tolist())


@settings(max_examples=100, deadline=None)
@given(parts=st.lists(st.lists(INT64 | LARGE | EXTREME, min_size=2, max_size=2), max_size=12), data=st.data())
def test_sums_are_those_of_python_for_any_tree_of_merges(parts: list[list[int]], data: st.DataObject) -> None:
    check(summed(parts), of(parts))
    pieces = [of([part]) for part in parts] or [of([])]
    while len(pieces) > 1:
        one = pieces.pop(data.draw(st.integers(0, len(pieces) - 1)))
        other = pieces.pop(data.draw(st.integers(0, len(pieces) - 1)))
        one.merge(pickle.loads(pickle.dumps(other)))
        pieces.append(one)
    check(summed(parts), pieces[0])


@pytest.mark.parametrize("power", [61, 62, 63, 64, 65, 100])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("off", [-1, 0, 1])
def test_sums_at_every_boundary(power: int, sign: int, off: int) -> None:
    """Doubling a total reaches what no number of blocks would in a test."""
    found = of([[sign, 0]])
    for _ in range(power):
        found.merge(found)
    found.merge(of([[off, sign]]))
    check([sign * 2**power + off, sign], found)


def test_what_was_shown_does_not_change() -> None:
    found = of([[1, 2]])
    shown = found.exact()[Cells()]["sum"]
    found.merge(of([[1, 1]]))
    assert [[1, 2], [2, 3]] == [shown.tolist(), found.exact()[Cells()]["sum"].tolist()]


def test_a_sum_without_dimensions_is_carried_over_too() -> None:
    found = ExactSum(())
    for _ in range(5):
        found.add(np.asarray(2**62))
    assert ((), 5 * 2**62) == (found.exact().shape, found.exact().item())
    for _ in range(3):
        found.add(np.asarray(-(2**63)))
    assert ((), -(2**62)) == (found.exact().shape, found.exact().item())


@pytest.mark.parametrize("dtype", [np.uint64, object, np.int8])
def test_parts_of_any_integer_type_are_added(dtype: Any) -> None:
    most = 2**100 if dtype is object else np.iinfo(dtype).max
    found = ExactSum((2,))
    for _ in range(3):
        found.add(np.array([int(most), 1], dtype=dtype))
    found.add(np.array([-1, -3]))
    assert [3 * int(most) - 1, 0] == found.exact().tolist()


def test_totals_that_are_kept_can_give_back_the_memory_of_their_blocks() -> None:
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=4)
    found = Totals([dp.Moment()], rows)
    values = np.ones((50_000, 4))
    found.read(values)
    assert len(pickle.dumps(found)) < 10_000
    before = sum(kept.nbytes for kept in found._scratch._kept.values())
    found.finish()
    assert (values.nbytes, {}) == (before, found._scratch._kept)
    found.read(values)
    twice = accumulate([values, values], [dp.Moment()], rows)[dp.Moment()]["moment"]
    assert twice.tolist() == found.exact()[dp.Moment()]["moment"].tolist()


def test_totals_show_nothing() -> None:
    assert "<Totals: private>" == repr(of([[7, 7]]))


def test_many_merges_of_moments_and_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows enough for 2⁶⁶, by doubling; the release of such totals is the total and noise."""
    values = np.array([[0.6, -0.8], [1.0, 0.0]])
    once = accumulate([values], [dp.Moment()], ROWS)[dp.Moment()]["moment"]
    many = totals([values], [dp.Moment()], ROWS)
    for _ in range(36):
        many.merge(many)
    expected = [[int(entry) << 36 for entry in row] for row in once.tolist()]
    found = many.exact()
    assert expected == found[dp.Moment()]["moment"].tolist()
    assert expected[0][1] < -(2**63)
    plan = dp.Plan(rows=ROWS, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])
    monkeypatch.setattr("dpframe.run.runner.accumulate", lambda *_, **__: found)
    released = plan.run(values, insecure_seed=1)["moment"] / ROWS.step**2
    assert np.array(expected, dtype=float) == pytest.approx(released, rel=1e-9)


BASIS = dp.Subspace(np.eye(4)[:, :2])
STATISTICS = [
    dp.Moment(),
    dp.BlockMoment(basis=BASIS, radii=dp.Radii([0.5, 0.25])),
    dp.NormHistogram(edges=(0.5, 1.0, 2.0)),
]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("wide", [False, True])
def test_statistics_share_a_pass(order: Any, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One map and one rounding of each block serve all statistics, and give what each would find alone."""
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=4)
    values = np.asarray(np.random.default_rng(0).normal(size=(3000, 4)), order=order)
    values[::7, 1] = np.nan
    blocks = [values[i : i + 700] for i in range(0, 3000, 700)]
    expected = functools.reduce(
        lambda one, other: [{name: one[i][name] + other[i][name] for name in one[i]} for i in range(3)],
        [[dict(each.partial(dp.Chunk(rows, block))) for each in STATISTICS] for block in blocks],
    )
    calls: list[int] = []
    rounded = lattice.integer_rows

    def counted(values: Any, *arguments: Any, **named: Any) -> Any:
        calls.append(len(values))
        return rounded(values, *arguments, **named)

    monkeypatch.setattr(lattice, "integer_rows", counted)
    monkeypatch.setattr(accumulating, "WIDE", 1 if wide else 100)
    found = accumulate(blocks, STATISTICS, rows)
    assert len(blocks) * (1 + 2) == len(list(filter(None, calls)))  # the rows, and both sides of the block moment
    for statistic, parts in zip(STATISTICS, expected, strict=True):
        assert {n: p.tolist() for n, p in parts.items()} == {n: p.tolist() for n, p in found[statistic].items()}


def test_integers_are_shared_and_cannot_be_written_to() -> None:
    chunk = dp.Chunk(ROWS, np.ones((3, 2)))
    assert chunk.integers() is chunk.integers()
    with pytest.raises(ValueError, match="read-only"):
        chunk.integers()[0, 0] = 1.0


@pytest.mark.usefixtures("several_blas_threads")
def test_the_threads_of_blas_are_left_as_they_were() -> None:
    before = threadpool_info()
    seen: list[int] = []

    def blocks() -> Any:
        yield np.ones((4, 2))
        seen.extend(library.num_threads for library in process_state.blas_libraries())

    accumulate(blocks(), [dp.Moment()], ROWS)
    assert {1} == set(seen)
    assert before == threadpool_info()


@pytest.mark.usefixtures("several_blas_threads")
def test_a_failing_block_leaves_the_threads_of_blas_as_they_were() -> None:
    before = threadpool_info()
    with pytest.raises(IndexError, match="out of range"):
        accumulate([np.ones(3)], [dp.Moment()], ROWS)
    assert before == threadpool_info()


@settings(max_examples=25, deadline=None)
@given(dim=st.integers(1, 40), count=st.integers(0, 50), tile=st.integers(1, 17), seed=st.integers(0, 99))
def test_tiles_of_the_upper_triangle_make_the_whole_matrix(dim: int, count: int, tile: int, seed: int) -> None:
    integers = np.rint(np.random.default_rng(seed).normal(scale=2**14, size=(count, dim)))
    total = np.full((dim, dim), 7, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice, "TILE", tile)
        lattice.add_gram(integers, total)
    exact = integers.astype(object).T @ integers.astype(object) if count else np.zeros((dim, dim), dtype=object)
    assert (exact + 7).tolist() == total.tolist()


def test_a_wide_moment_is_that_of_its_coordinates() -> None:
    dim = accumulating.WIDE + 300
    rows = dp.Rows(norm=3.0, neighbors="add-remove", dim=dim, center=True)
    values = np.random.default_rng(1).normal(size=(40, dim)).astype(np.float32) / 30
    found = accumulate(open_source(values, rows).blocks(), [dp.Moment()], rows)[dp.Moment()]["moment"]
    integers = dp.Chunk(rows, values).integers().astype(np.int64)
    assert (integers.T @ integers).tolist() == found.tolist()
