"""What all readers share: an opened table, the meter of a pass, and care with the words of other libraries."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, TypeVar

import attrs
from numpy.typing import NDArray

from dpframe.display.redacted import Redacted
from dpframe.errors import DataError
from dpframe.reading.people import Person
from dpframe.spec.columns import Category, Column
from dpframe.spec.rows import Rows

Cells = dict[str, NDArray[Any]]
Raw = NDArray[Any] | Cells
Wanted = Column | Category | Person
Declared = tuple[Wanted, ...]
T = TypeVar("T")


@attrs.define(repr=False, eq=False)
class Meter(Redacted):
    """How far a pass over the data is, and how many rows the first one had.

    Args:
        total_bytes: of all that is read, where that is known.
    """

    total_bytes: int | None = None
    bytes: int = attrs.field(init=False, default=0)
    rows: int = attrs.field(init=False, default=0)
    _rows_of_first: int | None = attrs.field(init=False, default=None)

    def start(self) -> None:
        """A pass begins."""
        self.bytes = self.rows = 0

    def finish(self) -> None:
        """A pass ends, with as many rows as the first one, or it was over other data."""
        if self._rows_of_first not in (None, self.rows):
            raise DataError(
                "the source gave another number of rows when it was read again. Every pass must see the same rows: "
                "pass data that stands still, say a file or a table that the query's result was written to."
            )
        self._rows_of_first = self.rows


@attrs.frozen(repr=False, eq=False)
class Opened(Redacted):
    """Some data whose schema fits.

    Args:
        read: reads it, in blocks of rows, and tells the meter how many bytes that were where they are known.
        one_shot: whether it can be read only once.
        bytes: how many there are, where that is known: of files, what anyone sees who may list them.
        count: how many rows there are, where that is known before they are read. Private: only speed depends on it.
    """

    read: Callable[[Meter], Iterator[Raw]]
    one_shot: bool = attrs.field(default=False, kw_only=True)
    bytes: int | None = attrs.field(default=None, kw_only=True)
    count: int | None = attrs.field(default=None, kw_only=True)


def declared(rows: Rows) -> Declared:
    """What a table is read for: the columns of a promise, and the one of ids where it has one."""
    if rows.columns is None:
        raise DataError("a table of named columns needs dp.Rows(columns=[...]) with their public ranges.")
    return rows.columns if rows.person is None else (*rows.columns, Person(rows.person))


def check_names(names: Iterable[Any], columns: Declared, where: str = "the table") -> None:
    """Refuse a table in which a declared column is absent or there more than once."""
    found = Counter(iter(names))  # a mapping gives its names, not its columns
    for column in columns:
        if column.name not in found:
            raise DataError(f"{where} has no column {column.name!r}; it has: {', '.join(map(str, found))}.")
        if found[column.name] > 1:
            raise DataError(f"{where} has more than one column {column.name!r}; names must differ.")


def is_a(data: Any, module: str, *names: str) -> bool:
    """Whether data is of a class of a library that may not even be imported."""
    return any(isinstance(data, getattr(sys.modules.get(module), name, ())) for name in names)


def what(data: Any) -> str:
    """The type of something in words."""
    kind = type(data)
    return f"a {kind.__module__}.{kind.__name__}" if kind.__module__ != "builtins" else f"a {kind.__name__}"


def pyarrow() -> Any:
    """The library, imported where it is needed."""
    try:
        return import_module("pyarrow")
    except ImportError:
        raise DataError("data frames and Parquet files need pyarrow: pip install 'dpframe[tables]'.") from None


def attempt(work: Callable[[], T], why: str) -> T:
    """Let another library work, and refuse in our words where it fails: its own, and its frames, may hold a cell."""
    try:
        return work()
    except Exception as error:
        failure = DataError(f"{why} ({type(error).__name__}).")
    raise failure
