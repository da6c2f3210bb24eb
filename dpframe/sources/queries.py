"""Queries: DuckDB relations, and SQL on a database.

A query runs when the data is read, once for each pass, and its rows come in batches while it runs. Before the charge
only its names and types are read, which DuckDB knows from binding it. It must give the same rows each time: a query
that draws a sample, or reads a table that others write to, does not. The numbers of rows of passes are compared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs

from dpframe.errors import DataError, PlanError
from dpframe.reading.people import Person
from dpframe.sources.arrow import check_schema, in_blocks
from dpframe.sources.opened import Declared, Meter, Opened, attempt, check_names, is_a, what
from dpframe.validators import as_tuple


@attrs.frozen
class Query:
    """A query whose rows are the data; see :func:`query`."""

    sql: str
    database: Any = attrs.field(default=None, repr=False)
    push: bool = attrs.field(default=False, repr=False)
    order: tuple[str, ...] = attrs.field(default=(), repr=False)


def query(sql: str, database: Any = None, *, push: bool = False, order: Sequence[str] = ()) -> Query:
    """The rows of a query, as data for ``plan.run`` and ``dp.check``; nothing is opened or run here.

    DuckDB runs it, in batches and without the columns that the plan does not name. It must give the same rows each time
    it is run: a plan of two passes runs it twice.

    Args:
        sql: one SELECT.
        database: the path of a DuckDB database, which is opened for reading only, or a connection. Without one the
            query can read files, as in ``select * from 'visits/*.parquet'``. The query gets a connection of its own,
            which does not see temporary tables and registered objects: pass ``connection.sql(...)`` for these. A name
            that several schemas have needs its schema where the connection has a search path, or a schema in use. With
            ``push`` it may be a connection of psycopg (PostgreSQL) too.
        push: whether the database computes the statistics of the rows, in exact integers, instead of sending the rows;
            see :func:`dpframe.table`.
        order: with ``push`` and ``person=``, columns that order the rows of a person.

    >>> query("select age from people where year = 2025", "clinic.duckdb")
    Query(sql='select age from people where year = 2025')
    """
    if not isinstance(sql, str) or not sql.strip():
        raise PlanError(f"query() needs a SELECT as text; got {what(sql)}.")
    if not isinstance(push, bool) or (order and not push):
        raise PlanError("query(push=) must be True or False, and order= is for push=True: rows are read as they come.")
    names = order_names(order, "query")
    if push and any(is_a(database, *kind) for kind in (POSTGRES, SQLITE)):
        return Query(sql, database, push, names)
    if not (database is None or isinstance(database, str | os.PathLike) or is_a(database, *CONNECTION)):
        raise PlanError(
            f"query(database=) must be the path of a DuckDB database or a connection of DuckDB, which can attach other "
            f"databases; got {what(database)}."
        )
    return Query(sql, database, push, names)


def order_names(order: Any, owner: str) -> tuple[str, ...]:
    """The names of columns that order the rows of a person."""
    names = as_tuple(order)
    if not isinstance(names, tuple) or not all(isinstance(each, str) and each for each in names):
        raise PlanError(f"{owner}(order=) must be a list of names of columns; got {what(order)}.")
    return names


CONNECTION = ("duckdb", "DuckDBPyConnection")
RELATION = ("duckdb", "DuckDBPyRelation")
POSTGRES = ("psycopg", "Connection")
SQLITE = ("sqlite3", "Connection")
KNOWN = "DuckDB does not know the relation; is it still open?"


def open_query(request: Query, columns: Declared, size: int) -> Opened:
    """Connect and bind the query; it does not run. Where it is refused, nothing of the connection stays open."""
    connection = connect(request.database)
    try:
        return _bound(connection, request, columns, size)
    except BaseException:
        connection.close()
        raise


def _bound(connection: Any, request: Query, columns: Declared, size: int) -> Opened:
    statement = one_select(connection, request.sql)
    check_shared(connection, request.database, request.sql)
    why = "DuckDB cannot answer the query on this database; what is temporary or registered needs connection.sql(...)"
    relation = attempt(partial(connection.sql, statement), why)
    return open_relation(relation, columns, size)


def one_select(connection: Any, sql: str) -> Any:
    """The query, parsed; anything but one SELECT is refused."""
    statements = attempt(partial(connection.extract_statements, sql), "the query cannot be parsed by DuckDB")
    if [each.type.name for each in statements] != ["SELECT"]:
        raise DataError("a query must be one SELECT, which changes nothing; this is something else, or more than one.")
    return statements[0]


ONE_NAME = re.compile(r'"((?:[^"]|"")*)"|([^".]+)')


def check_shared(connection: Any, database: Any, sql: str) -> None:
    """Refuse a query in which the name of a table may be that of another one to the caller than to our connection,
    which has neither the temporary tables nor the search path of the caller's."""
    if not is_a(database, *CONNECTION):
        return
    try:
        names = connection.get_table_names(sql, qualified=True)
    except Exception:  # what cannot be bound is refused when it is bound
        return
    for name in sorted(names):
        if (found := ONE_NAME.fullmatch(name)) is not None:
            _check_shared(connection, database, (found[1] or found[2]).replace('""', '"'))


