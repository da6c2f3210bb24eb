"""The public interface of a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from dpframe.display.exportable import Exportable
from dpframe.display.printable import Printable
from dpframe.errors import LedgerError
from dpframe.ledger.chain import Chain
from dpframe.ledger.dataset import Dataset, check_name, same_name, terms
from dpframe.ledger.journal import Journal
from dpframe.ledger.store import LedgerExists, open_store
from dpframe.spec.budget import Budget

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpframe.ledger.render import History
    from dpframe.ledger.verify import Verified
    from dpframe.run.result import Result


@attrs.frozen(repr=False)
class Ledger(Printable, Exportable):
    """The budgets of data sets and all charges to them. Use `create` or `open` to make one.

    ``plan.run(data, ledger=..., dataset=...)`` reserves the whole loss of a run here before anything is read, and
    records the outcome. Printing a ledger shows what is left of the budget of every data set.

    Guarantee:
        All runs charged to a data set, however later ones depend on the results of earlier ones, are together
        (epsilon, delta)-differentially private with the budget of the data set, under its neighboring relation.
        Losses that hold only under a model of the data are recorded separately and are not part of this.
    """

    journal: Journal

    @classmethod
    def create(cls, target: str | Path, *, key: bytes | str | None = None, exist_ok: bool = False) -> Ledger:
        """Create a new, empty ledger.

        Args:
            target: the path of a file that does not exist yet, or a ``postgresql://`` URL.
            key: at least 16 secret bytes. The hashes of entries are then HMAC-SHA-256: without the key nobody can write
                an entry, nor check one.
            exist_ok: open a ledger that exists already, instead of raising LedgerExists.
        """
        journal = Journal(open_store(target), Chain.keyed(key))
        try:
            journal.create()
        except LedgerExists:
            if not exist_ok:
                raise
            return cls.open(target, key=key)
        return cls(journal)

    @classmethod
    def open(cls, target: str | Path | Ledger, *, key: bytes | str | None = None) -> Ledger:
        """Open an existing ledger; raises LedgerError where it is none, has another key, or has an unknown format.

        Args:
            target: the path of its file, its ``postgresql://`` URL, or a `Ledger`, which is returned.
            key: its key, if it has one.
        """
        if isinstance(target, Ledger):
            return target
        journal = Journal(open_store(target), Chain.keyed(key))
        with journal.reading():
            return cls(journal)

    def add(
        self,
        name: str,
        *,
        budget: Budget,
        neighbors: str,
        accountant: str | None = None,
        contributions: int = 1,
        person: str | None = None,
    ) -> Dataset:
        """Add a data set. Its terms can never be changed.

        Args:
            name: its name in runs. A name that differs from an existing one only in case or width is refused.
            budget: what all runs together may spend.
            neighbors: "add-remove" or "replace", as in `dp.Rows`.
            accountant: "zcdp", "gdp" (Gaussian releases only) or "pure"; by default "zcdp", or "pure" with delta=0.
            contributions: the most rows that one person has, as in `dp.Rows`.
            person: the column of ids by which every plan enforces this, as in `dp.Rows`; by default it is a promise.
        """
        content = terms(budget, neighbors, accountant, contributions, person)
        check_name(name)
        with self.journal.writing() as transaction:
            for other in self.journal.names(transaction):
                if same_name(other) == same_name(name):
                    raise LedgerError(
                        f"the ledger has a data set {other!r} already; its terms are fixed. Nothing was changed. A "
                        "second budget for the same people would be no limit at all."
                    )
            entry = self.journal.append(transaction, dataset=name, kind="dataset", content=content)
        return Dataset.of(entry, entry)

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def place(self) -> str:
        """The path or URL of the ledger, without a password."""
        return self.journal.place

    @property
    def head(self) -> str:
        """The hash of the last entry. Note it: `verify` detects later whether anything up to it was changed or is
        missing."""
        with self.journal.reading() as transaction:
            return self.journal.last(transaction).hash

    def datasets(self) -> tuple[Dataset, ...]:
        """All data sets as they stand."""
        return self._state()[1]

    def _state(self) -> tuple[str, tuple[Dataset, ...]]:
        """The head and all data sets, at one moment."""
        with self.journal.reading() as transaction:
            datasets = tuple(self.journal.dataset(transaction, name) for name in self.journal.names(transaction))
            return self.journal.last(transaction).hash, datasets

    def dataset(self, name: str) -> Dataset:
        """One data set as it stands: its terms, `spent` and `remaining`.

        Args:
            name: its name.
        """
        with self.journal.reading() as transaction:
            return self.journal.dataset(transaction, name)

    def show(self) -> None:
        """Print every data set with a bar of what is left of its budget: like ``print(ledger)``, but styled."""
        from rich.console import Console

        Console(highlight=False).print(self)

    def history(self, dataset: str | None = None) -> History:
        """All entries, or those of one data set, in order.

        Args:
            dataset: the name of the data set; all by default.
        """
        from dpframe.ledger.render import History

        with self.journal.reading() as transaction:
            if dataset is None:
                return History(entries=tuple(transaction.entries()))
            self.journal.dataset(transaction, dataset)
            return History(entries=tuple(transaction.entries("WHERE dataset = ?", dataset)))

    def verify(self, *, head: str | None = None) -> Verified:
        """Recompute all hashes, entry numbers, sums and limits; raises LedgerError where something is wrong.

        Args:
            head: the hash of an entry that you noted, as every run prints it. Without it, verification cannot detect
                that entries are missing from the end, nor, in a ledger without a key, that all of it was rewritten.
        """
        from dpframe.ledger.verify import verify

        if not isinstance(head, str | None):
            raise LedgerError(f"head must be the hash of an entry, a text; got a {type(head).__name__}.")
        with self.journal.reading() as transaction:
            return verify(transaction, self.journal.chain, head)

    def covers(self, result: Result) -> bool:
        """Whether a result was charged here and has exactly the values whose hash was recorded.

        Args:
            result: the result of a run.
        """
        charge = result.charge
        if charge is None:
            return False
        with self.journal.reading() as transaction:
            condition = "WHERE dataset = ? AND number > ? AND kind IN ('released', 'failed')"
            for entry in transaction.entries(condition, charge.dataset, charge.entry):
                content = self.journal.chain.check(entry).content
                if content["run"] == charge.run:
                    return bool(content.get("released") == result.fingerprint)
        return False

    def __rich__(self) -> RenderableType:
        from dpframe.ledger.render import render_ledger

        return render_ledger(self.place, *self._state())

    def to_dict(self) -> dict[str, Any]:
        """The path or URL of the ledger, its head and all data sets, as plain data."""
        head, datasets = self._state()
        return {"ledger": self.place, "head": head, "datasets": [each.to_dict() for each in datasets]}
