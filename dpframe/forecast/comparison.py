"""Which mechanism should I use? Every installed one, simulated on the same made-up data."""

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
from dpframe.run.progress import Progress, telling
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
"""What can be compared, and the norm in which it is ranked."""

COMPARED_DRAWS = 200
LEAST_DRAWS = 8  # fewer have no interval for the median


@attrs.frozen(kw_only=True)
class Candidate:
    """One mechanism's way to do the task.

    Args:
        name: the mechanism or recipe.
        plan: how it does the task.
        error: the median of the simulated error.
        interval: where the true median lies, with 99 per cent confidence.
        error_95: the error that 95 per cent of releases stay within.
        spent: what a run costs.
        guarantee: what that promises.
        numerics: the weakest grade of its releases.
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
    """Mechanisms for one task, the smallest error first, and why others are not among them."""

    task: str
    norm: str
    scenario: Scenario
    candidates: tuple[Candidate, ...]
    left_out: dict[str, str]

    @property
    def best(self) -> Candidate:
        """The one with the smallest median error."""
        if not self.candidates:
            told = "; ".join(f"{name}: {reason}" for name, reason in self.left_out.items())
            raise PlanError(f"no installed mechanism can do {self.task!r} here. {told}")
        return self.candidates[0]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
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
    found = attrs.asdict(candidate, filter=lambda field, _: field.name != "plan")
    found["spent"] = attrs.asdict(candidate.spent)
    return {**found, "interval": list(candidate.interval)}


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
    """Rank every installed mechanism by its simulated error on the same made-up data.

    The error is the distance to what the task asks for without privacy, computed by the core: what a mechanism is off
    by design counts as well.

    A mechanism or recipe takes part by its `recipe` method: it is told the task and the public figures, and gives the
    steps that do it.

    Args:
        task: "subspace" (k leading directions), "low-rank" (the part of the moment in them), "eigenvalues" (the k
            largest) or "moment" (the whole matrix).
        rows: the promise about the data.
        budget: what each may spend.
        scenario: assumed data.
        k: how many directions or eigenvalues.
        accept: models of the data that a guarantee may rest on, as for a plan; those that need another are left out.
        draws: how many releases of each to simulate.
        seed: of the made-up data and the noise.
        progress: True for a bar, or a function of a `dp.Progress`.
    """
    from dpframe.forecast.simulation import simulate
    from dpframe.forecast.task_truth import Ideal

    _check(task, k, scenario)
    for field, value, cls in (("rows", rows, Rows), ("budget", budget, Budget)):
        if not isinstance(value, cls):
            raise PlanError(f"{field} must be a dp.{cls.__name__}; got {type(value).__name__}.")
    if not validators.is_int(draws) or draws < LEAST_DRAWS:
        raise PlanError(f"draws must be an integer of at least {LEAST_DRAWS}; got {draws!r}.")
    rows = rows.bind(scenario.dim)
    candidates, left_out = [], {}
    with telling(progress) as teller:
        for cls in registry.classes("mechanism"):
            try:
                steps = cls.recipe(task, k=k, rows=rows, budget=budget, scenario=scenario)
                if steps is None:
                    continue
                teller.begin(f"simulating {cls.name!r}")
                plan = Plan(rows=rows, budget=budget, steps=steps, scenario=scenario, accept=accept)
                simulation = simulate(plan, scenario, draws=draws, seed=seed, teller=teller, ideal=Ideal(task, k))
                candidates.append(_candidate(cls.name, plan, simulation, TASKS[task]))
            except DPFrameError as error:
                left_out[cls.name] = str(error)
            except Exception as error:  # a broken plugin does not take the others down
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
    """Worst case or under a model; and the pure epsilon where there is one, which may be above the budget's."""
    if isinstance(plan.spent, ModelBudget):
        return plan.spent.caveat
    pure, losses = accountant("pure"), plan.pricing.all_losses
    if not all(map(pure.supports, losses)):
        return "worst case"
    return f"worst case, pure ε = {format_up(pure.epsilon(losses, 0.0))}"
