"""Dask: what a collection says of itself is checked before the charge, every partition after it, and nothing leaks."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import dpframe
import dpframe.plugin as dp
from dpframe.run import progress
from dpframe.sources import open_source, partial_totals
from dpframe.sources.dask import Partitions
from tests.support.refusals import SECRET, SECRETS, WORD, Watch, check_refused

pd: Any = pytest.importorskip("pandas")
dask: Any = pytest.importorskip("dask")
da: Any = pytest.importorskip("dask.array")
dd: Any = pytest.importorskip("dask.dataframe")
bag: Any = pytest.importorskip("dask.bag")

COUNT = 211
PLAIN = dp.Rows(norm=1.0, neighbors="add-remove")
COLUMNS = dp.Rows(columns=[dp.Column("age", 0, 100, missing=40), dp.Category("sex", ["F", "M"])], neighbors="replace")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)

SCHEDULERS = ["synchronous", "threads", pytest.param("processes", marks=pytest.mark.long)]


def plan(rows: dp.Rows = PLAIN) -> dp.Plan:
    return dp.Plan(rows=rows, budget=BUDGET, steps=[dp.release("moment", "gaussian")])


def two_passes(rows: dp.Rows) -> dp.Plan:
    paid = dp.Rows(columns=rows.columns, dim=rows.dim, neighbors=rows.neighbors, norm=dp.ref("radius"))
    return dp.Plan(
        rows=paid,
        budget=BUDGET,
        steps=[dp.release("radius", "private-quantile", quantile=0.9, high=4.0), dp.release("moment", "gaussian")],
    )


def moment(data: Any, chosen: dp.Plan) -> bytes:
    return chosen.run(data, insecure_seed=7)["moment"].tobytes()


def array(kind: Any = np.float64) -> Any:
    return np.random.default_rng(1).normal(size=(COUNT, 4)).astype(kind)


def frame() -> Any:
    draws = np.random.default_rng(2)
    age = draws.uniform(0, 120, COUNT)
    age[::7] = np.nan
    return pd.DataFrame({"extra": [object()] * COUNT, "sex": draws.choice(["F", "M", "?"], COUNT), "age": age})


def frames(size: int = 50) -> Any:
    return dd.from_map(lambda start: frame()[start : start + size], range(0, COUNT, size), meta=frame()[:0])


# -- the same integers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_any_scheduler(scheduler: str) -> None:
    with dask.config.set(scheduler=scheduler, num_workers=2):
        assert moment(array(), plan()) == moment(da.from_array(array(), chunks=(40, 4)), plan())
        assert moment(frame(), two_passes(COLUMNS)) == moment(frames(), two_passes(COLUMNS))


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("chunks", [(1000, 4), (40, 4), (40, 1), (100, (1, 3)), ((11, 0, 200), 2)])
def test_any_chunks_of_an_array(kind: Any, chunks: Any) -> None:
    wanted = moment(array(kind), two_passes(dp.Rows(norm=1.0, neighbors="replace", dim=4)))
    collection = da.from_array(array(kind), chunks=chunks)
    assert wanted == moment(collection, two_passes(dp.Rows(norm=1.0, neighbors="replace", dim=4)))


def test_chunks_of_unknown_size() -> None:
    collection = da.from_array(array(), chunks=(40, 2))
    assert moment(array()[array()[:, 0] > 0], plan()) == moment(collection[collection[:, 0] > 0], plan())


def test_no_rows() -> None:
    assert moment(array()[:0], plan()) == moment(da.from_array(array()[:0], chunks=(40, 4)), plan())
    assert moment(frame()[:0], plan(COLUMNS)) == moment(dd.from_pandas(frame()[["sex", "age"]][:0]), plan(COLUMNS))


@pytest.mark.parametrize("kind", ["string", "category", object])
def test_words_of_any_kind(kind: Any) -> None:
    parts = [
        frame().assign(sex=pd.array(frame()["sex"], dtype=kind))[start : start + 50] for start in range(0, COUNT, 50)
    ]
    known = dd.from_map(lambda number: parts[number], range(len(parts)), meta=parts[0][:0])
    assert moment(frame(), plan(COLUMNS)) == moment(known, plan(COLUMNS))
    if kind == "category":
        assert moment(frame(), plan(COLUMNS)) == moment(known.assign(sex=known["sex"].cat.as_unknown()), plan(COLUMNS))


def test_check_sees_all_rows() -> None:
    assert dp.check(frame(), COLUMNS) == dp.check(frames(), COLUMNS)
    assert dp.check(array(), PLAIN) == dp.check(da.from_array(array(), chunks=(40, 2)), PLAIN)


def test_columns_that_are_not_named_are_not_computed() -> None:
    def explode(part: Any) -> Any:
        raise AssertionError

    bad = frames()[["age"]].map_partitions(explode, meta=frame()[["age"]][:0])["age"]
    assert moment(frame(), plan(COLUMNS)) == moment(frames().assign(bad=bad), plan(COLUMNS))


def test_shares_are_not_changed_by_adding_them_up() -> None:
    """A task may be done again with what it was given before."""
    source = open_source(da.from_array(array(), chunks=(100, 4)), PLAIN)
    assert isinstance(source.partitions, Partitions)
    partition = source.partitions.partition
    job = partial_totals.Job((dp.Moment(),), partition.rows, partition)
    shares = [
        partial_totals.share_of(job, index, array()[start : start + 100]) for index, start in enumerate((0, 100, 200))
    ]
    kept = copy.deepcopy(shares)
    once, again = partial_totals.added(job, shares), partial_totals.added(job, shares)
    for share, before in [*zip(shares, kept, strict=True), (once, again)]:
        assert isinstance(share, partial_totals.Share)
        assert isinstance(before, partial_totals.Share)
        found, wanted = (each.totals.exact()[dp.Moment()]["moment"] for each in (share, before))
        assert (wanted == found).all()
    assert "<Share: private>" == repr(pickle.loads(pickle.dumps(once)))


@pytest.mark.usefixtures("several_blas_threads")
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_one_blas_thread_for_each_task(scheduler: str) -> None:
    def threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    during: list[set[int]] = []
    before = threads()

    def note(part: Any) -> Any:
        during.append(threads())
        return part

    noted = da.from_array(array(), chunks=(10, 4)).map_blocks(note, meta=np.zeros((0, 0)))
    with dask.config.set(scheduler=scheduler):
        plan().run(noted)
    assert {1} == set().union(*during)
    assert before == threads()


# -- before the charge -------------------------------------------------------------------------------------------------


def exploding(_: Any) -> Any:
    raise AssertionError("computed before the charge")


REFUSED: dict[str, tuple[dp.Rows, Callable[[], Any], tuple[str, ...]]] = {
    "array of words": (PLAIN, lambda: da.from_array(np.array([[WORD]])), ("the array holds text",)),
    "array of one dimension": (PLAIN, lambda: da.zeros(7919), ("must be two-dimensional",)),
    "array, other columns": (COLUMNS, lambda: da.zeros((7919, 3)), ("does not have the 2 columns of the plan",)),
    "array, words wanted": (COLUMNS, lambda: da.zeros((7919, 2)), ("'sex' has words as levels",)),
    "masked array": (PLAIN, lambda: da.ma.masked_array(da.zeros((9, 2))), ("its chunks must be NumPy arrays",)),
    "frame without columns": (PLAIN, frames, ("named columns", "dp.Rows(columns=")),
    "frame, absent": (
        COLUMNS,
        lambda: frames()[["age"]],
        ("the data frame has no column 'sex'; of the plan's columns it has: 'age'",),
    ),
    "frame, other type": (
        COLUMNS,
        lambda: frames().assign(age=frames()["sex"].map(exploding, meta=("age", object))),
        ("column 'age' holds", "numbers"),
    ),
    "series": (COLUMNS, lambda: frames()["age"], ("Series cannot be read", "dask.dataframe")),
    "bag": (COLUMNS, lambda: bag.from_sequence([{"age": SECRET}]), ("Bag cannot be read", "dask.dataframe")),
    "delayed": (COLUMNS, lambda: dask.delayed(exploding)(1), ("Delayed cannot be read", "dask.dataframe")),
}


@pytest.mark.parametrize(("rows", "make", "says"), REFUSED.values(), ids=REFUSED)
def test_refused_before_the_charge(watch: Watch, rows: dp.Rows, make: Callable[[], Any], says: tuple[str, ...]) -> None:
    check_refused(watch, lambda: plan(rows).run(make()), dp.DataError, says)


# -- after it ----------------------------------------------------------------------------------------------------------


def second(change: Callable[[Any], Any]) -> Any:
    """A frame of two partitions whose second is not what the frame says."""
    parts = [frame()[:100], change(frame()[100:])]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=frame()[:0], verify_meta=False)


def raising(_: Any) -> Any:
    raise ValueError(f"the cell {WORD}")


WRONG: dict[str, tuple[dp.Rows, Callable[[], Any], str]] = {
    "frame, column missing": (
        COLUMNS,
        lambda: second(lambda part: part.drop(columns="sex")),
        r"Dask could not compute the data: .* where a partition lacks a column.* \(KeyError\)",
    ),
    "frame, other type": (
        COLUMNS,
        lambda: second(lambda part: part.assign(age=WORD)),
        r"partition 1 is not what the collection said: column 'age' holds \w+ instead of float64",
    ),
    "frame, dates": (
        COLUMNS,
        lambda: second(lambda part: part.assign(age=np.datetime64("2026-01-01"))),
        r"partition 1 is not what the collection said: column 'age' holds dates instead of float64",
    ),
    "array, other type": (
        PLAIN,
        lambda: da.from_array(array(), chunks=(200, 4)).map_blocks(lambda x: x.astype("f4"), dtype="f8"),
        "partition 0 is not what the collection said: it holds float32 instead of float64",
    ),
    "array, other columns": (
        PLAIN,
        lambda: da.from_array(array(), chunks=(300, 4)).map_blocks(lambda x: x[:, :3], dtype="f8"),
        "partition 0 is not what the collection said: the array does not have the 4 columns of the plan",
    ),
    "array, raises": (
        PLAIN,
        lambda: da.from_array(array(), chunks=(200, 4)).map_blocks(raising, meta=np.zeros((0, 0))),
        r"Dask could not compute the data.* \(ValueError\)",
    ),
}


@pytest.mark.parametrize(("rows", "make", "says"), WRONG.values(), ids=WRONG)
def test_a_partition_that_is_not_what_was_said(watch: Watch, rows: dp.Rows, make: Callable[[], Any], says: str) -> None:
    with pytest.raises(dp.ReleaseFailed, match=rf"(?:{says}).* stands") as caught:
        plan(rows).run(make())
    assert 1 == watch.charges
    assert [] == [secret for secret in SECRETS if secret in str(caught.value)]
    assert (None, None) == (caught.value.__cause__, caught.value.__context__)


def test_warnings_of_tasks_are_not_shown() -> None:
    def warning(part: Any) -> Any:
        warnings.warn("how large it is", UserWarning, stacklevel=1)
        return part

    loud = da.from_array(array(), chunks=(40, 4)).map_blocks(warning, meta=np.zeros((0, 0)))
    with warnings.catch_warnings(record=True) as shown, dask.config.set(scheduler="synchronous"):
        warnings.simplefilter("always")
        plan().run(loud)
    assert [] == shown


def test_another_number_of_rows_in_the_second_pass() -> None:
    counts = iter(range(100, 0, -1))
    moving = da.from_array(array(), chunks=(300, 4)).map_blocks(lambda x: x[: next(counts)], meta=np.zeros((0, 0)))
    with pytest.raises(dp.ReleaseFailed, match="another number of rows"), dask.config.set(scheduler="synchronous"):
        two_passes(dp.Rows(norm=1.0, neighbors="replace", dim=4)).run(moving)


def test_another_version_on_a_worker_is_refused() -> None:
    source = open_source(da.from_array(array(), chunks=(100, 4)), PLAIN)
    assert isinstance(source.partitions, Partitions)
    partition = source.partitions.partition
    job = partial_totals.Job((dp.Moment(),), partition.rows, partition, version="0.0.1")
    found = partial_totals.share_of(job, 0, array())
    assert isinstance(found, partial_totals.Failure)
    assert found.message.startswith(f"a worker has dpframe {dpframe.__version__}; the run has 0.0.1.")


# -- what is told ------------------------------------------------------------------------------------------------------


def test_keys_and_tasks_show_nothing() -> None:
    seen: list[str] = []

    class Keys(dask.callbacks.Callback):  # type: ignore[misc]
        def _start(self, graph: Any) -> None:
            seen.extend(f"{key} {task!r}" for key, task in dict(graph).items() if str(key).startswith("dpframe"))

    table = dd.from_pandas(pd.DataFrame({"age": [SECRET] * 9, "sex": [WORD] * 9}), npartitions=3)
    with Keys():
        plan(COLUMNS).run(table)
    assert 5 == len(seen)  # three shares, their sum and the job
    assert [] == [secret for secret in SECRETS if secret in " ".join(seen)]


def test_partitions_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    events: list[dp.Progress] = []
    with dask.config.set(scheduler="synchronous"):
        plan().run(da.from_array(array(), chunks=(100, 4)), progress=events.append)
    assert [(1, 3), (2, 3), (3, 3)] == [(e.partitions, e.total_partitions) for e in events if e.partitions]
    assert "reading the data, pass 1 of 1: 2 of 3 partitions" == events[2]
    assert {None} == {event.rows for event in events} == {event.bytes for event in events}
