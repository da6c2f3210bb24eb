"""What all readers share: opened data, the meter of a pass, and errors that do not quote other libraries."""

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
    """The progress of a pass over the data, and the number of rows in the first pass.

    Args:
        total_bytes: the bytes of a whole pass, if known.
    """

    total_bytes: int | None = None
    bytes: int = attrs.field(init=False, default=0)
    rows: int = attrs.field(init=False, default=0)
    _rows_of_first: int | None = attrs.field(init=False, default=None)

    def start(self) -> None:
        """Begin a pass."""
        self.bytes = self.rows = 0

    def finish(self) -> None:
        """End a pass; refuse it if the number of rows differs from that of the first pass."""
        if self._rows_of_first not in (None, self.rows):
            raise DataError(
                "the source gave another number of rows when it was read again. Every pass must see the same rows: "
                "pass data that stands still, say a file or a table that the query's result was written to."
            )
        self._rows_of_first = self.rows


@attrs.frozen(repr=False, eq=False)
class Opened(Redacted):
    """Data whose schema was checked, ready to be read.

    Args:
        read: reads it in blocks of rows, and adds their bytes to the meter if these are known.
        one_shot: whether it can be read only once.
        bytes: its size, if known and public, such as that of files, which anyone sees who may list them.
        count: the number of rows, if known before they are read. Private: only speed depends on it.
    """

    read: Callable[[Meter], Iterator[Raw]]
    one_shot: bool = attrs.field(default=False, kw_only=True)
    bytes: int | None = attrs.field(default=None, kw_only=True)
    count: int | None = attrs.field(default=None, kw_only=True)


def declared(rows: Rows) -> Declared:
    """The columns to read of a table: those of the promise, and the column of ids if there is one."""
    if rows.complex:
        raise DataError("complex rows (complex=True) are read from NumPy arrays, Dask arrays and iterables of arrays.")
    if rows.columns is None:
        raise DataError("a table of named columns needs dp.Rows(columns=[...]) with their public ranges.")
    return rows.columns if rows.person is None else (*rows.columns, Person(rows.person))


def check_names(names: Iterable[Any], columns: Declared, where: str = "the table") -> None:
    """Refuse a table that lacks a declared column or has it more than once."""
    counts = Counter(iter(names))  # iter: Counter would take a mapping for counts
    for column in columns:
        if column.name not in counts:
            raise DataError(_absent(column.name, counts, columns, where))
        if counts[column.name] > 1:
            raise DataError(f"{where} has more than one column {column.name!r}; names must differ.")


def _absent(name: str, names: Iterable[Any], columns: Declared, where: str) -> str:
    """The message for an absent column. It has names of the plan only: if a file has no header line, those that a
    library gives to its columns are cells."""
    known = set(names)
    present = ", ".join(repr(column.name) for column in columns if column.name in known) or "none"
    alike = any(isinstance(each, str) and _folded(each) == _folded(name) for each in known)
    hint = f" It has {name!r} but for upper and lower case, or spaces around it." if alike else ""
    return (
        f"{where} has no column {name!r}; of the plan's columns it has: {present}.{hint} Other names are not shown, "
        "since they are cells if the file has no header line."
    )


def _folded(name: str) -> str:
    return name.strip().casefold()


def is_a(data: Any, module: str, *names: str) -> bool:
    """Whether data is of a class of a library, which is not imported to find out."""
    return any(isinstance(data, getattr(sys.modules.get(module), name, ())) for name in names)


def what(data: Any) -> str:
    """The type of an object, for messages."""
    kind = type(data)
    return f"a {kind.__module__}.{kind.__name__}" if kind.__module__ != "builtins" else f"a {kind.__name__}"


def pyarrow() -> Any:
    """The pyarrow library, imported when it is needed."""
    try:
        return import_module("pyarrow")
    except ImportError:
        raise DataError("data frames and Parquet files need pyarrow: pip install 'dpframe[tables]'.") from None


def attempt(work: Callable[[], T], why: str) -> T:
    """Call another library, and raise our own error if it fails: its message and its traceback may hold a cell."""
    try:
        return work()
    except BaseException as error:
        if not (isinstance(error, Exception) or is_panic(error)):
            raise
        failure = DataError(f"{why} ({type(error).__name__}).")
    raise failure


def is_panic(error: BaseException) -> bool:
    """Whether this is the failure of a library in Rust, such as polars: no Exception, though it is not a request to
    stop."""
    return type(error).__module__ == "pyo3_runtime"
