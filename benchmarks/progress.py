"""A progress bar that stands still while something is measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import attrs
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar


@attrs.frozen
class Progress:
    """The bar of one section; it is drawn between measurements only, never by a thread of its own."""

    bar: Bar
    task: TaskID

    def expect(self, steps: int) -> None:
        """That many more steps will come."""
        total = self.bar.tasks[self.task].total or 0
        self.bar.update(self.task, total=total + steps, refresh=True)

    def says(self, text: str) -> None:
        """What is being measured now."""
        self.bar.update(self.task, text=text, refresh=True)

    def advance(self, steps: int = 1) -> None:
        """So many steps are done."""
        self.bar.update(self.task, advance=steps, refresh=True)


@contextmanager
def progress(section: str, console: Console) -> Iterator[Progress]:
    """A bar for a section, gone when it ends."""
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}"),
    )
    with Bar(*columns, console=console, auto_refresh=False, transient=True) as bar:
        yield Progress(bar, bar.add_task(section, total=0, text=""))
