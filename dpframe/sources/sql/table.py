"""Tables in databases, as data for a run: what users pass."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import attrs

from dpframe.errors import PlanError
from dpframe.sources.opened import is_a, what
from dpframe.sources.queries import CONNECTION, POSTGRES, SQLITE, Query, order_names
from dpframe.sources.sql.engine import Engine
from dpframe.sources.sql.pushed import Pushed
from dpframe.spec.rows import Rows
from dpframe.validators import as_tuple

MOST_PARTS = 3


@attrs.frozen
class Table:
    """A table in a database; see :func:`table`."""

    parts: tuple[str, ...]
    connection: Any = attrs.field(repr=False)
    order: tuple[str, ...] = ()


def table(connection: Any, name: str | Sequence[str], *, order: Sequence[str] = ()) -> Table:
    """A table or a view, as data for ``plan.run``: its statistics are computed inside the database.

    The database maps and sums the rows in exact integers, the same that arrays of the same cells give, and sends these
    integers, not rows. All statements of a run see one state of the table. Noise is drawn where ``plan.run`` is called.

    Args:
        connection: an open connection of DuckDB, psycopg (PostgreSQL) or sqlite3, or the path of a DuckDB database. One
            of psycopg or sqlite3 must have no transaction under way, and is not to be used by others during the run.
        name: the name of the table, with its schema if need be: ``"clinic.people"``, or ``["clinic", "people"]`` if a
            part has a dot in it. It is a name, never SQL.
        order: columns that order the rows of a person, of whom the first ``contributions`` count. A table of DuckDB or
            SQLite that is no view has an order of its own, that of its row numbers.

    >>> table("clinic.duckdb", "main.people")
    Table(parts=('main', 'people'), order=())
    """
    parts = tuple(name.split(".")) if isinstance(name, str) else as_tuple(name)
    named = isinstance(parts, tuple) and 1 <= len(parts) <= MOST_PARTS
    if not named or not all(isinstance(part, str) and part and "\0" not in part for part in parts):
        raise PlanError(
            f"table() needs the name of a table, with its schema if need be, such as 'clinic.people'; got {what(name)} "
            "that is no such name. SQL is for dp.query(..., push=True)."
        )
    known = any(is_a(connection, *kind) for kind in (CONNECTION, POSTGRES, SQLITE))
    if not (known or isinstance(connection, str | os.PathLike)):
        raise PlanError(
            "table(connection=) must be an open connection of DuckDB, psycopg or sqlite3, or the path of a DuckDB "
            f"database; got {what(connection)}."
        )
    return Table(parts, connection, order_names(order, "table"))


def open_pushed(request: Table | Query, rows: Rows) -> Pushed:
    """Check the names and types of a table or query that is to be computed by its engine; no row is read."""
    if isinstance(request, Table):
        return Pushed(_engine(request.connection, request.parts, None), rows, request.order)
    return Pushed(_engine(request.database, None, request.sql), rows, request.order)


def _engine(connection: Any, parts: tuple[str, ...] | None, sql: str | None) -> Engine:
    if is_a(connection, *POSTGRES):
        from dpframe.sources.sql.postgres import PostgresEngine

        return PostgresEngine(connection, parts, sql)
    if is_a(connection, *SQLITE):
        from dpframe.sources.sql.sqlite import SQLiteEngine

        return SQLiteEngine(connection, parts, sql)
    from dpframe.sources.sql.duckdb import DuckDBEngine

    return DuckDBEngine(connection, parts, sql)
