"""DuckDB: a connection of its own, and a transaction of it, which sees one state of the database."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dpframe.errors import DataError
from dpframe.sources.queries import check_shared, connect, is_temporary, one_select
from dpframe.sources.sql.dialect import Field
from dpframe.sources.sql.dialects import DuckDB
from dpframe.sources.sql.engine import Engine, check_not_shadowed

KINDS = {
    **dict.fromkeys(("float", "double"), "float"),
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint"), "integer"),
    **dict.fromkeys(("utinyint", "usmallint", "uinteger", "ubigint"), "integer"),
    **dict.fromkeys(("decimal", "hugeint", "uhugeint"), "exact"),
    **dict.fromkeys(("varchar", "enum"), "text"),
    "boolean": "truth",
}


FUNCTIONS = (
    *("+", "-", "*", "/"),
    *("abs", "count", "count_star", "encode", "greatest", "isnan", "least", "row_number", "sqrt", "sum"),
)
"""What our statements call; operators are functions too."""


MADE = (
    "CHUNK_GET",
    "COLUMN_DATA_SCAN",
    "CTE_SCAN",
    "DELIM_GET",
    "DUMMY_SCAN",
    "EMPTY_RESULT",
    "GENERATE_SERIES",
    "RANGE",
)
"""Ends of a plan that read nothing."""


class DuckDBEngine(Engine):
    """A table or a query of DuckDB.

    Args:
        database: a connection, or the path of a database.
        parts: see `Engine`.
        sql: see `Engine`.
    """

    dialect = DuckDB()

    def __init__(self, database: Any, parts: tuple[str, ...] | None, sql: str | None) -> None:
        super().__init__(parts, sql)
        self._database = database
        self._connection: Any = None

    def fields(self) -> list[tuple[str, Field]]:
        """By binding a SELECT, which does not run."""
        own = self._connection.execute("SELECT function_name FROM duckdb_functions() WHERE NOT internal").fetchall()
        check_not_shadowed((str(name) for (name,) in own), FUNCTIONS)
        if self.sql is not None:
            one_select(self._connection, self.sql)
            check_shared(self._connection, self._database, self.sql)
        else:
            self._check_name()
        relation = self._connection.sql(f"SELECT * FROM {self.source} AS t")
        kinds = [(name, str(kind.id)) for name, kind in zip(relation.columns, relation.types, strict=True)]
        return [(name, Field(KINDS.get(kind, "other"), kind)) for name, kind in kinds]

    def _check_name(self) -> None:
        """Refuse the name of no table or view, which DuckDB would take for that of a file or a variable; and that of
        several, since our connection does not have the search path of the caller's."""
        places = self._named(
            "SELECT database_name, schema_name, table_name FROM duckdb_tables() "
            "UNION ALL SELECT database_name, schema_name, view_name FROM duckdb_views()"
        )
        if self.parts is not None and len(self.parts) == 1 and is_temporary(self._database, self.parts[0]):
            raise DataError("it is a temporary table or view, which no other connection sees. Make one that is not.")
        if not places:
            raise DataError("there is no such table or view.")
        if len(places) > 1:
            raise DataError("more than one schema has such a table or view; name its schema, or its database as well.")

    def _named(self, sql: str) -> list[tuple[Any, ...]]:
        """Of rows that begin with a database, a schema and a name: those of ours, without regard to case."""
        *owners, name = (part.casefold() for part in self.parts or ())
        return [
            row
            for row in self._connection.execute(sql).fetchall()
            if row[2].casefold() == name and set(owners) <= {row[0].casefold(), row[1].casefold()}
        ]

    def row_number(self) -> str | None:
        """The number of a row in a table of DuckDB, in the order in which rows were inserted."""
        if self.parts is None or "rowid" in (name.casefold() for name, _ in self.fields()):
            return None
        try:
            self._connection.sql(f"SELECT t.rowid FROM {self.source} AS t")
        except Exception:  # a view has none
            return None
        return "rowid"

    def is_stored(self) -> bool:
        """A table of DuckDB without generated columns, which may call random(); old versions do not tell which are."""
        columns = self.parts and self._named(
            "SELECT table_catalog, table_schema, table_name, is_generated FROM information_schema.columns "
            "WHERE (table_catalog, table_schema, table_name) IN "
            "(SELECT (database_name, schema_name, table_name) FROM duckdb_tables())"
        )
        if not columns or any(generated != "NEVER" for *_, generated in columns):
            return False
        return not self.is_outside(f"SELECT * FROM {self.source}")

    def is_outside(self, sql: str) -> bool:
        """By the plan before it is optimized: what is left of a plan later may depend on cells."""
        self._connection.execute("SET explain_output = 'all'")
        plans = self._connection.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()
        (written,) = (text for name, text in plans if name == "logical_plan")
        return any(map(_is_outside, json.loads(written)))

    def begin(self) -> None:
        """Begin a transaction."""
        self._connection = connect(self._database)
        self._connection.execute("BEGIN TRANSACTION")

    def row(self, sql: str) -> Sequence[object]:
        """Run a SELECT."""
        (row,) = self._connection.execute(sql).fetchall()
        return list(row)

    def check_select(self, sql: str) -> None:
        """Bind a SELECT."""
        self._connection.sql(sql)

    def end(self) -> None:
        """Close the connection, which ends the transaction."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _is_outside(node: dict[str, Any]) -> bool:
    """Whether a part of a plan reads anything but tables, constants and numbers, or draws a sample."""
    name, parts = str(node["name"]).strip(), node["children"]
    if name == "SEQ_SCAN" and "Table" in node["extra_info"]:
        return False
    return name == "SAMPLE" or any(map(_is_outside, parts)) or (not parts and name not in MADE)
