"""A ledger in one SQLite file."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from dpframe.errors import LedgerError
from dpframe.ledger.chain import Entry
from dpframe.ledger.store import COLUMNS, PATIENCE, TABLE, UNSURE, LedgerExists, NoLedger, Store, Transaction

if TYPE_CHECKING:
    import sqlite3

SCHEMA = (
    f"""CREATE TABLE {TABLE} (number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
    previous TEXT NOT NULL, hash TEXT NOT NULL)""",
    f"CREATE INDEX {TABLE}_dataset ON {TABLE} (dataset, number)",
    *(
        f"CREATE TRIGGER {TABLE}_{change} BEFORE {change} ON {TABLE} BEGIN SELECT RAISE(ABORT, 'append only'); END"
        for change in ("update", "delete")
    ),
)


_ALONE = threading.RLock()
"""Held while this process has a connection to a file, and during a fork: a child would inherit SQLite's record of locks
that it does not hold."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_ALONE.acquire, after_in_parent=_ALONE.release, after_in_child=_ALONE.release)


@attrs.frozen(kw_only=True)
class SqliteStore(Store):
    """A ledger in one file, through the sqlite3 module of the standard library.

    With a rollback journal and synchronous=EXTRA a commit returns once it is on disk. After a crash, the next process
    that opens the file rolls back the transaction in its journal. Locks are held only during a transaction. A
    write-ahead log would need them for as long as a connection is open, and a process that forks, or opens and closes
    the file itself, would lose them silently, so that two processes could overwrite each other. The journal file is
    kept between transactions, since creating and deleting one takes longer than a charge.

    Args:
        path: the path of the file.
        patience: the most seconds to wait for the lock.
    """

    path: Path
    patience: float = PATIENCE

    @property
    def place(self) -> str:
        return str(self.path)

    @contextmanager
    def create(self) -> Iterator[Transaction]:
        with (
            self._errors(),
            self._connection("rwc") as connection,
            self._transaction(connection, "BEGIN IMMEDIATE") as transaction,
        ):
            if connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise LedgerExists(f"{self.place} exists already; open it, or choose another name.")
            for statement in SCHEMA:
                connection.execute(statement)
            yield transaction

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        with (
            self._errors(),
            self._connection("rw") as connection,
            self._transaction(connection, "BEGIN") as transaction,
        ):
            yield transaction

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        with (
            self._errors(),
            self._connection("rw") as connection,
            self._transaction(connection, "BEGIN IMMEDIATE") as transaction,
        ):
            yield transaction

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        """A transaction on a temporary copy, which is made at the speed of the disk: a reader of the file itself would
        hold up every commit."""
        import sqlite3

        with self._errors(), closing(sqlite3.connect("", isolation_level=None)) as copy:
            with self._connection("rw") as connection, self._transaction(connection, "BEGIN"):
                connection.execute("SELECT 1 FROM sqlite_master").fetchone()  # waits for the lock, as a copy does not
                connection.backup(copy)
            with self._transaction(copy, "BEGIN") as transaction:
                yield transaction

    @contextmanager
    def _connection(self, mode: str) -> Iterator[sqlite3.Connection]:
        with _ALONE, closing(self._connect(mode)) as connection:
            connection.execute("PRAGMA journal_mode = PERSIST")
            connection.execute("PRAGMA synchronous = EXTRA")
            yield connection

    def _connect(self, mode: str) -> sqlite3.Connection:
        import sqlite3

        try:
            self._check_file(mode)
            address = f"{self.path.as_uri()}?mode={mode}"
        except OSError as error:
            raise LedgerError(f"{self.place} cannot be opened: {error.strerror}. Nothing was charged.") from None
        return sqlite3.connect(address, uri=True, timeout=self.patience, isolation_level=None)

    def _check_file(self, mode: str) -> None:
        if mode == "rw" and not self.path.exists():
            raise NoLedger(
                f"there is no ledger {self.place}. Nothing was charged. Create it with dp.Ledger.create, or with "
                "dpframe ledger create."
            )
        if self.path.exists() and not self.path.is_file():
            what = "a directory" if self.path.is_dir() else "a pipe or a device"
            raise LedgerError(f"{self.place} is {what}; a ledger is a file. Nothing was charged.")
        if self.path.exists() and self.path.stat().st_nlink > 1:
            raise LedgerError(
                f"{self.place} has other names (hard links). Nothing was charged. After a crash, what belongs to the "
                "one name would not be found by another; leave one of them."
            )

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection, begin: str) -> Iterator[Transaction]:
        import sqlite3

        connection.execute(begin)
        try:
            yield _SqliteTransaction(store=self, connection=connection)
        except BaseException:
            with suppress(sqlite3.Error):  # some errors have rolled back already
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of SQLite into LedgerErrors."""
        import sqlite3

        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", type(error).__name__)
            raise LedgerError(f"{self.place} {_meaning(name, str(error))} ({name}).") from error


@attrs.frozen(kw_only=True)
class _SqliteTransaction(Transaction):
    store: SqliteStore
    connection: sqlite3.Connection

    def rows(self, condition: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        yield from self.connection.execute(f"SELECT {COLUMNS} FROM {TABLE} {condition}", values)

    def append(self, entry: Entry) -> None:
        self.connection.execute(f"INSERT INTO {TABLE} ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", entry.row)

    def check(self) -> None:
        report = [line for (line,) in self.connection.execute("PRAGMA integrity_check")]
        if report != ["ok"]:
            raise LedgerError(f"the database file is damaged: {report[0]}.")


MEANINGS = {
    "SQLITE_FULL": "cannot be written: the disk is full. Nothing was charged, and nothing of the ledger is lost",
    "SQLITE_READONLY": "cannot be written: it, or its directory, is read-only. Nothing was charged",
    "SQLITE_CANTOPEN": "cannot be opened: look at its permissions and those of its directory. Nothing was charged",
    "SQLITE_PERM": "cannot be opened: look at its permissions. Nothing was charged",
    "SQLITE_AUTH": "cannot be opened: look at its permissions. Nothing was charged",
    "SQLITE_BUSY": "is locked by another process, which did not end in time. Nothing was charged; try again",
    "SQLITE_LOCKED": "is locked by another process, which did not end in time. Nothing was charged; try again",
    "SQLITE_NOTADB": "is not a ledger: it is not an SQLite file. Nothing was charged",
    "SQLITE_CORRUPT": "is damaged. Nothing was charged. Restore a copy and verify it with a head that you noted",
    "SQLITE_IOERR": f"could not be read or written: an error of the disk. {UNSURE[:-1]}",
}


def _meaning(name: str, message: str) -> str:
    if "no such table" in message:
        return "is not a ledger: it holds other tables, or none. Nothing was charged"
    meaning = next((text for code, text in MEANINGS.items() if name.startswith(code)), None)
    return meaning or f"cannot be used: {message}. Nothing was charged"
