"""Rows with a norm in 16-bit integers: the same sums as in any other way, whatever the cells hold."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from threading import Event
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe import lattice
from dpframe.reading import int16, kernel_loader, kernels
from dpframe.reading.chunk import Chunk
from dpframe.reading.kernel_loader import KernelKind
from dpframe.reading.kernels import selftest
from dpframe.reading.kernels.buffers import PAIRS, Buffers
from dpframe.reading.kernels.pairs import HALF, _round_row
from dpframe.reading.kernels.products import pairs_that_fit
from dpframe.reading.mapper import RowKernelChunk, mapper
from dpframe.reading.scratch import Scratch
from dpframe.reading.tiles import INT16_ENTRIES
from dpframe.reading.totals import accumulate
from dpframe.sources import open_source
from tests.support.compiled import NASTY, compiler, expected_gram, one_chunk, reference_integers, zeros

DIM = 19


def promise(norm: float = 1.0, dim: int = DIM, *, center: bool = False) -> dp.Rows:
    return dp.Rows(norm=norm, neighbors="add-remove", dim=dim, center=center)


def compiled_gram(values: NDArray[Any], rows: dp.Rows) -> list[list[int]]:
    with compiler(True):
        chunk = one_chunk(mapper(rows, Scratch()))(values)
        assert isinstance(chunk, RowKernelChunk)
        total = zeros(rows)
        chunk.add_gram(total)
    return total.tolist()  # type: ignore[no-any-return]


def not_summed(values: NDArray[Any], norm: float) -> tuple[list[int], list[list[float]]]:
    """The numbers of the rows that compiled code leaves out, and the integer rows that it leaves to doubles."""
    dim, skipped_rows, wide_rows = values.shape[1], np.full(len(values), -1), np.full(values.shape, -1.0)
    total, ones = np.zeros((dim, dim), dtype=np.int64), np.ones(dim, dtype=np.int64)
    scale, inner = lattice.steps_per_unit(dim, norm), lattice.inner_radius(dim)
    skipped, wide = kernels.add_rows(values, scale, inner, ones, total, skipped_rows, wide_rows)
    assert (skipped_rows[skipped:] == -1).all()
    return skipped_rows[:skipped].tolist(), wide_rows[:wide].tolist()


def of_all_kinds(count: int, dim: int, norm: float) -> NDArray[np.float64]:
    """Short rows, long ones, very long ones, some in one direction, some with nasty cells, in any order."""
    random = np.random.default_rng(dim + count)
    values = random.standard_normal((count, dim)) * norm / math.sqrt(dim)
    kind = random.integers(0, 8, count)
    values[kind == 1] *= 0.01
    values[kind == 2] *= 30.0
    values[kind == 3] *= random.choice([900.0, 1100.0, 1e10, 1e200])
    chosen = np.flatnonzero(kind == 4)
    values[chosen, random.integers(0, dim, len(chosen))] = random.choice([0.4, 0.5, 0.6, 1.0, 5.0], len(chosen)) * norm
    chosen = np.flatnonzero(kind == 5)
    values[chosen, random.integers(0, dim, len(chosen))] = random.choice(NASTY, len(chosen))
    return values


def with_scale_of_one(dim: int) -> float:
    """The norm of which a lattice step is one: cells that are integers stay as they are."""
    norm = float(lattice.inner_radius(dim))
    assert 1.0 == lattice.steps_per_unit(dim, norm)
    return norm


def rows_of(cells: Sequence[Sequence[float]], dim: int = DIM) -> NDArray[np.float64]:
    """Rows that begin with some cells, and are zero behind them."""
    values = np.zeros((len(cells), dim))
    for row, some in zip(values, cells, strict=True):
        row[: len(some)] = some
    return values


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("dim", [17, 18, 23, 24, 25, 31, 36, 48, 64, 97, 100])
@pytest.mark.parametrize("count", [1, 2, 3, 2 * PAIRS - 1, 2 * PAIRS, 2 * PAIRS + 1, 4 * PAIRS + 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_sums_are_those_of_one_row_after_the_other(center: bool, dim: int, count: int, dtype: Any) -> None:
    with np.errstate(over="ignore"):
        values = of_all_kinds(count, dim, 1.7).astype(dtype)
    rows = promise(1.7, dim, center=center)
    assert expected_gram(values, rows) == compiled_gram(values, rows)


def test_16_coordinates_and_the_constant_one() -> None:
    """The lattice is that of 16 coordinates."""
    assert lattice.inner_radius(16) != lattice.inner_radius(17)
    values, rows = of_all_kinds(500, 16, 1.7), promise(1.7, 16, center=True)
    assert expected_gram(values, rows) == compiled_gram(values, rows)


@pytest.mark.parametrize("norm", [1e-130, 1e-3, 1.0, 1e5, 1e130])
def test_any_norm(norm: float) -> None:
    values, rows = of_all_kinds(500, DIM, norm), promise(norm, center=True)
    assert expected_gram(values, rows) == compiled_gram(values, rows)


def test_halves_are_rounded_to_even_integers() -> None:
    halves = np.arange(-40, 40) + 0.5
    halves = np.concatenate([halves, np.nextafter(halves, 0), np.nextafter(halves, 1e9), halves + 1000, halves - 32000])
    norm = with_scale_of_one(DIM)
    values = np.resize(halves, (len(halves), DIM)) * (np.arange(DIM) < 3)
    assert (np.rint(values) != np.floor(values + 0.5)).any()
    assert expected_gram(values, promise(norm)) == compiled_gram(values, promise(norm))


def test_steps_are_rounded_before_they_are_rounded_to_integers() -> None:
    """As NumPy does it. A fused product and sum would round once, and some of these cells another way."""
    norm = 1.7
    scale = lattice.steps_per_unit(DIM, norm)
    halves = np.arange(1, 30_000) + 0.5
    cells = halves / scale
    exact = [Fraction(cell) * Fraction(scale) for cell in cells.tolist()]
    fused = np.array([round(found) for found in exact])
    chosen = (cells * scale == halves) & (fused != np.rint(halves))
    assert chosen.sum() > 1000
    values = rows_of([[cell] for cell in cells[chosen].tolist()])
    assert expected_gram(values, promise(norm)) == compiled_gram(values, promise(norm))
    assert compiled_gram(values, promise(norm))[0][0] != (fused[chosen] ** 2).sum()


def test_16_bits_hold_what_they_hold() -> None:
    edges = [32766, 32767, 32768, 32769, 65000]
    values = rows_of([[sign * edge] for sign in (1, -1) for edge in edges])
    norm = with_scale_of_one(DIM)
    last = np.zeros((10, DIM))
    last[:, -1] = values[:, 0]
    for found in (values, last):
        assert ([], found[[2, 3, 4, 8, 9]].tolist()) == not_summed(found, norm)  # −32768 is held
    for found in (values, last):
        assert expected_gram(found, promise(norm)) == compiled_gram(found, promise(norm))


def test_long_rows_may_have_larger_integers_before_they_are_scaled_down() -> None:
    values = np.full((7, DIM), 40_000.0)
    values[5, 0] = 4e6
    norm = with_scale_of_one(DIM)
    assert ([], reference_integers(values[5:6], norm).tolist()) == not_summed(values, norm)
    assert expected_gram(values, promise(norm)) == compiled_gram(values, promise(norm))


@pytest.mark.parametrize(
    ("cells", "kept"),
    [
        ([-(2**15)] * 4, True),  # 2³² in square: short
        ([-(2**15)] * 4 + [1], True),  # one more: scaled down
        ([2**25] * 3 + [2**25 - 1], True),  # below 2⁵²: scaled down from the integers
        ([2**25] * 4, False),  # 2⁵²: scaled down from the cells
        ([2**26 + 1], False),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_edges_of_lengths(cells: list[int], kept: bool, dtype: Any) -> None:
    norm = with_scale_of_one(DIM)
    values = rows_of([cells, cells[::-1], [1], [0] * 5 + cells]).astype(dtype)
    if dtype is np.float64:  # in which all of them are what they are here
        assert (([] if kept else [0, 1, 3]), []) == not_summed(values, norm)
    for center in (False, True):
        rows = promise(norm, center=center)
        assert expected_gram(values, rows) == compiled_gram(values, rows)


@pytest.mark.parametrize("other", [-32_768, -32_768 + HALF - 1, 32_767, 128, 127, -1, -HALF])
def test_the_largest_sums_of_halves_fit(other: int) -> None:
    """Each coordinate times the high and the low half of another, all of the same sign."""
    norm, count = with_scale_of_one(DIM), 6 * PAIRS
    values = np.repeat(rows_of([[-32_768, other, -32_768]]), count, axis=0)
    assert ([], []) == not_summed(values, norm)
    assert [count * -32_768 * cell for cell in (-32_768, other, -32_768)] == compiled_gram(values, promise(norm))[0][:3]


def in_groups(squares: NDArray[Any], rows: int) -> int:
    """The largest sum of squares of a coordinate over so many rows, one group after the other."""
    return max(int(squares[start : start + rows].sum(axis=0).max()) for start in range(0, len(squares), rows))


@pytest.mark.parametrize("pairs", [1, 3, 4, 5, 127, PAIRS])
@pytest.mark.parametrize("width", [17, 24, 25, 100])
@pytest.mark.parametrize("most", [40, 900, 3000, 6000, 11_000, 16_000, 32_767, 32_768])
def test_steps_are_as_many_as_sums_of_squares_allow(pairs: int, width: int, most: int) -> None:
    """Integers of both signs, of which some coordinates are larger than others, and the last the largest."""
    random, buffers = np.random.default_rng(pairs + most), Buffers.of(width)
    sizes = np.append(random.integers(1, most, width - 1), most)
    integers = np.clip((random.uniform(-1, 1, (2 * pairs, width)) * sizes).astype(np.int64), -32_768, 32_767)
    integers[:4, -1] = max(-most, -32_768)
    buffers.pairs[...] = 0x7FFF7FFF  # of an earlier pass
    buffers.pairs[:, :, width:] = 0
    buffers.pairs[0, :pairs, :width] = (integers[::2] & 0xFFFF | integers[1::2] << 16).astype(np.int32)
    steps = pairs_that_fit(pairs, width, buffers)
    limit, squares = 2**31 - 2**16, integers**2
    assert steps in (0, 4, 8, 16, 32, 64, 128)
    assert steps == 0 or in_groups(squares, 2 * steps) <= limit
    fewest = [each for each in (128, 64, 32, 16, 8, 4) if in_groups(squares, 8) * (each // 4) <= 0.99 * limit]
    assert steps >= max(fewest, default=0)


@pytest.mark.parametrize("steps", [4, 8, 16, 32, 64, 128])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_sums_of_whole_integers_fit(steps: int, sign: int) -> None:
    """Coordinates of the same size in all rows, just below and beyond what so many steps allow."""
    norm, edge = with_scale_of_one(DIM), math.isqrt((2**31 - 2**16) // (2 * steps))
    for most in (edge - 3, edge - 1, edge, edge + 1, edge + 100, min(2 * edge, 32_000)):
        values = np.repeat(rows_of([[most, sign * most, 1, -most + 1]]), 4 * PAIRS + 5, axis=0)
        assert expected_gram(values, promise(norm)) == compiled_gram(values, promise(norm))


@pytest.mark.parametrize(
    ("column", "too_much"),
    [
        ([16_383] * 7 + [16_390], 2**16 - 32_725),
        ([16_336, 16_432, 16_323, 16_306, 16_317, 16_453, 16_443, 16_459], 1),  # less if squares are rounded down
    ],
)
def test_there_is_room_beside_sums_of_squares_for_what_a_carry_leaves(column: list[int], too_much: int) -> None:
    """Sixteen bits of a sum stay where it was when the others are carried over; here they are all ones."""
    assert too_much == sum(cell**2 for cell in column) - (2**31 - 2**16)
    values = rows_of([[255, 257], *([[0]] * 7), *([cell, cell] for cell in column)])
    norm = with_scale_of_one(DIM)
    assert expected_gram(values, promise(norm)) == compiled_gram(values, promise(norm))


def test_rows_that_grow_midway() -> None:
    """Passes of all sorts one behind the other."""
    norm = with_scale_of_one(DIM)
    values = np.random.default_rng(3).integers(-1, 1, (12 * 2 * PAIRS, DIM), endpoint=True).astype(np.float64)
    values *= np.geomspace(1, 32_000, len(values)).astype(np.int64)[:, None] * (np.arange(DIM) < 4)
    assert expected_gram(values, promise(norm)) == compiled_gram(values, promise(norm))


def test_a_pass_is_as_long_as_32_bits_allow() -> None:
    assert 2 * PAIRS * 2**15 * (HALF - 1) < 2**31
    assert 2 * (PAIRS + 1) * 2**15 * (HALF - 1) > 2**31


def unaligned(values: NDArray[Any]) -> NDArray[Any]:
    memory = np.frombuffer(b"x" + values.tobytes(), dtype=np.uint8)[1:]
    return memory.view(values.dtype).reshape(values.shape)


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    values.flags.writeable = False
    return values


FORMS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "Fortran order": np.asfortranarray,
    "every other row": lambda values: np.repeat(values, 2, axis=0)[::2],
    "some columns": lambda values: np.hstack([values, values])[:, 5 : 5 + values.shape[1]],
    "backwards": lambda values: values[::-1],
    "columns backwards": lambda values: values[:, ::-1],
    "swapped bytes": lambda values: values.astype(values.dtype.newbyteorder()),
    "unaligned": unaligned,
    "read-only": frozen,
    "the same row": lambda values: np.broadcast_to(values[0], values.shape),
    "float16": lambda values: values.astype(np.float16),
    "long doubles": lambda values: values.astype(np.longdouble),
    "integers": lambda values: np.nan_to_num(values, posinf=7.0, neginf=-7.0).clip(-9, 9).astype(np.int32),
    "booleans": lambda values: values > 0,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_in_any_form(form: str, dtype: Any) -> None:
    rows = promise(2.0, center=True)
    with np.errstate(all="ignore"):
        values = FORMS[form](of_all_kinds(300, DIM, 2.0).astype(dtype))
    assert expected_gram(values, rows) == compiled_gram(values, rows)


@pytest.mark.parametrize("center", [False, True])
def test_the_sums_are_those_of_numpy(center: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many blocks, on all cores, where compiled code takes over midway; and of one block of many tiles."""
    with np.errstate(over="ignore"):
        values = of_all_kinds(300_000, DIM, 1.0).astype(np.float32)
    rows = promise(center=center)
    with compiler(False):
        expected = accumulate([values], [dp.Moment()], rows)[dp.Moment()]["moment"]
    monkeypatch.setattr(kernel_loader, "COMPILED_FROM", 2_000_000)
    monkeypatch.setattr(kernel_loader, "loader", found := kernel_loader.KernelLoader())
    blocks = np.array_split(values, 61)
    assert expected.tolist() == accumulate(blocks, [dp.Moment()], rows)[dp.Moment()]["moment"].tolist()
    assert found.kernels(KernelKind.ROWS, 0) is not None
    source = open_source(values, rows)
    assert expected.tolist() == accumulate(source.all_blocks(), [dp.Moment()], rows)[dp.Moment()]["moment"].tolist()
    assert values.size > 3 * INT16_ENTRIES
    assert expected.tolist() == accumulate([values], [dp.Moment()], rows)[dp.Moment()]["moment"].tolist()


