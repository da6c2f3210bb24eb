"""The journal of a ledger: its entries, read and added within transactions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import attrs

from dpframe.errors import LedgerError
from dpframe.ledger.chain import Chain, Entry
from dpframe.ledger.dataset import Dataset
from dpframe.ledger.names import meant
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

    def create(self) -> Journal:
        """Write the first entry; raises LedgerExists where there is one. Gives the journal of exactly this ledger."""
        with self.store.create() as transaction:
            content = {"keyed": self.chain.key is not None, "details": {}, "time": transaction.now()}
            transaction.append(self.chain.seal(None, dataset="", kind="created", content=content))
            return attrs.evolve(self, store=transaction.store)

    def open(self) -> Journal:
        """The journal of exactly the ledger that is found; raises LedgerError where there is none."""
        with self.reading() as transaction:
            return attrs.evolve(self, store=transaction.store)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A short transaction that sees one state of the ledger."""
        with self.store.read() as transaction:
            self._check_ends(transaction)
            yield transaction

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        """A transaction that sees one state of the ledger and may take long: nobody waits for it."""
        with self.store.snapshot() as transaction:
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
            close = meant(name, names)
            advice = "" if close is None else f" Did you mean {close!r}?"
            raise LedgerError(f"{self.place} has no data set {name!r}. Nothing was charged.{advice} There is: {there}.")
        return Dataset.of(self.chain.check(fixed), self.chain.check(last))

    def append(
        self,
        transaction: Transaction,
        *,
        dataset: str,
        kind: str,
        content: Mapping[str, Any],
        details: Mapping[str, Any] | None = None,
        timed: bool = True,
    ) -> Entry:
        """Add an entry with the time; raises LedgerError where the clock has gone backwards.

        Args:
            transaction: the transaction that writes it.
            dataset: the data set that it is about.
            kind: what happened.
            content: its content, without the time.
            details: optional fields, on which no sum and no limit depends.
            timed: False to repeat the time of the entry before, because the duration of a run may depend on the data.
        """
        last = self.last(transaction)
        before = last.content["time"]
        now = transaction.now() if timed else before
        if behind(now, before) and kind != "repaired":
            raise LedgerError(
                f"the clock says {now[:19]} (UTC), but entry {last.number} of {self.place} was written at "
                f"{before[:19]}. Nothing was charged. If this clock is wrong, set it; if that one was, say so with "
                "ledger.repair(note=...), or dpframe ledger repair."
            )
        content = {**content, "details": dict(details or {}), "time": now}
        entry = self.chain.seal(last, dataset=dataset, kind=kind, content=content)
        transaction.append(entry)
        if transaction.last() != entry:
            raise LedgerError(f"{self.place} did not take entry {entry.number} as it was written. Nothing was charged.")
        return entry

    def repair(self, transaction: Transaction, details: Mapping[str, Any]) -> Entry:
        """Add an entry with the present time, from which later times are counted; raises LedgerError where the last
        entry is not from the future.

        Args:
            transaction: the transaction that writes it.
            details: optional fields.
        """
        last, now = self.last(transaction), transaction.now()
        if not behind(now, last.content["time"]):
            raise LedgerError(
                f"{self.place} needs no repair: its last entry, {last.number}, is not from the future. Nothing was "
                "changed."
            )
        content = {"entry": last.number, "said": last.content["time"]}
        return self.append(transaction, dataset="", kind="repaired", content=content, details=details)


def behind(now: str, before: str) -> bool:
    """Whether a time is so far before an earlier entry's that one of the two clocks must be wrong.

    Args:
        now: the time of an entry.
        before: the time of the entry before it.
    """
    return datetime.fromisoformat(now) < datetime.fromisoformat(before) - TOLERANCE
