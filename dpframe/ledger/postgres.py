"""A ledger in PostgreSQL, for teams: ``pip install dpframe[postgres]``, and a URL instead of a path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs

from dpframe.errors import LedgerError
from dpframe.ledger.chain import Entry
from dpframe.ledger.store import COLUMNS, PATIENCE, TABLE, UNSURE, LedgerExists, Store, Transaction

if TYPE_CHECKING:
    import psycopg

UNREADABLE = "a database whose URL cannot be read (write @, / and % in a password as %40, %2F and %25)"
LOCK = 0x6470_6672_616D_6500  # the key of the advisory lock: "dpframe" in ASCII

SCHEMA = f"""
CREATE TABLE {TABLE} (
    number BIGINT PRIMARY KEY, dataset TEXT COLLATE "C" NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
    previous TEXT NOT NULL, hash TEXT NOT NULL
);
CREATE INDEX {TABLE}_dataset ON {TABLE} (dataset, number);
CREATE FUNCTION {TABLE}_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'entries are never changed or deleted'; END $$;
CREATE TRIGGER {TABLE}_append BEFORE UPDATE OR DELETE OR TRUNCATE ON {TABLE} EXECUTE FUNCTION {TABLE}_refuse();
"""


@attrs.frozen(kw_only=True)
class PostgresStore(Store):
    """A ledger in a table of a database; once it exists, the user needs only SELECT and INSERT on it.

    Every writer takes one advisory lock for the time of its transaction, so there is no deadlock, and each sees what
    the one before has committed. A commit returns once it is on disk, whatever synchronous_commit is set to in the
    database; a server with fsync=off guarantees nothing.

    Args:
        url: the ``postgresql://`` URL of the database.
        patience: the most seconds to wait for a connection or for the lock.
    """

    url: str = attrs.field(repr=False)
    patience: float = PATIENCE

    def __attrs_post_init__(self) -> None:
        try:
            import psycopg  # noqa: F401
        except ImportError:
            raise LedgerError("a ledger in PostgreSQL needs psycopg: pip install 'dpframe[postgres]'.") from None

    @property
    def place(self) -> str:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        try:
            parts = conninfo_to_dict(self.url)
        except psycopg.Error:
            return UNREADABLE
        place = f"{parts.get('host', '')}/{parts.get('dbname', '')}"
        return UNREADABLE if "@" in place else f"postgresql://{place}"  # it contains part of a password with @ or /

    @contextmanager
    def create(self) -> Iterator[Transaction]:
        with self._connection() as connection:
            self._lock(connection)
            if connection.execute("SELECT to_regclass(%s)", (TABLE,)).fetchone() != (None,):
                raise LedgerExists(f"there is a ledger in {self.place} already; open it, or use another schema.")
            connection.execute(SCHEMA)
            yield _PostgresTransaction(connection=connection)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        with self._connection() as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield _PostgresTransaction(connection=connection)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        with self._connection() as connection:
            self._lock(connection)
            yield _PostgresTransaction(connection=connection)

    def _lock(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE")
        connection.execute("SET LOCAL synchronous_commit TO on")
        connection.execute(f"SET LOCAL lock_timeout TO '{int(1000 * self.patience)}ms'")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection in a transaction, committed or rolled back at the end; its errors become LedgerErrors."""
        import psycopg

        state = "Nothing was charged."
        try:
            connection = psycopg.connect(self.url, connect_timeout=max(2, int(self.patience)))
            try:
                yield connection
                state = UNSURE
                connection.commit()
            finally:
                connection.close()
        except psycopg.errors.UndefinedTable:
            raise LedgerError(f"there is no ledger in {self.place}. {state} Create it first.") from None
        except psycopg.errors.LockNotAvailable:
            raise LedgerError(
                f"the ledger in {self.place} is locked by another process, which did not end in time. {state} "
                "Try again."
            ) from None
        except psycopg.errors.DiskFull:
            raise LedgerError(f"the ledger in {self.place} cannot be written: its disk is full. {state}") from None
        except (psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.InsufficientPrivilege):
            raise LedgerError(f"the ledger in {self.place} cannot be written by this user. {state}") from None
        except psycopg.Error as error:
            cause = None if self.place == UNREADABLE else error  # its message may contain a password
            raise LedgerError(f"the ledger in {self.place} cannot be used ({type(error).__name__}). {state}") from cause


@attrs.frozen(kw_only=True)
class _PostgresTransaction(Transaction):
    connection: psycopg.Connection[Any]

    def rows(self, condition: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        query: Any = f"SELECT {COLUMNS} FROM {TABLE} {condition}".replace("?", "%s")
        yield from self.connection.execute(query, values)

    def append(self, entry: Entry) -> None:
        query: Any = f"INSERT INTO {TABLE} ({COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s)"
        self.connection.execute(query, entry.row)

    def check(self) -> None:
        """Nothing to check: the database checks its own pages."""
