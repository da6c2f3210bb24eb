"""Checks of a bound oracle: what it proves holds in simulation, and only where its assumptions do."""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from dpframe import runner
from dpframe.bounds import Bound, Scenario
from dpframe.budget import Budget
from dpframe.errors import PlanError
from dpframe.inputs import resolve
from dpframe.interfaces import BoundOracle, PostProcessor
from dpframe.kinds import Kind, Spectrum, Subspace
from dpframe.lattice import FloatArray
from dpframe.noise import Keystream, Random
from dpframe.plan import Plan
from dpframe.rows import Rows
from dpframe.sources import open_source
from dpframe.statistics import Moment
from dpframe.steps import derive, release
from dpframe.testing.checks import Failed, NotRun, check

DIM, RANKS = 6, (1, 2, 5)
SEPARATED = (4000.0, 3000.0, 900.0, 600.0, 300.0, 100.0)
CLOSE = (520.0, 515.0, 510.0, 505.0, 500.0, 495.0)
PROVED = ("upper-mean", "upper-probability", "lower")
DEVIATIONS = 5.5  # of the mean of the simulation: a false alarm of 2e-8 for each bound


@attrs.frozen(eq=False, slots=False)
class OracleStage:
    """An oracle, and a plan with steps that it may know something about."""

    subject: BoundOracle
    plan: Plan
    draws: int

    def bounds(self, step: str, scenario: Scenario) -> list[Bound]:
        return self.subject.bounds(self.plan, step, scenario)

    @property
    def derived(self) -> list[str]:
        return [step.name for step in self.plan.steps]

    @cached_property
    def _errors(self) -> dict[tuple[float, ...], dict[tuple[str, str], FloatArray]]:
        return {}

    def errors(self, spectrum: tuple[float, ...]) -> dict[tuple[str, str], FloatArray]:
        """Simulated errors of every step, by norm, for data with this spectrum."""
        if spectrum not in self._errors:
            self._errors[spectrum] = simulated(self.plan, np.array(spectrum), self.draws)
        return self._errors[spectrum]


def usual_plan() -> Plan:
    """A Gaussian release and what is commonly derived from it."""
    try:
        steps = [
            release("moment", "gaussian"),
            *(derive(f"top-{k}", "top-subspace", of="moment", k=k) for k in RANKS),
            *(derive(f"rank-{k}", "rank-k", of="moment", k=k) for k in RANKS),
        ]
    except PlanError as error:
        raise PlanError(f"say plan= to check an oracle: the usual one cannot be made. {error}") from None
    rows = Rows(norm=1.0, neighbors="add-remove", dim=DIM)
    return Plan(rows=rows, budget=Budget(epsilon=1.0, delta=1e-6), steps=steps)


def rows_with(spectrum: FloatArray, norm: float) -> FloatArray:
    """Rows along the axes whose second moment has this spectrum, none longer than the norm."""
    made = []
    for axis, value in enumerate(spectrum):
        count = max(math.ceil(value / norm**2), 1)
        row = np.zeros(len(spectrum))
        row[axis] = math.sqrt(value / count)
        made.append(np.tile(row, (count, 1)))
    return np.vstack(made)


def simulated(plan: Plan, spectrum: FloatArray, draws: int) -> dict[tuple[str, str], FloatArray]:
    """The errors of all steps of a plan of one pass against what they would be without noise."""
    source = open_source(rows_with(spectrum, plan.rows.length), plan.rows)
    data = runner.read(plan, source, [step for step in plan.steps if plan.passes[step.name] == 1], {})
    exact = Moment.value(data.moment, plan.rows)
    truth: dict[str, Kind] = {}
    for step in plan.steps:
        action = resolve(step.action, truth)
        truth[step.name] = action.apply() if isinstance(action, PostProcessor) else exact
    stream = Keystream.insecure(17)
    found: dict[tuple[str, str], list[float]] = {}
    for draw in range(draws):
        values: dict[str, Kind] = {}
        for step in plan.steps:
            values[step.name] = runner.act(plan, step, data, values, Random(stream.child(str(draw))))
            difference = _array(values[step.name]) - _array(truth[step.name])
            order = 2 if difference.ndim == 2 else None
            found.setdefault((step.name, "Frobenius"), []).append(float(np.linalg.norm(difference)))
            found.setdefault((step.name, "spectral"), []).append(float(np.linalg.norm(difference, order)))
    return {key: np.array(errors) for key, errors in found.items()}


