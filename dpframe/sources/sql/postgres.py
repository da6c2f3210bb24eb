"""PostgreSQL: a transaction that is repeatable and read-only, on the connection of the caller.

Its tables have no order: an update moves a row, and rows that are inserted take the place of others that were deleted.
So the order in which rows are stored is no `row_number`: which rows of a person come first could depend on others.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from dpframe.errors import DataError
from dpframe.sources.sql.dialect import Field
from dpframe.sources.sql.dialects import Postgres
from dpframe.sources.sql.engine import Engine

FIELDS = {
    16: Field("truth", "boolean"),
    20: Field("integer", "bigint"),
    21: Field("integer", "smallint"),
    23: Field("integer", "integer"),
    25: Field("text", "text"),
    700: Field("float", "real"),
    701: Field("float", "double precision"),
    1043: Field("text", "character varying"),
    1700: Field("exact", "numeric"),
}
"""By the number that the server gives to a type. A type that is not here, such as character(n), whose padding the
server drops silently, is not read."""

OTHER = Field("other", "another type")

IDLE = 0  # psycopg.pq.TransactionStatus


class PostgresEngine(Engine):
    """A table or a query of PostgreSQL.

    Args:
        connection: a connection of psycopg, with no transaction under way.
        parts: see `Engine`.
        sql: see `Engine`.
    """

    dialect = Postgres()

    def __init__(self, connection: Any, parts: tuple[str, ...] | None, sql: str | None) -> None:
        super().__init__(parts, sql)
        self._connection = connection

    def fields(self) -> list[tuple[str, Field]]:
        """Of a table, from the catalog; of a query, from a SELECT without rows."""
        if self.parts is None:
            described = self._execute(f"SELECT * FROM {self.source} AS t LIMIT 0").description
            return [(column.name, FIELDS.get(column.type_code, OTHER)) for column in described]
        found = self._execute(
            "SELECT attname::text, atttypid::int8 FROM pg_catalog.pg_attribute WHERE attnum > 0 AND NOT attisdropped "
            f"AND attrelid = pg_catalog.to_regclass({self._name()}) ORDER BY attnum"
        ).fetchall()
        if not found:
            raise DataError("there is no such table or view, as far as this connection can see.")
        return [(name, FIELDS.get(kind, OTHER)) for name, kind in found]

    def is_outside(self, sql: str) -> bool:
        """Whether a foreign table is among those that are read: another server, or a file."""
        ((plan,),) = self._execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()
        return any(_is_outside(each["Plan"]) for each in plan)

    def _name(self) -> str:
        return self.dialect.word(self.source)

    def begin(self) -> None:
        """Begin a transaction; one that is under way already would decide what is seen."""
        connection = self._connection
        if connection.info.transaction_status != IDLE:
            raise DataError(
                "the connection is closed, or inside a transaction, which decides what it sees and may not be "
                "repeatable. Commit or roll back first."
            )
        mode = "ISOLATION LEVEL REPEATABLE READ, READ ONLY"
        connection.execute(f"BEGIN {mode}" if connection.autocommit else f"SET TRANSACTION {mode}")
        connection.execute("SET LOCAL jit = off")  # it would compile hundreds of sums for longer than they take
        connection.execute("SET LOCAL client_encoding = 'UTF8'")  # that of our statements: words would be others
        (path,) = self.row("SHOW search_path")  # functions and operators of others must not come before the server's
        path = ", ".join(filter(None, ("pg_catalog", str(path))))
        self._execute(f"SELECT pg_catalog.set_config('search_path', {self.dialect.word(path)}, true)")

    def row(self, sql: str) -> Sequence[object]:
        """Run a SELECT."""
        (row,) = self._execute(sql).fetchall()
        return list(row)

    def check_select(self, sql: str) -> None:
        """Run a SELECT without rows, for which the server checks permissions."""
        self._execute(f"{sql} LIMIT 0")

    def _execute(self, sql: str) -> Any:
        """Run one statement: the binary protocol takes no more than one."""
        cursor = self._connection.cursor(binary=True, row_factory=import_module("psycopg.rows").tuple_row)
        cursor.execute(sql.encode())
        return cursor

    def end(self) -> None:
        """Roll back, which changes nothing."""
        self._connection.rollback()


def _is_outside(node: dict[str, Any]) -> bool:
    return node["Node Type"] == "Foreign Scan" or any(map(_is_outside, node.get("Plans", ())))
