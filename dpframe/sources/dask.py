"""Dask arrays and data frames: statistics are computed where the partitions are, and only totals are sent.

The scheduler is the one Dask itself would use: the current client of a cluster, or local threads or processes. Names
and types come from the metadata of the collection, before the charge; nothing is computed then. Every partition is
checked against them when it is read. Totals are exact integers (:mod:`dpframe.sources.partial_totals`), added up in a
tree, and no task changes its arguments: another chunking, more workers, or a task that is repeated elsewhere gives the
same integers.

If rows are limited per person, ids are counted in a graph of their own: in one graph every partition would be held
until the last one is counted.
"""

from __future__ import annotations

import math
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import count
from operator import getitem
from typing import Any, TypeVar

import attrs
import numpy as np

from dpframe.display.redacted import Redacted
from dpframe.errors import DataError
from dpframe.interfaces import Statistic
from dpframe.reading.private_data import Parts
from dpframe.reading.process_state import one_blas_thread, warnings_silenced
from dpframe.sources.arrays import check_numeric, check_shape
from dpframe.sources.dask_partition import Partition
from dpframe.sources.frames import check_gaps, open_pandas
from dpframe.sources.opened import Meter, Opened, Raw, attempt, check_names, declared, is_a, what
from dpframe.sources.partial_totals import (
    Failure,
    Job,
    Report,
    Share,
    added,
    allotments_of,
    settled,
    share_of,
    tally_of,
)
from dpframe.spec.rows import Rows

FAN_IN = 8  # totals added up by one task
PAUSE = 5.0  # seconds between two checks that there is a worker
ABANDONED = 120.0  # seconds without any worker, after which the run fails

T = TypeVar("T")


def is_dask(data: Any) -> bool:
    """Whether this is a Dask collection, or built of them; nothing is imported to find out."""
    return hasattr(type(data), "__dask_graph__")


def open_dask(data: Any, rows: Rows, size: Callable[[int], int]) -> Partitions:
    """Check the names and types that a collection declares; nothing is computed.

    Args:
        data: a Dask array or data frame.
        rows: the promise.
        size: gives the most rows in a block, for a number of coordinates.
    """
    meta: Any = attempt(lambda: getattr(data, "_meta", None), "the Dask collection does not tell its types")
    if is_a(data, "dask.array", "Array"):
        if not isinstance(meta, np.ndarray) or isinstance(meta, np.ma.MaskedArray):
            raise DataError(f"a dask.array of {what(meta)} cannot be read; its chunks must be NumPy arrays.")
        check_numeric(data.dtype, "the array", rows=rows)
        if data.ndim == 2 and math.isnan(data.shape[1]):
            raise DataError("the number of columns of the dask.array is not known; see its compute_chunk_sizes().")
        check_shape(data.shape, rows)
        rows = rows if rows.dim is not None else rows.bind(int(data.shape[1]))
        return Partitions(data, rows, Partition(rows, size(rows.known_dim), {"": data.dtype}))
    if is_a(data, "dask.dataframe", "DataFrame") and is_a(meta, "pandas", "DataFrame"):
        columns = declared(rows)
        check_names(meta.columns, columns, "the data frame")
        most = size(rows.known_dim)
        open_pandas(meta, columns, most)
        for column in columns:
            check_gaps(column, meta[column.name].dtype)
        return Partitions(
            data, rows, Partition(rows, most, {column.name: meta[column.name].dtype for column in columns})
        )
    raise DataError(
        f"{what(data)} cannot be read. Of Dask, pass a two-dimensional dask.array of NumPy arrays or a dask.dataframe "
        "of pandas frames."
    )


@attrs.frozen(repr=False, eq=False)
class Partitions(Redacted):
    """An opened Dask collection, with its partitions in order, numbered from 0.

    Args:
        collection: the array or data frame.
        rows: the promise, with its dimension.
        partition: opens and checks each partition.
    """

    _collection: Any = attrs.field(alias="collection")
    rows: Rows
    partition: Partition

    def delayed(self) -> list[Any]:
        """The partitions, one delayed object each. Dask may compute to plan them, so this comes after the charge."""
        if "" not in self.partition.types:
            return list(self._collection[list(self.partition.types)].to_delayed())
        return list(self._collection.rechunk({1: -1}).to_delayed().ravel())

    def __iter__(self) -> Iterator[Opened]:
        """One partition after the other, in this process: for callers that need the rows themselves."""
        for index, part in enumerate(_withheld(self.delayed)):
            yield Opened(partial(self._read, index, part))

    def _read(self, index: int, part: Any, meter: Meter) -> Iterator[Raw]:
        return self.partition.open(index, _withheld(part.compute)).read(meter)

    def accumulate(
        self, statistics: Sequence[Statistic], rows: Rows, meter: Meter, report: Report | None = None
    ) -> dict[Statistic, Parts]:
        """Exact totals of the statistics over all partitions.

        Args:
            statistics: the statistics to sum.
            rows: the promise, with its norm known.
            meter: records the number of rows, so that passes can be compared.
            report: called with the number of partitions that are done, and that of all; both are public.
        """
        meter.start()
        job = Job(tuple(statistics), rows, self.partition)
        result: Share | Failure = _withheld(lambda: self._computed(job, report))
        return settled(result, statistics, meter)

    def _computed(self, job: Job, report: Report | None) -> Any:
        tasks = Tasks(job)
        allotted = None if job.rows.person is None else _allotted(self.delayed(), tasks)
        return _computed(self.delayed(), tasks, allotted, report)


