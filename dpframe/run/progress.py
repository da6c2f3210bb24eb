"""Progress reports of a run, and the bar that shows them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from dpframe.errors import PlanError

if TYPE_CHECKING:
    from dpframe.sources import Source
    from dpframe.sources.opened import Meter

INTERVAL = 0.2  # seconds between two events of one phase

T = TypeVar("T")


class Progress(str):
    """A phase of a run and how much of it is done, as text.

    It is a str, so any function of a text can show it. Nothing in it depends on private data. Rows are counted only
    where their number is public. Bytes are counted where the number of rows is public, and for files, whose size is
    visible to anyone who may list them. Where the number of rows is private, every percent of the bytes is reported in
    turn, because the bytes read with each block would reveal the number of rows. The texts are then the same for all
    files of that size, and only the times at which they come depend on the rows. The number of partitions of a Dask
    collection is public. Of a long draw every percent is reported in turn as well, once, however often parts of it are
    computed again.

    Args:
        phase: what is being done.
        bytes: bytes read so far.
        total_bytes: bytes to read in this pass.
        rows: rows read so far.
        partitions: partitions done so far.
        total_partitions: partitions of the collection.
        parts: parts of a draw done so far.
        total_parts: parts of the draw.
        releases: releases simulated so far, on synthetic data.
        total_releases: releases to simulate.
        seconds_left: how long a comparison will take from now on, as estimated from trials on synthetic data.
    """

    phase: str
    bytes: int | None
    total_bytes: int | None
    rows: int | None
    partitions: int | None
    total_partitions: int | None
    parts: int | None
    total_parts: int | None
    releases: int | None
    total_releases: int | None
    seconds_left: float | None

    def __new__(
        cls,
        phase: str,
        *,
        bytes: int | None = None,  # noqa: A002
        total_bytes: int | None = None,
        rows: int | None = None,
        partitions: int | None = None,
        total_partitions: int | None = None,
        parts: int | None = None,
        total_parts: int | None = None,
        releases: int | None = None,
        total_releases: int | None = None,
        seconds_left: float | None = None,
    ) -> Progress:
        amounts = []
        if bytes is not None and total_bytes is not None:
            amounts.append(f"{byte_size(bytes)} of {byte_size(total_bytes)}")
        if rows is not None:
            amounts.append(f"{rows:,} rows")
        if partitions is not None and total_partitions is not None:
            amounts.append(f"{partitions:,} of {total_partitions:,} partitions")
        if parts is not None and total_parts is not None:
            amounts.append(f"{parts:,} of {total_parts:,} parts")
        if releases is not None and total_releases is not None:
            amounts.append(f"{releases:,} of {total_releases:,} releases")
        if seconds_left is not None:
            amounts.append(f"about {duration(seconds_left)} left")
        event = super().__new__(cls, ": ".join(filter(None, [phase, ", ".join(amounts)])))
        event.phase, event.bytes, event.total_bytes, event.rows = phase, bytes, total_bytes, rows
        event.partitions, event.total_partitions = partitions, total_partitions
        event.parts, event.total_parts = parts, total_parts
        event.releases, event.total_releases = releases, total_releases
        event.seconds_left = seconds_left
        return event

    @property
    def share(self) -> float | None:
        """The share of the phase that is done, from 0 to 1; None where it is not known."""
        for done, total in (
            (self.partitions, self.total_partitions),
            (self.parts, self.total_parts),
            (self.releases, self.total_releases),
            (self.bytes, self.total_bytes),
        ):
            if total:
                return (done or 0) / total
        return None


def byte_size(count: int) -> str:
    """A number of bytes with its unit, to three digits.

    >>> byte_size(999), byte_size(1_250_000)
    ('999 B', '1.25 MB')
    """
    value, units = float(count), ["B", "kB", "MB", "GB", "TB", "PB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.3g} {units[0]}"


def duration(seconds: float) -> str:
    """A time with its unit, rounded up.

    >>> duration(0.3), duration(75), duration(10_000)
    ('1 s', '2 min', '3 h')
    """
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds > size:
            return f"{math.ceil(seconds / size)} {unit}"
    return f"{max(math.ceil(seconds), 1)} s"


Listener = Callable[[Progress], Any]


@attrs.define
class ProgressReporter:
    """Reports the phases of a run to a listener, and the progress within a phase every 0.2 seconds or at each percent.

    Exceptions of the listener are ignored: the results of the run are charged already and must not be lost.

    Args:
        listener: a function that is called with each report; None for silence.
    """

    _listener: Listener | None
    _phase: str = attrs.field(init=False, default="")
    _reported_at: float = attrs.field(init=False, default=0.0)
    _percent: int = attrs.field(init=False, default=0)
    _ends_at: float | None = attrs.field(init=False, default=None)

    def begin(self, phase: str, *, seconds_left: float | None = None) -> None:
        """Report that a phase begins.

        Args:
            phase: what is being done.
            seconds_left: how long this phase and all that follow are expected to take.
        """
        self._phase, self._percent = phase, 0
        self._ends_at = None if seconds_left is None else time.monotonic() + seconds_left
        self._report(Progress(phase, seconds_left=seconds_left))

    def reading(self, source: Source, blocks: Iterable[T], *, count_rows: bool) -> Iterator[T]:
        """Yield the blocks of a source and report how much of it was read.

        Args:
            source: the source of the data, whose meter counts what was read.
            blocks: its blocks.
            count_rows: whether the number of rows is public, so that reports may contain it.
        """
        for block in blocks:
            self._report_read(source.meter, count_rows)
            yield block
        self._report_read(source.meter, count_rows, ended=True)

    def _report_read(self, meter: Meter, count_rows: bool, *, ended: bool = False) -> None:
        total = meter.total_bytes
        if count_rows:
            known = {} if total is None else {"bytes": meter.bytes, "total_bytes": total}
            if self._is_due:
                self._report(Progress(self._phase, rows=meter.rows, **known))
        elif total and self.active:
            reached = 100 if ended else 100 * meter.bytes // total
            for percent in range(self._percent + 1, reached + 1):
                self._report(Progress(self._phase, bytes=total * percent // 100, total_bytes=total))
            self._percent = max(self._percent, reached)

    def partitions(self, done: int, total: int) -> None:
        """Report the number of partitions of a collection that are done.

        Args:
            done: partitions done so far.
            total: all partitions.
        """
        if self._is_due:
            self._report(Progress(self._phase, partitions=done, total_partitions=total))

    def parts(self, done: int, total: int) -> None:
        """Report every percent of a draw up to what is done, in turn; what was reported before is not said again.

        Args:
            done: parts done so far, a public number.
            total: all parts.
        """
        if self.active and total > 0:
            reached = 100 * min(max(done, 0), total) // total
            for percent in range(self._percent + 1, reached + 1):
                self._report(Progress(self._phase, parts=-(-total * percent // 100), total_parts=total))
            self._percent = max(self._percent, reached)

    def releases(self, done: int, total: int) -> None:
        """Report the number of simulated releases that are done.

        Args:
            done: releases done so far.
            total: all releases.
        """
        if self._is_due or (self.active and done == total):
            left = None if self._ends_at is None else max(self._ends_at - time.monotonic(), 0.0)
            self._report(Progress(self._phase, releases=done, total_releases=total, seconds_left=left))

    @property
    def active(self) -> bool:
        """Whether there is a listener."""
        return self._listener is not None

    @property
    def _is_due(self) -> bool:
        return self.active and time.monotonic() >= self._reported_at + INTERVAL

    def _report(self, event: Progress) -> None:
        self._reported_at = time.monotonic()
        with suppress(Exception):
            if self._listener is not None:
                self._listener(event)


SILENT = ProgressReporter(None)


@contextmanager
def reporting(progress: Any) -> Iterator[ProgressReporter]:
    """The reporter that a ``progress=`` argument describes.

    Args:
        progress: True for a bar; a function that is called with each `Progress`; None or False for silence.
    """
    if progress is True:
        with _bar() as shown:
            yield ProgressReporter(shown)
    elif progress is None or progress is False:
        yield ProgressReporter(None)
    elif callable(progress):
        yield ProgressReporter(progress)
    else:
        raise PlanError(f"progress must be True, for a bar, or a function of a dp.Progress; got {progress!r}.")


@contextmanager
def _bar() -> Iterator[Listener]:
    """A progress bar on the terminal or in a notebook, removed at the end of the run."""
    from rich import progress
    from rich.console import Console

    columns = (progress.SpinnerColumn(), progress.TextColumn("{task.description}"), progress.BarColumn())
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(event: Progress) -> None:
            share = event.share
            bar.update(task, description=str(event), total=None if share is None else 1.0, completed=share or 0.0)

        yield show
