"""Plain text and HTML from a rich rendering."""

from __future__ import annotations

import io
import os
import shutil
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


NOT_PRIVATE = "NOT PRIVATE"
WIDTH = 100  # of text that is written to a file or printed where the width is not known


class Printable(ABC):
    """An object with a rich rendering, from which its plain text and HTML are made."""

    @abstractmethod
    def __rich__(self) -> RenderableType:
        """The rendering of the object by rich."""

    def __str__(self) -> str:
        return plain_text(self, shutil.get_terminal_size((WIDTH, 24)).columns)

    def __repr__(self) -> str:
        mark = "" if self._may_be_shown else f" {NOT_PRIVATE}"
        return f"<{type(self).__name__}{mark}; print() shows it>"

    @property
    def _may_be_shown(self) -> bool:
        """Whether anyone may see the object; if not, its repr is marked NOT PRIVATE."""
        return bool(getattr(self, "shareable", True))

    def _repr_html_(self) -> str:
        console = plain_console(110, file=io.StringIO(), record=True, no_color=False)
        console.print(self)
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def plain_text(content: RenderableType, width: int = WIDTH) -> str:
    """The plain text of a rendering.

    Args:
        content: what is rendered.
        width: the width of a line.
    """
    text = io.StringIO()
    plain_console(width, file=text).print(content)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).rstrip()


def plain_console(width: int, *, no_color: bool = True, **settings: Any) -> Console:
    """A console of this width without terminal control codes, and without color by default."""
    from rich.console import Console

    plain = no_color or "NO_COLOR" in os.environ
    return Console(width=width, no_color=plain, highlight=False, force_terminal=False, force_jupyter=False, **settings)
