"""The price of a plan: a common scale of all free levels, solved so that the composed loss meets the budget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from dpframe.accounting.auto import accountant
from dpframe.accounting.calibrate import largest_scale
from dpframe.errors import BudgetExceeded, DPFrameError, PlanError
from dpframe.interfaces import Accountant
from dpframe.losses import PrivacyLoss, under_models
from dpframe.plan.slack import check_slack
from dpframe.rounding import format_given, format_up
from dpframe.spec.budget import Budget, spent_by
from dpframe.spec.models import check_accepted

if TYPE_CHECKING:
    from dpframe.plan import Plan


def _frozen(mapping: Any) -> Any:
    return MappingProxyType(dict(mapping))


@attrs.frozen(kw_only=True)
class Pricing:
    """The levels solved for a plan and their cost.

    Args:
        levels: the level of each release, by step.
        losses: the privacy losses of each release at that level, by step.
        spent: the composed cost.
    """

    levels: Mapping[str, float] = attrs.field(converter=_frozen)
    losses: Mapping[str, tuple[PrivacyLoss, ...]] = attrs.field(converter=_frozen)
    spent: Budget

    @property
    def all_losses(self) -> tuple[PrivacyLoss, ...]:
        """The losses of all releases, in the order of the plan."""
        return tuple(loss for losses in self.losses.values() for loss in losses)

    @property
    def composed(self) -> tuple[PrivacyLoss, ...]:
        """The losses as the accountant composes them: a model-based loss counts as what it is under its model."""
        return under_models(self.all_losses)


def priced(plan: Plan) -> Pricing:
    """The levels of a plan, their losses and the composed cost; raises PlanError where no level fits the budget.

    Args:
        plan: a plan whose steps were checked.
    """
    chosen = accountant(plan.accountant)
    for name, parts in plan.losses_at(1.0).items():
        check_accepted(name, parts, plan.accept)
        _check_supported(chosen, name, parts)

    def epsilon_at(scale: float) -> float:
        return _composed(plan, chosen, plan.losses_at(scale))

    free = any(step.level is None for step, _ in plan.releases)
    scale = largest_scale(epsilon_at, plan.budget.epsilon) if free else 1.0
    if scale is None or (not free and epsilon_at(scale) > plan.budget.epsilon):
        raise _too_expensive(plan, chosen, free)
    losses = plan.losses_at(scale)
    levels = {step.name: step.level_at(scale) for step, _ in plan.releases}
    check_levels(plan, levels)
    return Pricing(
        levels=levels,
        losses=losses,
        spent=spent_by(
            (loss for parts in losses.values() for loss in parts),
            epsilon=_composed(plan, chosen, losses),
            delta=plan.budget.delta,
        ),
    )


def check_levels(plan: Plan, levels: Mapping[str, float]) -> None:
    """Raise PlanError where a mechanism cannot run at its level, or the numerical slack of all is too large.

    Args:
        plan: the plan.
        levels: the level of each release, by step.
    """
    for step, mechanism in plan.releases:
        with step.naming():
            mechanism.check_level(plan.rows_of(step), levels[step.name])
    check_slack(plan, levels)


def _check_supported(chosen: Accountant, step: str, losses: tuple[PrivacyLoss, ...]) -> None:
    for loss in under_models(losses):
        if not chosen.supports(loss):
            raise PlanError(
                f"the accountant {chosen.name!r} cannot compose the {type(loss).__name__} loss of step {step!r}."
            )


def _composed(plan: Plan, chosen: Accountant, losses: Mapping[str, tuple[PrivacyLoss, ...]]) -> float:
    """The epsilon of all losses, where one that rests on an accepted model is composed as under that model."""
    try:
        return chosen.epsilon([loss for part in losses.values() for loss in under_models(part)], plan.budget.delta)
    except ArithmeticError:  # levels far beyond any budget, for which no bound can be computed
        return math.inf


def _too_expensive(plan: Plan, chosen: Accountant, free: bool) -> PlanError:
    losses = plan.losses_at(1.0)
    fixed = {step.name: losses[step.name] for step, _ in plan.releases if step.level is not None}
    asked = _composed(plan, chosen, fixed)
    if fixed and math.isfinite(asked):
        above = "just above " if free else ""
        return BudgetExceeded(
            f"the steps with a fixed level ({', '.join(map(repr, fixed))}) cost epsilon={format_up(asked)} "
            f"at delta={format_given(plan.budget.delta)}; the budget is epsilon={format_given(plan.budget.epsilon)}. "
            f"Nothing was charged. The smallest feasible budget is {above}epsilon={format_up(asked)}; raise it to "
            "that, or lower their level=.",
            asked=asked,
            allowed=plan.budget.epsilon,
            delta=plan.budget.delta,
        )
    impure = [
        name for name, parts in losses.items() if math.isinf(chosen.epsilon(under_models(parts), plan.budget.delta))
    ]
    if impure and plan.budget.delta == 0.0:
        return PlanError(
            f"step {impure[0]!r} has no pure guarantee: its mechanism needs delta > 0, and the budget has "
            f"delta=0. Say dp.Budget(epsilon={format_given(plan.budget.epsilon)}, delta=1e-6), or use a pure mechanism."
        )
    return PlanError(f"no level of the free steps fits {plan.budget}; raise the budget.")


@contextmanager
def computable() -> Iterator[None]:
    """Raise PlanError where floats cannot hold what is computed from a plan."""
    try:
        with np.errstate(all="ignore"):
            yield
    except DPFrameError:
        raise
    except (ArithmeticError, ValueError) as error:
        raise PlanError(
            f"the plan cannot be computed with ({type(error).__name__}: {error}): a number of its rows, budget, steps "
            "or scenario may be so large or so small that floats cannot hold what follows from it. Nothing was charged."
        ) from None
