"""The page of an explanation: the promise of a plan, and forecasts of its errors for several budgets."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import attrs

from dpframe import registry
from dpframe.errors import PlanError
from dpframe.rounding import format_given
from dpframe.run.disclosure import Release
from dpframe.run.page.document import document
from dpframe.run.page.report import shared

if TYPE_CHECKING:
    from dpframe.run.explain import Explanation

TITLE = "Plan of a private release"
FACTORS = (0.25, 0.5, 2.0, 4.0)
"""Other budgets, as multiples of that of the plan."""

Table = tuple[str, list[dict[str, str]]]


@attrs.frozen(kw_only=True)
class Panel:
    """What is forecast at one budget.

    Args:
        epsilon: the epsilon of the budget, as text.
        tables: tables with their titles.
    """

    epsilon: str
    tables: list[Table]


def page(explanation: Explanation, epsilons: Sequence[float] | None) -> str:
    """The page of an explanation.

    Args:
        explanation: the explanation.
        epsilons: the other budgets; None for multiples of that of the plan.
    """
    plan, own = explanation.plan, explanation.statement.budget.epsilon
    others = [own * factor for factor in FACTORS] if epsilons is None else list(epsilons)
    explained = {own: explanation}
    for epsilon in others:
        if epsilon not in explained and (other := _at(explanation, epsilon, given=epsilons is not None)) is not None:
            explained[epsilon] = other
    ordered = sorted(explained)
    caveat = explanation.statement.caveat
    text = ""
    with suppress(PlanError):  # a plan that no file can hold
        text = "" if plan is None else plan.dumps()
    return document(
        title=TITLE,
        kind="Plan of a differentially private release",
        alarms=[("Under a model only", f"{caveat[0].upper()}{caveat[1:]}.")] if caveat else [],
        warnings=(),
        budget=None,
        record=None,
        forecast={
            "title": _title(explanation),
            "panels": [Panel(epsilon=format_given(each), tables=_tables(explained[each])) for each in ordered],
            "own": ordered.index(own),
            "remarks": _remarks(explanation),
        },
        versions=registry.versions(),
        plan_file=text,
        **shared(
            Release(statement=explanation.statement, rows=None if plan is None else plan.rows, planned=True), plan
        ),
    )


def _at(explanation: Explanation, epsilon: float, *, given: bool) -> Explanation | None:
    """The explanation of the same plan with another epsilon; None where that is none of its budgets by default."""
    from dpframe.run.explain import explain

    plan, columns = explanation.plan, explanation.columns
    if plan is None:
        return None
    try:
        return explain(
            attrs.evolve(plan, budget=attrs.evolve(plan.budget, epsilon=epsilon)),
            dim=explanation.dim,
            spectrum=None,
            scenario=explanation.scenario,
            rows=None if columns is None else columns.rows,
            confidence=0.95 if columns is None else columns.confidence,
            simulations=0,
            progress=None,
        )
    except PlanError:
        if given:
            raise
        return None


def _title(explanation: Explanation) -> str:
    if explanation.columns is not None:
        from dpframe.forecast.column_report import column_title

        return f"{column_title(explanation.columns)}."
    return "The noise of each release, in the units of its result."


def _tables(explanation: Explanation) -> list[Table]:
    """The tables of one budget: columns, bounds, and noise."""
    from dpframe.run.render import forecast_cells

    tables: list[Table] = []
    if explanation.columns is not None:
        from dpframe.forecast.column_report import column_cells

        tables.append(("Each column", column_cells(explanation.columns)))
    bounds = forecast_cells(explanation)
    if bounds[1]:
        tables.append(bounds)
    releases = [line for line in explanation.statement.lines if line.is_release]
    noise = [
        {"step": line.name, "mechanism": line.action, "noise": _noise(line.noise), "loss": ", ".join(line.losses)}
        for line in releases
    ]
    return [*tables, ("Noise of releases", noise)]


def _noise(scales: dict[str, Any]) -> str:
    return ", ".join(f"{part} {scale:.4g}" for part, scale in scales.items()) or "stated once dim and norm are known"


def _remarks(explanation: Explanation) -> list[str]:
    from dpframe.run.render import WITHHELD

    remarks = [] if explanation.shareable else [WITHHELD]
    if explanation.columns is not None:
        from dpframe.forecast.column_report import assumptions

        remarks += assumptions(explanation.columns)
    return remarks
