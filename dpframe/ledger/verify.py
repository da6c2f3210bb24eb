"""Verification of a ledger from its first entry: hashes, entry numbers, sums, limits and the sequence of each run."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs

from dpframe.display.exportable import Exportable
from dpframe.display.printable import Printable
from dpframe.errors import DPFrameError, LedgerError
from dpframe.ledger.chain import START, Chain, Entry, canonical
from dpframe.ledger.dataset import Dataset
from dpframe.ledger.filters import ROUNDING, read, rests_on_a_model, worst_case
from dpframe.ledger.journal import behind
from dpframe.ledger.names import check_name, same_name
from dpframe.ledger.store import Transaction

if TYPE_CHECKING:
    from rich.console import RenderableType


@attrs.frozen(kw_only=True, repr=False)
class Verified(Printable, Exportable):
    """The outcome of a verification that detected nothing wrong.

    Args:
        entries: the number of entries.
        head: the hash of the last entry.
        datasets: the number of data sets.
        runs: the number of runs charged.
        unfinished: the number of runs without a recorded outcome, because they are still going on or were interrupted.
        known: whether a head was given and is among the entries.
        covered: whether a result was given and is what was recorded.
    """

    entries: int
    head: str
    datasets: int
    runs: int
    unfinished: int
    known: bool
    covered: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain data."""
        return {"verified": True, **attrs.asdict(self)}

    def __rich__(self) -> RenderableType:
        from dpframe.ledger.render import render_verified

        return render_verified(self)


def verify(transaction: Transaction, chain: Chain, head: str | None) -> Verified:
    """See :meth:`dpframe.Ledger.verify`."""
    transaction.check()
    book = _Book()
    heads = set()
    last: Entry | None = None
    for entry in transaction.all():
        _check_link(entry, last, chain)
        try:
            book.take(entry)
        except LedgerError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError, DPFrameError) as error:
            raise _wrong(entry, f"its content cannot be read ({type(error).__name__})") from None
        heads.add(entry.hash)
        last = entry
    if last is None:
        raise LedgerError("the ledger is empty: every entry is missing.")
    for name, state in book.states.items():
        if transaction.last(name) != state.last or transaction.first(name) != state.terms:
            raise LedgerError(f"the index of the ledger does not find the entries of data set {name!r}.")
    if head is not None and head.strip().lower() not in heads:
        raise LedgerError(
            f"no entry has the hash {head.strip()[:16]}… that was noted: entries are missing from the end, this is an "
            "older copy, or all of it was written anew."
        )
    return Verified(
        entries=last.number,
        head=last.hash,
        datasets=len(book.states),
        runs=len(book.runs),
        unfinished=sum(not finished for _, finished in book.runs.values()),
        known=head is not None,
    )


def _wrong(entry: Entry, what: str) -> LedgerError:
    return LedgerError(f"entry {entry.number} is not right: {what}. The ledger was changed or damaged.")


def _check_link(entry: Entry, before: Entry | None, chain: Chain) -> None:
    number = 1 if before is None else before.number + 1
    if entry.number != number:
        raise LedgerError(f"entry {number} is missing: the next one is {entry.number}.")
    if entry.previous != (START if before is None else before.hash):
        raise _wrong(entry, "it does not follow the entry before it")
    chain.check(entry)


@attrs.define
class _State:
    """The state of a data set while entries are read in order."""

    terms: Entry
    last: Entry
    total: Fraction
    law_error: Fraction
    runs: int
    modelled: int


