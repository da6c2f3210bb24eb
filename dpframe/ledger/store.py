"""Where entries are kept: the interface that `sqlite` and `postgres` implement.

A store holds one table of entries that are only ever added. Every operation opens a connection of its own, so that a
ledger can be used from several threads and across a fork.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from dpframe.errors import LedgerError
from dpframe.ledger.chain import Entry

TABLE = "dpframe_ledger"
COLUMNS = "number, dataset, kind, body, previous, hash"
PATIENCE = 30.0  # seconds to wait for others who are writing
UNSURE = "Nothing was read or drawn. Whether the entry was still written is told by the ledger's history."


class LedgerExists(LedgerError):
    """There is something where a ledger should be created."""


class Transaction(ABC):
    """Entries as they are at one moment."""

    @abstractmethod
    def rows(self, condition: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """The stored rows under a condition in SQL, with ? for values."""

    @abstractmethod
    def append(self, entry: Entry) -> None:
        """Add an entry. It stands once the transaction has ended without an error."""

    @abstractmethod
    def check(self) -> None:
        """Raise LedgerError where the store itself is damaged."""

    def entries(self, condition: str = "", *values: Any) -> Iterator[Entry]:
        """Entries in the order of their numbers."""
        return map(Entry.of, self.rows(f"{condition} ORDER BY number", *values))

    def first(self, dataset: str) -> Entry | None:
        return self._one("WHERE dataset = ? ORDER BY number LIMIT 1", dataset)

    def last(self, dataset: str | None = None) -> Entry | None:
        """The last entry of all, or of a data set."""
        if dataset is None:
            return self._one("ORDER BY number DESC LIMIT 1")
        return self._one("WHERE dataset = ? ORDER BY number DESC LIMIT 1", dataset)

    def _one(self, condition: str, *values: Any) -> Entry | None:
        return next(map(Entry.of, self.rows(condition, *values)), None)


class Store(ABC):
    """A place for one ledger."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Its name in messages; holds no password."""

    @abstractmethod
    def create(self) -> AbstractContextManager[Transaction]:
        """A transaction in which the table is made; LedgerExists where there is one already."""

    @abstractmethod
    def read(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one state of the ledger."""

    @abstractmethod
    def write(self) -> AbstractContextManager[Transaction]:
        """A transaction that nobody else writes during; all of it, on disk, when it ends, or nothing of it."""


def open_store(target: str | Path) -> Store:
    """The store that a path or a URL names."""
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
