"""Checks of a bound oracle: its bounds hold in simulation wherever their assumptions do."""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from dpframe.errors import PlanError
from dpframe.forecast.error_norms import larger_is_better
from dpframe.forecast.simulation import simulate
from dpframe.interfaces import BoundOracle
from dpframe.kinds import Spectrum
from dpframe.lattice import FloatArray
from dpframe.plan import Plan
from dpframe.plan.steps import derive, release
from dpframe.spec.bounds import Bound
from dpframe.spec.budget import Budget
from dpframe.spec.rows import Rows
from dpframe.spec.scenario import Scenario
from dpframe.testing.checks import Failed, NotRun, check

DIM, RANKS = 6, (1, 2, 5)
SEPARATED = (4000.0, 3000.0, 900.0, 600.0, 300.0, 100.0)
CLOSE = (520.0, 515.0, 510.0, 505.0, 500.0, 495.0)
PROVED = ("upper-mean", "upper-probability", "lower")
FALSE_ALARM = 2e-8  # probability, of each comparison with a quantile
DEVIATIONS = 5.5  # standard errors of the simulated mean: a false-alarm probability of 2e-8 for each bound


@attrs.frozen(eq=False, slots=False)
class OracleStage:
    """An oracle under test, and a plan with steps that it may have bounds for."""

    subject: BoundOracle
    plan: Plan
    draws: int

    def bounds(self, step: str, scenario: Scenario) -> list[Bound]:
        """What the oracle returns for a step."""
        return self.subject.bounds(self.plan, step, scenario)

    @property
    def derived(self) -> list[str]:
        """The names of all steps."""
        return [step.name for step in self.plan.steps]

    @cached_property
    def _errors(self) -> dict[tuple[float, ...], dict[tuple[str, str], FloatArray]]:
        return {}

    def errors(self, spectrum: tuple[float, ...]) -> dict[tuple[str, str], FloatArray]:
        """Simulated errors of every step, by norm, for data with this spectrum."""
        if spectrum not in self._errors:
            made_up = simulate(self.plan, Scenario(dim=DIM, spectrum=Spectrum.of(spectrum)), draws=self.draws, seed=17)
            self._errors[spectrum] = {
                (step, norm.partition(",")[0]): errors
                for step, by_norm in made_up.errors.items()
                for norm, errors in by_norm.items()
            }
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
        raise PlanError(f"pass plan= to check an oracle: the default plan cannot be made. {error}") from None
    rows = Rows(norm=1.0, neighbors="add-remove", dim=DIM)
    return Plan(rows=rows, budget=Budget(epsilon=1.0, delta=1e-6), steps=steps)


@check("bound oracle")
def bounds_are_well_formed(stage: OracleStage) -> str:
    """For every step, with or without a spectrum, its bounds are reproducible and finite, and proved ones cited."""
    count = 0
    for scenario in (Scenario(dim=DIM), Scenario(dim=DIM, spectrum=SEPARATED), Scenario(dim=DIM, spectrum=CLOSE)):
        for step in stage.derived:
            bounds = stage.bounds(step, scenario)
            if bounds != stage.bounds(step, scenario):
                raise Failed(f"{step}: two calls with the same arguments return different bounds")
            for bound in bounds:
                if bound.value is None:
                    if all(assumption.holds for assumption in bound.assumptions):
                        raise Failed(f"{bound.name} of {step!r} has no value, although its assumptions hold")
                elif not (math.isfinite(bound.value) and bound.value >= 0):
                    raise Failed(f"{bound.name} of {step!r} is {bound.value}, not a finite number of at least 0")
                if bound.kind in PROVED and not bound.citation:
                    raise Failed(f"{bound.name} of {step!r} claims a proof, but has no citation")
            count += len(bounds)
    if not count:
        raise NotRun("it has no bounds for the plan it was checked with; pass plan=")
    return f"{count} bounds"


@check("bound oracle")
def bounds_hold(stage: OracleStage) -> str:
    """Upper bounds are above the simulated mean and lower bounds below it; forecasts are within a factor of 2."""
    return _compared(stage, SEPARATED)


@check("bound oracle")
def assumptions_enforced(stage: OracleStage) -> str:
    """With close eigenvalues, a bound still holds or states which of its assumptions fails."""
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
        raise NotRun("no bound with explicit constants, in a norm that is simulated, has its assumptions met here")
    return f"{compared} bounds" + (f"; not compared: those in the norm {', '.join(sorted(others))}" if others else "")


def _compare(bound: Bound, step: str, errors: FloatArray) -> None:
    assert bound.value is not None  # only valid ones are compared
    mean, margin = errors.mean(), DEVIATIONS * errors.std() / math.sqrt(len(errors))
    figures = f"{bound.name} of {step!r} is {bound.value:.4g}; the simulated mean is {mean:.4g}"
    if bound.confidence is not None:
        _compare_quantile(bound, step, errors)
    elif bound.kind in ("upper-mean", "upper-probability") and bound.value < mean - margin:
        raise Failed(f"{figures}, more than the bound")
    elif bound.kind == "lower" and bound.value > mean + margin:
        raise Failed(f"{figures}, less than the bound")
    elif bound.kind == "forecast" and not (mean - margin) / 2 <= bound.value <= 2 * (mean + margin):
        raise Failed(f"{figures}, more than a factor of 2 away")


def _compare_quantile(bound: Bound, step: str, errors: FloatArray) -> None:
    """A bound with a confidence is exceeded no more often than it claims."""
    from scipy.special import bdtrc

    assert bound.confidence is not None
    assert bound.value is not None
    beyond = errors < bound.value if larger_is_better(bound.norm) else errors > bound.value
    exceeded, count = int(np.count_nonzero(beyond)), len(errors)
    if exceeded and bdtrc(exceeded - 1, count, 1.0 - bound.confidence) < FALSE_ALARM:
        raise Failed(
            f"{bound.name} of {step!r} should hold with probability {bound.confidence:g}; "
            f"{exceeded} of {count} simulated errors are beyond {bound.value:.4g}"
        )