@attrs.define
class _Book:
    """The state of all data sets and runs while entries are read in order."""

    states: dict[str, _State] = attrs.field(factory=dict)
    runs: dict[str, tuple[str, bool]] = attrs.field(factory=dict)
    time: str | None = None

    def take(self, entry: Entry) -> None:
        """Check the next entry and update the state; raises LedgerError where the entry is wrong."""
        content = entry.content
        if not isinstance(content["details"], dict):
            raise _wrong(entry, "its details are not fields with names")
        self._time(entry, content)
        if canonical(entry.stored) != entry.body:
            raise _wrong(entry, "its content is not in canonical form")
        if (entry.number == 1) != (entry.kind == "created"):
            raise _wrong(entry, "the first entry, and no other, records that the ledger was created")
        match entry.kind:
            case "created":
                if entry.dataset or not isinstance(content["keyed"], bool):
                    raise _wrong(entry, "it is not the first entry of a ledger")
            case "dataset":
                self._dataset(entry, content)
            case "reserved":
                self._reserved(entry, content)
            case "released" | "failed":
                self._outcome(entry, content)
            case "repaired":
                pass  # its time was checked
            case _:
                raise _wrong(entry, f"there is no kind {entry.kind!r}")

    def _time(self, entry: Entry, content: dict[str, Any]) -> None:
        before, self.time = self.time, content["time"]
        if behind(content["time"], before or content["time"]) != (entry.kind == "repaired"):
            raise _wrong(entry, "its time is before that of the last entry, or was repaired without need")
        repaired = {"dataset": entry.dataset, "entry": content.get("entry"), "said": content.get("said")}
        if entry.kind == "repaired" and repaired != {"dataset": "", "entry": entry.number - 1, "said": before}:
            raise _wrong(entry, "it does not repair the time of the entry before it")

    def _dataset(self, entry: Entry, content: dict[str, Any]) -> None:
        check_name(entry.dataset)
        if any(same_name(name) == same_name(entry.dataset) for name in self.states):
            raise _wrong(entry, "its data set was there already")
        added = Dataset.of(entry, entry)
        if added.total != 0 or added.runs != 0 or added.modelled != 0:
            raise _wrong(entry, "a new data set has spent nothing")
        reached = added.filter.accountant.epsilon_of(added.filter.capacity, added.budget.delta)
        if reached > added.budget.epsilon * (1 + ROUNDING):
            raise _wrong(entry, "its capacity is larger than its budget")
        self.states[entry.dataset] = _State(
            terms=entry, last=entry, total=Fraction(0), law_error=Fraction(0), runs=0, modelled=0
        )

    def _state(self, entry: Entry) -> _State:
        if entry.dataset not in self.states:
            raise _wrong(entry, f"there is no data set {entry.dataset!r}")
        return self.states[entry.dataset]

    def _reserved(self, entry: Entry, content: dict[str, Any]) -> None:
        state = self._state(entry)
        dataset = Dataset.of(state.terms, entry)
        losses = [read(loss) for parts in content["losses"].values() for loss in parts]
        cost, recomputed = Fraction(content["cost"]), dataset.filter.accountant.total(worst_case(losses))
        state.total, state.runs = state.total + cost, state.runs + 1
        state.modelled += rests_on_a_model(losses)
        state.law_error += Fraction(content.get("law_error", 0))  # format 1 has none
        alike = abs(cost - recomputed) <= recomputed * Fraction(ROUNDING)  # some contain a tanh or an exponential
        summed = (state.total, state.law_error, state.runs, state.modelled)
        if not alike or summed != (dataset.total, dataset.law_error, dataset.runs, dataset.modelled):
            raise _wrong(entry, "its sums are not those of its losses")
        if not content["epsilon"] <= dataset.budget.epsilon or not self._fits(dataset):
            raise _wrong(entry, "it exceeds the budget of its data set")
        if content["run"] in self.runs:
            raise _wrong(entry, "its run was charged before")
        self.runs[content["run"]] = (entry.dataset, False)
        state.last = entry

    @staticmethod
    def _fits(dataset: Dataset) -> bool:
        within = dataset.budget.epsilon * (1 + ROUNDING)
        return dataset.total <= dataset.filter.capacity or dataset.filter.epsilon(dataset.total) <= within

    def _outcome(self, entry: Entry, content: dict[str, Any]) -> None:
        state = self._state(entry)
        if self.runs.get(content["run"]) != (entry.dataset, False):
            raise _wrong(entry, "it ends a run that was not charged, or has ended")
        outcome = Dataset.of(state.terms, entry)
        stated = (outcome.total, outcome.law_error, outcome.runs, outcome.modelled)
        if stated != (state.total, state.law_error, state.runs, state.modelled):
            raise _wrong(entry, "its sums are not those of the entries before it")
        self.runs[content["run"]] = (entry.dataset, True)
        state.last = entry