def test_complex_rows_are_summed_as_real_ones() -> None:
    values = of_all_kinds(500, 2 * DIM, 1.0)
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=DIM, complex=True)
    assert expected_gram(values, rows.as_real) == compiled_gram(values.view(np.complex128), rows)


def test_rows_of_another_dimension_are_not_summed() -> None:
    with compiler(True):
        for dim in (DIM - 1, DIM + 1, 40):
            chunk = one_chunk(mapper(promise(center=True), Scratch()))(np.ones((3, dim)))
            with pytest.raises(ValueError, match=f"{dim} coordinates, where {DIM} were promised"):
                chunk.add_gram(zeros(promise(center=True)))


def test_memory_that_is_given_back_is_not_read() -> None:
    """Where it is overwritten at once: the allocator is told to."""
    code = (
        "import numpy as np\n"
        "from dpframe.reading import kernels\nfrom dpframe import lattice\n"
        "for check in kernels.SELF_TESTS.values():\n"
        "    check()\n"
        "for dim in (17, 100, 116, 200, 600):\n"
        "    rows = np.random.default_rng(dim).standard_normal((301, dim))\n"
        "    rows[::7, 3], rows[::5, 2] = np.nan, 1e3\n"
        "    total, skipped_rows = np.zeros((dim, dim), dtype=np.int64), np.zeros(301, dtype=np.int64)\n"
        "    wide_rows = np.zeros((301, dim))\n"
        "    how = lattice.steps_per_unit(dim, 30.0), lattice.inner_radius(dim), np.ones(dim, dtype=np.int64)\n"
        "    skipped, wide = kernels.add_rows(rows, *how, total, skipped_rows, wide_rows)\n"
        "    assert skipped == len(set(skipped_rows[:skipped].tolist())) > 40\n"
        "    assert wide > 40\n"
        "    lattice.add_gram(wide_rows[:wide], total)\n"
        "    kept = np.delete(lattice.integer_rows(rows, 30.0)[0], skipped_rows[:skipped], axis=0)\n"
        "    assert (total == lattice.gram(kept)).all()\n"
    )
    environment = {**os.environ, "MALLOC_PERTURB_": "66", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert (0, "") == (done.returncode, done.stderr)


@pytest.mark.parametrize("in_one_direction", [False, True])
def test_rows_that_are_written_to_meanwhile_are_never_too_long(in_one_direction: bool) -> None:
    """A row is read once more when it is scaled down, or when 16 bits do not hold it; another thread makes it longer
    and shorter all the time."""
    dim, count = 200, 16
    rows, values, stop = promise(dim=dim), np.zeros((count, dim)), Event()
    cells, size = (values[:, -1:], 1.0) if in_one_direction else (values, math.sqrt(dim))

    def write() -> None:
        while not stop.is_set():
            cells[...] = 1.2 / size
            cells[...] = 900.0 / size

    with compiler(True), ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            end, sums = time.monotonic() + 5.0, 0
            while sums < 4000 and time.monotonic() < end:
                total, sums = zeros(rows), sums + 1
                int16.add_rows(values, rows, kernels.add_rows, total)
                assert np.trace(total) <= count * 2**32
        finally:
            stop.set()
        writing.result()


def test_a_row_that_has_become_longer_is_not_good() -> None:
    """Its factor is for the length that it had."""
    cells, integers = np.full(DIM, 3.0), np.zeros(DIM)
    square = float(DIM * 30**2)
    assert [True, True, False] == [
        bool(_round_row(cells, 10.0, 0.5, most, integers)) for most in (2 * square, square, square - 1)
    ]
    assert [15.0] * DIM == integers.tolist()


def test_nothing_is_read_beyond_the_last_cell() -> None:
    """Cells at the end of a page, with one behind it that nobody may read."""
    code = (
        "import ctypes, math, mmap\n"
        "import numpy as np\n"
        "from dpframe.reading import kernels\nfrom dpframe import lattice\n"
        "page = mmap.PAGESIZE\n"
        "memory = mmap.mmap(-1, 65 * page)\n"
        "start = ctypes.addressof(ctypes.c_char.from_buffer(memory))\n"
        "protect = getattr(ctypes.CDLL(None), 'mprotect', lambda *_: 0)\n"
        "assert protect(ctypes.c_void_p(start + 64 * page), ctypes.c_size_t(page), 0) == 0\n"
        "def at_the_end(values):\n"
        "    offset = 64 * page - values.nbytes\n"
        "    found = np.frombuffer(memory, values.dtype, values.size, offset).reshape(values.shape)\n"
        "    found[...] = values\n"
        "    return found\n"
        "for dtype in (np.float32, np.float64):\n"
        "    for count, dim in ((1, 17), (3, 20), (5, 24), (257, 31), (259, 100)):\n"
        "        rows = np.random.default_rng(dim).standard_normal((count, dim)).astype(dtype) / dim\n"
        "        how = lattice.steps_per_unit(dim, 1.0), lattice.inner_radius(dim), np.ones(dim, dtype=np.int64)\n"
        "        for way in ('rows', 'columns', 'placed rows'):\n"
        "            total, skipped_rows = np.zeros((dim, dim), dtype=np.int64), np.zeros(count, dtype=np.int64)\n"
        "            room = total, skipped_rows, np.zeros((count, dim))\n"
        "            if way == 'rows':\n"
        "                found = kernels.add_rows(at_the_end(rows), *how, *room)\n"
        "            else:\n"
        "                strips = [at_the_end(rows)]\n"
        "                if way == 'columns':\n"
        "                    strips = at_the_end(np.ascontiguousarray(rows.T))\n"
        "                places = np.array([strip.ctypes.data for strip in strips], dtype=np.uint64)\n"
        "                stride = 0 if way == 'columns' else rows.strides[0]\n"
        "                cells = kernels.Cells(places, np.full(len(strips), dtype is np.float32), stride, count)\n"
        "                images = np.zeros((5, -(-dim // 8) * 8))\n"
        "                images[:, :dim] = np.array([[0, 1, -1, 1, math.nan]] * dim).T\n"
        "                how_mapped = kernels.Map(images, np.ones(2), np.zeros((0, 8)), np.zeros(0, np.int64))\n"
        "                found = kernels.add_placed(cells, how_mapped, *how, *room)\n"
        "            assert found == (0, 0)\n"
        "            assert (total == lattice.gram(lattice.integer_rows(rows, 1.0)[0])).all()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (0, "") == (done.returncode, done.stderr)


def test_other_statistics_see_the_rows_themselves() -> None:
    values, rows = of_all_kinds(100, DIM, 1.0), promise()
    with compiler(True):
        chunk = one_chunk(mapper(rows, Scratch()))(values)
    assert np.array_equal(values, chunk.values, equal_nan=True)
    assert reference_integers(values, 1.0).tolist() == chunk.integers().tolist()


COLUMNS = [dp.Column(f"x{i}", 0, 1) for i in range(DIM)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (promise(), KernelKind.ROWS),
        (promise(dim=16), None),
        (promise(dim=16, center=True), KernelKind.ROWS),
        (promise(dim=lattice.TILE - 1), KernelKind.ROWS),
        (promise(dim=lattice.TILE), None),
        (promise(dim=lattice.TILE - 1, center=True), None),
        (dp.Rows(norm=dp.ref("radius"), neighbors="replace", dim=DIM), None),
        (dp.Rows(columns=COLUMNS, norm=dp.ref("radius"), neighbors="replace"), None),
        (dp.Rows(columns=COLUMNS, neighbors="replace"), KernelKind.INT16_COLUMNS),
        (dp.Rows(columns=COLUMNS, norm=1.0, neighbors="replace"), KernelKind.NORMED_COLUMNS),
        (dp.Rows(columns=COLUMNS[:16], neighbors="replace"), KernelKind.COLUMNS),
        (dp.Rows(columns=COLUMNS[:16], norm=1.0, neighbors="replace"), KernelKind.COLUMNS),
    ],
)
def test_which_promises_are_for_which_code(rows: dp.Rows, expected: KernelKind | None) -> None:
    assert expected is kernel_loader.kernel_kind(rows)


def test_the_widest_rows() -> None:
    dim = lattice.TILE - 1
    values, rows = of_all_kinds(300, dim, 1.0), promise(dim=dim)
    total = zeros(rows)
    lattice.add_gram(Chunk(rows, values).integers(), total)
    assert total.tolist() == compiled_gram(values, rows)


@pytest.mark.parametrize(
    ("what", "check"),
    [
        ("add_rows", selftest.check_rows),
        ("add_placed", selftest.check_normed_columns),
        ("count_lengths", selftest.check_normed_columns),
        ("sum_placed", selftest.check_normed_columns),
        ("round_columns", selftest.check_normed_columns),
    ],
)
def test_code_that_gives_other_sums_is_not_used(
    what: str, check: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    check()
    monkeypatch.setattr(selftest, what, lambda *_: (0, 0))
    with pytest.raises(RuntimeError, match="compiled code does not"):
        check()
