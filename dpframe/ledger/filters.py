"""Privacy filters: they decide which runs still fit where each run may depend on the results of earlier ones.

A filter adds up one number per loss and stops before a limit that was fixed in advance. For each of the numbers here it
is a theorem that this suffices even though later losses depend on earlier results:

* "pure": Σ epsilon (Rogers, Roth, Ullman and Vadhan 2016);
* "zcdp": Σ rho (Feldman and Zrnic 2021 for each Rényi order, hence for all of them at once; Lécuyer 2021);
* "gdp": Σ mu² (Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023).

For privacy-loss distributions, and for taking the best of several accountants after the fact, there is no such theorem.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs

from dpframe import losses as known
from dpframe.accounting import GaussianAccountant, PureAccountant, ZcdpAccountant
from dpframe.accounting.calibrate import largest_scale
from dpframe.accounting.scalar import ScalarAccountant
from dpframe.errors import PlanError
from dpframe.losses import ModelBased, PrivacyLoss
from dpframe.spec.budget import Budget

ACCOUNTANTS: dict[str, ScalarAccountant] = {
    each.name: each for each in (PureAccountant(), ZcdpAccountant(), GaussianAccountant())
}
"""The accountants of the core, whatever plugins are installed: the theorems are about these."""

ROUNDING = 1e-9  # relative; the same formula may be rounded differently on another machine or by another version
BELOW = 1 - 1e-9  # the remaining epsilon is reported smaller by this factor, to absorb the rounding of a calibration


@attrs.frozen(kw_only=True)
class Filter:
    """The privacy filter of a data set.

    A run is accepted if the accountant's epsilon for the total after it is within the budget. That epsilon is never
    below the true one, which grows with the total; so every accepted total lies below one number that the budget alone
    determines, as the theorems require.

    Args:
        budget: what all runs together may spend.
        accountant: the accountant that composes them.
        capacity: a total that meets the budget from below, to about 1e-13.
    """

    budget: Budget
    accountant: ScalarAccountant
    capacity: Fraction

    @classmethod
    def of(cls, budget: Budget, accountant: str) -> Filter:
        """The filter of a new data set; raises PlanError where there is none.

        Args:
            budget: what all runs together may spend.
            accountant: the name of the accountant.
        """
        if accountant not in ACCOUNTANTS:
            raise PlanError(
                f"the accountant of a data set must be one of {', '.join(map(repr, ACCOUNTANTS))}; got {accountant!r}. "
                "Only for these is it proved that runs which depend on earlier results may be added up."
            )
        chosen = ACCOUNTANTS[accountant]
        if budget.epsilon == 0.0:
            raise PlanError("the budget of a data set must have epsilon above 0.")
        if budget.delta == 0.0 and accountant != PureAccountant.name:
            raise PlanError(f"the accountant {accountant!r} needs delta above 0; with delta=0 use accountant='pure'.")
        return cls(budget=budget, accountant=chosen, capacity=_capacity(chosen, budget))

    @classmethod
    def default(cls, budget: Budget) -> str:
        """The default accountant: the one that accepts the most kinds of loss at this delta.

        Args:
            budget: the budget of the data set.
        """
        return ZcdpAccountant.name if budget.delta > 0.0 else PureAccountant.name

    def fits(self, total: Fraction) -> bool:
        """Whether runs that add up to this total are within the budget.

        Args:
            total: the sum of the costs of all runs.
        """
        if total <= self.capacity:
            return True
        return total <= 2 * self.capacity and self.epsilon(total) <= self.budget.epsilon

    def epsilon(self, total: Fraction) -> float:
        """The epsilon of a total at the budget's delta; capped at the budget's up to the capacity, where only rounding
        can exceed it.

        Args:
            total: the sum of the costs of all runs.
        """
        epsilon = self.accountant.epsilon_of(total, self.budget.delta)
        return min(epsilon, self.budget.epsilon) if total <= self.capacity else epsilon

    def spent(self, total: Fraction) -> Budget:
        """The epsilon and delta of a total.

        Args:
            total: the sum of the costs of all runs.
        """
        return Budget(epsilon=self.epsilon(total), delta=self.budget.delta)

    def remaining(self, total: Fraction) -> Budget:
        """The largest budget, at the same delta, of a plan that still fits.

        Args:
            total: the sum of the costs of all runs so far.
        """
        if total == 0:
            return self.budget
        left = max(Fraction(0), self.capacity - total)
        epsilon = min(self.accountant.epsilon_of(left, self.budget.delta), self.budget.epsilon)
        return Budget(epsilon=epsilon * BELOW, delta=self.budget.delta)


def _capacity(accountant: ScalarAccountant, budget: Budget) -> Fraction:
    if isinstance(accountant, PureAccountant):
        return Fraction(budget.epsilon)
    scale = largest_scale(lambda scale: accountant.epsilon_of(Fraction(scale) ** 2, budget.delta), budget.epsilon)
    if scale is None:
        raise PlanError(f"no release fits a budget of {budget!r} with the accountant {accountant.name!r}; raise it.")
    return Fraction(scale) ** 2


# -- losses as data ---------------------------------------------------------------------------------------------------

CORE: dict[str, Any] = {name: getattr(known, name) for name in known.__all__ if name != "PrivacyLoss"}


def worst_case(losses: Sequence[PrivacyLoss]) -> list[PrivacyLoss]:
    """The losses that are added up: those that hold for every data set.

    Args:
        losses: the losses of a run.
    """
    return [loss for loss in losses if not isinstance(loss, ModelBased)]


def rests_on_a_model(losses: Sequence[PrivacyLoss]) -> bool:
    """Whether some losses rest on a model of the data, so that `worst_case` leaves them out.

    Args:
        losses: the losses of a run.
    """
    return any(isinstance(loss, ModelBased) for loss in losses)


def written(loss: PrivacyLoss, accountant: ScalarAccountant) -> dict[str, Any]:
    """A loss as plain data; a loss of a plugin is written as a core loss that it implies at the same cost.

    Args:
        loss: the loss.
        accountant: the accountant of the data set, which defines the cost.
    """
    if isinstance(loss, ModelBased):
        return {
            "loss": "ModelBased",
            "of": written(loss.loss, accountant),
            "model": loss.model,
            "failure": loss.failure,
        }
    for weaker in (loss, *loss.implies()):
        for cls in type(weaker).__mro__:
            if CORE.get(cls.__name__) is cls:
                content = {"loss": cls.__name__, **{field: getattr(weaker, field) for field in attrs.fields_dict(cls)}}
                if accountant.cost(read(content)) == accountant.cost(loss):
                    return content
    raise PlanError(f"a {type(loss).__name__} loss implies no loss of dpframe.losses, so that it cannot be recorded.")


def read(content: dict[str, Any]) -> PrivacyLoss:
    """The loss that `written` wrote.

    Args:
        content: the loss as plain data.
    """
    fields = dict(content)
    cls = CORE[fields.pop("loss")]
    if cls is ModelBased:
        return ModelBased(loss=read(fields["of"]), model=fields["model"], failure=fields["failure"])
    loss: PrivacyLoss = cls(**fields)
    return loss
