"""A dry run: everything up to the charge, and nothing after it. No budget is charged, no cell read, no noise drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from dpframe.display.exportable import Exportable
from dpframe.display.printable import Printable
from dpframe.display.visible import Visible
from dpframe.rounding import format_given, format_up
from dpframe.run.runner import prepared
from dpframe.run.statement import Statement
from dpframe.spec.budget import Budget

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpframe.plan import Plan

NOTHING = "Nothing was charged, read or drawn."


@attrs.frozen(kw_only=True)
class Outlook:
    """What a run would charge to a data set of a ledger.

    Args:
        dataset: the name of the data set.
        budget: what all of its runs may spend.
        spent: what they would have spent with this one.
        notices: what else is to be known, such as that the same plan was run before.
    """

    dataset: str
    budget: Budget
    spent: Budget
    notices: tuple[str, ...] = ()


@attrs.frozen(kw_only=True, repr=False)
class DryRun(Printable, Exportable):
    """What a run would promise and charge, on data whose names, types and dimension fit.

    Args:
        statement: what it would promise and cost.
        outlook: what it would charge to a ledger; None without one.
    """

    statement: Statement
    outlook: Outlook | None = None

    def to_dict(self) -> dict[str, Any]:
        """The statement and the outlook, as plain data."""
        return {
            "dry_run": True,
            "statement": self.statement.to_dict(),
            "outlook": None if self.outlook is None else attrs.asdict(self.outlook),
        }

    @property
    def words(self) -> str:
        """The result of the dry run in words."""
        words = ["A run would go ahead: the names, types and dimension of the data fit the plan."]
        if self.outlook is not None:
            budget, spent = self.outlook.budget, self.outlook.spent
            words.append(
                f"Data set {self.outlook.dataset!r} would have spent "
                f"epsilon={format_up(spent.epsilon, budget.epsilon)} of {format_given(budget.epsilon)} at "
                f"delta={format_given(budget.delta)}, over all runs."
            )
            words += [f"{notice[0].upper()}{notice[1:]}." for notice in self.outlook.notices]
        return " ".join([*words, NOTHING])

    def __rich__(self) -> RenderableType:
        from dpframe.run.render import render_dry_run

        return Visible(render_dry_run(self))  # a plan file may hold any text


def dry_run(plan: Plan, data: Any, *, ledger: Any, dataset: str | None, note: str | None) -> DryRun:
    """See :meth:`dpframe.Plan.dry_run`."""
    ready = prepared(plan, data, ledger, dataset, note=note)
    outlook = None if ready.account is None else ready.account.outlook(ready.plan, ready.stated)
    return DryRun(statement=ready.stated, outlook=outlook)
