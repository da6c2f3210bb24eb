"""Entries of a ledger, read and added within transactions: what a ledger and an account both need."""

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
"""How far the clock may lie behind the last entry: clocks of several machines differ a little."""


@attrs.frozen(repr=False)
class Journal:
    """The entries of one ledger, each of which is checked against the chain when it is read.

    Args:
        store: where they are kept.
        chain: what seals and checks them.
    """

    store: Store
    chain: Chain

    @property
    def place(self) -> str:
        """Where the ledger is, without a password."""
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
        """The first and the last entry: that this is a ledger, in a known format, with this key."""
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
        """The last entry."""
        last = transaction.last()
        assert last is not None  # there is a first one
        return self.chain.check(last)

    def names(self, transaction: Transaction) -> list[str]:
        """The names of all data sets."""
        return [entry.dataset for entry in transaction.entries("WHERE kind = 'dataset'")]

    def dataset(self, transaction: Transaction, name: str) -> Dataset:
        """A data set as it stands."""
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
        """Add an entry with the time; refused where the clock has gone backwards.

        One that is not timed repeats the time of the entry before: how long a run took may depend on the data.
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
