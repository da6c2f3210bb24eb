"""Every source, chunking and worker, also one that is killed, gives the same integers and so the same release."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.plan.schedule import Pass
from dpframe.reading import kernel_loader
from dpframe.run import progress, runner
from dpframe.sources import dask as dask_source
from dpframe.sources import open_source
from tests.support.workers import dying, failing, load, load_twice

pa: Any = pytest.importorskip("pyarrow")
pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
pq: Any = pytest.importorskip("pyarrow.parquet")
duckdb: Any = pytest.importorskip("duckdb")
dask: Any = pytest.importorskip("dask")
da: Any = pytest.importorskip("dask.array")
dd: Any = pytest.importorskip("dask.dataframe")
distributed: Any = pytest.importorskip("distributed")

ROWS = 3001
CHUNKS = (1, 301, 500, 1024, 5000)
FEW = 12  # rows in chunks of one

NUMBERS = (
    dp.Column("age", 17, 90),
    dp.Column("hours", 1, 99, missing=40),
    dp.Category("group", [1, 2.5, 3], missing=3),
)
PROMISES = {
    "numbers": dp.Rows(columns=NUMBERS, neighbors="add-remove", norm=1.2),
    "words": dp.Rows(columns=(*NUMBERS, dp.Category("sex", ["F", "M"])), neighbors="replace", norm=1.2, center=True),
    "people": dp.Rows(columns=NUMBERS, neighbors="add-remove", norm=1.2, person="name", contributions=3),
}
STEPS = [
    dp.release("radius", "private-quantile", quantile=0.9, high=4.0),
    dp.release("moment", "gaussian"),
]


@pytest.fixture(autouse=True)
def _compiled_midway(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some cells go through NumPy and the rest through compiled code, in this process."""
    monkeypatch.setattr(kernel_loader, "COMPILED_FROM", 2000)
    monkeypatch.setattr(kernel_loader, "loader", kernel_loader.KernelLoader())


def plan(rows: dp.Rows) -> dp.Plan:
    return dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=STEPS)


@cache
def table() -> dict[str, Any]:
    """Single and double precision, cells out of range, missing ones, and words that are no levels."""
    draws = np.random.default_rng(8)
    age, hours = draws.normal(50, 30, ROWS), draws.normal(40, 30, ROWS).astype(np.float32)
    age[3], age[4], age[5], hours[::9] = np.nan, np.inf, -np.inf, np.nan
    return {
        "sex": draws.choice(["F", "M", "unknown", ""], ROWS),
        "group": draws.choice([1.0, 2.5, 3.0, 7.0, np.nan], ROWS),
        "hours": hours,
        "age": age,
        "name": draws.choice([f"{number} Somebody" for number in range(300)], ROWS),
    }


def rows_for(size: int) -> int:
    return FEW if size == 1 else ROWS


def columns(size: int) -> dict[str, Any]:
    return {name: cells[: rows_for(size)] for name, cells in table().items()}


def array(size: int) -> Any:
    return np.stack([columns(size)[column.name].astype(np.float64) for column in NUMBERS], axis=1)


def arrow(size: int) -> Any:
    return pa.table({name: pa.array(cells, from_pandas=True) for name, cells in columns(size).items()})


def parts(size: int) -> list[Any]:
    return [arrow(size).slice(start, size) for start in range(0, rows_for(size), size)]


def exact(data: Any, rows: dp.Rows) -> tuple[list[int], list[int]]:
    """The integers of the moment and of the histogram of lengths, as a run reads them."""
    chosen = plan(rows)
    source = open_source(data, rows)
    found = runner.read(chosen, source, Pass(1, chosen.steps), {})
    histogram = chosen.steps[0].action.reads()[0]  # type: ignore[union-attr]
    return found.parts(dp.Moment())["moment"].ravel().tolist(), found.parts(histogram)["counts"].tolist()


def released(data: Any, rows: dp.Rows) -> tuple[bytes, bytes]:
    result = plan(rows).run(data, insecure_seed=7)
    return result["radius"].tobytes(), result["moment"].tobytes()


# -- sources -----------------------------------------------------------------------------------------------------------


def parquet(path: Path, size: int) -> Path:
    for number, part in enumerate(parts(size)):
        pq.write_table(part, path / f"{number:04}.parquet", row_group_size=max(size // 3, 1))
    return path


CONNECTIONS: list[Any] = []


def relation(_: Path, size: int) -> Any:
    CONNECTIONS.append(CONNECTIONS[0].cursor() if CONNECTIONS else duckdb.connect())
    return CONNECTIONS[-1].from_arrow(pa.concat_tables(parts(size)))


def lazy(path: Path, size: int) -> Any:
    return pl.scan_parquet(parquet(path, size) / "*.parquet")


def stream(_: Path, size: int) -> Any:
    return pa.RecordBatchReader.from_batches(
        parts(size)[0].schema, [b for part in parts(size) for b in part.to_batches()]
    )


LOCAL: dict[str, Callable[[Path, int], Any]] = {
    "Parquet directory": parquet,
    "DuckDB": relation,
    "polars, lazy": lazy,
    "Arrow stream": stream,
}


@pytest.mark.parametrize("size", CHUNKS)
@pytest.mark.parametrize("make", LOCAL.values(), ids=LOCAL)
def test_local_sources(make: Callable[[Path, int], Any], size: int, tmp_path: Path) -> None:
    for name, rows in [(each, PROMISES[each]) for each in ("numbers", "words")]:
        reference = array(size) if name == "numbers" else columns(size)
        assert exact(reference, rows) == exact(make(tmp_path, size), rows)
        assert released(reference, rows) == released(make(tmp_path, size), rows)


def test_the_comparison_sees_a_difference() -> None:
    rows = PROMISES["numbers"]
    other = array(500)
    other[7, 0] += 0.01
    assert exact(array(500), rows) != exact(other, rows)
    assert released(array(500), rows) != released(other, rows)


# -- a cluster whose workers die ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two processes of one thread, on any free port; a worker that dies is replaced."""
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "60s", "distributed.deploy.lost-worker-timeout": "600s"}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as two,
        distributed.Client(two) as client,
    ):
        yield client


