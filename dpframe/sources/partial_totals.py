"""Exact totals of one partition of the data, computed where the partition is; what Dask and Spark share.

A worker opens a partition, checks it against what the collection said of itself, and sends back the totals of its rows.
They are exact integers: whoever computes them, in which order they are added up, and how often a task is repeated
changes nothing. What cannot be read comes back as a `Failure`, whose message holds no data.

Where rows are limited per person, partitions are read twice: first for the ids alone, then, knowing how many rows of
each person may count in it, for the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, Protocol, TypeVar

import attrs
import numpy as np

from dpframe.display.redacted import Redacted
from dpframe.errors import DataError
from dpframe.interfaces import Statistic
from dpframe.reading.people import Counter, Tally, allotments, counted
from dpframe.reading.private_data import Parts
from dpframe.reading.process_state import one_blas_thread, warnings_silenced
from dpframe.reading.totals import Totals
from dpframe.sources.opened import Meter, Opened, Raw
from dpframe.spec.rows import Rows

Report = Callable[[int, int], None]
T = TypeVar("T")


class Partition(Protocol):
    """What is known of every partition, wherever it is opened."""

    def open(self, index: int, part: Any) -> Opened:
        """Check a partition against what the collection declares, before its cells are read."""

    def open_ids(self, index: int, part: Any) -> Opened:
        """Check a partition like `open`, and read only its column of ids."""


class Partitioned(Protocol):
    """An opened collection, whose statistics are computed where its partitions are."""

    @property
    def rows(self) -> Rows:
        """The promise, with its dimension."""

    def __iter__(self) -> Iterator[Opened]:
        """One partition after the other, in this process: for callers that need the rows themselves."""

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


@attrs.frozen(repr=False, eq=False)
class Job(Redacted):
    """The arguments that all tasks share."""

    statistics: tuple[Statistic, ...]
    rows: Rows
    partition: Partition
    version: str = attrs.field(factory=lambda: import_module("dpframe").__version__)


@attrs.frozen(repr=False, eq=False)
class Share(Redacted):
    """The totals of some partitions. Private data: no noise has been added."""

    totals: Totals
    rows: int


@attrs.frozen
class Failure:
    """Why a partition could not be read, in a message that holds no data.

    It is returned, not raised: if a task raises, its arguments are written to the worker's log.
    """

    message: str


def share_of(job: Job, index: int, part: Any, allotment: Tally | Failure | None = None) -> Share | Failure:
    """The totals of one partition, with at most the allotted rows of each person; or why there are none."""

    def share() -> Share:
        totals, meter, person = Totals(job.statistics, job.rows), Meter(), job.rows.person
        blocks = _metered(job.partition.open(index, part), meter)
        if person is not None:
            assert isinstance(allotment, Tally)  # otherwise m rows of a person could count in every partition
            blocks = counted(blocks, person, Counter(job.rows.contributions, allotment))
        with one_blas_thread():
            for raw in blocks:
                totals.read(raw)
        totals.finish()
        return Share(totals, meter.rows)

    return allotment if isinstance(allotment, Failure) else _guarded(job, index, share)


def _metered(opened: Opened, meter: Meter) -> Iterator[Raw]:
    """The blocks of a partition, whose rows the meter counts."""
    for raw in opened.read(meter):
        meter.rows += len(raw) if isinstance(raw, np.ndarray) else len(next(iter(raw.values())))
        yield raw


def tally_of(job: Job, index: int, part: Any) -> Tally | Failure:
    """The number of rows of each person in one partition, up to the limit."""

    def tally() -> Tally:
        counter = Counter(job.rows.contributions)
        for raw in job.partition.open_ids(index, part).read(Meter()):
            assert isinstance(raw, dict)  # arrays have no ids
            for ids in raw.values():
                counter.choose(ids)
        return counter.tally()

    return _guarded(job, index, tally)


def allotments_of(job: Job, tallies: Sequence[Tally | Failure]) -> list[Tally | Failure]:
    """For each partition, in order: how many rows of each person may count in it."""
    for tally in tallies:
        if isinstance(tally, Failure):
            return [tally] * len(tallies)
    return list(allotments((tally for tally in tallies if isinstance(tally, Tally)), job.rows.contributions))


def _guarded(job: Job, index: int, work: Callable[[], T]) -> T | Failure:
    """The result of work on a partition, or why there is none."""
    try:
        version = import_module("dpframe").__version__
        if version != job.version:
            return Failure(f"a worker has dpframe {version}; the run has {job.version}. Both must be the same.")
        with warnings_silenced():
            return work()
    except DataError as error:
        return Failure(str(error))
    except Exception as error:
        return Failure(f"partition {index} could not be read ({type(error).__name__}).")


def added(job: Job, shares: Sequence[Share | Failure]) -> Share | Failure:
    """The sum of several shares, which are not changed: a repeated task may need them again."""
    totals, rows = Totals(job.statistics, job.rows), 0
    for share in shares:
        if isinstance(share, Failure):
            return share
        totals.merge(share.totals)
        rows += share.rows
    return Share(totals, rows)


def settled(result: Share | Failure, statistics: Sequence[Statistic], meter: Meter) -> dict[Statistic, Parts]:
    """The totals of a whole pass; raises DataError where a partition could not be read.

    Args:
        result: the sum of all shares.
        statistics: the statistics, in the order of the job.
        meter: the meter of the pass, which is finished.
    """
    if isinstance(result, Failure):
        raise DataError(result.message)
    meter.rows = result.rows
    meter.finish()
    return dict(zip(statistics, result.totals.exact().values(), strict=True))  # its keys are copies of these
