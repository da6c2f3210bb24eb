"""Forecasts for the columns of a table, each in its own units, from the number of rows and stated assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from dpframe import validators
from dpframe.display.exportable import Exportable
from dpframe.display.printable import Printable
from dpframe.display.visible import Visible
from dpframe.errors import PlanError
from dpframe.forecast.assumed_table import assumed_table
from dpframe.forecast.error_norms import SEED
from dpframe.forecast.population import Sample
from dpframe.forecast.simulation import one_release
from dpframe.forecast.spread import margins
from dpframe.kinds import Axes, Covariance, Kind, Mean
from dpframe.lattice import FloatArray
from dpframe.noise import Keystream, Random
from dpframe.plan import Plan
from dpframe.plan.pricing import computable
from dpframe.run.progress import SILENT, ProgressReporter
from dpframe.spec.columns import Category, Column

if TYPE_CHECKING:
    from rich.console import RenderableType

DRAWS = 800  # simulated releases: most half-widths are then known within 5 percent
FEWEST_DRAWS, WIDE = 100, 50  # above so many coordinates fewer releases, down to this number: each takes longer
FEWEST_ROWS, MOST_ROWS = 2, 10**12
LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.5, 0.99  # rarer errors would take more releases
STATISTICS = ("mean", "sd", "correlation")
"""What is forecast for a column: its mean, its standard deviation and its correlations with others."""


@attrs.frozen(kw_only=True)
class Margin:
    """How far a released number may be from the same number of the same rows without privacy.

    Args:
        plus_minus: half the width of the interval about the typical release that holds the stated share of releases.
        bias: by how much the typical release is off, as rows are scaled down and results corrected for noise.
    """

    plus_minus: float
    bias: float

    @property
    def error(self) -> float:
        """What the error of the stated share of releases does not exceed: both parts together."""
        return self.plus_minus + abs(self.bias)


@attrs.frozen(kw_only=True)
class ColumnForecast:
    """The forecasts for a column, or for one level of a category, in its units.

    Args:
        name: the name of the column, or 'category=level'.
        unit: the unit of its values; "" where it has none.
        assumed_mean: the mean that is assumed.
        assumed_sd: the standard deviation that is assumed.
        by_default: which of the two, "mean" and "sd", a numeric column is given no figure for.
        mean: the margin of the mean; None where the plan has no step that gives one.
        sd: that of the standard deviation, the square root of a released variance; None likewise.
        correlation: the largest margin of a correlation with another column; None likewise.
    """

    name: str
    unit: str
    assumed_mean: float
    assumed_sd: float
    by_default: tuple[str, ...]
    mean: Margin | None = None
    sd: Margin | None = None
    correlation: Margin | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ColumnForecasts(Printable, Exportable):
    """The forecasts for all columns of a table: a mapping by the names of the columns.

    Args:
        rows: the number of rows that is assumed.
        private_rows: whether the number of rows is private, so that it can only be a guess.
        confidence: the share of releases that a margin holds.
        draws: the number of releases that were simulated.
        steps: the step that gives each of the statistics "mean", "sd" and "correlation".
        columns: the forecasts, in the order of the columns.
        correlations: the half-width for the correlation of each pair, in a matrix; None where there are none.
    """

    rows: int
    private_rows: bool
    confidence: float
    draws: int
    steps: Mapping[str, str]
    columns: tuple[ColumnForecast, ...]
    correlations: FloatArray | None

    def __getitem__(self, name: str) -> ColumnForecast:
        for column in self.columns:
            if column.name == name:
                return column
        raise PlanError(f"there is no column {name!r}; there is: {', '.join(column.name for column in self.columns)}.")

    def __iter__(self) -> Iterator[str]:
        return iter(column.name for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def to_dict(self) -> dict[str, Any]:
        """All figures, and what they rest on, as plain data."""
        from dpframe.forecast.column_report import assumptions

        content = attrs.asdict(self)
        pairs = None if self.correlations is None else self.correlations.tolist()
        return {**content, "steps": dict(self.steps), "correlations": pairs, "assumptions": assumptions(self)}

    def __rich__(self) -> RenderableType:
        from dpframe.forecast.column_report import render_columns

        return Visible(render_columns(self))


def forecast_columns(
    plan: Plan, rows: int, *, confidence: float = 0.95, reporter: ProgressReporter = SILENT
) -> ColumnForecasts:
    """Forecast the errors of means, standard deviations and correlations, by simulated releases of the plan.

    A table is made up from the assumptions about the columns (:mod:`dpframe.forecast.assumed_table`) and released many
    times, with the same random numbers in each call.

    Args:
        plan: the plan.
        rows: the number of rows to assume.
        confidence: the share of releases that a margin holds.
        reporter: receives the number of releases that are done.
    """
    steps = _check(plan, rows, confidence)
    columns = plan.rows.columns
    assert columns is not None  # by the check
    table, axes = assumed_table(columns, rows), plan.rows.unplaced.axes
    assert axes is not None  # rows with columns have them
    exact = _figures(Mean(table.mean, axes=axes), Covariance(_symmetric(table.covariance), axes=axes))
    errors: dict[str, list[FloatArray]] = {statistic: [] for statistic in steps}
    stream, draws = Keystream.insecure(SEED), min(max(DRAWS * WIDE // plan.rows.known_dim, FEWEST_DRAWS), DRAWS)
    for draw in range(draws):
        with computable():
            values, _ = one_release(plan, table, Random(stream.child(f"forecast {draw}")))
        for statistic, value in _figures(*(values[step] for step in dict.fromkeys(steps.values()))).items():
            errors[statistic].append((value - exact[statistic]).astype(np.float32))
        reporter.releases(draw + 1, draws)
    found = {statistic: margins(each, float(confidence)) for statistic, each in errors.items()}
    return ColumnForecasts(
        rows=int(rows),
        private_rows=plan.rows.neighbors == "add-remove",
        confidence=float(confidence),
        draws=draws,
        steps=steps,
        columns=tuple(_columns(plan, axes, table, found)),
        correlations=_matrix(found["correlation"][0], len(axes.labels)) if "correlation" in found else None,
    )


def _check(plan: Plan, rows: int, confidence: float) -> dict[str, str]:
    """The step that gives each statistic; raises PlanError where there is nothing to forecast."""
    if not validators.is_int(rows) or not FEWEST_ROWS <= rows <= MOST_ROWS:
        raise PlanError(
            f"rows must be an integer from {FEWEST_ROWS} to {MOST_ROWS:.0e}, the assumed number of rows; got "
            f"{validators.shown(rows)}."
        )
    if not validators.is_finite(confidence) or not LEAST_CONFIDENCE <= confidence <= MOST_CONFIDENCE:
        raise PlanError(
            f"confidence must be a number from {LEAST_CONFIDENCE} to {MOST_CONFIDENCE} for forecasts of columns; got "
            f"{validators.shown(confidence)}."
        )
    if plan.rows.columns is None:
        raise PlanError(
            "forecasts for columns need public ranges, dp.Rows(columns=[...]). For arrays of plain numbers say "
            "spectrum=, or scenario=dp.Scenario(...)."
        )
    means, covariances = (
        [name for name, found in plan.kinds.items() if issubclass(found, kind)] for kind in (Mean, Covariance)
    )
    if not means and not covariances:
        raise PlanError(
            "this plan gives neither a mean nor a covariance, so there is no error to forecast for each column. "
            "Release 'adaptive', or say center=True and derive 'mean' and 'covariance'; for other results say "
            "spectrum= or scenario=."
        )
    steps = {"mean": means[-1]} if means else {}
    return steps | ({"sd": covariances[-1], "correlation": covariances[-1]} if covariances else {})


def _figures(*values: Kind) -> dict[str, FloatArray]:
    """The statistics of a release in the units of the columns: from a mean, and from a covariance."""
    found: dict[str, FloatArray] = {}
    for value in values:
        assert value.axes is not None  # results about columns have them
        scale = np.asarray(value.axes.scale)
        if isinstance(value, Mean):
            found["mean"] = np.asarray(value.axes.offset) + scale * value.array
        else:
            deviations = np.sqrt(np.maximum(np.diag(value.array), 0.0))
            found["sd"] = deviations * scale
            rate = np.where(deviations > 0.0, 1 / np.where(deviations > 0.0, deviations, 1.0), 0.0)
            correlations = np.clip(value.array * np.outer(rate, rate), -1.0, 1.0)
            found["correlation"] = correlations[np.triu_indices(len(correlations), 1)]
    return found


def _symmetric(matrix: FloatArray) -> FloatArray:
    return (matrix + matrix.T) / 2


def _columns(
    plan: Plan, axes: Axes, table: Sample, found: Mapping[str, tuple[FloatArray, FloatArray]]
) -> Iterator[ColumnForecast]:
    """The forecasts of each coordinate; its least precise correlation is with a coordinate of another column."""
    dim, at = len(axes.labels), 0
    by_pair = [_matrix(each, dim) for each in found.get("correlation", ())]
    deviations = np.sqrt(np.diag(table.covariance)) * np.asarray(axes.scale)
    for column in plan.rows.columns or ():
        own = range(at, at := at + len(column.labels))
        others = np.setdiff1d(np.arange(dim), own)
        for place in own:
            figures = {
                name: _margin(*(part[place] for part in found[name])) for name in ("mean", "sd") if name in found
            }
            if by_pair and len(others):
                pairs = [_margin(*(part[place, other] for part in by_pair)) for other in others]
                figures["correlation"] = max(pairs, key=lambda margin: margin.error)
            yield ColumnForecast(
                name=axes.labels[place],
                unit=axes.unit[place],
                assumed_mean=column.assumed[0] if isinstance(column, Column) else 1 / len(column.levels),
                assumed_sd=column.assumed[1] if isinstance(column, Column) else float(deviations[place]),
                by_default=() if isinstance(column, Category) else _by_default(column),
                **figures,
            )


def _matrix(pairs: FloatArray, dim: int) -> FloatArray:
    """The symmetric matrix with these entries above its diagonal."""
    matrix = np.zeros((dim, dim))
    matrix[np.triu_indices(dim, 1)] = pairs
    return matrix + matrix.T


def _margin(plus_minus: float, bias: float) -> Margin:
    return Margin(plus_minus=float(plus_minus), bias=float(bias))


def _by_default(column: Column) -> tuple[str, ...]:
    return tuple(name for name in ("mean", "sd") if getattr(column, name) is None)
