"""What a run tells while it goes on, and the bar that shows it."""

from __future__ import annotations

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
    """A phase of a run in words, with how far it is.

    It is a text, so that any function of one text will do to show it. Nothing in it depends on private data: rows are
    counted only where their number is public, and bytes only those of files, which anyone sees who may list them, or
    where the number of rows is public as well. Where that is private, each percent of the bytes is told in turn: how
    many were read with a block would give away how many rows there are. So the texts are the same for all files of
    that size, and only when they come depends on the rows. The number of partitions of a Dask collection is public.

    Args:
        phase: what is being done.
        bytes: read so far.
        total_bytes: to read in this pass.
        rows: read so far.
        partitions: done so far.
        total_partitions: of the collection.
        releases: simulated so far, on made-up data.
        total_releases: to simulate.
    """

    phase: str
    bytes: int | None
    total_bytes: int | None
    rows: int | None
    partitions: int | None
    total_partitions: int | None
    releases: int | None
    total_releases: int | None

    def __new__(
        cls,
        phase: str,
        *,
        bytes: int | None = None,  # noqa: A002
        total_bytes: int | None = None,
        rows: int | None = None,
        partitions: int | None = None,
        total_partitions: int | None = None,
        releases: int | None = None,
        total_releases: int | None = None,
    ) -> Progress:
        amounts = []
        if bytes is not None and total_bytes is not None:
            amounts.append(f"{_size(bytes)} of {_size(total_bytes)}")
        if rows is not None:
            amounts.append(f"{rows:,} rows")
        if partitions is not None and total_partitions is not None:
            amounts.append(f"{partitions:,} of {total_partitions:,} partitions")
        if releases is not None and total_releases is not None:
            amounts.append(f"{releases:,} of {total_releases:,} releases")
        event = super().__new__(cls, ": ".join(filter(None, [phase, ", ".join(amounts)])))
        event.phase, event.bytes, event.total_bytes, event.rows = phase, bytes, total_bytes, rows
        event.partitions, event.total_partitions = partitions, total_partitions
        event.releases, event.total_releases = releases, total_releases
        return event

    @property
    def share(self) -> float | None:
        """How much of the phase is done, from 0 to 1, where that is known."""
        for done, total in (
            (self.partitions, self.total_partitions),
            (self.releases, self.total_releases),
            (self.bytes, self.total_bytes),
        ):
            if total:
                return (done or 0) / total
        return None


def _size(count: int) -> str:
    """Bytes in words, with three digits.

    >>> _size(999), _size(1_250_000)
    ('999 B', '1.25 MB')
    """
    value, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.3g} {units[0]}"


Listener = Callable[[Progress], Any]


@attrs.define
class Teller:
    """Tells a listener the phases of a run, and within a phase how far it is, a few times a second or at each percent.

    What is paid for is not lost because a listener fails.
    """

    _listener: Listener | None
    _phase: str = attrs.field(init=False, default="")
    _told: float = attrs.field(init=False, default=0.0)
    _percent: int = attrs.field(init=False, default=0)

    def begin(self, phase: str) -> None:
        """A phase begins."""
        self._phase, self._percent = phase, 0
        self._tell(Progress(phase))

    def reading(self, source: Source, blocks: Iterable[T], *, count_rows: bool) -> Iterator[T]:
        """The blocks of a source; whoever listens is told how much of it was read, of rows only where these count."""
        for block in blocks:
            self._tell_read(source.meter, count_rows)
            yield block
        self._tell_read(source.meter, count_rows, ended=True)

    def _tell_read(self, meter: Meter, count_rows: bool, *, ended: bool = False) -> None:
        total = meter.total_bytes
        if count_rows:
            known = {} if total is None else {"bytes": meter.bytes, "total_bytes": total}
            if self._is_due:
                self._tell(Progress(self._phase, rows=meter.rows, **known))
        elif total and self.listens:
            reached = 100 if ended else 100 * meter.bytes // total
            for percent in range(self._percent + 1, reached + 1):
                self._tell(Progress(self._phase, bytes=total * percent // 100, total_bytes=total))
            self._percent = max(self._percent, reached)

    def partitions(self, done: int, total: int) -> None:
        """So many partitions of a collection are done."""
        if self._is_due:
            self._tell(Progress(self._phase, partitions=done, total_partitions=total))

    def releases(self, done: int, total: int) -> None:
        """So many simulated releases are done."""
        if self._is_due or (self.listens and done == total):
            self._tell(Progress(self._phase, releases=done, total_releases=total))

    @property
    def listens(self) -> bool:
        return self._listener is not None

    @property
    def _is_due(self) -> bool:
        return self.listens and time.monotonic() >= self._told + INTERVAL

    def _tell(self, event: Progress) -> None:
        self._told = time.monotonic()
        with suppress(Exception):
            if self._listener is not None:
                self._listener(event)


SILENT = Teller(None)


@contextmanager
def telling(progress: Any) -> Iterator[Teller]:
    """Who tells how far something is, for ``progress=`` everywhere: True shows a bar, a function is called with each
    `Progress`, None or False is for silence."""
    if progress is True:
        with _bar() as shown:
            yield Teller(shown)
    elif progress is None or progress is False:
        yield Teller(None)
    elif callable(progress):
        yield Teller(progress)
    else:
        raise PlanError(f"progress must be True, for a bar, or a function of a dp.Progress; got {progress!r}.")


@contextmanager
def _bar() -> Iterator[Listener]:
    """A bar on the terminal or in a notebook, gone when the run is over."""
    from rich import progress
    from rich.console import Console

    columns = (progress.SpinnerColumn(), progress.TextColumn("{task.description}"), progress.BarColumn())
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(event: Progress) -> None:
            share = event.share
            bar.update(task, description=str(event), total=None if share is None else 1.0, completed=share or 0.0)

        yield show
