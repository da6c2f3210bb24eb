"""Released values as the sections of a page: a table each, and a picture where one helps."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import attrs
import numpy as np

from dpframe.display.grid import LINES
from dpframe.display.tables import sentence
from dpframe.intervals.interval import Interval
from dpframe.kinds import ComplexSubspace, Covariance, Loadings, Spectrum
from dpframe.lattice import FloatArray
from dpframe.run.labeled import directions
from dpframe.run.page import charts
from dpframe.run.page.charts import Bars
from dpframe.run.page.svg import Markup
from dpframe.run.value_text import grid, number, remarks

if TYPE_CHECKING:
    from dpframe.run.result import Record, Result

CORRELATION, SHARES, TO_UNITS = "correlation", "explained-variance", "to-units"


@attrs.frozen(kw_only=True)
class Cell:
    """A number as text.

    Args:
        text: the number with its error.
        faint: whether it is not told from zero, or not determined.
    """

    text: str
    faint: bool


@attrs.frozen(kw_only=True)
class Figure:
    """A picture with its caption."""

    picture: Markup
    caption: str


@attrs.frozen(kw_only=True)
class Section:
    """One released value.

    Args:
        name: the name of its step.
        kind: what it is, and its shape.
        how: the mechanism or post-processor with its parameters.
        columns: the names of the columns of its table; none for one column that needs no name.
        rows: the rows of the table: a name, and cells.
        number: a single number with its error, instead of a table.
        remarks: what else is to be known.
        figures: pictures of it.
        has_error: whether its error is known.
    """

    name: str
    kind: str
    how: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, tuple[Cell, ...]], ...] = ()
    number: str = ""
    remarks: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    has_error: bool = False


def section(result: Result, name: str) -> Section:
    """The section of one value.

    Args:
        result: the result.
        name: the name of the step.
    """
    from dpframe.run.render import call

    record, interval = result.record(name), result.shown_interval(name)
    value = record.value
    shape = " × ".join(map(str, value.array.shape)) or "one number"
    found = Section(
        name=name, kind=f"{record.line.kind}, {shape}", how=call(record.line), has_error=interval is not None
    )
    words = []
    if not value.array.size:
        words.append("It is empty.")
    elif value.array.ndim:
        table = grid(value, interval, name, LINES)
        rows = tuple(
            (label, tuple(Cell(text=text, faint=bool(table.faint(text))) for text in cells))
            for label, cells in zip(table.rows, table.cells, strict=True)
        )
        found = attrs.evolve(found, columns=tuple(table.columns or ()), rows=rows)
        if (len(table.cells), len(table.cells[0])) != table.shape:
            size, whole = " × ".join(map(str, (len(rows), len(table.cells[0])))), " × ".join(map(str, table.shape))
            words.append(f"The first {size} of {whole} numbers; all of them are in the files beside this page.")
    else:
        found = attrs.evolve(found, number=number(value, interval))
    if value.array.size:
        words += map(_sentence, remarks(interval, result.why_no_interval(name)))
    if choice := result.choices.get(name):
        words.append(choice)
    correlated = any(each.line.action == CORRELATION for each in result.records.values())
    return attrs.evolve(found, remarks=tuple(words), figures=tuple(_figures(record, interval, correlated=correlated)))


def _sentence(words: str) -> str:
    return sentence(words.removesuffix("."))


def _figures(record: Record, interval: Interval | None, *, correlated: bool) -> list[Figure]:
    """The pictures of a value, which is shown without them rather than not at all.

    Args:
        record: the value.
        interval: its interval.
        correlated: whether the result has correlations, so that covariances need no picture.
    """
    with suppress(Exception), np.errstate(all="ignore"):
        value = record.value
        if np.iscomplexobj(value.array) or not value.array.size:
            return []
        bars, name = Bars.of(value.array, interval), record.name
        if isinstance(value, Spectrum) or record.line.action == SHARES:
            what = "Eigenvalues" if isinstance(value, Spectrum) else "Shares of the variance"
            return [
                Figure(picture=charts.scree(bars, f"{what} by component, {name}"), caption=_scree_words(what, bars))
            ]
        names = [str(label) for label in directions(value)[0].labels]
        mixed = isinstance(value, Loadings) and value.axes is not None and len(set(value.axes.unit)) > 1
        if isinstance(value, ComplexSubspace | Loadings) and not mixed:  # those in several units have no common scale
            picture = charts.loadings(names, bars, f"Weights of columns in components, {name}")
            return [Figure(picture=picture, caption=_loading_words(value.array.shape, bars))]
        if record.line.action == CORRELATION and 2 <= len(names) <= charts.MOST_CELLS:
            picture = charts.heat_map(names, bars, f"Heat map of correlations, {name}")
            return [Figure(picture=picture, caption=HEAT_MAP.format("Correlations.") + _unknown(bars))]
        in_units = record.line.action == TO_UNITS
        if isinstance(value, Covariance) and 2 <= len(names) <= charts.MOST_CELLS and not (in_units or correlated):
            picture = charts.heat_map(names, bars, f"Heat map of a covariance, {name}", _correlations(value.array))
            return [Figure(picture=picture, caption=HEAT_MAP.format(TINTED) + _unknown(bars))]
    return []


def _correlations(covariance: FloatArray) -> FloatArray:
    """The correlations in a covariance; 0 where a variance is not positive."""
    variances = np.diag(covariance)
    rate = np.where(variances > 0.0, 1.0 / np.sqrt(np.where(variances > 0.0, variances, 1.0)), 0.0)
    correlations: FloatArray = np.clip(covariance * np.outer(rate, rate), -1.0, 1.0)
    return correlations


def _unknown(bars: Bars) -> str:
    return "" if bars.has_law else " The error of these numbers is not known."


def _scree_words(what: str, bars: Bars) -> str:
    left_out = len(bars.values) - charts.MOST_EIGENVALUES
    more = f" The first {charts.MOST_EIGENVALUES} of {len(bars.values)}." if left_out > 0 else ""
    whiskers = " Whiskers are 95 % intervals; a hollow mark is not told from zero." if bars.has_law else ""
    return f"{what}, from the largest.{whiskers}{_unknown(bars)}{more}"


def _loading_words(shape: tuple[int, ...], bars: Bars) -> str:
    rows, components = shape
    parts = [
        f"the first {most} of {whole} {what}"
        for most, whole, what in (
            (charts.MOST_COLUMNS, rows, "columns"),
            (charts.MOST_COMPONENTS, components, "components"),
        )
        if most < whole
    ]
    more = f" Shown: {' and '.join(parts)}." if parts else ""
    whiskers = " Lines are 95 % intervals; a hollow mark is not told from zero." if bars.has_law else ""
    what = "Weight of each column in each component; the sign of a whole component is arbitrary."
    return f"{what}{whiskers}{_unknown(bars)}{more}"


TINTED = "A covariance, tinted by the correlations in it; the numbers are in the table."
HEAT_MAP = (
    "{} The stronger, the fuller the tint; negative cells are hatched. Cells below the noise are gray and dotted, and "
    "marked ~: they are not told from zero."
)


def is_step_between(name: str, names: set[str]) -> bool:
    """Whether a step was made by a recipe, on the way to its result.

    Args:
        name: the name of the step.
        names: the names of all steps.
    """
    return "." in name and name.partition(".")[0] in names
