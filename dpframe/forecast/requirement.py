"""`plan.require` and `plan.required_rows`: targets for columns by their forecast, others by simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpframe.errors import PlanError
from dpframe.forecast import column_target, target
from dpframe.run.progress import Progress, reporting
from dpframe.spec.scenario import Scenario

if TYPE_CHECKING:
    from dpframe.plan import Plan


def require(
    plan: Plan,
    columns: Mapping[str, Any],
    others: dict[str, Any],
    *,
    confidence: float,
    step: str | None,
    scenario: Scenario | None,
    rows: int | None,
    progress: bool | Callable[[Progress], Any] | None,
) -> Plan:
    """See :meth:`dpframe.Plan.require`.

    Args:
        columns: the targets for columns, by statistic; None where there is none.
        others: the other targets, by name.
    """
    with reporting(progress) as reporter:
        if (targets := _for_columns(plan, columns, others, step, confidence)) is not None:
            return column_target.require(plan, targets, _rows_of_table(plan, rows, scenario), reporter)
        assumed = _assumed(plan, scenario, "plan.require")
        wanted = target.Target.of(plan, assumed, step, confidence, others)
        return target.require(plan, assumed, wanted, reporter)


def required_rows(
    plan: Plan,
    columns: Mapping[str, Any],
    others: dict[str, Any],
    *,
    confidence: float,
    step: str | None,
    scenario: Scenario | None,
    progress: bool | Callable[[Progress], Any] | None,
) -> int:
    """See :meth:`dpframe.Plan.required_rows`.

    Args:
        columns: the targets for columns, by statistic; None where there is none.
        others: the other targets, by name.
    """
    with reporting(progress) as reporter:
        if (targets := _for_columns(plan, columns, others, step, confidence)) is not None:
            return column_target.required_rows(plan, targets, reporter)
        assumed = _assumed(plan, scenario, "plan.required_rows")
        wanted = target.Target.of(plan, assumed, step, confidence, others)
        return target.required_rows(plan, assumed, wanted, reporter)


def _for_columns(
    plan: Plan, columns: Mapping[str, Any], others: dict[str, Any], step: str | None, confidence: float
) -> column_target.ColumnTargets | None:
    """The targets for columns; None where there are none."""
    if all(each is None for each in columns.values()):
        return None
    return column_target.ColumnTargets.of(plan, columns, confidence, {"step": step, **others})


def _rows_of_table(plan: Plan, rows: int | None, scenario: Scenario | None) -> int:
    """The assumed number of rows: as given, or that of the scenario."""
    if rows is not None:
        return rows
    assumed = plan.scenario if scenario is None else scenario
    if assumed is None or assumed.n is None:
        raise PlanError("targets for columns need the assumed number of rows: rows=, or --rows in a shell.")
    assumed.refuse_true("plan.require")
    return assumed.n


def _assumed(plan: Plan, scenario: Scenario | None, what: str) -> Scenario:
    """The scenario given, or that of the plan; raises PlanError where a choice may not depend on it."""
    assumed = plan.scenario if scenario is None else scenario
    if not isinstance(assumed, Scenario):
        raise PlanError(f"{what} needs assumed data: scenario=dp.Scenario(...).")
    assumed.refuse_true(what)
    return assumed
