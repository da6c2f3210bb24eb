"""A data set of a ledger: the terms that were fixed when it was added, and what has been spent since."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs

from dpframe import validators
from dpframe.display.exportable import Exportable
from dpframe.errors import LedgerError, PlanError
from dpframe.ledger.chain import Entry
from dpframe.ledger.filters import ACCOUNTANTS, Filter
from dpframe.plan.slack import slack
from dpframe.spec.budget import NOT_WORST_CASE, Budget
from dpframe.spec.matrix import Matrix
from dpframe.spec.rows import MAX_CONTRIBUTIONS, NEIGHBORS, Rows


@attrs.frozen(kw_only=True)
class Dataset(Exportable):
    """A data set at one moment: its terms and what has been spent.

    Args:
        name: its name in the ledger.
        neighbors: the neighboring relation that every plan must have.
        contributions: the most rows that one person has; plans must declare the same number.
        person: the column of ids by which plans must enforce that number; None where it is a promise.
        runs: the number of runs charged.
        modelled: the number of those with releases that are private under a model only; no figure here includes these.
        total: the exact sum of the costs of all runs, in the additive measure of the accountant.
        law_error: the exact sum of the law errors of all runs that recorded one.
        entry: the number of its last entry.
        filter: the privacy filter that decides whether a run still fits.
    """

    name: str
    neighbors: str
    contributions: int
    person: str | None
    runs: int
    modelled: int
    total: Fraction
    law_error: Fraction
    entry: int
    _filter: Filter = attrs.field(alias="filter")

    @classmethod
    def of(cls, terms: Entry, last: Entry) -> Dataset:
        """The data set that two of its entries describe.

        Args:
            terms: the entry that added it.
            last: its last entry.
        """
        try:
            fixed, state = terms.content, last.content
            return cls(
                name=terms.dataset,
                neighbors=fixed["neighbors"],
                contributions=fixed["contributions"],
                person=fixed.get("person"),
                runs=state["runs"],
                modelled=state["modelled"],
                total=Fraction(state["total"]),
                law_error=Fraction(state.get("law_errors", 0)),  # format 1 has none
                entry=last.number,
                filter=Filter(
                    budget=Budget(**fixed["budget"]),
                    accountant=ACCOUNTANTS[fixed["accountant"]],
                    capacity=Fraction(fixed["capacity"]),
                ),
            )
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            raise LedgerError(f"entries {terms.number} and {last.number} are not those of a data set.") from None

    @property
    def filter(self) -> Filter:
        """The privacy filter that decides whether a run still fits."""
        return self._filter

    @property
    def budget(self) -> Budget:
        """What all runs together may spend."""
        return self._filter.budget

    @property
    def accountant(self) -> str:
        """The accountant that composes its runs."""
        return self._filter.accountant.name

    @property
    def spent(self) -> Budget:
        """What all runs so far have spent, as the accountant computes it: epsilon at the data set's delta.

        Releases that are private under a model only are not included; `caveat` reports whether there are any.
        Where later runs were chosen by the results of earlier ones, the guarantee is the budget; this shows how much
        of it is used.
        """
        return self._filter.spent(self.total)

    @property
    def remaining(self) -> Budget:
        """The largest budget, at the data set's delta, of a plan that would still fit.

        Epsilon is not additive: with zcdp and gdp this is more than the budget's epsilon minus `spent`.
        """
        return self._filter.remaining(self.total)

    @property
    def slack(self) -> float:
        """The numerical slack of all runs in delta: by how much floating-point releases may raise it.

        That of the budget's guarantee, whose epsilon is above those of single runs (:mod:`dpframe.plan.slack`).
        """
        return slack(self.budget.epsilon, float(self.law_error))

    @property
    def caveat(self) -> str:
        """A warning that all runs together have no worst-case guarantee, because some have none; empty where all do."""
        return caveat(self.modelled, self.runs)

    @property
    def sums(self) -> dict[str, Any]:
        """The running sums, as every entry about the data set repeats them."""
        return {
            "total": str(self.total),
            "law_errors": str(self.law_error),
            "runs": self.runs,
            "modelled": self.modelled,
        }

    @property
    def left(self) -> float:
        """The share of the budget that is left, in the additive measure of the accountant."""
        return max(0.0, 1.0 - float(self.total / self._filter.capacity))

    def same_terms(self, other: Dataset) -> bool:
        """Whether both have the same name and terms, whatever has been spent since.

        Args:
            other: another data set.
        """
        state = {field: getattr(other, field) for field in ("runs", "modelled", "total", "law_error", "entry")}
        return attrs.evolve(self, **state) == other

    def check_rows(self, rows: Rows) -> None:
        """Raise PlanError where the promise of a plan differs from the terms of the data set.

        Args:
            rows: the promise of the plan.
        """
        terms: list[tuple[str, Any, Any]] = [("neighbors", rows.neighbors, self.neighbors)]
        if not isinstance(rows, Matrix):  # which is about all that a person contributes
            terms += [("contributions", rows.contributions, self.contributions), ("person", rows.person, self.person)]
        for field, asked, fixed in terms:
            if asked != fixed:
                promise = type(rows).__name__
                raise PlanError(
                    f"data set {self.name!r} has {field}={fixed!r}, but the plan has {field}={asked!r}: their "
                    f"guarantees cannot be added up. Nothing was charged. Use dp.{promise}({field}={fixed!r}, ...)."
                )

    def to_dict(self) -> dict[str, Any]:
        """The terms and what has been spent, as plain data."""
        return {
            "name": self.name,
            "budget": attrs.asdict(self.budget),
            "accountant": self.accountant,
            "neighbors": self.neighbors,
            "contributions": self.contributions,
            "person": self.person,
            "runs": self.runs,
            "modelled": self.modelled,
            **({"caveat": self.caveat} if self.caveat else {}),
            **({"slack": self.slack} if self.law_error else {}),
            "spent": attrs.asdict(self.spent),
            "remaining": attrs.asdict(self.remaining),
            "left": self.left,
            "entry": self.entry,
        }


def caveat(modelled: int, runs: int) -> str:
    """The warning, for reports of a sum over runs, that some runs rest on a model of the data; empty where none does.

    Args:
        modelled: the number of runs that rest on a model.
        runs: the number of all runs.

    >>> caveat(0, 3), caveat(2, 3)
    ('', 'not a worst-case guarantee: 2 of 3 runs rest on a model of the data, which no sum includes')
    """
    if not modelled:
        return ""
    return f"{NOT_WORST_CASE}: {modelled} of {runs} runs rest on a model of the data, which no sum includes"


def terms(budget: Any, neighbors: Any, accountant: str | None, contributions: Any, person: Any) -> dict[str, Any]:
    """The content of the entry that adds a data set; raises PlanError where the terms are not valid.

    Args:
        budget: what all runs together may spend.
        neighbors: the neighboring relation.
        accountant: the accountant that composes the runs; None for the default.
        contributions: the most rows that one person has.
        person: the column of ids by which plans enforce that number; None where it is a promise.
    """
    if type(budget) is not Budget:  # a ModelBudget states what was spent
        raise PlanError(f"budget must be a dp.Budget; got {type(budget).__name__}.")
    if neighbors not in NEIGHBORS:
        raise PlanError(f"neighbors must be one of {', '.join(map(repr, NEIGHBORS))}; got {neighbors!r}.")
    if not validators.is_int(contributions) or not 1 <= contributions <= MAX_CONTRIBUTIONS:
        raise PlanError(f"contributions must be an integer from 1 to {MAX_CONTRIBUTIONS}; got {contributions!r}.")
    if not (person is None or isinstance(person, str)):
        raise PlanError(f"person must be the name of a column of ids; got {person!r}.")
    chosen = Filter.of(budget, Filter.default(budget) if accountant is None else accountant)
    return {
        "budget": attrs.asdict(budget),
        "accountant": chosen.accountant.name,
        "neighbors": neighbors,
        "contributions": int(contributions),
        **({} if person is None else {"person": person}),
        "capacity": str(chosen.capacity),
        "total": "0",
        "runs": 0,
        "modelled": 0,
    }
