"""Standard output and standard error: a terminal, a file on a full disk, or a pipe that nobody reads any more.

What happens to them must not decide the exit code: Python and rich have codes of their own for that.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from dpframe.display.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

UNWRITABLE = (OSError, ValueError)
"""Raised for a stream that is full or closed."""


def replace_closed() -> None:
    """Where standard error is closed, put a stream in its place that refuses all text.

    Libraries expect one (NumPy 2.0 takes ``sys.stderr.write`` when it is imported), and the next file that is opened,
    such as a ledger, would get its descriptor.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, encoding="utf-8")  # noqa: SIM115 -- open until the process ends


def accept_all_characters() -> None:
    """Write what the encoding of a stream lacks, such as ε in ASCII, as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def console() -> Console:
    """A console on standard output, which raises BrokenPipeError where nobody reads it any more."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:  # rich would exit with code 1
            raise BrokenPipeError

    return Plain(highlight=False)


def report(text: str) -> None:
    """Print one line on standard error, if it can be written to.

    Args:
        text: the line; invisible characters are shown as escapes.
    """
    with suppress(*UNWRITABLE):
        print(f"dpframe: {visible(text)}", file=sys.stderr)


def printed(text: str) -> str | None:
    """The name of the first stream that takes a text: standard output, or else standard error; None if neither does.

    Args:
        text: what is printed.
    """
    for name, stream in (("standard output", sys.stdout), ("standard error", sys.stderr)):
        with suppress(*UNWRITABLE):
            if stream is not None:
                print(text, file=stream, flush=True)
                return name
    return None


def settle() -> None:
    """Flush both streams, and give up on one that cannot be written to: Python would exit with code 120 for it."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            _settle(stream)


def _settle(stream: TextIO) -> None:
    try:
        stream.flush()
    except UNWRITABLE:
        with suppress(*UNWRITABLE):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
