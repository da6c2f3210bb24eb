"""SQLite: a read transaction on the connection of the caller, during which others' changes are not seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dpframe.errors import DataError
from dpframe.sources.sql.dialect import Field
from dpframe.sources.sql.dialects import SQLite
from dpframe.sources.sql.engine import Engine, check_not_shadowed

KINDS = {
    "integer": r".*INT.*|BOOL(EAN)?",
    "text": r".*(CHAR|CLOB|TEXT).*",
    "float": r".*(REAL|FLOA|DOUB).*|NUM(ERIC)?|DECIMAL",
}
"""Declared types, without parameters. SQLite stores any cell in any column: what a cell is, is asked of each cell. But
a column of dates, or of no type at all, is refused: what its cells stand for is nobody's promise."""


FUNCTIONS = ("abs", "count", "max", "row_number", "sqrt", "sum", "typeof")
"""What our statements call."""


class SQLiteEngine(Engine):
    """A table or a view of SQLite.

    Args:
        connection: a connection of sqlite3, with no transaction under way.
        parts: see `Engine`.
        sql: see `Engine`.
    """

    dialect = SQLite()

    def __init__(self, connection: Any, parts: tuple[str, ...] | None, sql: str | None) -> None:
        super().__init__(parts, sql)
        if parts is None:
            raise DataError("SQLite does not declare the types of a query: make a view of it, and pass dp.table.")
        self._parts = parts
        self._connection = connection

    def fields(self) -> list[tuple[str, Field]]:
        """From the schema; columns that are computed are among them."""
        functions = self._execute("PRAGMA function_list").fetchall()
        check_not_shadowed((_text(name) for name, builtin, *_ in functions if not builtin), FUNCTIONS)
        found = self._pragma("table_xinfo")
        if not found:
            raise DataError("there is no such table or view.")
        return [(_text(row[1]), _field(_text(row[2]))) for row in found if row[6] != 1]

    def row_number(self) -> str | None:
        """The number of a row, if it is a table that has one."""
        names = {name.casefold() for name, _ in self.fields()}
        tables = [row for row in self._pragma("table_list") if len(self._parts) == 1 or _is(row[0], self._parts[0])]
        plain = bool(tables) and all(_text(row[2]) == "table" and not row[4] for row in tables)
        return "rowid" if plain and "rowid" not in names else None

    def _pragma(self, name: str) -> list[Any]:
        """Of a pragma about the table, whose name is quoted."""
        *schema, table = map(self.dialect.quoted, self._parts)
        return list(self._execute(f"PRAGMA {'.'.join([*schema, name])}({table})").fetchall())

    def is_outside(self, sql: str) -> bool:
        """Whether a virtual table is among those that are read, whose rows may come from anywhere."""
        steps = self._execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
        return any("VIRTUAL TABLE" in _text(step[-1]) for step in steps)

    def begin(self) -> None:
        """Begin a transaction; what it sees is fixed when it first reads."""
        if self._connection.in_transaction:
            raise DataError("the connection is inside a transaction, whose own changes it would see. Commit first.")
        self._execute("BEGIN")
        self._execute("SELECT COUNT(*) FROM sqlite_schema")

    def row(self, sql: str) -> Sequence[object]:
        """Run a SELECT."""
        (row,) = self._execute(sql).fetchall()
        return list(row)

    def check_select(self, sql: str) -> None:
        """Compile a SELECT."""
        self._execute(f"EXPLAIN {sql}").fetchall()

    def _execute(self, sql: str) -> Any:
        cursor = self._connection.cursor()
        cursor.row_factory = None
        return cursor.execute(sql, self.dialect.parameters(sql))

    def end(self) -> None:
        """Roll back, which changes nothing."""
        if self._connection.in_transaction:
            self._execute("ROLLBACK")  # the method does nothing where the connection commits by itself


def _field(declared: str) -> Field:
    name = declared.partition("(")[0].strip().upper()
    kind = next((kind for kind, pattern in KINDS.items() if re.fullmatch(pattern, name)), "other")
    return Field(kind, name if kind != "other" else "a type that SQLite does not keep to, or none")


def _text(value: Any) -> str:
    """Text, whatever the connection makes of it."""
    return value.decode() if isinstance(value, bytes) else str(value)


def _is(value: Any, name: str) -> bool:
    return _text(value).casefold() == name.casefold()
