"""Reports of comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpframe.display.tables import pairs, table
from dpframe.rounding import format_given, format_up

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpframe.forecast.comparison import Candidate, Comparison, Comparisons


def render_comparison(comparison: Comparison) -> RenderableType:
    """The report of a comparison: a table of the candidates, and why others were left out."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(_title(comparison), style="bold")]
    if comparison.candidates:
        parts.append(table([_cells(candidate) for candidate in comparison.candidates]))
    if len(comparison.shapes) > 1:
        parts.append(Text(_ranked_by(comparison)))
        if comparison.candidates:
            parts.append(table([_by_shape(candidate) for candidate in comparison.candidates]))
    if comparison.left_out:
        parts += [Text("Not among them", style="bold"), pairs(dict(comparison.left_out)), Text()]
    return Group(*parts)


def render_comparisons(comparisons: Comparisons) -> RenderableType:
    """The report of comparisons at several budgets: the median errors of each candidate, and all that were left out."""
    from rich.console import Group
    from rich.text import Text

    first = next(iter(comparisons))
    parts: list[RenderableType] = [Text(_title(first), style="bold")]
    names = dict.fromkeys(candidate.name for each in comparisons for candidate in each.candidates)
    errors = {epsilon: {c.name: c.error for c in each.candidates} for epsilon, each in comparisons.by_epsilon.items()}
    rows = [
        {
            "mechanism": name,
            **{
                f"ε = {format_given(epsilon)}": f"{found[name]:.4g}" if name in found else "-"
                for epsilon, found in errors.items()
            },
        }
        for name in names
    ]
    if rows:
        parts.append(table(rows))
    if len(first.shapes) > 1:
        parts += [Text(f"{_ranked_by(first)} {', '.join(first.shapes)}"), Text()]
    reasons = {name: reason for each in comparisons for name, reason in each.left_out.items()}
    if reasons:
        parts += [Text("Not among them, at some budget", style="bold"), pairs(reasons), Text()]
    return Group(*parts)


def _title(comparison: Comparison) -> str:
    scenario = comparison.scenario
    rows = "no model of rows: clipping bias not included" if scenario.model is None else f"{scenario.model} rows"
    return f"{comparison.task}: simulated error ({comparison.norm}), {scenario.source} scenario, {rows}"


def _ranked_by(comparison: Comparison) -> str:
    if comparison.over == "worst":
        return "Ranked by the worst median error on rows of these shapes, since the model of rows may be wrong:"
    return "Ranked by the geometric mean of the median errors on tables of these shapes:"


def _by_shape(candidate: Candidate) -> dict[str, str]:
    errors = {shape: f"{error:.4g}" for shape, error in candidate.errors.items()}
    return {"mechanism": candidate.name, **errors}


def _cells(candidate: Candidate) -> dict[str, str]:
    limit, (low, high) = candidate.plan.budget.epsilon, candidate.interval
    return {
        "mechanism": candidate.name,
        "median error": f"{candidate.error:.4g} ({low:.4g} to {high:.4g})",
        "95 % within": f"{candidate.error_95:.4g}",
        "spent": f"ε = {format_up(candidate.spent.epsilon, limit)}, δ = {format_given(candidate.spent.delta)}",
        "guarantee": candidate.guarantee,
        "numerics": candidate.numerics,
        "seconds": f"{candidate.seconds:.3g}",
    }
