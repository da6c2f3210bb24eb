"""The public interface of a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from dpframe.display.exportable import Exportable
from dpframe.display.printable import Printable
from dpframe.errors import LedgerError
from dpframe.ledger.chain import Chain, Entry
from dpframe.ledger.dataset import Dataset, terms
from dpframe.ledger.details import details
from dpframe.ledger.journal import Journal
from dpframe.ledger.names import alike, check_name
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
            return cls(journal.create())
        except LedgerExists:
            if not exist_ok:
                raise
            return cls.open(target, key=key)

    @classmethod
    def open(cls, target: str | Path | Ledger, *, key: bytes | str | None = None) -> Ledger:
        """Open an existing ledger; raises LedgerError where it is none, has another key, or has an unknown format.

        Args:
            target: the path of its file, its ``postgresql://`` URL, or a `Ledger`, which is returned.
            key: its key, if it has one.
        """
        if isinstance(target, Ledger):
            return target
        return cls(Journal(open_store(target), Chain.keyed(key)).open())

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
            name: its name in runs. A name that could be taken for an existing one is refused: one that differs only in
                case, width, spaces, invisible characters, or letters of another script that look the same.
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
                if alike(other, name):
                    taken = "" if other == name else f", and {name!r} ({name!a} in ASCII) could be taken for it"
                    raise LedgerError(
                        f"the ledger has a data set {other!r} already{taken}; its terms are fixed. Nothing was "
                        "changed. A second budget for the same people would be no limit at all."
                    )
            entry = self.journal.append(transaction, dataset=name, kind="dataset", content=content)
        return Dataset.of(entry, entry)

    def record(self, result: Result) -> Result:
        """Record the outcome of a run that could not be recorded when it ended; gives the result with its new charge.

        Raises LedgerError where the run was not charged here, or where the result is not the one that the run signed.
        Where the outcome is recorded already, nothing is added.

        Args:
            result: the result of the run, also one that was loaded from its file.
        """
        from dpframe.ledger.recorded import record

        with self.journal.writing() as transaction:
            return record(self.journal, transaction, result)

    def repair(self, *, note: str | None = None) -> Entry:
        """Declare that the last entry was written with a wrong clock, in the future, so that charges are possible
        again. The declaration is an entry with the present time; nothing is changed or deleted.

        Args:
            note: what happened, for those who read the history.
        """
        found = details(note)
        with self.journal.writing() as transaction:
            return self.journal.repair(transaction, found)

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
                return History(entries=tuple(transaction.all()))
            self.journal.dataset(transaction, dataset)
            return History(entries=tuple(transaction.entries("WHERE dataset = ?", dataset)))

    def verify(self, *, head: str | None = None, result: Result | None = None) -> Verified:
        """Recompute all hashes, entry numbers, sums and limits; raises LedgerError where something is wrong.

        It works on a snapshot: runs can be charged at the same time.

        Args:
            head: the hash of an entry that you noted, as every run prints it. Without it, verification cannot detect
                that entries are missing from the end, nor, in a ledger without a key, that all of it was rewritten.
            result: a result that must be covered: charged here, with the values, the statement and the charge that
                were recorded.
        """
        from dpframe.ledger.recorded import check_result
        from dpframe.ledger.verify import verify

        if not isinstance(head, str | None):
            raise LedgerError(f"head must be the hash of an entry, a text; got a {type(head).__name__}.")
        with self.journal.snapshot() as transaction:
            verified = verify(transaction, self.journal.chain, head)
            if result is not None:
                check_result(self.journal, transaction, result)
            return attrs.evolve(verified, covered=result is not None)

    def covers(self, result: Result) -> bool:
        """Whether a result was charged here and has exactly the values, the statement and the charge that were written.

        Entries of format 1 hold no hash of the statement; with them, only the values and the charge are compared.

        Args:
            result: the result of a run.
        """
        from dpframe.ledger.recorded import NotCovered, check_result

        with self.journal.reading() as transaction:
            try:
                check_result(self.journal, transaction, result)
            except NotCovered:
                return False
            return True

    def __rich__(self) -> RenderableType:
        from dpframe.ledger.render import render_ledger

        return render_ledger(self.place, *self._state())

    def to_dict(self) -> dict[str, Any]:
        """The path or URL of the ledger, its head and all data sets, as plain data."""
        head, datasets = self._state()
        return {"ledger": self.place, "head": head, "datasets": [each.to_dict() for each in datasets]}
