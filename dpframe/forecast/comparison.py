"""Comparison of the installed mechanisms for a task, simulated on the same synthetic data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from dpframe import registry, validators
from dpframe.accounting.auto import accountant
from dpframe.display.exportable import Exportable
from dpframe.display.printable import Printable
from dpframe.errors import DPFrameError, PlanError
from dpframe.forecast import error_norms
from dpframe.forecast.error_norms import CONFIDENCE, SEED
from dpframe.plan import Plan
from dpframe.rounding import format_up
from dpframe.run.progress import Progress, reporting
from dpframe.spec.budget import Budget, ModelBudget
from dpframe.spec.models import Model
from dpframe.spec.rows import Rows
from dpframe.spec.scenario import Scenario

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpframe.forecast.simulation import Simulation

TASKS = {
    "subspace": error_norms.PROJECTORS,
    "low-rank": error_norms.FROBENIUS,
    "eigenvalues": error_norms.FROBENIUS,
    "moment": error_norms.FROBENIUS,
}
"""The tasks that can be compared, each with the norm by which mechanisms are ranked."""

COMPARED_DRAWS = 200
LEAST_DRAWS = 8  # fewer give no bounded confidence interval of the median


@attrs.frozen(kw_only=True)
class Candidate:
    """One mechanism with its plan for the task and its simulated error.

    Args:
        name: the mechanism or recipe.
        plan: the plan with which it does the task.
        error: the median of the simulated error.
        interval: a 99 percent confidence interval of that median.
        error_95: the error that 95 percent of releases stay within.
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
    spent: Budget
    guarantee: str
    numerics: str
    seconds: float


@attrs.frozen(kw_only=True, repr=False)
class Comparison(Printable, Exportable):
    """The mechanisms for one task, the smallest error first, and why others were left out.

    Args:
        task: the task.
        norm: the norm in which the error is measured.
        scenario: the assumed data.
        candidates: the mechanisms, from the smallest median error.
        left_out: the reason why a mechanism was left out, by name.
    """

    task: str
    norm: str
    scenario: Scenario
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
            "candidates": [_plain(candidate) for candidate in self.candidates],
            "left_out": dict(self.left_out),
        }

    def __rich__(self) -> RenderableType:
        from dpframe.forecast.render import render_comparison

        return render_comparison(self)


def _plain(candidate: Candidate) -> dict[str, Any]:
    fields = attrs.asdict(candidate, filter=lambda field, _: field.name != "plan")
    fields["spent"] = attrs.asdict(candidate.spent)
    return {**fields, "interval": list(candidate.interval)}


