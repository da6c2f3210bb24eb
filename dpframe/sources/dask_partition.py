"""A partition of a Dask collection, which is checked against the types of the collection when it is opened."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from dpframe.display.redacted import Redacted
from dpframe.errors import DataError
from dpframe.reading.type_names import type_name
from dpframe.sources.arrays import open_array
from dpframe.sources.frames import must_stay_distinct, open_pandas
from dpframe.sources.opened import Opened, Wanted, check_names, declared, is_a, what
from dpframe.spec.rows import Rows


@attrs.frozen(repr=False, eq=False)
class Partition(Redacted):
    """What is known of every partition, wherever it is opened.

    Args:
        rows: the promise, with its dimension.
        size: the most rows in a block.
        types: the types that the collection declares, by column; an array has one, by the name "".
    """

    rows: Rows
    size: int
    types: dict[str, Any]

    def open(self, index: int, part: Any) -> Opened:
        """Check a partition against the declared types, before its cells are read."""
        try:
            if "" in self.types:
                return self._open_array(part)
            return self._open_frame(part)
        except DataError as error:
            raise DataError(f"partition {index} is not what the collection said: {error}") from None

    def _open_array(self, part: Any) -> Opened:
        if not isinstance(part, np.ndarray) or part.dtype != self.types[""]:
            actual = type_name(part.dtype) if isinstance(part, np.ndarray) else what(part)
            raise DataError(f"it holds {actual} instead of {type_name(self.types[''])}.")
        return open_array(part, self.rows, lambda _: self.size)

    def _open_frame(self, part: Any) -> Opened:
        if not is_a(part, "pandas", "DataFrame"):
            raise DataError(f"it is {what(part)} instead of a pandas frame.")
        columns = declared(self.rows)
        check_names(part.columns, columns, "the frame")
        for column in columns:
            actual, expected = part[column.name].dtype, self.types[column.name]
            fits = actual == expected or _may_replace(actual, expected, column) or part[column.name].isna().all()
            if not fits:
                raise DataError(f"column {column.name!r} holds {type_name(actual)} instead of {type_name(expected)}.")
        return open_pandas(part, columns, self.size, late=True)

    def open_ids(self, index: int, part: Any) -> Opened:
        """Check a partition like `open`, and read only its column of ids."""
        self.open(index, part)
        return open_pandas(part, declared(self.rows)[-1:], self.size, late=True)


def _may_replace(actual: Any, expected: Any, column: Wanted) -> bool:
    """Whether a partition may have this type instead of the one that the collection declares.

    Any two types of text may be exchanged, and the levels of a categorical may not be known before. The type of numbers
    depends on cells: if one is missing, pandas turns integers into floats and truth values into objects. A run that
    failed then would reveal that cell.
    """
    if expected.kind == actual.kind == "O":
        return True
    numbers = expected.kind in "biuf" and (actual.kind in "biuf" or actual.name == "object")
    return bool(numbers) and not must_stay_distinct(column)
