"""A partition of a Dask collection, which is checked against what the collection said of itself when it is opened."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from dpframe.display.redacted import Redacted
from dpframe.errors import DataError
from dpframe.sources.arrays import open_array
from dpframe.sources.frames import must_be_told_apart, open_pandas
from dpframe.sources.opened import Opened, Wanted, check_names, declared, is_a, what
from dpframe.spec.rows import Rows


@attrs.frozen(repr=False, eq=False)
class Partition(Redacted):
    """What is known of every partition, wherever it is opened.

    Args:
        rows: the promise, with its dimension.
        size: the most rows in a block.
        types: the types that the collection said it has, by column; of an array the only one.
    """

    rows: Rows
    size: int
    types: dict[str, Any]

    def open(self, index: int, part: Any) -> Opened:
        """Check a partition against what was said of it, before its cells are read."""
        try:
            if "" in self.types:
                return self._open_array(part)
            return self._open_frame(part)
        except DataError as error:
            raise DataError(f"partition {index} is not what the collection said: {error}") from None

    def _open_array(self, part: Any) -> Opened:
        if not isinstance(part, np.ndarray) or part.dtype != self.types[""]:
            found = part.dtype if isinstance(part, np.ndarray) else what(part)
            raise DataError(f"it holds {found} instead of {self.types['']}.")
        return open_array(part, self.rows, lambda _: self.size)

    def _open_frame(self, part: Any) -> Opened:
        if not is_a(part, "pandas", "DataFrame"):
            raise DataError(f"it is {what(part)} instead of a pandas frame.")
        columns = declared(self.rows)
        check_names(part.columns, columns, "the frame")
        for column in columns:
            found, said = part[column.name].dtype, self.types[column.name]
            fits = found == said or _may_be_instead(found, said, column) or part[column.name].isna().all()
            if not fits:
                raise DataError(f"column {column.name!r} holds {found} instead of {said}.")
        return open_pandas(part, columns, self.size, late=True)

    def open_ids(self, index: int, part: Any) -> Opened:
        """The same for the column of ids alone."""
        self.open(index, part)
        return open_pandas(part, declared(self.rows)[-1:], self.size, late=True)


def _may_be_instead(found: Any, said: Any, column: Wanted) -> bool:
    """Whether a partition may have another type than the collection said.

    Levels may be unknown before, and words are words. The type of numbers depends on cells: where one is missing,
    pandas turns integers into floats and truth values into objects. A run that failed then would tell of that cell.
    """
    if said.kind == found.kind == "O":
        return True
    numbers = said.kind in "biuf" and (found.kind in "biuf" or found.name == "object")
    return bool(numbers) and not must_be_told_apart(column)