def witnesses(count: int, folder: Path | None) -> list[Path | None]:
    """Where the worker of the middle partition notes that it dies."""
    return [None if folder is None or number != count // 2 else folder / "killed" for number in range(count)]


def far_array(size: int, folder: Path | None) -> Any:
    pieces = [array(size)[start : start + size] for start in range(0, rows_for(size), size)]
    loaded = [
        da.from_delayed(dask.delayed(load, pure=False)(piece, witness), piece.shape, dtype=piece.dtype)
        for piece, witness in zip(pieces, witnesses(len(pieces), folder), strict=True)
    ]
    return da.concatenate(loaded)


def far_frame(size: int, folder: Path | None) -> Any:
    frames = [part.to_pandas() for part in parts(size)]
    loaded = [
        dask.delayed(load, pure=False)(frame, witness)
        for frame, witness in zip(frames, witnesses(len(frames), folder), strict=True)
    ]
    return dd.from_delayed(loaded, meta=frames[0].iloc[:0])


FAR: dict[str, tuple[str, Callable[[int, Path | None], Any]]] = {
    "Dask array": ("numbers", far_array),
    "Dask data frame": ("words", far_frame),
}
FAR_AND_PEOPLE = {**FAR, "rows per person": ("people", far_frame)}


def check_far(promise: str, make: Callable[[int, Path | None], Any], size: int, folder: Path) -> None:
    rows = PROMISES[promise]
    reference = array(size) if promise == "numbers" else columns(size)
    assert exact(reference, rows) == exact(make(size, folder), rows)
    assert (folder / "killed").exists()
    assert released(reference, rows) == released(make(size, None), rows)


@pytest.mark.parametrize(("promise", "make"), FAR.values(), ids=FAR)
def test_a_cluster(client: Any, promise: str, make: Callable[[int, Path | None], Any]) -> None:
    rows = PROMISES[promise]
    for size in CHUNKS:
        reference = array(size) if promise == "numbers" else columns(size)
        assert exact(reference, rows) == exact(make(size, None), rows)


@pytest.mark.parametrize(("promise", "make"), FAR.values(), ids=FAR)
def test_a_worker_that_is_killed(
    client: Any, promise: str, make: Callable[[int, Path | None], Any], tmp_path: Path
) -> None:
    check_far(promise, make, 500, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("size", CHUNKS)
@pytest.mark.parametrize(("promise", "make"), FAR_AND_PEOPLE.values(), ids=FAR_AND_PEOPLE)
def test_a_worker_that_is_killed_with_chunks_of_any_size(
    client: Any, promise: str, make: Callable[[int, Path | None], Any], size: int, tmp_path: Path
) -> None:
    check_far(promise, make, size, tmp_path)


@pytest.mark.long
def test_a_worker_that_is_killed_after_people_were_counted(client: Any, tmp_path: Path) -> None:
    frames = [part.to_pandas() for part in parts(500)]
    tasks = [dask.delayed(load, pure=False)(frame, None) for frame in frames]
    tasks[3] = dask.delayed(load_twice, pure=False)(frames[3], tmp_path)
    data = dd.from_delayed(tasks, meta=frames[0].iloc[:0])
    assert exact(columns(500), PROMISES["people"]) == exact(data, PROMISES["people"])
    assert {"counted", "killed"} == {path.name for path in tmp_path.iterdir()}


def test_a_cluster_tells_how_many_partitions_are_done(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    events: list[dp.Progress] = []
    plan(PROMISES["numbers"]).run(far_array(500, None), progress=events.append)
    told = [(event.partitions, event.total_partitions) for event in events if event.partitions]
    assert [(done, 7) for done in range(1, 8)] == told


# -- what fails on a cluster -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("work", "name"), [(failing, "ValueError"), (dying, "KilledWorker")])
def test_a_cluster_that_gives_up(client: Any, work: Callable[[Any], Any], name: str) -> None:
    data = da.from_array(array(500), chunks=(ROWS, 3)).map_blocks(work, dtype=float, meta=np.zeros((0, 0)))
    scheduler = client.cluster.scheduler
    before, allowed, scheduler.allowed_failures = set(scheduler.tasks), scheduler.allowed_failures, 0
    try:
        with pytest.raises(dp.ReleaseFailed, match=rf"Dask could not compute .* \({name}\).* stands") as caught:
            plan(PROMISES["numbers"]).run(data)
    finally:
        scheduler.allowed_failures = allowed
    assert "hush" not in str(caught.value)
    assert (None, None) == (caught.value.__cause__, caught.value.__context__)
    end = time.monotonic() + 60.0
    while set(scheduler.tasks) - before and time.monotonic() < end:  # the scheduler forgets in its own time
        time.sleep(0.05)
    assert set() == set(scheduler.tasks) - before


def test_a_cluster_without_workers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_source, "PAUSE", 0.1)
    monkeypatch.setattr(dask_source, "ABANDONED", 0.3)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as deserted,
        distributed.Client(deserted),
        pytest.raises(dp.ReleaseFailed, match=r"Dask could not compute .* \(TimeoutError\).* stands"),
    ):
        plan(PROMISES["numbers"]).run(far_array(500, None))
    assert {} == dict(deserted.scheduler.tasks)
