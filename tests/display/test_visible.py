"""Text from files of other people: what a terminal would obey is shown as an escape."""

from __future__ import annotations

import io
import sys
import unicodedata
from typing import Any

import pytest
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from dpframe.display.visible import Visible, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ε — 人 🙂", "plain ε — 人 🙂"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb\r\tc\0", "a\\nb\\r\\tc\\x00"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\ud800", "\\ud800"),
        ("\u2028\u2029\u200b", "\\u2028\\u2029\\u200b"),
        ("می\u200cخواهم 👩\u200d🔬", "می\u200cخواهم 👩\u200d🔬"),
    ],
)
def test_invisible_characters_are_escaped(text: str, shown: str) -> None:
    assert shown == visible(text)


def test_no_character_that_a_terminal_obeys_is_left() -> None:
    everything = set(visible("".join(map(chr, range(sys.maxunicode + 1))))) - {"\u200c", "\u200d"}
    assert {"Cc", "Cf", "Cs", "Zl", "Zp"}.isdisjoint(map(unicodedata.category, everything))


@pytest.mark.parametrize("terminal", [False, True])
def test_a_rendering_keeps_its_lines_and_styles_alone(terminal: bool) -> None:
    grid = Table.grid()
    grid.add_row(Text("name\x1b[31m"), Text("two\nlines\x07"))
    colors: Any = "standard" if terminal else None
    console = Console(file=io.StringIO(), width=40, force_terminal=terminal, highlight=False, color_system=colors)
    console.print(Visible(Group(Text("bold\x1b]0;title\x07", style="bold"), grid)))
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert ("\x1b[1m" in printed) is terminal
    assert "\x07" not in printed
    assert "\x1b[31m" not in printed
    assert "\x1b]" not in printed
    assert "name\\x1b[31m" in printed
    assert 3 == len(printed.splitlines())
