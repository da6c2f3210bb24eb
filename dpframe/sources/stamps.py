"""Detection of files that change: every pass must read the file whose schema was checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from dpframe.errors import DataError


@attrs.frozen
class Stamp:
    """The state of a file when it was opened: enough to detect that it was written to, replaced or removed since.

    A file that is rewritten in place, to the same size, within the resolution of the file system's clock after it was
    opened, is not detected.

    Args:
        name: what messages call the file.
        state: its size, time of modification and identity; None if it does not exist.
        look: returns its current state.
    """

    name: str
    state: tuple[Any, ...] | None
    _look: Callable[[], tuple[Any, ...] | None] = attrs.field(alias="look")

    @classmethod
    def of(cls, path: Path, name: str | None = None) -> Stamp:
        """The stamp of a local file."""
        return cls._taken(name or f"the file {path.name!r}", partial(_status, path.absolute()))

    @classmethod
    def of_store(cls, store: Any, path: str, name: str) -> Stamp:
        """The stamp of a file in an Arrow file system, local or remote."""
        return cls._taken(name, partial(_information, store, path))

    @classmethod
    def _taken(cls, name: str, look: Callable[[], tuple[Any, ...] | None]) -> Stamp:
        return cls(name, look(), look)

    @property
    def bytes(self) -> int | None:
        """The size of the file."""
        return self.state[0] if self.state is not None else None

    def check(self) -> None:
        """Refuse a file that changed since it was opened."""
        if (now := self._look()) != self.state:
            happened = "is gone" if now is None else "was changed or replaced"
            raise DataError(
                f"{self.name} {happened} after its schema was checked. The data of a run must stand still: "
                "take a copy that nobody writes to."
            )

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Check the file before and after the body reads it; if reading fails and the file changed, report that."""
        self.check()
        try:
            yield
        except Exception:
            self.check()
            raise
        self.check()


def _status(path: Path) -> tuple[Any, ...] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev


def _information(store: Any, path: str) -> tuple[Any, ...] | None:
    try:
        information = store.get_file_info(path)
    except Exception:  # whatever a store raises if it cannot reach the file
        return None
    return (information.size, information.mtime_ns) if information.is_file else None
