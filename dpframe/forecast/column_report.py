"""Reports of forecasts for columns: a table in the units of the columns, and what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpframe.display.tables import heading, table
from dpframe.forecast.assumed_table import CORRELATION
from dpframe.forecast.column_margins import ColumnForecast, ColumnForecasts, Margin
from dpframe.rounding import format_given

if TYPE_CHECKING:
    from rich.console import RenderableType

SHOWN_BIAS = 0.2  # of the half-width, from which a bias is shown beside it
TITLES = {"mean": "mean", "sd": "standard deviation", "correlation": "correlations"}
NOT_DETERMINED = 0.9  # the half-width from which an interval says nothing about a correlation


def render_columns(forecasts: ColumnForecasts) -> RenderableType:
    """The table of forecasts, and below it the assumptions."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    cells = column_cells(forecasts)
    lines = [Padding(Text(line, style="dim"), (0, 0, 0, 2)) for line in assumptions(forecasts)]
    return Group(heading(column_title(forecasts)), table(cells), *lines)


def column_title(forecasts: ColumnForecasts) -> str:
    """The title of the table of forecasts.

    Args:
        forecasts: the forecasts.
    """
    share = f"{100 * forecasts.confidence:g} %"
    return f"Error to expect in each column, for {forecasts.rows} rows: ± holds {share} of releases"


def assumptions(forecasts: ColumnForecasts) -> list[str]:
    """What the forecasts rest on, in sentences.

    Args:
        forecasts: the forecasts.
    """
    guess = (
        f"Assumed: {forecasts.rows} rows. The number of rows is private (add-remove), so this must be your own guess "
        "or a public figure, not a count of the data."
        if forecasts.private_rows
        else f"Assumed: {forecasts.rows} rows. The number of rows is public (replace)."
    )
    default = any(column.by_default for column in forecasts.columns)
    steps = dict.fromkeys(forecasts.steps.values())
    return [
        guess,
        "Assumed: columns with these means and standard deviations (normal, and clipped to their ranges), levels of "
        f"a category equally frequent, correlations of about {CORRELATION} in size, no missing cells."
        + (
            " * by default: the middle of the range, and a sixth of it. Set them: dp.Column(..., mean=, sd=); no "
            "release depends on them."
            if default
            else ""
        ),
        "± is the error of privacy alone: the distance from the same figure of the same rows. Correlations: the least "
        "precise one of each column. Columns with more rows far out than assumed have larger errors, and columns that "
        "vary less have less precise correlations.",
        f"From {forecasts.draws} simulated releases of {', '.join(map(repr, steps))}; no data was read.",
    ]


def column_cells(forecasts: ColumnForecasts) -> list[dict[str, str]]:
    """The rows of the table of forecasts, one for each column.

    Args:
        forecasts: the forecasts.
    """
    return [_cells(forecasts, column) for column in forecasts.columns]


def _cells(forecasts: ColumnForecasts, column: ColumnForecast) -> dict[str, str]:
    found = {TITLES[statistic]: _margin(column, statistic) for statistic in forecasts.steps}
    assumed = {
        f"assumed {name}": _figure(getattr(column, f"assumed_{name}")) + (" *" if name in column.by_default else "")
        for name in ("mean", "sd")
    }
    unit = f" ({column.unit})" if column.unit else ""
    return {"column": f"{column.name}{unit}", **assumed, **found}


def _margin(column: ColumnForecast, statistic: str) -> str:
    margin: Margin | None = getattr(column, statistic)
    if margin is None:
        return "-"
    if statistic == "correlation" and not _is_determined(column, margin):
        return "not determined"
    beside = f" {column.unit}" if column.unit and statistic != "correlation" else ""
    off = f", off by {margin.bias:+.2g}" if abs(margin.bias) > SHOWN_BIAS * margin.plus_minus else ""
    return f"± {_figure(margin.plus_minus)}{beside}{off}"


def _is_determined(column: ColumnForecast, margin: Margin) -> bool:
    """Whether a correlation says anything: its interval is not all that is possible, nor that of the deviation."""
    return margin.plus_minus < NOT_DETERMINED and (column.sd is None or column.sd.error < column.assumed_sd)


def _figure(value: float) -> str:
    """A number to two digits, or all of them before the decimal point, without an exponent where it is of a usual size.

    >>> [_figure(each) for each in (0.0612, 12.3, 45123.4, 2.1e-7, 1.5e12)]
    ['0.061', '12', '45123', '2.1e-07', '1.5e+12']
    """
    if value == 0.0 or 1e-4 <= abs(value) < 1e7:
        return f"{value:.0f}" if abs(value) >= 10 else format_given(float(f"{value:.2g}"))
    return f"{value:.2g}"
