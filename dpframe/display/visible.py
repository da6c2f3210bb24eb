"""Text from files of other people, made safe to print: a terminal obeys control characters."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Control and format characters (terminal escapes, reversed writing), lone surrogates and separators of lines."""

JOINERS = "\u200c\u200d"  # format characters that belong to the spelling of words


def visible(text: str) -> str:
    r"""The text with every invisible character, line breaks included, written as its escape.

    >>> print(visible("age\x1b[2J"))
    age\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(_escaped(character) if is_invisible(character) else character for character in text)


def is_invisible(character: str) -> bool:
    """Whether a terminal may obey the character instead of showing it.

    Args:
        character: one character.
    """
    return unicodedata.category(character) in INVISIBLE and character not in JOINERS


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


class Visible:
    """A rendering whose text holds no invisible characters; its own lines and styles stay.

    Args:
        content: what is rendered.
    """

    def __init__(self, content: RenderableType) -> None:
        self.content = content

    def __rich_console__(self, console: Console, options: Any) -> Any:
        from rich.segment import Segment

        for segment in console.render(self.content, options):
            if segment.control or segment.text == "\n":
                yield segment
            else:
                lines = segment.text.split("\n")
                yield Segment("\n".join(map(visible, lines)), segment.style)
