"""Plans and promises about rows in the words of reports, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpframe.display.tables import heading, pairs, table
from dpframe.rounding import format_given
from dpframe.run import wording
from dpframe.run.render import statement_parts
from dpframe.run.statement import statement
from dpframe.spec.columns import Category, Column
from dpframe.spec.rows import Rows

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpframe.plan import Plan

ROWS_TITLE = "A public promise about rows; no part of it is computed from the data"


def render_plan(plan: Plan) -> RenderableType:
    """A plan: what it promises and costs, its steps, and its columns.

    Args:
        plan: the plan.
    """
    from rich.console import Group

    stated = statement(plan, plan.content_hash)
    parts = statement_parts(stated, "What this plan promises", "stated once dim and norm are known")
    return Group(*parts, *_columns(plan.rows))


def render_rows(rows: Rows) -> RenderableType:
    """A promise about rows: who is protected, how rows are mapped, and its columns.

    Args:
        rows: the promise.
    """
    from rich.console import Group

    labeled = {"Protected": wording.protected(rows), "Rows": wording.row_map(rows)}
    if rows.dim is not None:
        labeled["Coordinates"] = str(rows.dim)
    return Group(heading(ROWS_TITLE), pairs(labeled), *_columns(rows))


def _columns(rows: Rows) -> list[RenderableType]:
    if not rows.columns:
        return []
    return [heading("Columns, with public ranges"), table(list(map(_cells, rows.columns)))]


def _cells(column: Column | Category) -> dict[str, str]:
    if isinstance(column, Column):
        beside = f" {column.unit}" if column.unit else ""
        range_ = f"{format_given(column.low)} to {format_given(column.high)}{beside}"
        missing = None if column.missing is None else format_given(column.missing) + beside
    else:
        range_ = f"one of {', '.join(map(str, column.levels))}"
        missing = None if column.missing is None else str(column.missing)
    without = "its row contributes nothing" if missing is None else f"counts as {missing}"
    return {"column": column.name, "values": range_, "a missing cell": without}
