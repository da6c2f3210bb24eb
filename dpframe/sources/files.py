"""Parquet: files, directories of files, and datasets of Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs

from dpframe.errors import DataError
from dpframe.sources.arrow import check_schema, reader
from dpframe.sources.changes import Stamp
from dpframe.sources.reading import Declared, Meter, Opened, attempt

READ_BUFFER = 1 << 18  # bytes of a Parquet column read at a time; Arrow would hold whole row groups, if not whole files
PER_COLUMN = 5 << 18  # bytes, about, that a reader holds of one: that buffer, and a page of a mebibyte
BATCH_ROWS, BATCH_CELLS = 1 << 16, 1 << 22  # read at a time: several blocks, for each batch costs Arrow some work
AT_ONCE = 1 << 30  # bytes, about, that all readers of a pass may hold
PIECES = 32  # into which a pass is divided where row groups allow, so that threads finish at about the same time


def open_parquet(path: Path, columns: Declared, size: int) -> Opened:
    """Files and directories whose names begin with a dot or an underscore are bookkeeping, and left out."""
    files = [path]
    if path.is_dir():
        inside = {file: file.relative_to(path).parts for file in sorted(path.rglob("*")) if file.is_file()}
        files = [file for file, parts in inside.items() if not any(part.startswith((".", "_")) for part in parts)]
    if not files:
        raise DataError(f"the directory {path.name!r} holds no Parquet files.")
    found = []
    for file in files:
        stamp, opening = Stamp.of(file), partial(_parquet_file, file.absolute(), file.name)
        with opening() as opened:
            check_schema(opened.schema_arrow, columns, f"{stamp.name!r}")
            about = opened.metadata
            groups = {i: about.row_group(i).num_rows for i in range(about.num_row_groups)}
        found.append(_Piece(opening, stamp, tuple(groups), tuple(groups.values())))
    return _opened(found, columns, size)


def _parquet_file(source: Any, name: str) -> Any:
    opening = partial(import_module("pyarrow.parquet").ParquetFile, source, pre_buffer=False, buffer_size=READ_BUFFER)
    return attempt(opening, f"{name!r} cannot be read as a Parquet file (a CSV file is known by the ending .csv)")


@attrs.frozen
class _Piece:
    """A Parquet file, or some of its row groups.

    Args:
        open: opens the file.
        stamp: what it was when its schema was checked.
        groups: the numbers of its row groups.
        counts: how many rows each of them has.
        first: which of them is the first to be read.
        stop: which is the first that is not.
    """

    open: Callable[[], AbstractContextManager[Any]]
    stamp: Stamp | None
    groups: tuple[int, ...]
    counts: tuple[int, ...]
    first: int = 0
    stop: int = attrs.field()

    @stop.default
    def _all(self) -> int:
        return len(self.groups)

    def divided(self, pieces: int) -> list[_Piece]:
        """The same in up to so many pieces."""
        many = len(self.groups)
        pieces = min(pieces, many) if any(self.counts) else 1
        ends = [many * i // pieces for i in range(pieces + 1)]
        return [attrs.evolve(self, first=first, stop=stop) for first, stop in pairwise(ends)]

    def batches(self, names: list[str], size: int, threads: bool, meter: Meter) -> Iterator[Any]:
        """Its rows, some at a time; the bytes of the file count in proportion."""
        with nullcontext() if self.stamp is None else self.stamp.unchanged(), self.open() as file:
            groups = list(self.groups[self.first : self.stop])
            found = file.iter_batches(size, row_groups=groups, columns=names, use_threads=threads)
            before = sum(self.counts[: self.first])
            yield from _metered(found, before, sum(self.counts), self.stamp, meter)


def _metered(batches: Iterable[Any], before: int, all_rows: int, stamp: Stamp | None, meter: Meter) -> Iterator[Any]:
    """Batches of a file that come after some of its rows; its bytes count in proportion to the rows."""
    size = 0 if stamp is None else stamp.bytes or 0
    rows, told = before, size * before // max(all_rows, 1)
    for batch in batches:
        yield batch
        rows += batch.num_rows
        now = size * rows // all_rows
        meter.add(bytes=now - told)
        told = now
    if not all_rows:
        meter.add(bytes=size)


def _opened(files: Sequence[_Piece | _Fragment], columns: Declared, size: int) -> Opened:
    """Files that are read one after the other with all cores on each, or in pieces with a core on each."""
    names = [column.name for column in columns]
    batch = size * max(min(BATCH_ROWS, BATCH_CELLS // len(columns)) // size, 1)

    def one_after_the_other(meter: Meter) -> Iterator[Any]:
        for file in files:
            yield from file.batches(names, batch, True, meter)

    known = [file.stamp.bytes for file in files if file.stamp is not None and file.stamp.bytes is not None]
    apart = [file for file in files if isinstance(file, _Piece)]
    pieces = [piece for file in apart for piece in file.divided(-(-PIECES // len(apart)))]
    return Opened(
        reader(one_after_the_other, columns, size),
        bytes=sum(known) if len(known) == len(files) else None,
        parts=tuple(reader(partial(piece.batches, names, batch, False), columns, size) for piece in pieces)
        if len(apart) == len(files)
        else (),
        at_once=AT_ONCE // (PER_COLUMN * len(columns) + 2 * 8 * BATCH_CELLS),  # one is read, one is being mapped
    )


def open_dataset(dataset: Any, columns: Declared, size: int) -> Opened:
    """Each file keeps its own types: Arrow would turn them into those of the first, and fail where one does not fit."""
    why = "the files of a filtered dataset cannot be seen; pass dataset.scanner(...).to_reader() instead"
    fragments = attempt(lambda: list(dataset.get_fragments()), why)
    if not fragments:
        check_schema(dataset.schema, columns, "the dataset")
    return _opened([_checked(fragment, columns) for fragment in fragments], columns, size)


def _checked(fragment: Any, columns: Declared) -> _Piece | _Fragment:
    """A part of a dataset whose schema fits."""
    stamp = _stamp(fragment)
    name = "part of the dataset" if stamp is None else stamp.name
    if getattr(getattr(fragment, "format", None), "default_extname", "") in ("csv", "json"):
        raise DataError(f"{name!r} is text, whose types Arrow guesses from its cells; pass the path of a CSV file.")
    schema = attempt(partial(getattr, fragment, "physical_schema"), f"the schema of {name!r} cannot be read")
    check_schema(schema, columns, f"{name!r}")
    if not hasattr(fragment, "row_groups"):
        return _Fragment(fragment, stamp)
    groups = {group.id: group.num_rows for group in fragment.row_groups}
    return _Piece(partial(_fragment_file, fragment, name), stamp, tuple(groups), tuple(groups.values()))


@contextmanager
def _fragment_file(fragment: Any, name: str) -> Iterator[Any]:
    with fragment.open() as opened, _parquet_file(opened, name) as file:
        yield file


@attrs.frozen
class _Fragment:
    """A part of a dataset that is no Parquet file."""

    fragment: Any
    stamp: Stamp | None

    def batches(self, names: list[str], size: int, threads: bool, meter: Meter) -> Iterator[Any]:
        """Its rows, some at a time."""
        with nullcontext() if self.stamp is None else self.stamp.unchanged():
            schema, read = self.fragment.physical_schema, self.fragment.to_batches
            found = read(schema, columns=names, batch_size=size, batch_readahead=1, use_threads=threads)
            yield from _metered(found, 0, self.fragment.count_rows(), self.stamp, meter)


def _stamp(fragment: Any) -> Stamp | None:
    """The stamp of a file of a dataset; other parts of one are in memory."""
    path, store = getattr(fragment, "path", None), getattr(fragment, "filesystem", None)
    return None if path is None or store is None else Stamp.of_store(store, path)
