"""Tables of named columns, of other libraries and in files: chooses the reader.

Data that can be read again is read once for each pass, and must give the same rows each time. A file that changes
between passes, or a lazy query that draws a random sample, is another data set, and then the guarantee holds for none
of them. Files are checked for changes, and the numbers of rows of passes are compared.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from dpframe.errors import DataError
from dpframe.sources.arrays import ALLOWED
from dpframe.sources.arrow import open_arrow
from dpframe.sources.csv import open_csv
from dpframe.sources.csv_format import SEPARATORS, CSVFile, csv, ending
from dpframe.sources.frames import open_pandas, open_polars
from dpframe.sources.opened import Declared, Opened, attempt, declared, is_a, pyarrow, what
from dpframe.sources.parquet import open_dataset, open_parquet
from dpframe.sources.queries import RELATION, Query, open_query, open_relation
from dpframe.spec.rows import Rows


def is_table(data: Any) -> bool:
    """Whether this is a path or a table of another library; nothing is imported to find out."""
    return (
        isinstance(data, str | os.PathLike | CSVFile | Query)
        or hasattr(type(data), "__arrow_c_stream__")
        or is_a(data, "pandas", "DataFrame")
        or is_a(data, "polars", "LazyFrame")
        or is_a(data, "pyarrow.dataset", "Dataset")
    )


def open_table(data: Any, rows: Rows, size: int, *, late: bool = False) -> Opened:
    """Check the names and types of a table; no cell is read.

    Args:
        data: a path, a CSV file, a data frame, a query or an Arrow object.
        rows: the promise, with columns.
        size: the most rows in a block.
        late: whether it is opened after the charge.
    """
    if isinstance(data, str | os.PathLike):
        data = existing(data)
        if ending(data) in SEPARATORS:
            data = csv(data)
    columns = declared(rows)
    if isinstance(data, CSVFile):
        existing(data.path)
        return open_csv(data, columns, size)
    pyarrow()  # all others need it
    return _reader(data, late)(data, columns, size)


def _reader(data: Any, late: bool) -> Callable[[Any, Declared, int], Opened]:
    """The reader of a table that is not a CSV file."""
    readers: list[tuple[bool, Callable[[Any, Declared, int], Opened]]] = [
        (isinstance(data, Path), open_parquet),
        (is_a(data, "pandas", "DataFrame"), partial(open_pandas, late=late)),
        (is_a(data, "polars", "DataFrame", "LazyFrame"), open_polars),
        (is_a(data, "pyarrow.dataset", "Dataset"), open_dataset),
        (isinstance(data, Query), open_query),
        (is_a(data, *RELATION), open_relation),
        (True, open_arrow),
    ]
    return next(reader for fits, reader in readers if fits)


def existing(data: str | os.PathLike[str]) -> Path:
    """A path of a file or directory that may be read. Text that does not look like a path is not shown: it may be data.

    A pipe is refused without opening it, which would wait for who writes to it.
    """
    path, mode = Path(data), None
    with suppress(OSError, ValueError):
        mode = path.stat().st_mode if os.fspath(data) else None
    shown = not isinstance(data, str) or ending(path) in (*SEPARATORS, ".parquet", ".npy")
    problem = f"{os.fspath(path)!r} cannot be read" if shown else f"{what(data)} cannot be read as a path"
    if mode is None:
        raise DataError(
            f"{problem}: there is no such file or directory. Of several files pass a list of paths; of another store, "
            f"a pyarrow.dataset. {ALLOWED}"
        )
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise DataError(
            f"{problem}: it is a pipe or a device, which can be read only once, while the header is checked before the "
            "charge and the rows are read after it. Write its content to a file first."
        )
    if stat.S_ISREG(mode):
        attempt(lambda: path.open("rb").close(), f"{problem}: it cannot be opened")
    return path
