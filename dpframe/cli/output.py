"""The files of a run: created before the charge, filled after it, and printed where they cannot be written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from dpframe.cli.streams import printed
from dpframe.errors import ReleaseFailed
from dpframe.run import files
from dpframe.run.files import ARRAYS, RESULT, Files, Writer

if TYPE_CHECKING:
    from dpframe.run.result import Result


@attrs.frozen
class Output:
    """The open files of one run.

    Args:
        files: the files, empty until the result is there.
    """

    files: Files

    def save(self, result: Result) -> None:
        """Write a result. It is paid for: what cannot be written is printed, and ReleaseFailed says where it is.

        Args:
            result: the result, or the part of it that was released.
        """
        failures = {name: self._fill(name, write) for name, write in files.writers(result).items()}
        failed = " and ".join(f"{self.files.directory}/{name} ({why})" for name, why in failures.items() if why)
        if not failed:
            return
        where = f"in {self.files.directory}/{RESULT}"
        if failures[RESULT]:
            stream = _printed(result)
            where = "lost: it could not be printed either" if stream is None else f"printed on {stream}"
            if not failures[ARRAYS]:
                where += f"; its values are in {self.files.directory}/{ARRAYS}"
        raise ReleaseFailed(f"the charge stands, but {failed} could not be written. The result is {where}.")

    def _fill(self, name: str, write: Writer) -> str:
        """Write a file; why that failed, or "" where it did not."""
        try:
            self.files.fill(name, write)
        except BaseException as error:  # an interrupt, too, must not lose what is paid for
            return getattr(error, "strerror", None) or type(error).__name__
        return ""

    @property
    def described(self) -> str:
        """Where the result is, for the report."""
        return f"{self.files.directory}: {files.DESCRIBED}"


@contextmanager
def reserved(directory: Path, steps: Iterable[str]) -> Iterator[Output]:
    """Create the files of a result, which must not exist; those that are still empty at the end are removed.

    Args:
        directory: the directory for the result, created where it does not exist.
        steps: the names of the steps of the plan.
    """
    words = {"state": "Nothing was charged.", "advice": "Choose another -o DIR."}
    with files.reserved(directory, files.names_of(steps), **words) as opened:
        yield Output(opened)


def _printed(result: Result) -> str | None:
    """The name of the stream that a result was printed on as JSON; None where that failed, for want of memory, say."""
    try:
        return printed(result.to_json())
    except Exception:
        return None