def compare(
    task: str,
    *,
    rows: Rows,
    budget: Budget,
    scenario: Scenario,
    k: int | None = None,
    accept: Sequence[Model] = (),
    draws: int = COMPARED_DRAWS,
    seed: int = SEED,
    progress: bool | Callable[[Progress], Any] | None = None,
) -> Comparison:
    """Rank every installed mechanism by its simulated error on the same synthetic data.

    The error is the distance to the result of the task without privacy, which the core computes, so the bias of a
    mechanism counts as well.

    A mechanism or recipe takes part through its `recipe` method, which gets the task and the public figures and returns
    the steps that perform it.

    Args:
        task: "subspace" (k leading directions), "low-rank" (the part of the moment in them), "eigenvalues" (the k
            largest) or "moment" (the whole matrix).
        rows: the promise about the data.
        budget: what each mechanism may spend.
        scenario: assumed data.
        k: the number of directions or eigenvalues.
        accept: models of the data that a guarantee may rest on, as for a plan; mechanisms that need another model are
            left out.
        draws: the number of releases of each mechanism to simulate.
        seed: the seed of the synthetic data and of the noise.
        progress: True for a bar, or a function of a `dp.Progress`.
    """
    from dpframe.forecast.simulation import simulate
    from dpframe.forecast.task_truth import Ideal

    _check(task, k, scenario)
    for field, value, cls in (("rows", rows, Rows), ("budget", budget, Budget)):
        if not isinstance(value, cls):
            raise PlanError(f"{field} must be a dp.{cls.__name__}; got {type(value).__name__}.")
    if budget.epsilon == 0.0:
        raise PlanError("budget must have epsilon above 0; with epsilon=0 nothing can be released.")
    if not validators.is_int(draws) or draws < LEAST_DRAWS:
        raise PlanError(f"draws must be an integer of at least {LEAST_DRAWS}; got {draws!r}.")
    rows = rows.bind(scenario.dim)
    candidates, left_out = [], {}
    with reporting(progress) as reporter:
        for cls in registry.classes("mechanism"):
            try:
                steps = cls.recipe(task, k=k, rows=rows, budget=budget, scenario=scenario)
                if steps is None:
                    continue
                reporter.begin(f"simulating {cls.name!r}")
                plan = Plan(rows=rows, budget=budget, steps=steps, scenario=scenario, accept=accept)
                simulation = simulate(plan, scenario, draws=draws, seed=seed, reporter=reporter, ideal=Ideal(task, k))
                candidates.append(_candidate(cls.name, plan, simulation, TASKS[task]))
            except DPFrameError as error:
                left_out[cls.name] = str(error)
            except Exception as error:  # a broken plugin must not stop the comparison
                left_out[cls.name] = f"it failed with {type(error).__name__}"
    ranked = sorted(candidates, key=lambda candidate: candidate.error)
    return Comparison(task=task, norm=TASKS[task], scenario=scenario, candidates=tuple(ranked), left_out=left_out)


def _check(task: str, k: int | None, scenario: Scenario) -> None:
    if not isinstance(task, str) or task not in TASKS:
        raise PlanError(f"task must be one of {', '.join(map(repr, TASKS))}; got {task!r}.")
    if not isinstance(scenario, Scenario):
        raise PlanError(f"scenario must be a dp.Scenario; got {type(scenario).__name__}.")
    scenario.refuse_true("dp.compare")
    if task == "moment":
        if k is not None:
            raise PlanError("task 'moment' is about the whole matrix; leave k= out.")
    else:
        most = scenario.dim if task == "eigenvalues" else scenario.dim - 1
        if not validators.is_int(k) or not 1 <= k <= most:  # type: ignore[operator]
            raise PlanError(f"task {task!r} with {scenario.dim} coordinates needs k from 1 to {most}; got {k!r}.")
    if scenario.eigenvalues is None:
        raise PlanError("a comparison needs a scenario with spectrum=, or with model='spiked'.")


def _candidate(name: str, plan: Plan, simulation: Simulation, norm: str) -> Candidate:
    errors = simulation.of(plan.steps[-1].name).get(norm)
    if errors is None:
        raise PlanError(f"the error of its last step {plan.steps[-1].name!r} cannot be measured.")
    grades = ("floating", "certified", "exact")
    return Candidate(
        name=name,
        plan=plan,
        error=error_norms.quantile(errors, 0.5, norm),
        interval=error_norms.interval(errors, 0.5, norm, CONFIDENCE),
        error_95=error_norms.quantile(errors, 0.95, norm),
        spent=plan.spent,
        guarantee=_guarantee(plan),
        numerics=min((mechanism.numerics for _, mechanism in plan.releases), key=grades.index),
        seconds=simulation.seconds,
    )


def _guarantee(plan: Plan) -> str:
    """Worst case or under a model, with the pure epsilon where there is one, which may exceed the budget's epsilon."""
    if isinstance(plan.spent, ModelBudget):
        return plan.spent.caveat
    pure, losses = accountant("pure"), plan.pricing.all_losses
    if not all(map(pure.supports, losses)):
        return "worst case"
    return f"worst case, pure ε = {format_up(pure.epsilon(losses, 0.0), plan.budget.epsilon)}"
