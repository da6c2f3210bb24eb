"""The journal of a ledger: its entries, read and added within transactions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import attrs

from dpframe.errors import LedgerError
from dpframe.ledger import chain
from dpframe.ledger.chain import Chain, Entry
from dpframe.ledger.dataset import Dataset
from dpframe.ledger.store import Store, Transaction

TOLERANCE = timedelta(minutes=5)
"""How far the clock may be behind the time of the last entry, since the clocks of several machines differ."""


@attrs.frozen(repr=False)
class Journal:
    """The entries of one ledger. Those that a charge depends on are checked against the hash chain when they are read.

    Args:
        store: the file or database that holds them.
        chain: computes and checks their hashes.
    """

    store: Store
    chain: Chain

    @property
    def place(self) -> str:
        """The path or URL of the ledger, without a password."""
        return self.store.place

    def create(self) -> None:
        """Write the first entry; raises LedgerExists where there is one."""
        with self.store.create() as transaction:
            content = {"keyed": self.chain.key is not None, "time": chain.now()}
            transaction.append(self.chain.seal(None, dataset="", kind="created", content=content))

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction that sees one state of the ledger."""
        with self.store.read() as transaction:
            self._check_ends(transaction)
            yield transaction

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction during which nobody else writes; all of it is on disk when it ends, or nothing of it."""
        with self.store.write() as transaction:
            self._check_ends(transaction)
            yield transaction

    def _check_ends(self, transaction: Transaction) -> None:
        """Check by the first and the last entry that this is a ledger with this key in a known format."""
        first = transaction.first("")
        if first is None or (first.number, first.kind) != (1, "created"):
            raise LedgerError(f"{self.place} is not a ledger: it has no first entry.")
        keyed = first.content.get("keyed")
        if keyed and self.chain.key is None:
            raise LedgerError(f"{self.place} has a key, and none was given. Say key=..., or --key-file.")
        if not keyed and self.chain.key is not None:
            raise LedgerError(f"{self.place} has no key, but one was given: it is not the ledger that you mean.")
        self.chain.check(first)
        _ = self.last(transaction).content

    def last(self, transaction: Transaction) -> Entry:
        """The last entry, checked.

        Args:
            transaction: the transaction that reads it.
        """
        last = transaction.last()
        assert last is not None  # there is a first one
        return self.chain.check(last)

    def names(self, transaction: Transaction) -> list[str]:
        """The names of all data sets.

        Args:
            transaction: the transaction that reads them.
        """
        return [entry.dataset for entry in transaction.entries("WHERE kind = 'dataset'")]

    def dataset(self, transaction: Transaction, name: str) -> Dataset:
        """A data set as it stands; raises LedgerError where there is none of this name.

        Args:
            transaction: the transaction that reads it.
            name: its name.
        """
        possible = isinstance(name, str) and name != "" and name.isprintable()
        fixed, last = (transaction.first(name), transaction.last(name)) if possible else (None, None)
        if fixed is None or last is None:
            names = self.names(transaction)
            there = ", ".join(map(repr, names)) if names else "none yet; add one with ledger.add"
            raise LedgerError(f"{self.place} has no data set {name!r}. Nothing was charged. There is: {there}.")
        return Dataset.of(self.chain.check(fixed), self.chain.check(last))

    def append(
        self, transaction: Transaction, *, dataset: str, kind: str, content: Mapping[str, Any], timed: bool = True
    ) -> Entry:
        """Add an entry with the time; raises LedgerError where the clock has gone backwards.

        Args:
            transaction: the transaction that writes it.
            dataset: the data set that it is about.
            kind: what happened.
            content: its content, without the time.
            timed: False to repeat the time of the entry before, because the duration of a run may depend on the data.
        """
        last = self.last(transaction)
        before = last.content["time"]
        now = chain.now() if timed else before
        if datetime.fromisoformat(now) < datetime.fromisoformat(before) - TOLERANCE:
            raise LedgerError(
                f"the clock says {now[:19]} (UTC), but entry {last.number} of {self.place} was written at "
                f"{before[:19]}. Nothing was charged. Set the clock."
            )
        entry = self.chain.seal(last, dataset=dataset, kind=kind, content={**content, "time": now})
        transaction.append(entry)
        if transaction.last() != entry:
            raise LedgerError(f"{self.place} did not take entry {entry.number} as it was written. Nothing was charged.")
        return entry
