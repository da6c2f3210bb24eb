"""Ranks the installed mechanisms for a task, simulated on the same synthetic data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, overload

import attrs

from dpframe import registry, validators
from dpframe.errors import DPFrameError, PlanError
from dpframe.forecast import error_norms
from dpframe.forecast.comparison import Candidate, Comparison, Comparisons
from dpframe.forecast.error_norms import SEED
from dpframe.forecast.population import Population, population
from dpframe.forecast.promises import Question
from dpframe.forecast.simulation import seconds_of_a_release, simulate
from dpframe.forecast.task_truth import Ideal, per_row
from dpframe.lattice import FloatArray
from dpframe.plan import Plan
from dpframe.run.progress import Progress, ProgressReporter, reporting
from dpframe.spec.budget import Budget
from dpframe.spec.models import Model
from dpframe.spec.rows import Rows
from dpframe.spec.scenario import Scenario

TASKS = {
    "subspace": error_norms.PROJECTORS,
    "low-rank": error_norms.FROBENIUS,
    "eigenvalues": error_norms.FROBENIUS,
    "moment": error_norms.FROBENIUS,
}
"""The tasks that can be compared, each with the norm by which mechanisms are ranked."""

COMPARED_DRAWS = 200
LEAST_DRAWS = 8  # fewer give no bounded confidence interval of the median
LEAST_PER_SHAPE = 10  # fewer give none for each of several shapes at once


@attrs.define
class Job:
    """One plan of a mechanism and what was simulated of it.

    Args:
        epsilon: the epsilon of its budget.
        name: the name of the candidate.
        plan: the plan.
        expected: the seconds that one simulated release is expected to take.
        errors: the errors of all releases, by the shape of the rows.
        seconds: the median time of a release for each shape.
    """

    epsilon: float
    name: str
    plan: Plan
    expected: float = 0.0
    errors: dict[str, FloatArray] = attrs.field(factory=dict)
    seconds: list[float] = attrs.field(factory=list)


@overload
def compare(
    task: str,
    *,
    rows: Rows,
    budget: Budget,
    scenario: Scenario | None = None,
    n: int | None = None,
    k: int | None = None,
    epsilons: None = None,
    accept: Sequence[Model] = (),
    draws: int = COMPARED_DRAWS,
    seed: int = SEED,
    progress: bool | Callable[[Progress], Any] | None = None,
) -> Comparison: ...


@overload
def compare(
    task: str,
    *,
    rows: Rows,
    budget: Budget,
    scenario: Scenario | None = None,
    n: int | None = None,
    k: int | None = None,
    epsilons: Sequence[float],
    accept: Sequence[Model] = (),
    draws: int = COMPARED_DRAWS,
    seed: int = SEED,
    progress: bool | Callable[[Progress], Any] | None = None,
) -> Comparisons: ...


def compare(
    task: str,
    *,
    rows: Rows,
    budget: Budget,
    scenario: Scenario | None = None,
    n: int | None = None,
    k: int | None = None,
    epsilons: Sequence[float] | None = None,
    accept: Sequence[Model] = (),
    draws: int = COMPARED_DRAWS,
    seed: int = SEED,
    progress: bool | Callable[[Progress], Any] | None = None,
) -> Comparison | Comparisons:
    """Rank every installed mechanism by its simulated error on the same synthetic data.

    The error is the distance to the result of the task without privacy, which the core computes, so the bias of a
    mechanism counts as well. No mechanism is ranked by data from its own assumption alone: where the scenario has a
    model of rows, rows of other shapes are simulated too, and mechanisms are ranked by the worst of the median errors.

    For a table, results are about the covariance, and mechanisms are ranked by the geometric mean of the median errors
    on tables of several shapes. A mechanism is tried with a constant coordinate, and about a released center that is
    paid for; a recipe that derives a covariance by itself, as it is.

    A mechanism or recipe takes part through its `recipe` method, which gets the task and the public figures and returns
    the steps that perform it. Every installed one is ranked, or left out for a reason.

    Args:
        task: "subspace" (k leading directions), "low-rank" (the part of the moment in them), "eigenvalues" (the k
            largest) or "moment" (the whole matrix).
        rows: the promise about the data.
        budget: what each mechanism may spend.
        scenario: assumed data. For rows with columns, n is enough: then tables of several shapes are made up.
        n: the assumed number of rows of a table, without a scenario.
        k: the number of directions or eigenvalues.
        epsilons: several budgets, with the delta of ``budget``: one comparison for each.
        accept: models of the data that a guarantee may rest on, as for a plan; mechanisms that need another model are
            left out.
        draws: the number of releases of each mechanism to simulate, divided among the shapes of rows.
        seed: the seed of the synthetic data and of the noise.
        progress: True for a bar, or a function of a `dp.Progress`. Before the simulations begin, and during them, it
            tells how long they will take.
    """
    assumed = _scenario(rows, scenario, n)
    _check(task, k, assumed)
    if not validators.is_int(draws) or draws < LEAST_DRAWS:
        raise PlanError(f"draws must be an integer of at least {LEAST_DRAWS}; got {draws!r}.")
    budgets = _budgets(budget, epsilons)
    comparing = _Comparing(task, k, rows.bind(assumed.dim), assumed, accept, draws, seed)
    with reporting(progress) as reporter:
        found = comparing.run(budgets, reporter)
    return found[budgets[0].epsilon] if epsilons is None else Comparisons(by_epsilon=found)


def _scenario(rows: Any, scenario: Any, n: Any) -> Scenario:
    if not isinstance(rows, Rows):
        raise PlanError(f"rows must be a dp.Rows; got {type(rows).__name__}.")
    if scenario is None and n is not None and rows.columns is not None:
        return Scenario(dim=rows.known_dim, n=n, model="table")
    if not isinstance(scenario, Scenario):
        got = "" if scenario is None else f"; got {type(scenario).__name__}"
        raise PlanError(f"scenario must be a dp.Scenario{got}. For rows with columns, n= is enough.")
    if n is not None:
        raise PlanError("say scenario= or n=, not both: a scenario has its own number of rows.")
    return scenario


def _budgets(budget: Any, epsilons: Any) -> list[Budget]:
    if not isinstance(budget, Budget):
        raise PlanError(f"budget must be a dp.Budget; got {type(budget).__name__}.")
    if epsilons is None:
        budgets = [budget]
    else:
        values = validators.as_tuple(epsilons)
        if not isinstance(values, tuple) or not values or len(set(values)) < len(values):
            raise PlanError(f"epsilons must be a list of different numbers, at least one; got {epsilons!r}.")
        budgets = [attrs.evolve(budget, epsilon=epsilon) for epsilon in values]
    if any(each.epsilon == 0.0 for each in budgets):
        raise PlanError("budget must have epsilon above 0; with epsilon=0 nothing can be released.")
    return budgets


def _check(task: str, k: int | None, scenario: Scenario) -> None:
    if not isinstance(task, str) or task not in TASKS:
        raise PlanError(f"task must be one of {', '.join(map(repr, TASKS))}; got {task!r}.")
    scenario.refuse_true("dp.compare")
    if task == "moment":
        if k is not None:
            raise PlanError("task 'moment' is about the whole matrix; leave k= out.")
    else:
        most = scenario.dim if task == "eigenvalues" else scenario.dim - 1
        if not validators.is_int(k) or not 1 <= k <= most:  # type: ignore[operator]
            raise PlanError(f"task {task!r} with {scenario.dim} coordinates needs k from 1 to {most}; got {k!r}.")
    if scenario.eigenvalues is None and scenario.model != "table":
        raise PlanError("a comparison needs a scenario with spectrum=, or with model='spiked' or model='table'.")


@attrs.frozen
class _Comparing:
    """A comparison under way; see `compare` for the arguments."""

    task: str
    k: int | None
    rows: Rows
    scenario: Scenario
    accept: Sequence[Model]
    draws: int
    seed: int

    def run(self, budgets: Sequence[Budget], reporter: ProgressReporter) -> dict[float, Comparison]:
        """The comparison at each budget, by epsilon.

        Args:
            budgets: the budgets.
            reporter: receives the progress and the time that is left.
        """
        reporter.begin("preparing the comparison")
        left_out: dict[float, dict[str, str]] = {budget.epsilon: {} for budget in budgets}
        jobs = [job for budget in budgets for job in self._jobs(budget, left_out[budget.epsilon])]
        shapes = self.scenario.variations
        draws = self.draws if len(shapes) == 1 else max(LEAST_PER_SHAPE, -(-self.draws // len(shapes)))
        for number, shape in enumerate(shapes):
            data = _Data.drawn_for(jobs, shape, self.seed)
            if number == 0:
                jobs = self._timed(jobs, data, left_out)
                phase = f"comparing {len(jobs)} plans on rows of {len(shapes)} shapes, {draws} releases each"
                reporter.begin(phase, seconds_left=len(shapes) * draws * sum(job.expected for job in jobs))
            for at, job in enumerate(jobs):
                ahead = [*jobs[at:], *(jobs * (len(shapes) - number - 1))]
                reporter.begin(f"simulating {job.name!r}", seconds_left=draws * sum(each.expected for each in ahead))
                with _noting(left_out[job.epsilon], job.name):
                    found = simulate(
                        job.plan,
                        shape,
                        draws=draws,
                        seed=self.seed,
                        reporter=reporter,
                        ideal=self._ideal,
                        synthetic=data.of(job.plan),
                    )
                    job.errors[label(shape)] = self._errors(job.plan, found.of(job.plan.steps[-1].name))
                    job.seconds.append(found.seconds)
        return {
            budget.epsilon: self._comparison(
                [job for job in jobs if job.epsilon == budget.epsilon], left_out[budget.epsilon]
            )
            for budget in budgets
        }

    def _jobs(self, budget: Budget, left_out: dict[str, str]) -> Iterator[Job]:
        """The plans of all installed mechanisms at one budget."""
        question = self._question(budget)
        for cls in registry.classes("mechanism"):
            with _noting(left_out, cls.name):
                for name, made in question.plans(cls):
                    with _noting(left_out, name):
                        yield Job(budget.epsilon, name, made())

    def _question(self, budget: Budget) -> Question:
        return Question(
            task=self.task, k=self.k, rows=self.rows, budget=budget, scenario=self.scenario, accept=self.accept
        )

    @property
    def _ideal(self) -> Ideal:
        return Ideal(self.task, self.k, self.scenario.model == "table" and not self.rows.is_moved)

    def _timed(self, jobs: Sequence[Job], data: _Data, left_out: dict[float, dict[str, str]]) -> list[Job]:
        """The jobs that can be done, with the time that a release takes."""
        timed = []
        for job in jobs:
            with _noting(left_out[job.epsilon], job.name):
                job.expected = seconds_of_a_release(job.plan, data.of(job.plan))
                timed.append(job)
        return timed

    def _errors(self, plan: Plan, errors: Mapping[str, FloatArray]) -> FloatArray:
        """The errors in the norm of the task; those of a sum over the rows of a table are divided by their number."""
        norm = TASKS[self.task]
        if norm not in errors:
            raise PlanError(f"the error of its last step {plan.steps[-1].name!r} cannot be measured.")
        in_sums = self._ideal.of_table and norm == error_norms.FROBENIUS and not per_row(plan)
        return errors[norm] / float(self.scenario.n or 1) if in_sums else errors[norm]

    def _comparison(self, jobs: Sequence[Job], left_out: dict[str, str]) -> Comparison:
        shapes = tuple(label(shape) for shape in self.scenario.variations)
        over = "geometric mean" if self.scenario.model == "table" else "worst"
        candidates = [
            Candidate.of(job.name, job.plan, norm=TASKS[self.task], over=over, errors=job.errors, seconds=job.seconds)
            for job in jobs
            if set(shapes) == set(job.errors)
        ]
        return Comparison(
            task=self.task,
            norm=TASKS[self.task],
            scenario=self.scenario,
            shapes=shapes,
            over=over,
            candidates=tuple(sorted(candidates, key=lambda candidate: candidate.error)),
            left_out=left_out,
        )


def label(scenario: Scenario) -> str:
    """The shape of the rows of a scenario, in a word or two.

    Args:
        scenario: one of the variations of a scenario.
    """
    return scenario.shape or ("normal" if scenario.model else "none")


@attrs.frozen(eq=False)
class _Data:
    """The synthetic data of a scenario, drawn once for all plans if it has rows.

    Args:
        scenario: the scenario.
        seed: the seed of the data.
        drawn: its rows; None if it has none.
    """

    scenario: Scenario
    seed: int
    drawn: Population | None

    @classmethod
    def drawn_for(cls, jobs: Sequence[Job], scenario: Scenario, seed: int) -> _Data:
        """The data for all these plans, which have the same columns.

        Args:
            jobs: the plans.
            scenario: the scenario.
            seed: the seed of the data.
        """
        has_rows = scenario.model is not None and len(jobs) > 0
        return cls(scenario, seed, population(jobs[0].plan, scenario, seed) if has_rows else None)

    def of(self, plan: Plan) -> Population:
        """The data for a plan; raises PlanError where the plan needs rows and there are none.

        Args:
            plan: one of the plans.
        """
        return population(plan, self.scenario, self.seed) if self.drawn is None else self.drawn


@contextmanager
def _noting(left_out: dict[str, str], name: str) -> Iterator[None]:
    """Note why a mechanism is left out: a broken plugin must not stop the comparison."""
    try:
        yield
    except DPFrameError as error:
        left_out[name] = str(error)
    except Exception as error:
        left_out[name] = f"it failed with {type(error).__name__}"
