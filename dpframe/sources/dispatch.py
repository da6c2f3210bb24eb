"""Tables of named columns, of other libraries and in files: chooses the reader.

Data that can be read again is read once for each pass, and must give the same rows each time. A file that changes
between passes, or a lazy query that draws a random sample, is another data set, and then the guarantee holds for none
of them. Files are checked for changes, and the numbers of rows of passes are compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dpframe.errors import DataError
from dpframe.sources.arrays import ALLOWED
from dpframe.sources.arrow import open_arrow
from dpframe.sources.csv import open_csv
from dpframe.sources.frames import open_pandas, open_polars
from dpframe.sources.opened import Declared, Opened, declared, is_a, pyarrow, what
from dpframe.sources.parquet import open_dataset, open_parquet
from dpframe.sources.queries import RELATION, Query, open_query, open_relation
from dpframe.spec.rows import Rows


def is_table(data: Any) -> bool:
    """Whether this is a path or a table of another library; nothing is imported to find out."""
    return (
        isinstance(data, str | os.PathLike | Query)
        or hasattr(type(data), "__arrow_c_stream__")
        or is_a(data, "pandas", "DataFrame")
        or is_a(data, "polars", "LazyFrame")
        or is_a(data, "pyarrow.dataset", "Dataset")
    )


def open_table(data: Any, rows: Rows, size: int, *, late: bool = False) -> Opened:
    """Check the names and types of a table; no cell is read.

    Args:
        data: a path, a data frame, a query or an Arrow object.
        rows: the promise, with columns.
        size: the most rows in a block.
        late: whether it is opened after the charge.
    """
    path = _existing(data) if isinstance(data, str | os.PathLike) else None
    columns = declared(rows)
    if path is not None and path.suffix.lower() == ".csv":
        return open_csv(path, columns, size)
    pyarrow()  # all others need it
    if path is not None:
        return open_parquet(path, columns, size)
    return _reader(data, late)(data, columns, size)


def _reader(data: Any, late: bool) -> Callable[[Any, Declared, int], Opened]:
    """The reader of a table that is not a path."""
    readers: list[tuple[bool, Callable[[Any, Declared, int], Opened]]] = [
        (is_a(data, "pandas", "DataFrame"), partial(open_pandas, late=late)),
        (is_a(data, "polars", "DataFrame", "LazyFrame"), open_polars),
        (is_a(data, "pyarrow.dataset", "Dataset"), open_dataset),
        (isinstance(data, Query), open_query),
        (is_a(data, *RELATION), open_relation),
        (True, open_arrow),
    ]
    return next(reader for fits, reader in readers if fits)


def _existing(data: str | os.PathLike[str]) -> Path:
    """A path that exists. Text that does not look like a path is not shown: it may be data."""
    path = Path(data)
    try:
        if os.fspath(data) and path.exists():
            return path
    except OSError:
        pass
    shown = not isinstance(data, str) or path.suffix.lower() in (".csv", ".parquet")
    problem = f"{os.fspath(path)!r} cannot be read" if shown else f"{what(data)} cannot be read as a path"
    raise DataError(
        f"{problem}: there is no such file or directory. Of several files pass a list of paths; of another store, a "
        f"pyarrow.dataset. {ALLOWED}"
    )
