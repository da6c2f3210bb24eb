"""Every error dpframe raises, in one tree.

::

    DPFrameError
    ├── PlanError         (ValueError)  a plan, promise or parameter that cannot be kept
    │   └── BudgetExceeded              the plan costs more than it may
    ├── DataError         (ValueError)  a source whose public schema does not fit the plan
    ├── PluginError                     a plugin that is unknown, broken or clashes
    ├── LedgerError                     a ledger that cannot be used, or was changed
    └── ReleaseFailed                   something went wrong after the charge, which stands
        └── SamplingError               a sampler gave up

Messages say what was asked, what is allowed, what state things are in and what to do. They never hold a data value.
Errors of the first four kinds are raised before anything is charged, read or drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpframe.spec.budget import Budget


class DPFrameError(Exception):
    """Base of every error raised by dpframe."""


class PlanError(DPFrameError, ValueError):
    """A plan, promise or parameter that cannot be kept. Nothing was charged, read or drawn."""


class BudgetExceeded(PlanError):
    """A plan costs more than its budget, or than a ledger has left. Nothing was charged, read or drawn.

    Args:
        message: all of it in words.
        asked: the epsilon that would be reached.
        allowed: the epsilon of the budget.
        delta: at which both are meant.
        remaining: what a data set of a ledger has left.
        affordable: the largest budget with which this plan would fit there, where there is one.
    """

    def __init__(
        self,
        message: str,
        *,
        asked: float,
        allowed: float,
        delta: float,
        remaining: Budget | None = None,
        affordable: Budget | None = None,
    ) -> None:
        super().__init__(message)
        self.asked = asked
        self.allowed = allowed
        self.delta = delta
        self.remaining = remaining
        self.affordable = affordable


class DataError(DPFrameError, ValueError):
    """A data source whose public schema does not fit the plan."""


class PluginError(DPFrameError):
    """A plugin that is unknown, broken, clashing or written for another version."""


class LedgerError(DPFrameError):
    """A ledger that cannot be opened, read or written, or whose entries are not what was written. Nothing was read or
    drawn."""


class ReleaseFailed(DPFrameError):
    """Something failed after the charge. The charge stands, since the failure itself may depend on the data."""

    def __init__(self, message: str, *, step: str | None = None, spent: Budget | None = None) -> None:
        super().__init__(message)
        self.step = step
        self.spent = spent


class SamplingError(ReleaseFailed):
    """A sampler reached its stated limit of work. The charge stands."""
