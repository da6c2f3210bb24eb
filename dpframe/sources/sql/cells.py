"""The cells of a table in SQL: a double for each numeric column, the place of its level for each category.

With ``person=``, at most m rows of each person are among them. Which ones depends on the rows of that person alone:
those that come first by the columns of ``order=`` and then by their cells, so that rows that are still alike contribute
the same integers; or, in a table that has rows in an order of its own, the first ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import attrs

from dpframe.errors import DataError
from dpframe.reading.people import Person
from dpframe.sources.opened import Declared, Wanted, declared
from dpframe.sources.sql.dialect import Dialect, Field
from dpframe.spec.columns import Category
from dpframe.spec.rows import Rows

NUMBERS = ("float", "integer", "exact", "truth")
MOST_LEVEL = 2**53

Ends = Mapping[int, tuple[float, float]]
"""The least and the largest cell of columns, by their places among those that are mapped."""


class CellSource(Protocol):
    """Where statements read cells c0, c1, …"""

    def subquery(self, rows: Rows) -> str:
        """The cells of the rows that count."""

    def split(self, rows: Rows, near: Ends) -> tuple[str, str] | None:
        """The cells of the rows between all of these ends, and those of the other rows; None if all rows are to be read
        by one SELECT, because two of them may find others, or the engine would prove nothing."""


def split(dialect: Dialect, near: Ends, named: Mapping[int, tuple[str, Field]]) -> tuple[str, str] | None:
    """The conditions of the two parts of a split."""
    found = [dialect.within(*named[at], *ends) for at, ends in near.items()]
    if None in found:
        return None
    together = " AND ".join(map(str, found))
    return f" WHERE {together}", f" WHERE ({together}) IS NOT TRUE"


@attrs.frozen
class Cells:
    """The SQL of the cells of a table.

    Args:
        dialect: the engine's SQL.
        source: the table or subquery, as it stands in FROM.
        fields: its columns, by name.
        order: the names of columns that order the rows of a person.
        row_number: the engine's own column by which the rows of the table are ordered; None if there is none.
        is_stored: whether two SELECTs read the same rows.
    """

    dialect: Dialect
    source: str
    fields: Mapping[str, Field]
    order: tuple[str, ...] = ()
    row_number: str | None = None
    is_stored: bool = False

    def subquery(self, rows: Rows, where: str = "") -> str:
        """The cells c0, c1, … of the rows that count; without ``person=`` of those that meet a condition."""
        columns = declared(rows)
        cells = [f"{self._cell(column)} AS c{at}" for at, column in enumerate(columns) if not _is_person(column)]
        if rows.person is None:
            return f"(SELECT {', '.join(cells)} FROM {self.source} AS t{where})"
        who, known = self.dialect.id_cell(self._named(rows.person), self.fields[rows.person])
        by = f"ROW_NUMBER() OVER (PARTITION BY {who} ORDER BY {', '.join(self._order(columns))})"
        numbered = f"(SELECT {', '.join(cells)}, {by} AS n FROM {self.source} AS t WHERE {known})"
        names = ", ".join(f"c{at}" for at in range(len(cells)))
        return f"(SELECT {names} FROM {numbered} AS p WHERE n <= {rows.contributions})"

    def split(self, rows: Rows, near: Ends) -> tuple[str, str] | None:
        """The cells of rows near their ranges, and those of the others."""
        if not self.is_stored or rows.person is not None:
            return None
        names = [column.name for column in rows.columns or ()]
        named = {at: (self._named(names[at]), self.fields[names[at]]) for at in near}
        parts = split(self.dialect, near, named)
        return parts and (self.subquery(rows, parts[0]), self.subquery(rows, parts[1]))

    def _order(self, columns: Declared) -> list[str]:
        if not self.order and self.row_number is not None:
            return [f"t.{self.row_number} ASC"]
        cells = (self._cell(column) for column in columns if not _is_person(column))
        return [f"{each} ASC" for each in (*map(self._named, self.order), *cells)]  # DuckDB has a setting that turns it

    def _cell(self, column: Wanted) -> str:
        cell, field = self._named(column.name), self.fields[column.name]
        if not isinstance(column, Category):
            return self.dialect.number_cell(cell, field)
        if column.is_text:
            cell = self.dialect.word_cell(cell)
            constants = [self.dialect.word(str(level)) for level in column.levels]
        else:
            cell = self.dialect.level_cell(cell, field)
            constants = [self.dialect.number(float(level)) for level in column.levels]
        branches = (f"WHEN {cell} = {constant} THEN {at}" for at, constant in enumerate(constants))
        return f"CASE {' '.join(branches)} END"

    def _named(self, name: str) -> str:
        return f"t.{self.dialect.quoted(name)}"

    def check(self, rows: Rows, where: str) -> None:
        """Refuse columns that do not hold what the promise says, and people whose rows have no order."""
        columns = declared(rows)
        for column in columns:
            _check_field(column, self.fields[column.name], where)
        if rows.person is not None and not self.order and self.row_number is None:
            raise DataError(
                f"with person= the order of the rows of a person decides which of them count, and {where} has none "
                "that the engine promises: name columns that order them, order=[...]."
            )


def _is_person(column: Wanted) -> bool:
    return isinstance(column, Person)


def _check_field(column: Wanted, field: Field, where: str) -> None:
    holds = f"column {column.name!r} of {where} holds {field.type_name}"
    if isinstance(column, Person):
        if field.kind not in ("integer", "text"):
            raise DataError(f"{holds}, but it tells who a row belongs to (person=): it must hold integers or text.")
        return
    if isinstance(column, Category) and column.is_text:
        if field.kind != "text":
            raise DataError(f"{holds}; its levels are words, so it must hold text. Cast it in a view.")
        return
    if field.kind not in NUMBERS:
        raise DataError(
            f"{holds}; it must hold integers, floats, decimals or truth values. It is not cast silently: say in a view "
            "which number it stands for, or declare words with dp.Category."
        )
    if isinstance(column, Category) and any(abs(level) >= MOST_LEVEL for level in column.levels if level != ""):  # type: ignore[arg-type]
        raise DataError(f"category {column.name!r} has a level of 2^53 or more, which SQL would compare inexactly.")
