"""How a CSV file is written: separator, decimal mark, encoding, compression."""

from __future__ import annotations

import codecs
import gzip
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import attrs

from dpframe import validators
from dpframe.errors import PlanError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""The separators that follow from the ending of a path, with or without .gz."""

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def ending(path: Path) -> str:
    """The ending of a path without .gz, in lower case."""
    return (path.with_suffix("") if is_gzip(path) else path).suffix.lower()


def is_gzip(path: Path) -> bool:
    """Whether a path says that the file is compressed; its content is not looked at to find out."""
    return path.suffix.lower() == ".gz"


def _known_encoding(name: Any) -> str | None:
    """The name of an encoding that CSV files may have, as Python has it; None for any other.

    In these a byte stands for itself, or belongs to the two or four bytes of its character, so that no cell changes how
    the cells of others are read. In some others, such as ISO-2022 and UTF-7, a cell can shift the letters of all that
    follow.
    """
    try:
        known = codecs.lookup(name).name
    except (LookupError, TypeError, ValueError):
        return None
    plain = known in ("ascii", "utf-8", "utf-16", "utf-16-le", "utf-16-be") or known.startswith(("iso8859-", "cp125"))
    return known if plain else None


@attrs.frozen
class CSVFile:
    """A CSV file and how it is written; see :func:`csv`."""

    path: Path = attrs.field(repr=lambda path: repr(os.fspath(path)))
    separator: str = attrs.field(kw_only=True)
    decimal: str = attrs.field(default=".", kw_only=True, validator=validators.one_of(".", ","))
    encoding: str = attrs.field(default="utf-8", kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.separator, str) or len(self.separator) != 1 or not self._can_separate(self.separator):
            allowed = 'one character that no number has, such as ",", ";", "|" or "\\t"'
            raise validators.refuse(self, "separator", allowed, self.separator)
        if self.separator == self.decimal:
            raise PlanError(
                f"CSVFile has {self.separator!r} as separator and as decimal mark. Files with decimal commas have "
                'another separator: dp.csv(path, separator=";", decimal=",").'
            )
        if _known_encoding(self.encoding) is None:
            allowed = "utf-8, utf-16, ascii, latin-1, or another of ISO 8859 or of Windows (cp1250 to cp1258)"
            raise validators.refuse(self, "encoding", allowed, self.encoding)

    @staticmethod
    def _can_separate(mark: str) -> bool:
        return not mark.isalnum() and mark not in '.+-_"\r\n\0'

    @contextmanager
    def opened(self) -> Iterator[tuple[TextIO, BinaryIO]]:
        """The text of the file, in which what is not text is replaced, and the file, whose position tells progress.

        A mark at the beginning decides between UTF-8 and UTF-16: it belongs to the header line, which is public.
        """
        with self.path.open("rb") as file:
            plain: BinaryIO = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if is_gzip(self.path) else file
            encoding = _known_encoding(self.encoding)
            if encoding == "utf-8":
                encoding = "utf-16" if plain.peek(2)[:2] in UTF16_MARKS else "utf-8-sig"  # type: ignore[attr-defined]
            with io.TextIOWrapper(plain, encoding=encoding, errors="replace", newline="\n") as text:
                yield text, file


def csv(
    path: str | os.PathLike[str], *, separator: str | None = None, decimal: str = ".", encoding: str = "utf-8"
) -> CSVFile:
    """A CSV file that is written in another way than with commas and UTF-8, as data for ``plan.run`` and ``dp.check``.

    Nothing is opened here. Compressed files are recognized by the ending .gz, and UTF-16 by the mark at its beginning.
    Neither separator nor decimal mark is guessed, since that would take a look at cells.

    Args:
        path: the path of the file, with any ending.
        separator: the character between cells; by default a tab if the path ends with .tsv, and a comma otherwise.
        decimal: the decimal mark, "." or ",". Marks between thousands are not read: such a cell is missing.
        encoding: UTF-8, UTF-16, or a character set of one byte per character, such as "latin-1" or "cp1252".

    >>> csv("people.csv", separator=";", decimal=",")
    CSVFile(path='people.csv', separator=';', decimal=',', encoding='utf-8')
    """
    if not isinstance(path, str | os.PathLike):
        raise PlanError(f"dp.csv needs the path of a file; got a {type(path).__name__}.")
    place = Path(path)
    chosen = SEPARATORS.get(ending(place), ",") if separator is None else separator
    return CSVFile(place, separator=chosen, decimal=decimal, encoding=encoding)
