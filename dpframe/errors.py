"""Every error dpframe raises, in one tree.

::

    DPFrameError
    ├── PlanError         (ValueError)  an invalid plan, promise or parameter
    │   └── BudgetExceeded              the plan costs more than its budget
    ├── DataError         (ValueError)  a source whose public schema does not fit the plan
    ├── PluginError                     a plugin that is unknown, broken or in conflict
    ├── LedgerError                     a ledger that cannot be used, or was altered
    └── ReleaseFailed                   a failure after the charge, which stands
        ├── DerivationFailed            every release was made; a derivation from them failed
        └── SamplingError               a sampler reached its limit of work

A message states what was asked, what is allowed, the current state and what to do. It never contains a data value.
Errors of the first three kinds are raised before anything is charged, read or drawn. So is a LedgerError, with one
exception, which its message states: if the disk or the connection fails during the commit of a charge, whether it was
recorded is not known, and still nothing is read or drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpframe.run.result import Result
    from dpframe.spec.budget import Budget


class DPFrameError(Exception):
    """Base of every error raised by dpframe. It can be pickled and copied, with its attributes and notes."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args), vars(self)


def _restored(cls: type[DPFrameError], args: tuple[Any, ...]) -> DPFrameError:
    """An error without its attributes: its own arguments, some of them by keyword only, are not known here."""
    return cls.__new__(cls, *args)


class PlanError(DPFrameError, ValueError):
    """A plan, promise or parameter is invalid. Nothing was charged, read or drawn."""


class BudgetExceeded(PlanError):
    """A plan costs more than its budget, or than a ledger has left. Nothing was charged, read or drawn.

    Args:
        message: the full message.
        asked: the epsilon that the plan would reach.
        allowed: the epsilon of the budget.
        delta: the delta at which both epsilons are stated.
        remaining: the budget that the data set has left in its ledger.
        affordable: the largest budget with which this plan would fit into the remaining one, if there is one.
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
    """The public schema of a data source does not fit the plan."""


class PluginError(DPFrameError):
    """A plugin is unknown, broken, in conflict with another, or written for another interface version."""


class LedgerError(DPFrameError):
    """A ledger cannot be opened, read or written, or its entries were altered. Nothing was read or drawn.

    Nothing was charged either, except where the message says that this is not known.
    """


class ReleaseFailed(DPFrameError):
    """A run failed after the charge. The charge stands, since the failure itself may depend on the data.

    Args:
        message: the full message.
        step: the name of the step that failed, if it is known.
        spent: the budget that was charged, if it is known.
        result: what was released all the same, with what could be derived from it; None if there is nothing.
    """

    def __init__(
        self, message: str, *, step: str | None = None, spent: Budget | None = None, result: Result | None = None
    ) -> None:
        super().__init__(message)
        self.step = step
        self.spent = spent
        self.result = result


class DerivationFailed(ReleaseFailed):
    """A derivation failed. Its words depend on released values only; everything that was paid for is in `result`."""


class SamplingError(ReleaseFailed):
    """A sampler reached its stated limit of work. The charge stands."""


def described(error: BaseException) -> str:
    """The type and text of any error, in words; one of dpframe's own needs no type.

    >>> described(KeyError("age"))
    "KeyError: 'age'"
    """
    try:
        text = str(error)
    except Exception:  # the error is somebody else's, and so is its text
        text = ""
    if isinstance(error, DPFrameError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
