"""Parquet files, directories of them, and Arrow datasets.

Messages neither name nor count the files of a directory or a dataset: if there is one file for each person, say, names
are cells, and their number is that of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from dpframe.errors import DataError
from dpframe.sources.arrow import check_schema, in_blocks
from dpframe.sources.opened import Declared, Meter, Opened, attempt
from dpframe.sources.stamps import Stamp

READ_BUFFER = 1 << 18  # bytes of a column read at a time; Arrow would hold whole row groups, or whole files


def open_parquet(path: Path, columns: Declared, size: int) -> Opened:
    """Open a file, or all files of a directory. Page checksums are verified if the file has them."""
    stamps, count = _stamped(path), 0
    for file, stamp in stamps.items():
        with _parquet_file(file, stamp.name) as opened:
            check_schema(opened.schema_arrow, columns, stamp.name)
            count += opened.metadata.num_rows
    names = [column.name for column in columns]

    def batches(meter: Meter) -> Iterator[Any]:
        for file, stamp in stamps.items():
            with stamp.unchanged(), _parquet_file(file, stamp.name) as opened:
                stream = opened.iter_batches(size, columns=names)
                yield from _metered(stream, opened.metadata.num_rows, stamp, meter)

    total = sum(stamp.bytes or 0 for stamp in stamps.values())
    return in_blocks(batches, columns, size, total=total, count=count)


def parquet_schema(path: Path) -> Any:
    """The Arrow schema of a file, or of the first file of a directory.

    Args:
        path: the path of either.
    """
    file, stamp = next(iter(_stamped(path).items()))
    with _parquet_file(file, stamp.name) as opened:
        return opened.schema_arrow


def _stamped(path: Path) -> dict[Path, Stamp]:
    """The files at a path, in order, each with its stamp."""
    if not path.is_dir():
        return {path.absolute(): Stamp.of(path)}
    directory = f"the directory {path.name!r}"
    files = sorted(_files_of(path, directory, set()))
    if not files:
        raise DataError(f"{directory} holds no Parquet files.")
    return {file.absolute(): Stamp.of(file, f"one of the files in {directory}") for file in files}


def _files_of(path: Path, directory: str, seen: set[tuple[int, int]]) -> Iterator[Path]:
    """The files of a directory and its subdirectories, following links.

    Names that begin with a dot or an underscore are metadata, and left out. A file whose status cannot be read is
    refused, since its rows would be missing, and so is one that appears twice, since its rows would count twice.
    """
    unreadable = f"a file or directory in {directory} cannot be looked at"
    status = attempt(path.stat, unreadable)
    if (place := (status.st_dev, status.st_ino)) in seen:
        raise DataError(f"a link in {directory} leads to what is in it too: rows would count twice.")
    seen.add(place)
    if not attempt(path.is_dir, unreadable):
        yield path
        return
    for inner in attempt(lambda: list(path.iterdir()), unreadable):
        if inner.name.startswith((".", "_")):
            continue
        if not (attempt(inner.is_dir, unreadable) or inner.is_file()):
            raise DataError(
                f"{directory} holds something that is no file, or a link to none: find -L DIR ! -type f ! -type d "
                "lists it."
            )
        yield from _files_of(inner, directory, seen)


def _parquet_file(source: Any, name: str) -> Any:
    how = {"pre_buffer": False, "buffer_size": READ_BUFFER, "page_checksum_verification": True}
    opening = partial(import_module("pyarrow.parquet").ParquetFile, source, **how)
    return attempt(
        opening,
        f"{name} cannot be read as a Parquet file; of others only CSV is read by its path, with the ending .csv",
    )


def _metered(batches: Iterable[Any], all_rows: int, stamp: Stamp | None, meter: Meter) -> Iterator[Any]:
    """The batches of a file; the meter counts its bytes in proportion to the rows."""
    before, rows = meter.bytes, 0
    size = 0 if stamp is None else stamp.bytes or 0
    for batch in batches:
        yield batch
        rows += batch.num_rows
        meter.bytes = before + size * rows // max(all_rows, 1)
    meter.bytes = before + size


def open_dataset(dataset: Any, columns: Declared, size: int) -> Opened:
    """Open an Arrow dataset. Each file is read with its own types: Arrow would convert them to those of the first file,
    and fail if a cell does not fit."""
    why = "the files of a filtered dataset cannot be seen; pass dataset.scanner(...).to_reader() instead"
    fragments = attempt(lambda: list(dataset.get_fragments()), why)
    if not fragments:
        check_schema(dataset.schema, columns, "the dataset")
    part = "one of the parts of the dataset"
    stamps = [_stamp(fragment, part) for fragment in fragments]
    for fragment in fragments:
        if getattr(getattr(fragment, "format", None), "default_extname", "") in ("csv", "json"):
            raise DataError(f"{part} is text, whose types Arrow guesses from its cells; pass the path of a CSV file.")
        schema = attempt(partial(getattr, fragment, "physical_schema"), f"the schema of {part} cannot be read")
        check_schema(schema, columns, part)
    names = [column.name for column in columns]

    def batches(meter: Meter) -> Iterator[Any]:
        for fragment, stamp in zip(fragments, stamps, strict=True):
            with nullcontext() if stamp is None else stamp.unchanged():
                if hasattr(fragment, "row_groups"):
                    groups = [group.id for group in fragment.row_groups]
                    with fragment.open() as opened, _parquet_file(opened, part) as file:
                        stream = file.iter_batches(size, row_groups=groups, columns=names)
                        yield from _metered(stream, sum(g.num_rows for g in fragment.row_groups), stamp, meter)
                else:
                    schema = fragment.physical_schema
                    stream = fragment.to_batches(schema, columns=names, batch_size=size, batch_readahead=1)
                    yield from _metered(stream, fragment.count_rows(), stamp, meter)

    known = [stamp.bytes for stamp in stamps if stamp is not None and stamp.bytes is not None]
    return in_blocks(batches, columns, size, total=sum(known) if len(known) == len(stamps) else None)


def _stamp(fragment: Any, name: str) -> Stamp | None:
    """The stamp of a file of a dataset; None for a fragment in memory."""
    path, store = getattr(fragment, "path", None), getattr(fragment, "filesystem", None)
    return None if path is None or store is None else Stamp.of_store(store, path, name)