def _array(value: Kind) -> FloatArray:
    array: FloatArray = value.array @ value.array.T if isinstance(value, Subspace) else value.array
    return array


@check("bound oracle")
def bounds_are_well_formed(stage: OracleStage) -> str:
    """It answers for every step, with or without a spectrum, the same each time, in finite numbers of known kinds."""
    count = 0
    for scenario in (Scenario(dim=DIM), Scenario(dim=DIM, spectrum=SEPARATED), Scenario(dim=DIM, spectrum=CLOSE)):
        for step in stage.derived:
            bounds = stage.bounds(step, scenario)
            if bounds != stage.bounds(step, scenario):
                raise Failed(f"{step}: two answers to the same question differ")
            for bound in bounds:
                if bound.value is None:
                    if all(assumption.holds for assumption in bound.assumptions):
                        raise Failed(f"{bound.name} of {step!r} gives no number, though its assumptions hold")
                elif not (math.isfinite(bound.value) and bound.value >= 0):
                    raise Failed(f"{bound.name} of {step!r} is {bound.value}, not a finite size")
                if bound.kind in PROVED and not bound.citation:
                    raise Failed(f"{bound.name} of {step!r} claims a proof without saying where it is")
            count += len(bounds)
    if not count:
        raise NotRun("it says nothing about the plan it was checked with; say plan=")
    return f"{count} bounds"


@check("bound oracle")
def bounds_hold(stage: OracleStage) -> str:
    """Upper bounds are above the simulated mean and lower bounds below it; forecasts are within a factor of 2."""
    return _compared(stage, SEPARATED)


@check("bound oracle")
def assumptions_enforced(stage: OracleStage) -> str:
    """Where eigenvalues lie close together a bound still holds, or says which of its assumptions fails."""
    return _compared(stage, CLOSE)


def _compared(stage: OracleStage, spectrum: tuple[float, ...]) -> str:
    errors = stage.errors(spectrum)
    compared, others = 0, set()
    for step in stage.derived:
        for bound in stage.bounds(step, Scenario(dim=DIM, spectrum=Spectrum.of(spectrum))):
            norm = bound.norm.partition(",")[0]
            if not (bound.valid and bound.explicit) or bound.kind == "rate":
                continue
            if (step, norm) not in errors:
                others.add(norm)
                continue
            _compare(bound, step, errors[step, norm])
            compared += 1
    if not compared:
        raise NotRun("no bound with known constants has its assumptions met here, in a norm that is simulated")
    return f"{compared} bounds" + (f"; not compared: those in the norm {', '.join(sorted(others))}" if others else "")


def _compare(bound: Bound, step: str, errors: FloatArray) -> None:
    assert bound.value is not None  # only valid ones are compared
    mean, doubt = errors.mean(), DEVIATIONS * errors.std() / math.sqrt(len(errors))
    told = f"{bound.name} of {step!r} is {bound.value:.4g}; simulated is {mean:.4g}"
    if bound.kind in ("upper-mean", "upper-probability") and bound.value < mean - doubt:
        raise Failed(f"{told}, more than the bound")
    if bound.kind == "lower" and bound.value > mean + doubt:
        raise Failed(f"{told}, less than the bound")
    if bound.kind == "forecast" and not (mean - doubt) / 2 <= bound.value <= 2 * (mean + doubt):
        raise Failed(f"{told}, more than a factor of 2 away")
