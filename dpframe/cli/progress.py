"""Bars and spinners on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@contextmanager
def spinner() -> Iterator[Callable[[str], None] | None]:
    """A spinner on a terminal, which tells what is tried."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with console.status("simulating") as status:
        yield status.update


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal; the data of an audit is made up, so that counts tell nothing of anyone."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Progress(console=console, transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)
