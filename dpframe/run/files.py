"""The files of a result: created before they are needed, so that no two runs write the same ones, and then filled."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs
import numpy as np

from dpframe.display.printable import plain_text
from dpframe.display.visible import Visible
from dpframe.errors import DataError
from dpframe.run.labeled import tidy

if TYPE_CHECKING:
    from dpframe.run.result import Result

RESULT, REPORT, PAGE, ARRAYS, PLAN = "result.json", "report.txt", "report.html", "arrays.npz", "plan.toml"
TABLES = "tables"
DESCRIBED = f"{PAGE}, {REPORT}, {RESULT}, {ARRAYS}, {PLAN} and {TABLES}/*.csv"
MOST_LINES = 1000  # of one value in the report; what needs more is shown in part
LARGEST_TABLE = 1_000_000  # numbers in a CSV file; larger results are in the arrays

Writer = Callable[[BinaryIO], object]


def names_of(steps: Iterable[str]) -> list[str]:
    """The names of the files of a result with these steps, the one that holds everything first.

    Args:
        steps: the names of the steps.
    """
    return [RESULT, ARRAYS, PLAN, REPORT, PAGE, *map(_table, steps)]


def writers(result: Result) -> dict[str, Writer]:
    """What writes each file of a result; the first one holds everything.

    Args:
        result: the result.
    """
    plan = {PLAN: lambda file: file.write(result.plan_file.encode())} if result.plan_file else {}
    small = [name for name, array in result.items() if array.size <= LARGEST_TABLE]
    return {
        RESULT: lambda file: file.write(f"{result.to_json()}\n".encode()),
        ARRAYS: lambda file: _write_arrays(result, file),
        **plan,
        REPORT: lambda file: file.write(f"{_whole_report(result)}\n".encode()),
        **{_table(name): partial(_write_table, result, name) for name in small},
        PAGE: lambda file: file.write(result.to_html().encode()),
    }


def _whole_report(result: Result) -> str:
    """The report with whole matrices, up to a size that can still be read."""
    from dpframe.run.render import render_result

    return plain_text(Visible(render_result(result, MOST_LINES)))


def _table(step: str) -> str:
    return f"{TABLES}/{step}.csv"


def _write_table(result: Result, name: str, file: BinaryIO) -> None:
    interval = None
    with suppress(Exception):  # a value is written without its interval rather than not at all
        interval = result.known_interval(name)
    columns = {title: np.asarray(column) for title, column in tidy(result.record(name).value, interval).items()}
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    finally:
        text.detach()


def _write_arrays(result: Result, file: BinaryIO) -> None:
    """What `numpy.savez` writes, for steps of any name: it takes its own arguments, such as "file", for those."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in result.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


@attrs.frozen
class Files:
    """Open files, each empty until it is filled.

    Args:
        directory: the directory that they are in.
        opened: the files by name.
    """

    directory: Path
    opened: dict[str, BinaryIO] = attrs.field(factory=dict)

    def create(self, name: str) -> BinaryIO:
        """A new file; raises FileExistsError where there is one.

        Args:
            name: the name of the file.
        """
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self.opened[name] = open(path, "xb")  # noqa: SIM115 - closed by who reserved it
        return self.opened[name]

    def fill(self, name: str, write: Writer) -> None:
        """Write a file, to the disk; where that fails, remove it.

        Args:
            name: the name of the file.
            write: what writes it.
        """
        try:
            file = self.opened[name] if name in self.opened else self.create(name)
            write(file)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            self.remove(name)
            raise

    def remove(self, name: str) -> None:
        """Close and remove a file.

        Args:
            name: the name of the file.
        """
        if name in self.opened:  # one that could not be created is not ours
            for undo in (self.opened[name].close, (self.directory / name).unlink):
                with suppress(OSError):
                    undo()


@contextmanager
def reserved(directory: Path, names: list[str], *, state: str, advice: str) -> Iterator[Files]:
    """Create files, which must not exist; those that are still empty at the end are removed.

    Args:
        directory: the directory for them, created where it does not exist.
        names: their names.
        state: the state of things, for messages.
        advice: what to do where a file exists already.
    """
    folders = [*{(directory / name).parent for name in names}, *directory.parents]
    above = [folder for folder in sorted(folders, reverse=True) if not folder.exists()]
    files = Files(directory)
    try:
        try:
            for name in names:
                files.create(name)
        except FileExistsError as error:
            raise DataError(_exists(Path(error.filename), state, advice)) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise DataError(f"{directory} cannot be written to: {reason}. {state}") from None
        yield files
    finally:
        for name, file in files.opened.items():
            with suppress(OSError):
                file.close()
            with suppress(OSError):
                if not (directory / name).stat().st_size:
                    (directory / name).unlink()
        for folder in above:
            with suppress(OSError):
                folder.rmdir()


def _exists(path: Path, state: str, advice: str) -> str:
    message = f"{path} exists already; a result is never overwritten. {state} {advice}"
    if path.is_file() and not path.stat().st_size:
        message += " It is empty: another run is going to fill it, or was killed, and then it can be removed."
    return message


def save(result: Result, directory: Path) -> None:
    """Write all files of a result, or none.

    Args:
        result: the result.
        directory: the directory for them.
    """
    contents = writers(result)
    kept = "The result is not lost."
    with reserved(directory, list(contents), state=kept, advice="Choose another directory.") as files:
        try:
            for name, write in contents.items():
                files.fill(name, write)
        except BaseException as error:
            for each in contents:
                files.remove(each)
            if isinstance(error, OSError):
                reason = error.strerror or type(error).__name__
                raise DataError(f"{directory / name} cannot be written ({reason}). {kept} Save it elsewhere.") from None
            raise
