"""What the standard library lacks for TOML: writing it, and the line numbers of keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from dpframe.display.visible import is_invisible, visible
from dpframe.errors import PlanError

Path = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
# possessive: a match takes time in proportion to the line, whatever is in it
_HEADER = re.compile(r"^\s*+(\[\[?+)([^\]]++)\]\]?+\s*+(?:#.*+)?+$")
_WORD = r"""(?:[\w-]++|"[^"]*+"|'[^']*+')"""
_KEY = re.compile(rf"^\s*+({_WORD}(?:\s*+\.\s*+{_WORD})*+)\s*+=")


@attrs.frozen
class Places:
    """The line number of every table and key of one text.

    Args:
        source: the name of the file in error messages.
        text: the text, in TOML.
    """

    source: str
    text: str = attrs.field(repr=False)
    lines: dict[Path, int] = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "lines", _lines(self.text))

    @property
    def top(self) -> Place:
        """The place of the whole file."""
        return Place(self, ())


@attrs.frozen
class Place:
    """A table or key, by its path.

    Args:
        places: the line numbers of the text.
        path: the keys, and the indices in arrays, that lead to it.
    """

    places: Places
    path: Path

    def at(self, *keys: str | int) -> Place:
        """The place below this one with these further keys."""
        return Place(self.places, (*self.path, *keys))

    def error(self, message: str) -> PlanError:
        """A PlanError with the message, the file and the line of the nearest enclosing table or key.

        Args:
            message: what is wrong.
        """
        path = self.path
        while path and path not in self.places.lines:
            path = path[:-1]
        line = f", line {self.places.lines[path]}" if path else ""
        shown = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.path).lstrip(".")
        return PlanError(visible(f"{self.places.source}{line}{f' ({shown})' if shown else ''}: {message}"))


def _lines(text: str) -> dict[Path, int]:
    numbers: dict[Path, int] = {}
    table: Path = ()
    counts: dict[Path, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _resolved(_words(header[2]), counts)
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                numbers.setdefault(table, number)
                table = (*table, counts[table])
            numbers.setdefault(table, number)
        elif key := _KEY.match(line):
            words = _words(key[1])
            for end in range(1, len(words) + 1):
                numbers.setdefault((*table, *words[:end]), number)
    return numbers


def _words(dotted: str) -> Path:
    return tuple(word.strip().strip("\"'") for word in dotted.split("."))


def _resolved(words: Path, counts: dict[Path, int]) -> Path:
    """The path of a header; inside an array of tables it belongs to the last one so far."""
    path: Path = ()
    for position, word in enumerate(words):
        path = (*path, word)
        if path in counts and position < len(words) - 1:
            path = (*path, counts[path])
    return path


def write(content: Mapping[str, Any]) -> str:
    """The TOML text of nested tables: scalars first, then a header for each table and each table of a list.

    Args:
        content: plain values, lists and tables.
    """
    return "\n".join(_table(content, ())).lstrip("\n") + "\n"


def _table(content: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    nested = {key: value for key, value in content.items() if _has_header(value)}
    for key, value in content.items():
        if key not in nested:
            yield f"{_key(key)} = {_inline(value)}"
    for key, value in nested.items():
        name = ".".join(map(_key, (*path, key)))
        for table in value if isinstance(value, list) else [value]:
            yield ""
            yield f"[[{name}]]" if isinstance(value, list) else f"[{name}]"
            yield from _table(table, (*path, key))


def _has_header(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, Mapping) for each in value)
    return isinstance(value, Mapping) and set(value) != {"ref"}


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_inline(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, str):
        return "".join(map(_character, json.dumps(value, ensure_ascii=False)))
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _character(character: str) -> str:
    return f"\\U{ord(character):08x}" if is_invisible(character) else character


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _inline(key)
