"""Sources: whatever holds the rows, the same integers come out."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.reading.totals import accumulate
from dpframe.sources import open_source, source

DIM = 3
ROWS = 101
PLAIN = dp.Rows(norm=1.5, neighbors="add-remove", dim=DIM)
COLUMNS = dp.Rows(
    columns=[dp.Column("age", 17, 90), dp.Column("hours", 1, 99, missing=40), dp.Category("group", [1, 2])],
    neighbors="replace",
    center=True,
)
WORDS = dp.Rows(columns=[dp.Column("age", 17, 90), dp.Category("sex", ["F", "M"], missing="M")], neighbors="replace")

Array = np.ndarray[Any, np.dtype[Any]]


def array() -> Array:
    """Rows on a coarse grid, exact in single precision, some longer than the norm, some not finite."""
    values = np.round(np.random.default_rng(5).normal(size=(ROWS, DIM)) * 64) / 64
    values[7, 1], values[50, 0], values[100, 2] = np.nan, np.inf, -np.inf
    return values


def table() -> dict[str, Array]:
    draws = np.random.default_rng(6)
    hours = draws.integers(0, 110, ROWS).astype(float)
    hours[::9] = np.nan
    return {"group": draws.integers(1, 4, ROWS), "hours": hours, "age": draws.integers(10, 95, ROWS).astype(float)}


def words() -> dict[str, Array]:
    draws = np.random.default_rng(6)
    return {"age": draws.uniform(10, 95, ROWS), "sex": draws.choice(["F", "M", "unknown"], ROWS)}


def plan(rows: dp.Rows) -> dp.Plan:
    return dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])


def moment(data: Any, rows: dp.Rows = PLAIN) -> bytes:
    return plan(rows).run(data, insecure_seed=7)["moment"].tobytes()


def split(rows: Array, size: int) -> list[Array]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def split_table(columns: dict[str, Array], size: int) -> list[dict[str, Array]]:
    return [{name: cells[start : start + size] for name, cells in columns.items()} for start in range(0, ROWS, size)]


def structured(columns: dict[str, Array]) -> Array:
    filled = np.zeros(ROWS, dtype=[("extra", "U3"), *((name, cells.dtype) for name, cells in columns.items())])
    for name, cells in columns.items():
        filled[name] = cells
    return filled


class Again:
    """Chunks that can be read again, and the number of times they were."""

    def __init__(self, chunks: list[Any]) -> None:
        self.chunks = chunks
        self.times = 0

    def __iter__(self) -> Iterator[Any]:
        self.times += 1
        return iter(self.chunks)


def strided(rows: Array) -> Array:
    room = np.zeros((2 * len(rows), 2 * DIM))
    room[::2, ::2] = rows
    return room[::2, ::2]


PLAIN_SOURCES: dict[str, Callable[[], Any]] = {
    "Fortran order": lambda: np.asfortranarray(array()),
    "view with strides": lambda: strided(array()),
    "reversed rows": lambda: array()[::-1],
    "single precision": lambda: array().astype(np.float32),
    "half precision": lambda: array().astype(np.float16),
    "long double": lambda: array().astype(np.longdouble),
    "big-endian": lambda: array().astype(">f8"),
    "subclass": lambda: array().view(type("Own", (np.ndarray,), {})),
    "list of chunks": lambda: split(array(), 10),
    "tuple of chunks": lambda: tuple(split(array(), 10)),
    "list of one chunk": lambda: [array()],
    "single rows": lambda: split(array(), 1),
    "chunks of several types": lambda: [array()[:5].astype(np.float32), np.asfortranarray(array()[5:40]), array()[40:]],
    "chunks, some empty": lambda: [array()[:0], *split(array(), 60), array()[:0]],
    "generator": lambda: (chunk for chunk in split(array(), 17)),
    "map": lambda: map(np.copy, split(array(), 17)),
    "object that iterates": lambda: Again(split(array(), 23)),
    "zero rows in between": lambda: np.insert(array(), [3, 50], 0.0, axis=0),
    "rows that do not count in between": lambda: np.insert(array(), [3, 50], np.nan, axis=0),
}


@pytest.mark.parametrize("make", PLAIN_SOURCES.values(), ids=PLAIN_SOURCES)
def test_plain_rows(make: Callable[[], Any]) -> None:
    assert moment(array()) == moment(make())


@pytest.mark.parametrize("size", [1, 2, 7, 50, 1000])
def test_chunks_of_any_size(size: int) -> None:
    assert moment(array()) == moment(iter(split(array(), size)))


def test_the_comparison_sees_a_difference() -> None:
    other = array()
    other[0, 0] += 1 / 64
    assert moment(array()) != moment(other)
    assert moment(array()) != moment(array()[1:])


@pytest.mark.parametrize("mode", ["r", "c"])
def test_memory_map(tmp_path: Path, mode: Any) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, array())
    mapped = np.load(path, mmap_mode=mode)
    assert isinstance(mapped, np.memmap)
    assert moment(array()) == moment(mapped) == moment(split(mapped, 13))


def test_integers_and_truth_values() -> None:
    whole = np.random.default_rng(5).integers(0, 2, size=(ROWS, DIM))
    wanted = moment(whole.astype(float))
    for dtype in (np.int8, np.uint16, np.int64, np.bool_):
        assert wanted == moment(whole.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_levels_that_are_not_exact_in_single_precision(dtype: Any) -> None:
    """A narrow cell and its copy in double precision are the same number, so they are the same level or none."""
    rows = dp.Rows(columns=[dp.Category("dose", [0.1, 0.5, 1e300])], neighbors="replace")
    narrow = np.array([[0.1], [0.5], [0.5], [0.1]], dtype=dtype)
    assert moment(narrow.astype(np.float64), rows) == moment(narrow, rows)
    assert dp.check(narrow.astype(np.float64), rows) == dp.check(narrow, rows)


@pytest.mark.parametrize("most", [1, 3, 100])
def test_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    wanted = moment(array()), moment(table(), COLUMNS)
    monkeypatch.setattr(source, "MAX_ROWS_PER_BLOCK", most)
    assert most == source.array_rows(DIM)
    assert wanted == (moment(array()), moment(table(), COLUMNS))


TABLE_SOURCES: dict[str, Callable[[], Any]] = {
    "array by position": lambda: np.stack([table()["age"], table()["hours"], table()["group"]], axis=1),
    "structured array": lambda: structured(table()),
    "record array": lambda: structured(table()).view(np.recarray),
    "dictionary of another mapping": lambda: dict(MappingProxyType(table())),
    "extra column": lambda: {**table(), "name": np.array(["secret"] * ROWS)},
    "list of tables": lambda: split_table(table(), 10),
    "list of structured arrays": lambda: split(structured(table()), 10),
    "generator of tables": lambda: (chunk for chunk in split_table(table(), 10)),
    "generator of structured arrays": lambda: (chunk for chunk in split(structured(table()), 10)),
    "chunks of several kinds": lambda: [split_table(table(), 60)[0], structured(table())[60:]],
    "single precision": lambda: {name: cells.astype(np.float32) for name, cells in table().items()},
}


@pytest.mark.parametrize("make", TABLE_SOURCES.values(), ids=TABLE_SOURCES)
def test_tables(make: Callable[[], Any]) -> None:
    assert moment(table(), COLUMNS) == moment(make(), COLUMNS)


def test_structured_memory_map(tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, structured(table()))
    assert moment(table(), COLUMNS) == moment(np.load(path, mmap_mode="r"), COLUMNS)


def test_archive_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    np.savez(path, **table())  # type: ignore[arg-type]
    with np.load(path) as archive:
        assert moment(table(), COLUMNS) == moment(dict(archive), COLUMNS)


WORD_SOURCES: dict[str, Callable[[], Any]] = {
    "structured array": lambda: structured(words()),
    "wider words": lambda: {**words(), "sex": words()["sex"].astype("U30")},
    "variable width": lambda: {**words(), "sex": words()["sex"].astype(np.dtypes.StringDType())},
    "list of tables": lambda: split_table(words(), 10),
    "unknown words": lambda: {**words(), "sex": np.where(words()["sex"] == "unknown", "", words()["sex"])},
    "missing value written out": lambda: {**words(), "sex": np.where(words()["sex"] == "unknown", "M", words()["sex"])},
}


@pytest.mark.parametrize("make", WORD_SOURCES.values(), ids=WORD_SOURCES)
def test_words(make: Callable[[], Any]) -> None:
    assert moment(words(), WORDS) == moment(make(), WORDS)


def test_check_reads_words_of_variable_width() -> None:
    assert dp.check(words(), WORDS) == dp.check(WORD_SOURCES["variable width"](), WORDS)


# -- two passes ------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Blocks(dp.Mechanism):
    """Reads a block moment in an earlier basis; made for tests, it adds no noise."""

    name = "test-blocks"
    unit = "mu"
    gives = dp.Vector

    basis: Any = dp.input(dp.Subspace)

    def reads(self) -> tuple[dp.Statistic, ...]:
        return (dp.BlockMoment(basis=self.basis, radii=(1.0, 1.0)),)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Vector:
        parts = data.parts(self.reads()[0])
        return dp.Vector(np.concatenate([parts[name].ravel() for name in ("signal", "cross", "residual")]))


@pytest.fixture
def two_passes() -> Iterator[dp.Plan]:
    dp.register(Blocks)
    steps = [
        dp.release("moment", "gaussian"),
        dp.derive("basis", "top-subspace", of="moment", k=1),
        dp.release("blocks", "test-blocks", basis=dp.ref("basis")),
    ]
    yield dp.Plan(rows=PLAIN, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps)
    dp.unregister(Blocks)


def both(plan: dp.Plan, data: Any) -> tuple[bytes, bytes]:
    result = plan.run(data, insecure_seed=7)
    assert np.count_nonzero(result["blocks"]) > 2
    return result["moment"].tobytes(), result["blocks"].tobytes()


def test_the_passes_are_known(two_passes: dp.Plan) -> None:
    assert {"moment": 1, "basis": 1, "blocks": 2} == two_passes.passes
    assert "read 2 times" in " ".join(str(two_passes.explain()).split())
    assert "read once" in " ".join(str(plan(PLAIN).explain()).split())
    assert 2 == two_passes.explain().statement.passes


def test_two_passes_over_any_source_that_can_be_read_again(two_passes: dp.Plan, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", array())
    wanted = both(two_passes, array())
    assert wanted == both(two_passes, np.load(tmp_path / "rows.npy", mmap_mode="r"))
    assert wanted == both(two_passes, split(array(), 10))
    assert wanted == both(two_passes, tuple(split(array(), 33)))
    again = Again(split(array(), 10))
    assert wanted == both(two_passes, again)
    assert 2 == again.times


def test_two_passes_need_more_than_a_generator(two_passes: dp.Plan) -> None:
    chunks = iter(split(array(), 10))
    with pytest.raises(dp.DataError, match="reads the data 2 times, but the source can be read only once"):
        two_passes.run(chunks)
    assert 11 == len(list(chunks))  # none was taken


# -- reading ---------------------------------------------------------------------------------------------------------


def test_a_source_is_read_as_often_as_the_plan_says() -> None:
    again = Again(split(array(), 10))
    steps = [dp.release("one", "gaussian"), dp.release("two", "gaussian"), dp.derive("psd", "psd", of="one")]
    dp.Plan(rows=PLAIN, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps).run(again)
    assert 1 == again.times


def test_the_data_is_not_changed() -> None:
    kept, columns = array(), table()
    kept.setflags(write=False)
    for cells in columns.values():
        cells.setflags(write=False)
    moment(kept)
    moment(columns, COLUMNS)
    assert array().tobytes() == kept.tobytes()


def test_the_dimension_comes_from_the_source() -> None:
    unknown = attrs.evolve(PLAIN, dim=None)
    assert moment(array()) == moment(array(), unknown) == moment(split(array(), 10), unknown)


def test_an_iterable_may_write_all_its_chunks_to_one_buffer() -> None:
    """Blocks wait for a worker while the next chunk is made; a row that is overwritten by then would not count, and
    another one several times."""

    def chunks(columns: bool) -> Iterator[Any]:
        buffer = np.zeros((5000, 30))
        for number in range(40):
            buffer[...] = 0.0
            buffer[0, 0] = number / 40
            yield {f"x{i}": cells for i, cells in enumerate(buffer.T)} if columns else buffer

    expected = sum((number / 40) ** 2 for number in range(40))
    plain = dp.Rows(norm=1.0, neighbors="add-remove", dim=30)
    named = dp.Rows(norm=1.0, columns=[dp.Column(f"x{i}", -1, 1) for i in range(30)], neighbors="add-remove")
    for rows in (plain, named):
        blocks = open_source(chunks(rows is named), rows).blocks()
        moment = accumulate(blocks, [dp.Moment()], rows)[dp.Moment()]["moment"]
        assert expected == pytest.approx(moment[0, 0] * rows.step**2, rel=1e-4)


TRUNCATED = """
import os, sys, numpy as np, dpframe as dp

