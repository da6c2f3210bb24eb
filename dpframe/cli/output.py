"""The files of a result: reserved before the charge, so that no two runs write the same ones, and filled after it."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs

from dpframe.cli.streams import printed
from dpframe.errors import DataError, ReleaseFailed

if TYPE_CHECKING:
    from dpframe.run.result import Result

RESULT, ARRAYS = "result.json", "arrays.npz"


@attrs.frozen
class Output:
    """The open files of one run.

    Args:
        directory: the directory that they are in.
        files: the files by name, empty until the result is there.
    """

    directory: Path
    files: dict[str, BinaryIO]

    def save(self, result: Result) -> None:
        """Write a result. It is paid for: what cannot be written is printed, and ReleaseFailed says where it is.

        Args:
            result: the result, or the part of it that was released.
        """
        failures = {RESULT: self._fill(RESULT, lambda file: file.write(f"{result.to_json()}\n".encode()))}
        failures[ARRAYS] = self._fill(ARRAYS, lambda file: _write_arrays(result, file))
        failed = " and ".join(f"{self.directory}/{name} ({why})" for name, why in failures.items() if why)
        if not failed:
            return
        where = f"in {self.directory}/{RESULT}"
        if failures[RESULT]:
            stream = printed(result.to_json())
            where = "lost: no stream could be written to either" if stream is None else f"printed on {stream}"
        raise ReleaseFailed(f"the charge stands, but {failed} could not be written. The result is {where}.")

    def _fill(self, name: str, write: Callable[[BinaryIO], object]) -> str:
        """Write a file; why that failed, or "" where it did not."""
        file = self.files[name]
        try:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        except BaseException as error:  # an interrupt, too, must not lose what is paid for
            for undo in (file.close, (self.directory / name).unlink):
                with suppress(OSError):
                    undo()
            return getattr(error, "strerror", None) or type(error).__name__
        return ""

    @property
    def described(self) -> str:
        """Where the result is, for the report."""
        return f"{self.directory}/{RESULT} and {self.directory}/{ARRAYS}"


@contextmanager
def reserved(directory: Path) -> Iterator[Output]:
    """Create the files of a result, which must not exist; those that are still empty at the end are removed.

    Args:
        directory: the directory for the result, created where it does not exist.
    """
    above = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    files: dict[str, BinaryIO] = {}
    try:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for name in (RESULT, ARRAYS):
                files[name] = open(directory / name, "xb")  # noqa: SIM115 - closed below
        except FileExistsError as error:
            raise DataError(_exists(Path(error.filename))) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise DataError(f"{directory} cannot be written to: {reason}. Nothing was charged.") from None
        yield Output(directory, files)
    finally:
        for name, file in files.items():
            with suppress(OSError):
                file.close()
            with suppress(OSError):
                if not (directory / name).stat().st_size:
                    (directory / name).unlink()
        for folder in above:
            with suppress(OSError):
                folder.rmdir()


def _exists(path: Path) -> str:
    advice = "a result is never overwritten. Nothing was charged. Choose another -o DIR."
    if path.is_file() and not path.stat().st_size:
        advice += " It is empty: another run is going to fill it, or was killed, and then it can be removed."
    return f"{path} exists already; {advice}"


def _write_arrays(result: Result, file: BinaryIO) -> None:
    """What `numpy.savez` writes, for steps of any name: it takes its own arguments, such as "file", for those."""
    import numpy as np

    with zipfile.ZipFile(file, "w") as archive:
        for name, array in result.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
