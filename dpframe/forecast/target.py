"""The smallest budget, or the fewest rows, with which a plan meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.forecast import error_norms
from dpframe.forecast.error_norms import SEED
from dpframe.forecast.population import MOST_SIMULATED
from dpframe.forecast.simulation import simulate
from dpframe.plan import Plan
from dpframe.rounding import format_given
from dpframe.run.progress import ProgressReporter
from dpframe.spec.scenario import Scenario

SURE = 0.999  # confidence that the limit from simulation is not below the true quantile
CLOSE = 1.02  # the search ends within this factor of the smallest answer; steps of it follow until it is confirmed
STRIDE = 4.0  # the factor between trials of the bracketing search
MOST_EPSILON, LEAST_EPSILON = 1e3, 1e-4
MOST_ROWS = 10**12
MOST_CONFIDENCE = 0.999  # rarer failures would take too many simulated releases


@attrs.frozen(kw_only=True)
class Target:
    """An error that a share of all releases must stay within.

    Args:
        step: the step whose result must meet the target.
        norm: the norm in which its error is measured.
        value: the largest error allowed; the smallest share of variance where larger is better.
        confidence: the share of releases that must stay within it.
    """

    step: str
    norm: str
    value: float
    confidence: float

    @classmethod
    def of(cls, plan: Plan, scenario: Scenario, step: str | None, confidence: float, wanted: dict[str, Any]) -> Target:
        """The target that the keywords of `Plan.require` describe.

        Args:
            plan: the plan.
            scenario: the assumed data.
            step: the name of the step; None for the last one that has such an error.
            confidence: the share of releases that must stay within it.
            wanted: one keyword with its value.
        """
        if len(wanted) != 1 or not set(wanted) <= set(error_norms.TARGETS):
            allowed = ", ".join(f"{name}=" for name in error_norms.TARGETS)
            raise PlanError(f"say one target, one of {allowed}; got {', '.join(sorted(wanted)) or 'none'}.")
        ((word, value),) = wanted.items()
        highest = {"angle_degrees": 90.0, "captured_variance": 1.0}.get(word, math.inf)
        if not validators.is_finite(value) or not 0.0 < value < highest:
            allowed = "above 0" if math.isinf(highest) else f"between 0 and {highest:g}"
            raise PlanError(f"{word} must be a number {allowed}; got {value!r}.")
        if not validators.is_finite(confidence) or not 0.0 < confidence <= MOST_CONFIDENCE:
            raise PlanError(f"confidence must be a number above 0 and at most {MOST_CONFIDENCE}; got {confidence!r}.")
        plan.check_forecast(scenario.dim)
        simulation = simulate(plan, scenario, draws=1, seed=SEED)
        fitting = {
            name: norm
            for name, norms in simulation.errors.items()
            for norm in error_norms.TARGETS[word]
            if norm in norms
        }
        chosen = step if step is not None else next(reversed(fitting), None)
        if chosen not in fitting:
            asked = f"step {step!r}" if step is not None else "no step of this plan"
            others = f" Steps that have: {', '.join(fitting)}." if fitting else ""
            raise PlanError(f"{asked} has {'no' if step is not None else 'an'} error in {word}.{others}")
        return cls(step=chosen, norm=fitting[chosen], value=float(value), confidence=float(confidence))

    def __str__(self) -> str:
        confidence = format_given(self.confidence)
        return f"{format_given(self.value)} ({self.norm}) for {self.step!r} with confidence {confidence}"

    @property
    def draws(self) -> int:
        """The number of releases to simulate, enough for the confidence limit to be close to the quantile."""
        return max(500, math.ceil(20 / (1.0 - self.confidence)))

    def met(self, plan: Plan, scenario: Scenario, seed: int) -> bool:
        """Whether the confidence limit of the simulated quantile, on its worse side, meets the target.

        Args:
            plan: the plan.
            scenario: the assumed data.
            seed: the seed of the simulation.
        """
        errors = simulate(plan, scenario, draws=self.draws, seed=seed).of(self.step)[self.norm]
        low, high = error_norms.interval(errors, self.confidence, self.norm, 2 * SURE - 1)
        return low >= self.value if error_norms.larger_is_better(self.norm) else high <= self.value


def require(plan: Plan, scenario: Scenario, target: Target, reporter: ProgressReporter) -> Plan:
    """See :meth:`dpframe.Plan.require`."""

    def with_epsilon(epsilon: float) -> Plan:
        return attrs.evolve(plan, budget=attrs.evolve(plan.budget, epsilon=epsilon))

    def met(epsilon: float, seed: int) -> bool:
        reporter.begin(f"trying epsilon = {epsilon:.4g}")
        try:
            tried = with_epsilon(epsilon)
        except PlanError:  # fixed levels cost more, or a mechanism cannot run at such a low level
            return False
        return target.met(tried, scenario, seed)

    epsilon = smallest(met, plan.budget.epsilon, LEAST_EPSILON, MOST_EPSILON)
    if epsilon is None:
        raise PlanError(
            f"no epsilon up to {MOST_EPSILON:g} meets {target} in this scenario. "
            "More rows would help: see plan.required_rows(...)."
        )
    return with_epsilon(epsilon)


def required_rows(plan: Plan, scenario: Scenario, target: Target, reporter: ProgressReporter) -> int:
    """See :meth:`dpframe.Plan.required_rows`."""
    if scenario.n is None:
        raise PlanError("required_rows needs a scenario with n=: how many rows its spectrum is about.")

    def met(rows: float, seed: int) -> bool:
        reporter.begin(f"trying {math.ceil(rows)} rows")
        return target.met(plan, scenario.with_rows(math.ceil(rows)), seed)

    most = MOST_ROWS if scenario.model is None else MOST_SIMULATED // scenario.dim
    rows = smallest(met, float(scenario.n), 1.0, float(most))
    if rows is None:
        raise PlanError(f"not even {most:.0e} rows meet {target} in this scenario. Raise the budget, or ask for less.")
    return math.ceil(rows)


def smallest(met: Callable[[float, int], bool], start: float, least: float, most: float) -> float | None:
    """A number that meets a condition with two seeds, close to the smallest one; None where none up to `most` does.

    The search assumes that the condition is monotone: false up to some number, and true from there on.

    Args:
        met: the condition on a number and a seed.
        start: where the search begins.
        least: the search stops below this.
        most: the largest number to try.
    """
    low, high = start, start
    while met(low, SEED):
        high, low = low, low / STRIDE
        if low < least:
            break
    while not met(high, SEED):
        if high >= most:
            return None
        low, high = high, min(high * STRIDE, most)
    while high > CLOSE * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if met(middle, SEED) else (middle, high)
    while not met(high, SEED + 1):
        high *= CLOSE
        if high > most:
            return None
    return high
