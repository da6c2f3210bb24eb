"""A ledger in PostgreSQL, for teams: ``pip install dpframe[postgres]``, and a URL instead of a path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from dpframe.errors import LedgerError
from dpframe.ledger.chain import Entry
from dpframe.ledger.store import COLUMNS, PATIENCE, TABLE, UNSURE, LedgerExists, NoLedger, Store, Transaction

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

VISIBLE = """
SELECT path.schema FROM unnest(current_schemas(false)) WITH ORDINALITY AS path (schema, place)
JOIN pg_catalog.pg_namespace space ON space.nspname = path.schema
JOIN pg_catalog.pg_class relation ON relation.relnamespace = space.oid
WHERE relation.relname = %s AND relation.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY path.place
"""


@attrs.frozen(kw_only=True)
class PostgresStore(Store):
    """A ledger in a table of a database; once it exists, the user needs only SELECT and INSERT on it.

    Every writer takes one advisory lock for the time of its transaction, so there is no deadlock, and each sees what
    the one before has committed. A commit returns once it is on disk, whatever synchronous_commit is set to in the
    database; a server with fsync=off guarantees nothing. A client that stalls while it has the lock loses its
    connection, and with it the lock.

    A search path may lead to several schemas, one of them, "$user", to another one for every user. Where ledgers are
    visible in two of them, neither is used. Once a ledger is found, its schema is fixed for the store of that ledger.

    Args:
        url: the ``postgresql://`` URL of the database.
        patience: the most seconds to wait for a connection, for a lock, or for an answer of the network.
        schema: the schema of the ledger; None until it is found.
        address: host, port and database of the server that it was found in.
    """

    url: str = attrs.field(repr=False)
    patience: float = PATIENCE
    schema: str | None = None
    address: str | None = None

    def __attrs_post_init__(self) -> None:
        try:
            import psycopg  # noqa: F401
        except ImportError:
            raise LedgerError("a ledger in PostgreSQL needs psycopg: pip install 'dpframe[postgres]'.") from None

    @property
    def place(self) -> str:
        address = self.address or self._address()
        return address if self.schema is None else f"{address}, schema {self.schema}"

    def _address(self) -> str:
        """Host, port and database as the URL, or else the environment, has them."""
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        try:
            given = conninfo_to_dict(self.url)
        except psycopg.Error:
            return UNREADABLE
        default = {
            option.keyword.decode(): (option.val or b"").decode() for option in psycopg.pq.Conninfo.get_defaults()
        }
        host, port, name = (str(given.get(part) or default.get(part, "")) for part in ("host", "port", "dbname"))
        # an @ is part of a password with @ or /
        return UNREADABLE if "@" in host + name else f"postgresql://{host}:{port}/{name}"

    @contextmanager
    def create(self) -> Iterator[Transaction]:
        with self._connection() as connection:
            self._lock(connection)
            if self._visible(connection):
                raise LedgerExists(f"there is a ledger in {self.place} already; open it, or use another schema.")
            (schema,) = connection.execute("SELECT current_schema()").fetchone() or (None,)
            if schema is None:
                raise LedgerError(
                    f"the search path of {self.place} leads to no schema that exists. Nothing was changed."
                )
            found = self._fixed(connection, schema)
            connection.execute(SCHEMA)
            yield _PostgresTransaction(store=found, connection=connection)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        with self._connection() as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._limit(connection)
            yield _PostgresTransaction(store=self._found(connection), connection=connection)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        with self._connection() as connection:
            self._lock(connection)
            yield _PostgresTransaction(store=self._found(connection), connection=connection)

    def _lock(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE")
        connection.execute("SET LOCAL synchronous_commit TO on")
        self._limit(connection)
        _set(connection, idle_in_transaction_session_timeout=self._milliseconds)
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))

    def _limit(self, connection: psycopg.Connection[Any]) -> None:
        """Limit the time of each statement: for locks, and twice as long in all."""
        _set(connection, lock_timeout=self._milliseconds, statement_timeout=2 * self._milliseconds)

    @property
    def _milliseconds(self) -> int:
        return int(1000 * self.patience)

    def _found(self, connection: psycopg.Connection[Any]) -> PostgresStore:
        """The store of the one ledger that the search path leads to; no other one is visible from here on."""
        if self.schema is not None:
            return self._fixed(connection, self.schema)
        visible = self._visible(connection)
        if not visible:
            raise NoLedger(f"there is no ledger in {self.place}. Nothing was charged. Create it first.")
        if len(visible) > 1:
            raise LedgerError(
                f"there are ledgers in several schemas of {self.place}: {', '.join(visible)}. Nothing was charged. Say "
                f"which one you mean: add options=-csearch_path%3D{visible[-1]}, say, to the URL, after ? or &."
            )
        return self._fixed(connection, visible[0])

    @staticmethod
    def _visible(connection: psycopg.Connection[Any]) -> list[str]:
        """The schemas of the search path that hold a ledger, in the order of the path."""
        found = connection.execute(VISIBLE, (TABLE,)).fetchall()
        return [schema for (schema,) in found]

    def _fixed(self, connection: psycopg.Connection[Any], schema: str) -> PostgresStore:
        """The store with its schema, to which the search path of the transaction is set; temporary tables come last."""
        connection.execute("SELECT set_config('search_path', quote_ident(%s) || ', pg_temp', true)", (schema,))
        info = connection.info
        address = f"postgresql://{info.host}:{info.port}/{info.dbname}"
        return attrs.evolve(self, schema=schema, address=address)

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection in a transaction, committed or rolled back at the end; its errors become LedgerErrors."""
        import psycopg

        state = "Nothing was charged."
        try:
            connection = psycopg.connect(self.url, **self._network)
            try:
                yield connection
                state = UNSURE
                connection.commit()
            finally:
                connection.close()
        except psycopg.errors.UndefinedTable:
            raise NoLedger(f"there is no ledger in {self.place}. {state} Create it first.") from None
        except psycopg.errors.LockNotAvailable:
            raise LedgerError(
                f"the ledger in {self.place} is locked by another process, which did not end in time. {state} "
                "Try again."
            ) from None
        except psycopg.errors.QueryCanceled:
            raise LedgerError(f"the ledger in {self.place} did not answer in time. {state} Try again.") from None
        except psycopg.errors.DiskFull:
            raise LedgerError(f"the ledger in {self.place} cannot be written: its disk is full. {state}") from None
        except (psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.InsufficientPrivilege):
            raise LedgerError(f"the ledger in {self.place} cannot be written by this user. {state}") from None
        except psycopg.Error as error:
            cause = None if self.place == UNREADABLE else error  # its message may contain a password
            raise LedgerError(f"the ledger in {self.place} cannot be used ({type(error).__name__}). {state}") from cause

    @property
    def _network(self) -> dict[str, Any]:
        """Limits for a network that goes silent: a connection that nobody answers is given up."""
        seconds = max(2, int(self.patience))
        probes = {"keepalives_idle": max(1, seconds // 3), "keepalives_interval": max(1, seconds // 6)}
        return {"connect_timeout": seconds, "tcp_user_timeout": 1000 * seconds, "keepalives_count": 4, **probes}


def _set(connection: psycopg.Connection[Any], **settings: int) -> None:
    """Change settings of the server for the time of the transaction."""
    for name, value in settings.items():
        connection.execute("SELECT set_config(%s, %s, true)", (name, str(value)))


@attrs.frozen(kw_only=True)
class _PostgresTransaction(Transaction):
    store: PostgresStore
    connection: psycopg.Connection[Any]

    def now(self) -> str:
        (time,) = self.connection.execute("SELECT clock_timestamp()").fetchone() or (None,)
        assert isinstance(time, datetime)
        return time.astimezone(UTC).isoformat(timespec="microseconds")

    def rows(self, condition: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        query: Any = f"SELECT {COLUMNS} FROM {TABLE} {condition}".replace("?", "%s")
        yield from self.connection.execute(query, values)

    def append(self, entry: Entry) -> None:
        query: Any = f"INSERT INTO {TABLE} ({COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s)"
        self.connection.execute(query, entry.row)

    def check(self) -> None:
        """Nothing to check: the database checks its own pages."""
