"""CSV files, read with the standard library."""

from __future__ import annotations

import csv
import math
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from gzip import BadGzipFile
from itertools import islice, product
from shlex import quote
from typing import Any, TextIO

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.errors import DataError
from dpframe.reading.people import Person
from dpframe.reading.process_state import long_csv_cells
from dpframe.sources.arrow import words_of
from dpframe.sources.csv_format import CSVFile, is_gzip
from dpframe.sources.opened import Cells, Declared, Meter, Opened, Wanted, attempt
from dpframe.sources.stamps import Stamp
from dpframe.spec.columns import Category

CSV_CELLS = 1 << 15  # Python strings held at a time
DAMAGED = (EOFError, BadGzipFile, zlib.error)
LONGEST_LINE = 1 << 20  # characters of a first line that is tried
TRUTH_VALUES = {"true": 1.0, "false": 0.0}
EXCHANGED = str.maketrans(".,", ",.")  # a point in a number with a decimal comma makes it no number
TRIED_SEPARATORS, TRIED_ENCODINGS = (",", ";", "\t", "|"), ("utf-8", "utf-16-le", "utf-16-be", "cp1252")
"""What a header line is tried with, for advice."""


def open_csv(file: CSVFile, columns: Declared, size: int) -> Opened:
    """Open a CSV file: a header line, and quotes as in RFC 4180; the plan declares the types.

    A number is what Python's float() reads, and true and false are 1 and 0, in upper or lower case. Any other cell of a
    numeric column is missing, as are all cells of a row that is malformed or has more or fewer cells than the header.
    Rows are the records of the file, however long their cells are. That quotes are closed and doubled is a promise
    about the writer of the file: a quote that opens a cell and is never closed joins the rows of others into that cell.
    (Arrow's reader is faster, but such a quote makes it stop, and so does a very long cell; a run may not stop because
    of a cell.)
    """
    file = attrs.evolve(file, path=file.path.absolute())
    stamp = Stamp.of(file.path)
    with long_csv_cells():
        compressed = " compressed by gzip, as its ending says" if is_gzip(file.path) else ""
        header = attempt(partial(first_line, file), f"{file.path.name!r} cannot be read as CSV{compressed}")
    if header is None:
        raise DataError(
            f"the first line of {file.path.name!r} has a quote that is not closed in it. The header is one line: close "
            "the quote, or remove it."
        )
    for column in columns:
        if header.count(column.name) != 1:
            raise DataError(
                f"the first line of {file.path.name!r} must name the column {column.name!r} once, and does not. "
                + _advice(file, columns)
            )
    places = [header.index(column.name) for column in columns]
    unreadable, most = [""] * len(header), min(size, max(CSV_CELLS // len(header), 1))

    def read(meter: Meter) -> Iterator[Cells]:
        before = meter.bytes
        with stamp.unchanged(), long_csv_cells(), file.opened() as (text, raw):
            rows = islice(_records(_lines(text, file), file.separator), 1, None)
            while block := [row if len(row) == len(header) else unreadable for row in islice(rows, most)]:
                yield {
                    column.name: _parsed([row[place] for row in block], column, file.decimal)
                    for column, place in zip(columns, places, strict=True)
                }
                meter.bytes = before + raw.tell()

    return Opened(read, bytes=stamp.bytes)


def _lines(text: TextIO, file: CSVFile) -> Iterator[str]:
    """The lines; raises DataError where a compressed file ends early or is damaged, which only its end can show."""
    try:
        yield from text
    except DAMAGED:
        pass
    else:
        return
    raise DataError(f"{file.path.name!r} ends early or is damaged. Copy it again; gzip -t tells whether it is whole.")


def _records(lines: Iterator[str], separator: str) -> Iterator[list[str]]:
    """The header, and then the rows."""
    reader = csv.reader(map(_without_returns, lines), delimiter=separator)
    yield next(reader, [])
    while True:
        try:
            yield from filter(None, reader)  # empty lines are not rows
        except csv.Error:  # in the last line, or in a cell beyond the limit
            yield [""]
        else:
            return


def first_line(file: CSVFile, longest: int = -1) -> list[str] | None:
    """The cells of the first line, which is public; None if a quote is open at its end, so that cells would go on.

    Args:
        file: the file.
        longest: the number of characters of the line that are read; all by default.
    """
    with file.opened() as (text, _):
        line = _without_returns(text.readline(longest)).removeprefix("\ufeff")
    reader = csv.reader([line, ""], delimiter=file.separator)
    header = next(reader, [])
    return header if reader.line_num < 2 else None


def _advice(file: CSVFile, columns: Declared) -> str:
    """How the first line would name all columns, if there is a way. It is not shown: without a header it is a row."""
    for encoding, separator in product((file.encoding, *TRIED_ENCODINGS), (file.separator, *TRIED_SEPARATORS)):
        decimal = file.decimal if file.decimal != separator else "."
        with suppress(Exception):  # what the file is, if it is not that
            written = CSVFile(file.path, separator=separator, decimal=decimal, encoding=encoding)
            header = first_line(written, LONGEST_LINE) or []
            if all(header.count(column.name) == 1 for column in columns):
                return f"It does if it is read with {_options(file, separator, encoding)}."
    return (
        "It is not shown, since it is a row if the file has no header line. Other separators, decimal marks and "
        "encodings than commas, points and UTF-8 are stated: dp.csv(path, separator=, decimal=, encoding=), or "
        "--csv-separator, --csv-decimal and --csv-encoding in a shell."
    )


def _options(file: CSVFile, separator: str, encoding: str) -> str:
    """The options of dp.csv, and of the command, that differ."""
    options = {}
    if separator != file.separator:
        options["separator"] = separator
    if encoding != file.encoding:
        options["encoding"] = encoding
    stated = ", ".join(f"{name}={value!r}" for name, value in options.items())
    typed = " ".join(f"--csv-{name} {quote(value.replace(chr(9), 'tab'))}" for name, value in options.items())
    commas = ', and with decimal="," or --csv-decimal , if its numbers have decimal commas' if separator == ";" else ""
    return f"dp.csv(path, {stated}), or {typed} in a shell{commas}"


def _without_returns(line: str) -> str:
    """A line with carriage returns only at its end: the reader would stop at others, and take the rest for rows."""
    return line if line.find("\r", 0, -2) < 0 else line[:-2].replace("\r", " ") + line[-2:]


def _parsed(texts: list[str], column: Wanted, decimal: str = ".") -> NDArray[Any]:
    if isinstance(column, Person):
        return np.array(texts, dtype=object)
    if isinstance(column, Category) and column.is_text:
        codes = {level: code for code, level in enumerate(column.levels)}
        return words_of(np.array([codes.get(text, len(codes)) for text in texts], dtype=np.intp), column)
    if decimal == ",":
        texts = [text.translate(EXCHANGED) for text in texts]
    try:
        return np.array(list(map(float, texts)))
    except ValueError:
        return np.array([number_of(text) for text in texts])


def number_of(text: str) -> float:
    """A cell as a number; NaN if it is not one."""
    try:
        return float(text)
    except ValueError:
        return TRUTH_VALUES.get(text.strip().lower(), math.nan)