promise = dp.Rows(norm=1.5, neighbors="add-remove", dim=3)
plan = dp.Plan(rows=promise, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])
columns = dp.Rows(columns=[dp.Column("x", 0, 1)], neighbors="replace")
views = {
    "whole": lambda mapped: (mapped, promise),
    "end": lambda mapped: (mapped[5000:], promise),
    "view": lambda mapped: (np.asarray(mapped)[:, :], promise),
    "chunks": lambda mapped: ([mapped[:5], mapped[5:]], promise),
    "column": lambda mapped: ({"x": mapped[:, 0]}, columns),
}
for name, view in views.items():
    np.save("rows.npy", np.zeros((10_000, 3)))
    data, rows = view(np.load("rows.npy", mmap_mode="r"))
    os.truncate("rows.npy", 5_000)
    for attempt in (dp.Plan(rows=rows, budget=plan.budget, steps=plan.steps).run, lambda data: dp.check(data, rows)):
        try:
            attempt(data)
        except dp.DataError as error:
            assert "the file 'rows.npy' is shorter than when it was mapped into memory" in str(error), error
            print(name)
"""


def test_a_memory_map_of_a_file_that_became_shorter(tmp_path: Path) -> None:
    """Reading it would kill the process by a signal; so it is refused before the charge."""
    done = subprocess.run(
        [sys.executable, "-c", TRUNCATED], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120
    )
    assert (0, "") == (done.returncode, done.stderr)
    assert [
        "whole",
        "whole",
        "end",
        "end",
        "view",
        "view",
        "chunks",
        "chunks",
        "column",
        "column",
    ] == done.stdout.split()


def test_a_view_of_a_memory_map_is_watched_too(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", array())
    mapped = np.asarray(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    blocks = open_source(mapped, PLAIN).blocks()
    np.save(tmp_path / "rows.npy", np.zeros((2 * ROWS, DIM)))
    with pytest.raises(dp.DataError, match=r"the file 'rows\.npy' was changed or replaced"):
        list(blocks)
