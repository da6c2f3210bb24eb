"""CSV files, read with the standard library."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from dpframe.errors import DataError
from dpframe.reading.people import Person
from dpframe.reading.process_state import long_csv_cells
from dpframe.sources.arrow import words_of
from dpframe.sources.opened import Cells, Declared, Meter, Opened, Wanted, attempt
from dpframe.sources.stamps import Stamp
from dpframe.spec.columns import Category

CSV_CELLS = 1 << 15  # Python strings held at a time
TRUTH_VALUES = {"true": 1.0, "false": 0.0}


def open_csv(path: Path, columns: Declared, size: int) -> Opened:
    """Open a CSV file: UTF-8 with commas, a header line, and quotes as in RFC 4180; the plan declares the types.

    A number is what Python's float() reads, and true and false are 1 and 0, in upper or lower case. Any other cell of a
    numeric column is missing, as are all cells of a row that is malformed or has more or fewer cells than the header.
    Rows are the records of the file, however long their cells are. That quotes are closed and doubled is a promise
    about the writer of the file: a quote that opens a cell and is never closed joins the rows of others into that cell.
    (Arrow's reader is faster, but such a quote makes it stop, and so does a very long cell; a run may not stop because
    of a cell.)
    """

    path, stamp = path.absolute(), Stamp.of(path)
    header = attempt(partial(_header, path), f"{path.name!r} cannot be read as CSV")
    for column in columns:
        if header.count(column.name) != 1:  # the line is not shown: without a header it is a row
            raise DataError(f"the first line of {path.name!r} must name the column {column.name!r} once, and does not.")
    places = [header.index(column.name) for column in columns]
    unreadable, most = [""] * len(header), min(size, max(CSV_CELLS // len(header), 1))

    def read(meter: Meter) -> Iterator[Cells]:
        before = meter.bytes
        with stamp.unchanged(), long_csv_cells(), _text(path) as file:
            rows = islice(_records(file), 1, None)
            while block := [row if len(row) == len(header) else unreadable for row in islice(rows, most)]:
                yield {
                    column.name: _parsed([row[place] for row in block], column)
                    for column, place in zip(columns, places, strict=True)
                }
                meter.bytes = before + file.buffer.tell()

    return Opened(read, bytes=stamp.bytes)


def _text(path: Path) -> TextIO:
    return path.open(encoding="utf-8-sig", errors="replace", newline="\n")


def _records(file: TextIO) -> Iterator[list[str]]:
    """The header, and then the rows."""
    reader = csv.reader(map(_without_returns, file))
    yield next(reader, [])
    while True:
        try:
            yield from filter(None, reader)  # empty lines are not rows
        except csv.Error:  # in the last line, or in a cell beyond the limit
            yield [""]
        else:
            return


def _header(path: Path) -> list[str]:
    with long_csv_cells(), _text(path) as file:
        return next(_records(file))


def _without_returns(line: str) -> str:
    """A line with carriage returns only at its end: the reader would stop at others, and take the rest for rows."""
    return line if line.find("\r", 0, -2) < 0 else line[:-2].replace("\r", " ") + line[-2:]


def _parsed(texts: list[str], column: Wanted) -> NDArray[Any]:
    if isinstance(column, Person):
        return np.array(texts, dtype=object)
    if isinstance(column, Category) and column.is_text:
        codes = {level: code for code, level in enumerate(column.levels)}
        return words_of(np.array([codes.get(text, len(codes)) for text in texts], dtype=np.intp), column)
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
