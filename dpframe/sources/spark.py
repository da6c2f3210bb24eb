"""Data frames of Spark: statistics are computed where the partitions are, by ``mapInArrow``, and only totals are sent.

Names and types come from the schema of the frame, before the charge; Spark analyzes it then, and runs nothing. Each
task reads one partition as Arrow batches and gives one row: its exact totals, pickled. A few further tasks add those
up, and what they give is collected where the run is. Spark counts what a task gave once, whether the task was repeated
because an executor died, or run twice at the same time; so the integers do not depend on that.

If rows are limited per person, a first job collects the ids of each partition, with how often they occur, where the run
is. The second one is sent what each partition may count, which bounds each person's rows even if partitions change.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

import attrs

from dpframe.display.redacted import Redacted
from dpframe.errors import DataError
from dpframe.interfaces import Statistic
from dpframe.reading.people import Tally
from dpframe.reading.private_data import Parts
from dpframe.reading.process_state import spark_log_silenced, warnings_silenced
from dpframe.sources.arrow import check_schema, in_blocks
from dpframe.sources.opened import Declared, Meter, Opened, Raw, attempt, check_names, declared, is_a, pyarrow
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

FAN_OUT = 4  # tasks that add up what the partitions gave: so many totals are held where the run is
SENT = "partition int, pickled binary"

T = TypeVar("T")


def is_spark(data: Any) -> bool:
    """Whether this is a data frame of Spark, of a session here or elsewhere; nothing is imported to find out."""
    return is_a(data, "pyspark.sql", "DataFrame") or is_a(data, "pyspark.sql.connect.dataframe", "DataFrame")


def open_spark(data: Any, rows: Rows, size: Callable[[int], int]) -> SparkPartitions:
    """Check the names and types of a data frame; nothing is run.

    Args:
        data: the data frame.
        rows: the promise, with columns.
        size: gives the most rows in a block, for a number of coordinates.
    """
    columns = declared(rows)
    pyarrow()
    check_names(attempt(lambda: data.columns, "the Spark frame has no schema"), columns, "the Spark frame")
    names = [f"`{column.name.replace('`', '``')}`" for column in columns]
    why = "the plan's columns cannot be selected from the Spark frame: names that differ in case are one name to Spark"
    chosen = attempt(lambda: data.select(*names), why)
    check_schema(_arrow_schema(chosen), columns, "the Spark frame")
    if attempt(lambda: data.isStreaming, "the Spark frame has no schema"):
        raise DataError("a streaming frame of Spark has no end; pass one of a table or of files.")
    return SparkPartitions(chosen, rows, SparkPartition(columns, size(rows.known_dim)))


def _arrow_schema(frame: Any) -> Any:
    """The types of a frame as Arrow has them; a type that Arrow does not have is refused."""
    to_arrow = import_module("pyspark.sql.pandas.types").to_arrow_type
    fields = attempt(lambda: frame.schema.fields, "the Spark frame has no schema")
    return pyarrow().schema([(field.name, _arrow_type(to_arrow, field)) for field in fields])


def _arrow_type(to_arrow: Callable[[Any], Any], field: Any) -> Any:
    kind = field.dataType
    holds = f"column {field.name!r} of the Spark frame holds {kind.typeName()}"
    return attempt(lambda: to_arrow(kind), f"{holds}, which Arrow cannot take")


@attrs.frozen(repr=False, eq=False)
class SparkPartition(Redacted):
    """What is known of every partition.

    Args:
        columns: the columns to read.
        size: the most rows in a block.
    """

    columns: Declared
    size: int

    def open(self, index: int, part: Iterable[Any]) -> Opened:
        """The blocks of a partition that comes as Arrow batches, each of which is checked before its cells are read."""
        return in_blocks(lambda _: _checked(part, self.columns, index), self.columns, self.size, one_shot=True)

    def open_ids(self, index: int, part: Iterable[Any]) -> Opened:
        """The same of the column of ids."""
        ids = self.columns[-1:]
        chosen = (batch.select([column.name for column in ids]) for batch in part)
        return in_blocks(lambda _: _checked(chosen, ids, index), ids, self.size, one_shot=True)


def _checked(part: Iterable[Any], columns: Declared, index: int) -> Iterator[Any]:
    for batch in part:
        try:
            check_schema(batch.schema, columns, "the partition")
        except DataError as error:
            raise DataError(f"partition {index} is not what the frame said: {error}") from None
        yield batch


@attrs.frozen(repr=False, eq=False)
class SparkPartitions(Redacted):
    """An opened data frame of Spark, with its partitions in order, numbered from 0.

    Args:
        frame: the data frame, with the columns of the plan alone.
        rows: the promise, with its dimension.
        partition: opens and checks each partition.
    """

    _frame: Any = attrs.field(alias="frame")
    rows: Rows
    partition: SparkPartition

    def __iter__(self) -> Iterator[Opened]:
        """All partitions in this process, one batch after the other: for callers that need the rows themselves."""
        yield Opened(self._read)

    def _read(self, meter: Meter) -> Iterator[Raw]:
        packed = _withheld(lambda: self._frame.mapInArrow(_packed, SENT).toLocalIterator())
        while (row := _withheld(lambda: next(packed, None))) is not None:
            with pyarrow().ipc.open_stream(bytes(row["pickled"])) as stream:
                yield from self.partition.open(row["partition"], list(stream)).read(meter)

    def accumulate(
        self, statistics: Sequence[Statistic], rows: Rows, meter: Meter, report: Report | None = None
    ) -> dict[Statistic, Parts]:
        """Exact totals of the statistics over all partitions; see `Partitioned`. Spark shows progress itself."""
        meter.start()
        job = Job(tuple(statistics), rows, self.partition)
        result = _withheld(lambda: self._computed(job))
        return settled(result, statistics, meter)

    def _computed(self, job: Job) -> Share | Failure:
        allotted = None if job.rows.person is None else self._allotted(job)
        shares = self._frame.mapInArrow(partial(_shares, job, allotted), SENT)
        sums = shares.repartition(FAN_OUT, "partition").mapInArrow(partial(_sums, job), SENT)
        return added(job, [pickle.loads(row["pickled"]) for row in sums.collect()])

    def _allotted(self, job: Job) -> dict[int, Tally | Failure]:
        """How many rows of each person may count in each partition."""
        rows = self._frame.mapInArrow(partial(_tallies, job), SENT).collect()
        tallies = {row["partition"]: pickle.loads(row["pickled"]) for row in rows}
        order = sorted(tallies)
        return dict(zip(order, allotments_of(job, [tallies[index] for index in order]), strict=True))


# -- on the executors --------------------------------------------------------------------------------------------------


def _shares(job: Job, allotted: dict[int, Tally | Failure] | None, batches: Iterator[Any]) -> Iterator[Any]:
    """One row: the totals of this partition."""
    index = _partition()
    none = Failure("a partition was not there when ids were counted; every pass must see the same rows.")
    given = () if allotted is None else (allotted.get(index, none),)
    yield _row(index, share_of(job, index, batches, *given))


def _tallies(job: Job, batches: Iterator[Any]) -> Iterator[Any]:
    """One row: how often each id is in this partition."""
    index = _partition()
    yield _row(index, tally_of(job, index, batches))


def _sums(job: Job, batches: Iterator[Any]) -> Iterator[Any]:
    """One row: the sum of some totals."""
    total: Share | Failure = added(job, [])
    for batch in batches:
        for pickled in batch.column("pickled"):
            total = added(job, [total, pickle.loads(pickled.as_py())])
    yield _row(_partition(), total)


def _packed(batches: Iterator[Any]) -> Iterator[Any]:
    """One row for each batch: the batch itself, in bytes."""
    arrow, index = pyarrow(), _partition()
    for batch in batches:
        sink = arrow.BufferOutputStream()
        with arrow.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield _row_of_bytes(index, sink.getvalue().to_pybytes())


def _partition() -> int:
    """The number of the partition that this task reads."""
    context = import_module("pyspark").TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _row(index: int, value: Any) -> Any:
    return _row_of_bytes(index, pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))


def _row_of_bytes(index: int, content: bytes) -> Any:
    arrow = pyarrow()
    arrays = [arrow.array([index], arrow.int32()), arrow.array([content], arrow.binary())]
    return arrow.RecordBatch.from_arrays(arrays, names=["partition", "pickled"])


def _withheld(work: Callable[[], T]) -> T:
    """Call Spark; an error of it or of an executor is replaced by our own, since its message may hold a cell."""

    def in_silence() -> T:
        with warnings_silenced(), spark_log_silenced():
            return work()

    return attempt(
        in_silence, "Spark could not compute the data: a task failed, or its executors died; their logs say more"
    )
