"""What the workers of a cluster do in tests, apart from the tests: they import nothing else for it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any


def load(part: Any, killed: Path | None) -> Any:
    """A partition; the first worker that is asked for the one with a witness dies in the middle of it."""
    if killed is not None:
        try:
            killed.touch(exist_ok=False)
        except FileExistsError:
            return part
        os.kill(os.getpid(), signal.SIGKILL)
    return part


def load_twice(part: Any, folder: Path) -> Any:
    """A partition; whoever is asked for it again dies, once."""
    try:
        (folder / "counted").touch(exist_ok=False)
    except FileExistsError:
        return load(part, folder / "killed")
    return part


def dying(part: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def failing(part: Any) -> Any:
    raise ValueError("the cell hush-hush")
