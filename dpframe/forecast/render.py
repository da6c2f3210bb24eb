"""Reports of comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpframe.display.tables import pairs, table
from dpframe.rounding import format_given, format_up

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpframe.forecast.comparison import Candidate, Comparison


def render_comparison(comparison: Comparison) -> RenderableType:
    """The report of a comparison: a table of the candidates, and why others were left out."""
    from rich.console import Group
    from rich.text import Text

    scenario = comparison.scenario
    rows = "no model of rows: clipping bias not included" if scenario.model is None else f"{scenario.model} rows"
    title = f"{comparison.task}: simulated error ({comparison.norm}), {scenario.source} scenario, {rows}"
    parts: list[RenderableType] = [Text(title, style="bold")]
    if comparison.candidates:
        parts.append(table([_cells(candidate) for candidate in comparison.candidates]))
    if comparison.left_out:
        parts += [Text("Not among them", style="bold"), pairs(dict(comparison.left_out)), Text()]
    return Group(*parts)


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
