"""The text of a file that somebody else may have written."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from dpframe.errors import DPFrameError


def read_text(path: Any, *, error: type[DPFrameError], what: str, advice: str) -> str:
    """The text of a regular file in UTF-8; anything else is refused, without waiting for a pipe or a terminal.

    Args:
        path: the path of the file.
        error: the error to raise.
        what: what the file should be, such as "a plan file".
        advice: the state of things and what to do, for the message.
    """
    try:
        return _content(Path(path)).decode("utf-8")
    except FileNotFoundError:
        raise error(f"{str(path)!r}: no such file. {advice}") from None
    except _NotRegular:
        reason = "it is a pipe or a device; save what it gives to a file first"
    except OSError as failure:
        reason = (failure.strerror or type(failure).__name__).lower()
    except UnicodeDecodeError:
        reason = "it is not text in UTF-8"
    except (TypeError, ValueError):  # no path at all, or one with a NUL
        reason = "that is not the path of a file"
    raise error(f"{str(path)!r} cannot be read as {what}: {reason}. {advice}")


class _NotRegular(Exception):
    """Raised for a pipe, a terminal or another device."""


def _content(path: Path) -> bytes:
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise _NotRegular
        return file.read()


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
