"""Plain text and HTML from one rendering."""

from __future__ import annotations

import io
import shutil
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType


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
        from dpframe.display.notebook import html_of

        return html_of(self)


def plain_text(content: RenderableType, width: int = WIDTH) -> str:
    """The plain text of a rendering, without terminal control codes.

    Args:
        content: what is rendered.
        width: the width of a line.
    """
    from rich.console import Console

    text = io.StringIO()
    console = Console(file=text, width=width, no_color=True, highlight=False, force_terminal=False, force_jupyter=False)
    console.print(content)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).rstrip()