def _check_shared(connection: Any, database: Any, name: str) -> None:
    if is_temporary(database, name):
        raise DataError(
            f"{name!r} is a temporary table or view, which no other connection sees. Make one that is not, or pass "
            "connection.sql(...)."
        )
    ((places,),) = connection.execute(
        "SELECT COUNT(*) FROM (SELECT table_name AS name FROM duckdb_tables() "
        "UNION ALL SELECT view_name AS name FROM duckdb_views()) WHERE LOWER(name) = LOWER(?)",
        [name],
    ).fetchall()
    path = "SELECT current_setting('search_path')"
    if places > 1 and database.sql(path).fetchall() != connection.sql(path).fetchall():
        raise DataError(
            f"more than one schema has a table or view {name!r}, and the search path of this connection is not that of "
            "a run. Name its schema in the query, or its database as well."
        )


def is_temporary(database: Any, name: str) -> bool:
    """Whether the caller has a temporary table of this name; to us it is the name of another table, or of none."""
    if not is_a(database, *CONNECTION):
        return False
    try:
        database.sql(f"SELECT * FROM temp.main.{_quoted(name)}")  # bound, not run
    except Exception:
        return False
    return True


def connect(database: Any) -> Any:
    """A connection of our own, so that other uses of the database do not end a query that is being read."""
    try:
        duckdb = import_module("duckdb")
    except ImportError:
        raise DataError("a query needs DuckDB: pip install 'dpframe[sql]'.") from None
    if is_a(database, *CONNECTION):
        return attempt(database.cursor, "the connection to DuckDB cannot be used")
    if database is None:
        return duckdb.connect()
    if not Path(database).is_file():
        raise DataError(f"the database {os.fspath(database)!r} cannot be read: there is no such file.")
    opening = partial(duckdb.connect, os.fspath(database), read_only=True)
    return attempt(opening, f"{os.fspath(database)!r} cannot be opened as a DuckDB database, for reading only")


def open_relation(relation: Any, columns: Declared, size: int) -> Opened:
    """Open a relation; only the columns of the plan are queried."""
    schema = attempt(lambda: (relation.columns, relation.types), KNOWN)
    check_names(schema[0], columns, "the query")
    kinds = dict(zip(*schema, strict=True))
    folded = [name.casefold() for name in kinds]  # DuckDB ignores case
    with import_module("duckdb").connect() as unrelated:
        for column in columns:
            if folded.count(column.name.casefold()) > 1:
                raise DataError(f"the query has more than one column {column.name!r} but for upper and lower case.")
            kind = kinds[column.name]
            why = f"column {column.name!r} of the query holds {kind.id}, which Arrow cannot take over"
            check_schema(attempt(partial(_as_arrow, unrelated, column.name, kind), why), (column,), "the query")
    if any(isinstance(column, Person) for column in columns):
        _check_order(relation)
    names = ", ".join(map(_quoted, (column.name for column in columns)))
    chosen = attempt(partial(relation.project, names), KNOWN)  # up to DuckDB 1.5 a closed one is noticed only here

    def batches(_: Meter) -> Iterator[Any]:
        stream = chosen.arrow(size)
        check_schema(stream.schema, columns, "the query")
        yield from stream

    return in_blocks(batches, columns, size)


def _check_order(relation: Any) -> None:
    """Refuse a connection that may give rows in any order: the first rows of a person are those that count."""
    asking = partial(relation.query, "dpframe_rows", "select current_setting('preserve_insertion_order')")
    if not attempt(lambda: asking().fetchall()[0][0], "DuckDB does not say whether it keeps rows in order"):
        raise DataError(
            "with person= the order of the rows decides which of them count, and this connection does not keep it: "
            "SET preserve_insertion_order = true. Order the rows of each person by the query as well."
        )


def _as_arrow(unrelated: Any, name: str, kind: Any) -> Any:
    """The type that a column will have in Arrow, from an empty table of a connection unrelated to the query."""
    return unrelated.sql(f"select cast(null as {kind}) as {_quoted(name)} where false").to_arrow_table().schema


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
