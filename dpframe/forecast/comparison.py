"""Comparisons of the installed mechanisms for a task: their values and what is shown of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from dpframe.accounting.auto import accountant
from dpframe.display.exportable import Exportable
from dpframe.display.printable import Printable
from dpframe.errors import PlanError
from dpframe.forecast import error_norms
from dpframe.forecast.error_norms import CONFIDENCE
from dpframe.lattice import FloatArray
from dpframe.plan import Plan
from dpframe.rounding import format_given, format_up
from dpframe.spec.budget import Budget, ModelBudget
from dpframe.spec.scenario import Scenario

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpframe.plots import ComparisonDisplay, EpsilonsDisplay


@attrs.frozen(kw_only=True)
class Candidate:
    """One mechanism with its plan for the task and its simulated error.

    If rows of several shapes were simulated, each figure is one over all of them: see `Comparison.over`.

    Args:
        name: the mechanism or recipe, and whether it takes rows about a released center.
        plan: the plan with which it does the task.
        error: the median of the simulated error.
        interval: a 99 percent confidence interval of that median.
        error_95: the error that 95 percent of releases stay within.
        errors: the median of the simulated error for each shape of rows.
        spent: the cost of a run.
        guarantee: the guarantee in words.
        numerics: the weakest numerics grade of its releases.
        seconds: the median time of a release, without reading the data.
    """

    name: str
    plan: Plan
    error: float
    interval: tuple[float, float]
    error_95: float
    errors: dict[str, float]
    spent: Budget
    guarantee: str
    numerics: str
    seconds: float

    @classmethod
    def of(
        cls,
        name: str,
        plan: Plan,
        *,
        norm: str,
        over: str,
        errors: Mapping[str, FloatArray],
        seconds: Sequence[float],
    ) -> Candidate:
        """A candidate from its simulated errors.

        Args:
            name: its name.
            plan: its plan.
            norm: the norm of the errors.
            over: how the errors for several shapes are made one, a key of `OVER`.
            errors: the errors of all releases, for each shape of rows.
            seconds: the median time of a release for each shape.
        """
        one = OVER[over]
        confidence = 1.0 - (1.0 - CONFIDENCE) / len(errors)  # so that all intervals hold at once
        medians = {shape: error_norms.quantile(each, 0.5, norm) for shape, each in errors.items()}
        limits = [error_norms.interval(each, 0.5, norm, confidence) for each in errors.values()]
        grades = ("floating", "certified", "exact")
        return cls(
            name=name,
            plan=plan,
            error=one(list(medians.values())),
            interval=(one([low for low, _ in limits]), one([high for _, high in limits])),
            error_95=one([error_norms.quantile(each, 0.95, norm) for each in errors.values()]),
            errors=medians,
            spent=plan.spent,
            guarantee=_guarantee(plan),
            numerics=min((mechanism.numerics for _, mechanism in plan.releases), key=grades.index),
            seconds=max(seconds),
        )


def _geometric_mean(values: Sequence[float]) -> float:
    if len(values) == 1 or 0.0 in values:
        return min(values)
    return math.exp(math.fsum(map(math.log, values)) / len(values))


OVER: dict[str, Callable[[Sequence[float]], float]] = {"worst": max, "geometric mean": _geometric_mean}
"""How the errors for several shapes of rows are made one."""


@attrs.frozen(kw_only=True, repr=False)
class Comparison(Printable, Exportable):
    """The mechanisms for one task, the smallest error first, and why others were left out.

    Args:
        task: the task.
        norm: the norm in which the error is measured.
        scenario: the assumed data.
        shapes: the shapes of the rows that were simulated.
        over: how the errors for several shapes are made one: the "worst", where a model of rows is assumed, which may
            be wrong; the "geometric mean" for tables, none of whose shapes is assumed.
        candidates: the mechanisms, from the smallest median error.
        left_out: the reason why a mechanism was left out, by name.
    """

    task: str
    norm: str
    scenario: Scenario
    shapes: tuple[str, ...]
    over: str
    candidates: tuple[Candidate, ...]
    left_out: dict[str, str]

    @property
    def best(self) -> Candidate:
        """The mechanism with the smallest median error; raises PlanError where there is none."""
        if not self.candidates:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.left_out.items())
            raise PlanError(f"no installed mechanism can do {self.task!r} here. {reasons}")
        return self.candidates[0]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain data, without the plans and the scenario."""
        return {
            "task": self.task,
            "norm": self.norm,
            "shapes": list(self.shapes),
            "over": self.over,
            "candidates": [_plain(candidate) for candidate in self.candidates],
            "left_out": dict(self.left_out),
        }

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw the errors with matplotlib; the figure is `figure_` of the display that is returned.

        Needs ``pip install 'dpframe[plots]'``.

        Args:
            ax: the axes to draw on; None for a new figure.
        """
        from dpframe.plots import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self).plot(ax)

    def __rich__(self) -> RenderableType:
        from dpframe.forecast.render import render_comparison

        return render_comparison(self)


@attrs.frozen(kw_only=True, repr=False)
class Comparisons(Printable, Exportable):
    """Comparisons for one task at several budgets.

    Args:
        by_epsilon: the comparisons, by epsilon, in the order in which they were asked for.
    """

    by_epsilon: dict[float, Comparison]

    def __getitem__(self, epsilon: float) -> Comparison:
        """The comparison at an epsilon that was asked for."""
        if epsilon not in self.by_epsilon:
            asked = ", ".join(map(format_given, self.by_epsilon))
            raise PlanError(f"no comparison was made at epsilon={epsilon!r}; there are: {asked}.")
        return self.by_epsilon[epsilon]

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.by_epsilon.values())

    def __len__(self) -> int:
        return len(self.by_epsilon)

    def to_dict(self) -> dict[str, Any]:
        """The comparisons as plain data, each with its epsilon."""
        return {
            "comparisons": [{"epsilon": epsilon, **each.to_dict()} for epsilon, each in self.by_epsilon.items()],
        }

    def plot(self, ax: Any = None) -> EpsilonsDisplay:
        """Draw the errors against epsilon with matplotlib; see :meth:`Comparison.plot`.

        Args:
            ax: the axes to draw on; None for a new figure.
        """
        from dpframe.plots import EpsilonsDisplay

        return EpsilonsDisplay.from_comparisons(self).plot(ax)

    def __rich__(self) -> RenderableType:
        from dpframe.forecast.render import render_comparisons

        return render_comparisons(self)


def _plain(candidate: Candidate) -> dict[str, Any]:
    fields = attrs.asdict(candidate, filter=lambda field, _: field.name != "plan")
    fields["spent"] = attrs.asdict(candidate.spent)
    return {**fields, "interval": list(candidate.interval)}


def _guarantee(plan: Plan) -> str:
    """Worst case or under a model, with the pure epsilon where there is one, which may exceed the budget's epsilon."""
    if isinstance(plan.spent, ModelBudget):
        return plan.spent.caveat
    pure, losses = accountant("pure"), plan.pricing.all_losses
    if not all(map(pure.supports, losses)):
        return "worst case"
    return f"worst case, pure ε = {format_up(pure.epsilon(losses, 0.0), plan.budget.epsilon)}"
