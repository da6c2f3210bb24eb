"""The storage of entries: the interface that `sqlite` and `postgres` implement.

A store holds one append-only table of entries. Every operation opens its own connection, so that a ledger can be used
from several threads and across a fork.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from dpframe.errors import LedgerError
from dpframe.ledger import chain
from dpframe.ledger.chain import Entry

TABLE = "dpframe_ledger"
COLUMNS = "number, dataset, kind, body, previous, hash"
BATCH = 1000  # entries
PATIENCE = 30.0  # seconds to wait for other writers
UNSURE = "Nothing was read or drawn. The ledger's history shows whether the entry was still written."


class LedgerExists(LedgerError):
    """Raised when something exists where a ledger is to be created."""


class NoLedger(LedgerError):
    """Raised when there is no ledger where one is to be opened."""


class Transaction(ABC):
    """A transaction: it sees the entries of one moment.

    Args:
        store: the store of exactly the ledger that it reads, whatever else its path or URL may come to mean.
    """

    store: Store

    def now(self) -> str:
        """The time in UTC: of the system's clock, or of the server's where all machines that share it can ask one."""
        return chain.now()

    @abstractmethod
    def rows(self, condition: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """The stored rows that meet a condition.

        Args:
            condition: SQL after the name of the table, with ? for values.
            values: the values.
        """

    @abstractmethod
    def append(self, entry: Entry) -> None:
        """Add an entry. It is permanent once the transaction has ended without an error.

        Args:
            entry: the entry, with its hash.
        """

    @abstractmethod
    def check(self) -> None:
        """Raise LedgerError where the store itself is damaged."""

    def entries(self, condition: str = "", *values: Any) -> Iterator[Entry]:
        """The entries that meet a condition, in the order of their numbers.

        Args:
            condition: SQL after the name of the table, with ? for values.
            values: the values.
        """
        return map(Entry.of, self.rows(f"{condition} ORDER BY number", *values))

    def all(self) -> Iterator[Entry]:
        """All entries in the order of their numbers, so many at a time that no statement takes long."""
        part = list(map(Entry.of, self.rows("ORDER BY number LIMIT ?", BATCH)))
        while part:
            yield from part
            part = list(map(Entry.of, self.rows("WHERE number > ? ORDER BY number LIMIT ?", part[-1].number, BATCH)))

    def first(self, dataset: str) -> Entry | None:
        """The first entry of a data set; None where there is none.

        Args:
            dataset: the name of the data set; empty for the ledger itself.
        """
        return self._one("WHERE dataset = ? ORDER BY number LIMIT 1", dataset)

    def last(self, dataset: str | None = None) -> Entry | None:
        """The last entry of all, or of a data set; None where there is none.

        Args:
            dataset: the name of the data set; all by default.
        """
        if dataset is None:
            return self._one("ORDER BY number DESC LIMIT 1")
        return self._one("WHERE dataset = ? ORDER BY number DESC LIMIT 1", dataset)

    def last_containing(self, dataset: str, kind: str, text: str) -> Entry | None:
        """The last entry of a kind whose body contains a text; None where there is none.

        Args:
            dataset: the name of the data set.
            kind: the kind of the entry.
            text: part of its body, without % and _.
        """
        condition = "WHERE dataset = ? AND kind = ? AND body LIKE ? ORDER BY number DESC LIMIT 1"
        return self._one(condition, dataset, kind, f"%{text}%")

    def at(self, number: int) -> Entry | None:
        """The entry with a number; None where there is none.

        Args:
            number: its position, from 1.
        """
        possible = type(number) is int and 0 < number < 2**63  # a result file may hold anything
        return self._one("WHERE number = ?", number) if possible else None

    def _one(self, condition: str, *values: Any) -> Entry | None:
        return next(map(Entry.of, self.rows(condition, *values)), None)


class Store(ABC):
    """The storage of one ledger."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Its path or URL for messages, without a password."""

    @abstractmethod
    def create(self) -> AbstractContextManager[Transaction]:
        """A transaction that creates the table; raises LedgerExists where there is one already."""

    @abstractmethod
    def read(self) -> AbstractContextManager[Transaction]:
        """A short transaction that sees one state of the ledger."""

    def snapshot(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one state of the ledger and may take long without anybody waiting for it."""
        return self.read()

    @abstractmethod
    def write(self) -> AbstractContextManager[Transaction]:
        """A transaction during which nobody else writes; all of it is on disk when it ends, or nothing of it."""


def open_store(target: str | Path) -> Store:
    """The store at a path or URL.

    Args:
        target: the path of a file, or a ``postgresql://`` URL.
    """
    if isinstance(target, str) and target.startswith(("postgresql://", "postgres://")):
        from dpframe.ledger.postgres import PostgresStore

        return PostgresStore(url=target)
    if isinstance(target, str) and "://" in target:
        raise LedgerError(f"a ledger is a file or a postgresql:// URL; got {target.partition('://')[0]}://….")
    if isinstance(target, os.PathLike) and str(target).startswith(("postgresql:", "postgres:")):  # with a password
        raise LedgerError("a postgresql:// URL is a text, not a path; pass it as a str.")
    if not isinstance(target, str | os.PathLike) or not str(target) or "\0" in str(target):
        raise LedgerError(f"a ledger is the path of a file or a postgresql:// URL; got {target!r}.")
    from dpframe.ledger.sqlite import SqliteStore

    try:
        return SqliteStore(path=Path(target).resolve())
    except (OSError, RuntimeError) as error:  # links in a circle
        raise LedgerError(f"{target} cannot be opened: {error}. Nothing was charged.") from None