# -- the graph, and its scheduler --------------------------------------------------------------------------------------


class Tasks:
    """Makes the tasks of a job. Their keys are random: Dask's own would be hashes of private objects."""

    def __init__(self, job: Job) -> None:
        self._delayed, self._token, self._numbers = import_module("dask").delayed, uuid.uuid4().hex, count()
        self.job = self._delayed(job, pure=False, traverse=False, name=f"dpframe-job-{self._token}")

    def __call__(self, work: Callable[..., Any], name: str, *arguments: Any) -> Any:
        """A task that calls ``work`` with these arguments."""
        key = f"dpframe-{name}-{self._token}-{next(self._numbers)}"
        return self._delayed(work, pure=False)(*arguments, dask_key_name=key)


def _allotted(parts: Iterable[Any], task: Tasks) -> Any:
    """How many rows of each person may count in each partition, computed and kept on the workers.

    This waits for the result: with both graphs submitted at once, a cluster would hold all partitions for the second.
    """
    tallies = [task(tally_of, "count", task.job, index, part) for index, part in enumerate(parts)]
    (kept,) = import_module("dask").persist(task(allotments_of, "allot", task.job, tallies))
    client = _client(kept)
    if client is not None:
        futures = import_module("distributed").futures_of(kept)
        with _cancelled_on_error(client, futures):
            deque(_completed(client, futures), maxlen=0)
    return kept


def _computed(parts: Iterable[Any], task: Tasks, allotted: Any, report: Report | None) -> Any:
    """Build the tree of tasks and compute it."""
    known, leaves = task.job, []
    for index, part in enumerate(parts):
        allotment = [] if allotted is None else [task(getitem, "allotment", allotted, index)]
        leaves.append(task(share_of, "read", known, index, part, *allotment))
    level = leaves or [task(added, "add", known, [])]
    while len(level) > 1:
        level = [task(added, "add", known, level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
    client = _client(level[0])
    if client is not None:
        return _on_cluster(client, level[0], [task(_done, "done", leaf) for leaf in leaves], report)
    return _locally(level[0], [leaf.key for leaf in leaves], report)


def _client(collection: Any) -> Any:
    """The client of the cluster that computes a collection, or None if it is computed in this process."""
    scheduler = import_module("dask.base").get_scheduler(collections=[collection])
    client = getattr(scheduler, "__self__", None)
    return client if is_a(client, "distributed", "Client") else None


def _done(share: Share | Failure) -> None:
    """Mark a partition as done: its share itself need not be kept for progress reports."""


def _on_cluster(client: Any, total: Any, marks: list[Any], report: Report | None) -> Any:
    """Compute the total on a cluster, reporting the partitions that are done."""
    futures, reported = client.compute([total, *(marks if report is not None else [])]), 0
    with _cancelled_on_error(client, futures):
        for done in _completed(client, futures):
            while report is not None and reported < min(done, len(marks)):  # done may include the total
                reported += 1
                report(reported, len(marks))
        return futures[0].result()


@contextmanager
def _cancelled_on_error(client: Any, futures: list[Any]) -> Iterator[None]:
    """Cancel the futures if waiting for them fails, so that nothing of a failed run stays on the cluster."""
    try:
        yield
    except BaseException:
        client.cancel(futures, force=True)
        raise


def _completed(client: Any, futures: list[Any]) -> Iterator[int]:
    """Yield the number of finished futures whenever one finishes; raise if there is no worker for too long."""
    waiting, alone_since = list(futures), None
    while waiting:
        try:
            waiting = list(import_module("distributed").wait(waiting, PAUSE, "FIRST_COMPLETED").not_done)
        except TimeoutError:
            now = time.monotonic()
            alone_since = None if client.nthreads() else alone_since or now
            if alone_since is not None and now - alone_since > ABANDONED:
                raise
        else:
            alone_since = None
            yield len(futures) - len(waiting)


def _locally(total: Any, keys: list[str], report: Report | None) -> Any:
    """Compute the total with a local scheduler, reporting the partitions that are done."""
    left = set(keys)

    def finished(key: Any, *_: Any) -> None:
        if report is not None and key in left:
            left.remove(key)
            report(len(keys) - len(left), len(keys))

    with one_blas_thread(), import_module("dask.callbacks").Callback(posttask=finished):
        return total.compute()


def _withheld(work: Callable[[], T]) -> T:
    """Call Dask; an error of it or of a worker is replaced by our own, since its message may hold a cell.

    Warnings are neither shown nor errors: the size of a graph reveals the number of rows.
    """

    def in_silence() -> T:
        with warnings_silenced():
            return work()

    return attempt(
        in_silence,
        "Dask could not compute the data: a task failed (with a KeyError where a partition lacks a column), or its "
        "workers died; their logs say more",
    )
