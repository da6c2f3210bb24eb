"""Privacy filters: which runs still fit, when each run may be chosen by the results of those before.

A filter adds up one number per loss and stops before a limit that was fixed in advance. That this is enough even though
later losses depend on earlier results is a theorem for each of the numbers here:

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
"""The accountants of this package itself, whatever plugins are installed: the theorems are about these."""

BELOW = 1 - 1e-9  # what is said to be left is so much smaller than it is, for the rounding of a calibration


@attrs.frozen(kw_only=True)
class Filter:
    """The limit of a data set.

    The rule is that the accountant, asked for the total after a run, must answer an epsilon within the budget. Its
    answers are never below the true epsilon, which grows with the total; so every total that passes lies below one
    number that the budget alone determines, as the theorems ask.

    Args:
        budget: what all runs together may spend.
        accountant: how they are composed.
        capacity: a total that meets the budget from below, to about 1e-13.
    """

    budget: Budget
    accountant: ScalarAccountant
    capacity: Fraction

    @classmethod
    def of(cls, budget: Budget, accountant: str) -> Filter:
        """The filter of a new data set; raises PlanError where there is none."""
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
        """The accountant where none is named: the one that composes most, with this delta."""
        return ZcdpAccountant.name if budget.delta > 0.0 else PureAccountant.name

    def fits(self, total: Fraction) -> bool:
        """Whether runs that add up to this are within the budget."""
        if total <= self.capacity:
            return True
        return total <= 2 * self.capacity and self.epsilon(total) <= self.budget.epsilon

    def epsilon(self, total: Fraction) -> float:
        """The epsilon of a total at the budget's delta; that of the budget where only rounding is above it."""
        found = self.accountant.epsilon_of(total, self.budget.delta)
        return min(found, self.budget.epsilon) if total <= self.capacity else found

    def spent(self, total: Fraction) -> Budget:
        """What a total amounts to."""
        return Budget(epsilon=self.epsilon(total), delta=self.budget.delta)

    def remaining(self, total: Fraction) -> Budget:
        """What a further plan at the same delta may cost."""
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
    """The losses that are added up: those that hold whatever the data is."""
    return [loss for loss in losses if not isinstance(loss, ModelBased)]


def rests_on_a_model(losses: Sequence[PrivacyLoss]) -> bool:
    """Whether some of them are left out of that sum."""
    return any(isinstance(loss, ModelBased) for loss in losses)


def written(loss: PrivacyLoss, accountant: ScalarAccountant) -> dict[str, Any]:
    """A loss as plain data; one of a third party by what it implies and costs here."""
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
    """The loss again."""
    fields = dict(content)
    cls = CORE[fields.pop("loss")]
    if cls is ModelBased:
        return ModelBased(loss=read(fields["of"]), model=fields["model"], failure=fields["failure"])
    found: PrivacyLoss = cls(**fields)
    return found
