"""What a ledger holds about one run: its reservation, its outcome, and whether a result is the one they are about."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import attrs

from dpframe.errors import LedgerError
from dpframe.ledger.chain import Entry
from dpframe.ledger.dataset import Dataset, caveat
from dpframe.ledger.filters import ROUNDING
from dpframe.ledger.journal import Journal
from dpframe.ledger.signature import is_signed
from dpframe.ledger.stated import promise_hash, statement_hash
from dpframe.ledger.store import Transaction
from dpframe.plan.slack import slack
from dpframe.run.result import Charge, Result


class RolledBack(LedgerError):
    """Raised when an entry that a run has seen, or has written, is no longer in its ledger."""


class NotCovered(LedgerError):
    """Raised when a result is not the one of a run that was charged to this ledger."""


def check_history(journal: Journal, transaction: Transaction, *seen: tuple[int, str]) -> None:
    """Raise RolledBack unless all these entries are there as they were.

    Args:
        journal: the journal of the ledger.
        transaction: the transaction that reads it.
        seen: numbers and hashes of entries.
    """
    for number, known in seen:
        found = transaction.at(number)
        if found is None or journal.chain.check(found).hash != known:
            raise RolledBack(
                f"{journal.place} was exchanged for another one, or for an older copy, during the run: entry {number} "
                f"is {'missing' if found is None else 'another one'}."
            )


def charged(dataset: Dataset, entry: Entry, reserved: Entry) -> Charge:
    """The charge of a run, as one of its entries shows it.

    Args:
        dataset: the data set, for its terms.
        entry: the reservation of the run, or its outcome.
        reserved: its reservation, which tells when, by whom and what for.
    """
    limit, state, said = dataset.filter, entry.content, reserved.content
    total, details = Fraction(state["total"]), said["details"]
    return Charge(
        dataset=dataset.name,
        run=state["run"],
        entry=reserved.number,
        head=entry.hash,
        budget=limit.budget,
        spent=limit.spent(total),
        remaining=limit.remaining(total),
        caveat=caveat(state["modelled"], state["runs"]),
        slack=slack(limit.budget.epsilon, float(Fraction(state.get("law_errors", 0)))),  # format 1 has none
        time=said["time"],
        user=str(details.get("user", "")),
        note=str(details.get("note", "")),
        others=limit.spent(max(total - Fraction(said["cost"]), Fraction(0))),
    )


def write_outcome(journal: Journal, transaction: Transaction, charge: Charge, kind: str, **content: Any) -> Entry:
    """Add the outcome of a run.

    Args:
        journal: the journal of the ledger.
        transaction: the transaction that writes it.
        charge: the charge of the run.
        kind: "released" or "failed".
        content: what is known of the outcome.
    """
    now = journal.dataset(transaction, charge.dataset)
    state = {"run": charge.run, **content, **now.sums}
    return journal.append(transaction, dataset=now.name, kind=kind, content=state, timed=False)


def released(result: Result) -> dict[str, str]:
    """What the outcome of a run with values holds.

    Args:
        result: the result, with its charge.
    """
    return {"released": result.fingerprint, "statement": statement_hash(result.statement)}


def outcome_of(result: Result) -> tuple[str, dict[str, str]]:
    """The outcome of a run, as it is signed and recorded: its kind and what it holds.

    Args:
        result: the result, with its charge.
    """
    if not result.failed:
        return "released", released(result)
    return "failed", {"step": next(iter(result.failed)), **released(result)}


def record(journal: Journal, transaction: Transaction, result: Result) -> Result:
    """See :meth:`dpframe.Ledger.record`."""
    run = _Run.of(journal, transaction, result)
    if run.outcome is None:
        run.check(run.difference_of_promise(result))
        kind, content = outcome_of(result)
        run.check(run.difference_of_signature((kind, content)))
        outcome = write_outcome(journal, transaction, run.charge, kind, **content)
    else:
        run.check(run.difference(result))
        outcome = run.outcome
    return attrs.evolve(result, charge=charged(run.dataset, outcome, run.reserved))


def check_result(journal: Journal, transaction: Transaction, result: Result) -> None:
    """Raise LedgerError unless a result was charged here, and is what was recorded.

    Args:
        journal: the journal of the ledger.
        transaction: the transaction that reads it.
        result: the result of a run.
    """
    run = _Run.of(journal, transaction, result)
    run.check(run.difference(result))


@attrs.frozen(kw_only=True)
class _Run:
    """The entries of the run that a result says it comes from."""

    place: str
    charge: Charge
    dataset: Dataset
    reserved: Entry
    outcome: Entry | None

    @classmethod
    def of(cls, journal: Journal, transaction: Transaction, result: Result) -> _Run:
        charge = result.charge
        if charge is None:
            raise NotCovered("the result was not charged to a ledger: its run had none.")
        check = journal.chain.check
        reserved = transaction.at(charge.entry)
        of_run = reserved is not None and (reserved.kind, reserved.dataset) == ("reserved", charge.dataset)
        if reserved is None or not of_run or check(reserved).content["run"] != charge.run:
            raise NotCovered(
                f"entry {charge.entry} of {journal.place} is not the reservation of the run that gave this result: it "
                "was charged to another ledger, or an older copy was put in the place of this one."
            )
        later = "WHERE dataset = ? AND number > ? AND kind IN ('released', 'failed')"
        outcomes = map(check, transaction.entries(later, charge.dataset, charge.entry))
        return cls(
            place=journal.place,
            charge=charge,
            dataset=journal.dataset(transaction, charge.dataset),
            reserved=reserved,
            outcome=next((entry for entry in outcomes if entry.content["run"] == charge.run), None),
        )

    def check(self, difference: str | None) -> None:
        if difference is not None:
            raise NotCovered(
                f"the result is not what {self.place} recorded for entry {self.charge.entry}: {difference}."
            )

    def difference_of_promise(self, result: Result) -> str | None:
        """How the result differs from what was reserved; None where it does not."""
        content = self.reserved.content
        if content["plan"] != result.statement.plan:
            return "its plan is another one"
        if content.get("statement") not in (None, promise_hash(result.statement)):  # format 1 has none
            return "its statement was changed"
        return self._difference_of_charge()

    def difference_of_signature(self, outcome: Any) -> str | None:
        """How an outcome differs from what the run signed; None where it does not, or where nothing was signed."""
        public_key = self.reserved.content.get("public_key")  # format 1 has none
        if public_key is None or is_signed(outcome, self.charge.signature, public_key):
            return None
        return "its values, its statement or its failed steps are not those that the run signed"

    def difference(self, result: Result) -> str | None:
        """How the result differs from what was reserved and recorded; None where it does not."""
        if self.outcome is None:
            return "no outcome was recorded; ledger.record(result), or dpframe ledger record, does it later"
        content = self.outcome.content
        if "released" not in content:
            return "the run is recorded as failed, without values"
        if content["released"] != result.fingerprint:
            return "its values are others"
        if content.get("statement") not in (None, statement_hash(result.statement)):
            return "its statement was changed"
        return self.difference_of_promise(result)

    def _difference_of_charge(self) -> str | None:
        entry = next((each for each in (self.reserved, self.outcome) if each and each.hash == self.charge.head), None)
        if entry is None:
            return "its head is not that of the run"
        said, found = self.charge, charged(self.dataset, entry, self.reserved)
        same = said.budget == found.budget and bool(said.caveat) == bool(found.caveat)
        figures = ((said.spent, found.spent), (said.remaining, found.remaining))
        alike = all(math.isclose(a.epsilon, b.epsilon, rel_tol=ROUNDING) and a.delta == b.delta for a, b in figures)
        alike = alike and math.isclose(said.slack, found.slack, rel_tol=ROUNDING)
        same = same and said.time in ("", found.time)  # results of earlier versions have none
        return None if same and alike else "what it says of its data set was changed"
