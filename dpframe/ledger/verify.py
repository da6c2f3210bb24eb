"""Recomputes a ledger from its first entry: hashes, numbers, sums, limits and the course of every run."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs

from dpframe.display.exportable import Exportable
from dpframe.display.printable import Printable
from dpframe.errors import DPFrameError, LedgerError
from dpframe.ledger.chain import START, Chain, Entry, canonical
from dpframe.ledger.dataset import Dataset, check_name, same_name
from dpframe.ledger.filters import read, rests_on_a_model, worst_case
from dpframe.ledger.store import Transaction

if TYPE_CHECKING:
    from rich.console import RenderableType

ROUNDING = 1e-9  # relative; what was computed then and now, here and elsewhere, may differ by the rounding of floats


@attrs.frozen(kw_only=True, repr=False)
class Verified(Printable, Exportable):
    """What was found right.

    Args:
        entries: how many there are.
        head: the hash of the last one.
        datasets: how many data sets there are.
        runs: how many runs were charged.
        unfinished: runs whose outcome was not recorded, because they are still going on or were cut short.
        known: whether a head was given, and found.
    """

    entries: int
    head: str
    datasets: int
    runs: int
    unfinished: int
    known: bool

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
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
    for entry in transaction.entries():
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
    """A data set while its entries are read."""

    terms: Entry
    last: Entry
    total: Fraction
    runs: int
    modelled: int


@attrs.define
class _Book:
    """The state of all data sets and runs, entry by entry."""

    states: dict[str, _State] = attrs.field(factory=dict)
    runs: dict[str, tuple[str, bool]] = attrs.field(factory=dict)

    def take(self, entry: Entry) -> None:
        content = entry.content
        datetime.fromisoformat(content["time"])
        if canonical(entry.stored) != entry.body:
            raise _wrong(entry, "its content is not in canonical form")
        if (entry.number == 1) != (entry.kind == "created"):
            raise _wrong(entry, "the first entry, and no other, tells that the ledger was created")
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
            case _:
                raise _wrong(entry, f"there is no kind {entry.kind!r}")

    def _dataset(self, entry: Entry, content: dict[str, Any]) -> None:
        check_name(entry.dataset)
        if any(same_name(name) == same_name(entry.dataset) for name in self.states):
            raise _wrong(entry, "its data set was there already")
        found = Dataset.of(entry, entry)
        if found.total != 0 or found.runs != 0 or found.modelled != 0:
            raise _wrong(entry, "a new data set has spent nothing")
        reached = found.filter.accountant.epsilon_of(found.filter.capacity, found.budget.delta)
        if reached > found.budget.epsilon * (1 + ROUNDING):
            raise _wrong(entry, "its capacity is larger than its budget")
        self.states[entry.dataset] = _State(terms=entry, last=entry, total=Fraction(0), runs=0, modelled=0)

    def _state(self, entry: Entry) -> _State:
        if entry.dataset not in self.states:
            raise _wrong(entry, f"there is no data set {entry.dataset!r}")
        return self.states[entry.dataset]

    def _reserved(self, entry: Entry, content: dict[str, Any]) -> None:
        state = self._state(entry)
        found = Dataset.of(state.terms, entry)
        losses = [read(loss) for parts in content["losses"].values() for loss in parts]
        cost, again = Fraction(content["cost"]), found.filter.accountant.total(worst_case(losses))
        state.total, state.runs = state.total + cost, state.runs + 1
        state.modelled += rests_on_a_model(losses)
        alike = abs(cost - again) <= again * Fraction(ROUNDING)  # some costs hold a tanh or an exponential
        if not alike or (state.total, state.runs, state.modelled) != (found.total, found.runs, found.modelled):
            raise _wrong(entry, "its sums are not those of its losses")
        if not content["epsilon"] <= found.budget.epsilon or not self._fits(found):
            raise _wrong(entry, "it exceeds the budget of its data set")
        if content["run"] in self.runs:
            raise _wrong(entry, "its run was charged before")
        self.runs[content["run"]] = (entry.dataset, False)
        state.last = entry

    @staticmethod
    def _fits(found: Dataset) -> bool:
        within = found.budget.epsilon * (1 + ROUNDING)
        return found.total <= found.filter.capacity or found.filter.epsilon(found.total) <= within

    def _outcome(self, entry: Entry, content: dict[str, Any]) -> None:
        state = self._state(entry)
        if self.runs.get(content["run"]) != (entry.dataset, False):
            raise _wrong(entry, "it ends a run that was not charged, or has ended")
        stated = (Fraction(content["total"]), content["runs"], content["modelled"])
        if stated != (state.total, state.runs, state.modelled):
            raise _wrong(entry, "its sums are not those of the entries before it")
        self.runs[content["run"]] = (entry.dataset, True)
        state.last = entry
