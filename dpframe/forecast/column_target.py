"""The smallest budget, or the fewest rows, with which the figures of named columns are as precise as is wanted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.forecast.column_margins import FEWEST_ROWS, MOST_ROWS, ColumnForecasts, Margin, forecast_columns
from dpframe.forecast.target import LEAST_EPSILON, MOST_EPSILON
from dpframe.plan import Plan
from dpframe.rounding import format_given
from dpframe.run.progress import ProgressReporter

SPARE = 1.03  # the search ends where a target is met with less than this factor to spare
AIMED = 1.01  # of what is wanted, by which the next trial is better if errors are in proportion
STARTING_ROWS = 10_000
MOST_TRIALS = 40


@attrs.frozen(kw_only=True)
class ColumnTargets:
    """The largest errors of columns, in their units.

    Args:
        limits: by statistic, "mean", "sd" or "correlation", and column.
        confidence: the share of releases that must stay within each of them.
    """

    limits: Mapping[str, Mapping[str, float]]
    confidence: float

    @classmethod
    def of(cls, plan: Plan, wanted: Mapping[str, Any], confidence: float, others: Mapping[str, Any]) -> ColumnTargets:
        """The targets that the keywords of `Plan.require` describe.

        Args:
            plan: the plan.
            wanted: the targets by statistic; None where there is none.
            confidence: the share of releases that must stay within each of them.
            others: further keywords, which targets for columns do not go with.
        """
        if besides := [name for name, value in others.items() if value is not None]:
            raise PlanError(
                f"targets for columns (mean=, sd=, correlation=) do not go with {besides[0]}=; ask for them one after "
                "the other."
            )
        if plan.rows.columns is None:
            raise PlanError("targets for columns need public ranges: dp.Rows(columns=[...]).")
        axes = plan.rows.unplaced.axes
        assert axes is not None  # rows with columns have them
        limits = {
            statistic: _limits(statistic, value, axes.labels)
            for statistic, value in wanted.items()
            if value is not None
        }
        return cls(limits=limits, confidence=confidence)

    def worst(self, forecasts: ColumnForecasts) -> float:
        """The largest error in units of its limit: at most 1 where all targets are met.

        Args:
            forecasts: the forecasts for the columns.
        """
        errors: list[float] = []
        for statistic, limits in self.limits.items():
            for name, limit in limits.items():
                margin: Margin | None = getattr(forecasts[name], statistic)
                if margin is None:
                    kind = "a mean" if statistic == "mean" else "a covariance of several columns"
                    raise PlanError(f"{statistic}= needs {kind}, which this plan does not give.")
                errors.append(margin.error / limit)
        return max(errors)

    def __str__(self) -> str:
        parts = [
            f"{statistic} of {name!r} within {format_given(limit)}"
            for statistic, limits in self.limits.items()
            for name, limit in limits.items()
        ]
        shown = parts if len(parts) <= 4 else [*parts[:3], f"{len(parts) - 3} more"]
        return f"{', '.join(shown)}, with confidence {format_given(self.confidence)}"


def _limits(statistic: str, value: Any, labels: tuple[str, ...]) -> dict[str, float]:
    """The limit of each column that has one; raises PlanError for anything else."""
    if statistic == "correlation" and not isinstance(value, Mapping):
        value = dict.fromkeys(labels, value)
    if not isinstance(value, Mapping) or not value:
        raise PlanError(
            f"{statistic}= takes a target for each column, in its own units: {statistic}={{{labels[0]!r}: ...}}; "
            f"got {validators.shown(value)}. One number over columns with different units would say nothing."
        )
    for name, limit in value.items():
        if name not in labels:
            raise PlanError(f"{statistic}= names {name!r}, which is no column; there is: {', '.join(labels)}.")
        if not validators.is_finite(limit) or not limit > 0.0:
            raise PlanError(f"{statistic}= of {name!r} must be a number above 0; got {validators.shown(limit)}.")
    return {str(name): float(limit) for name, limit in value.items()}


def require(plan: Plan, targets: ColumnTargets, rows: int, reporter: ProgressReporter) -> Plan:
    """The plan with the smallest epsilon that meets the targets. See :meth:`dpframe.Plan.require`."""

    def with_epsilon(epsilon: float) -> Plan:
        return attrs.evolve(plan, budget=attrs.evolve(plan.budget, epsilon=epsilon))

    def worst(epsilon: float) -> float:
        try:
            tried = with_epsilon(epsilon)
        except PlanError:  # fixed levels cost more, or a mechanism cannot run at such a low level
            return math.inf
        reporter.begin(f"trying epsilon = {epsilon:.4g}")
        return targets.worst(forecast_columns(tried, rows, confidence=targets.confidence, reporter=reporter))

    epsilon = smallest(worst, plan.budget.epsilon, LEAST_EPSILON, MOST_EPSILON)
    if epsilon is None:
        raise PlanError(
            f"no epsilon up to {MOST_EPSILON:g} meets {targets} for {rows} rows. More rows would help: see "
            "plan.required_rows(...)."
        )
    return with_epsilon(epsilon)


def required_rows(plan: Plan, targets: ColumnTargets, reporter: ProgressReporter) -> int:
    """The fewest rows that meet the targets. See :meth:`dpframe.Plan.required_rows`."""

    def worst(rows: float) -> float:
        reporter.begin(f"trying {math.ceil(rows)} rows")
        tried = forecast_columns(plan, math.ceil(rows), confidence=targets.confidence, reporter=reporter)
        return targets.worst(tried)

    rows = smallest(worst, STARTING_ROWS, FEWEST_ROWS, MOST_ROWS)
    if rows is None:
        raise PlanError(f"not even {MOST_ROWS:.0e} rows meet {targets}. Raise the budget, or ask for less.")
    return math.ceil(rows)


def smallest(worst: Callable[[float], float], start: float, least: float, most: float) -> float | None:
    """A number for which an error is within its limit, with little to spare; None where it is not even for `most`.

    Errors fall with the number, about in inverse proportion, from which the next trial is chosen; it stays between
    trials that failed and trials that met the limit.

    Args:
        worst: the error in units of its limit, as a function of the number.
        start: the first trial.
        least: the smallest number to try.
        most: the largest number to try.
    """
    failed, met, tried = 0.0, math.inf, min(max(start, least), most)
    for _ in range(MOST_TRIALS):
        error = worst(tried)
        failed, met = (failed, tried) if error <= 1.0 else (tried, met)
        if 1 / SPARE <= error <= 1.0 or met <= max(least, failed * SPARE):
            return met
        if failed >= most:
            return None
        guess = tried * min(max(error * AIMED, 1e-3), 1e3)
        if not failed * SPARE**0.5 < guess < met / SPARE**0.5:
            guess = math.sqrt(max(failed, least) * met) if math.isfinite(met) else guess
        tried = min(max(guess, least), most)
    return met if math.isfinite(met) else None
