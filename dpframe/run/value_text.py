"""Released values as text: each number with its error, to as many digits as that leaves meaningful."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from dpframe.display.grid import LINES, Grid
from dpframe.display.tables import heading
from dpframe.intervals.interval import Interval
from dpframe.kinds import Covariance, Kind, LinearModel, Mean, Scales, SymmetricMatrix
from dpframe.run.labeled import Direction, directions

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpframe.run.result import Record

NOT_TOLD, UNKNOWN = "~", "n.d."
FEWEST, MOST = 1e-4, 1e7  # numbers between these are written without an exponent

LEGEND = (
    f"± and angles hold at {{confidence:g}} % confidence, each for itself, and so does [from, to]; {NOT_TOLD} marks "
    f"what is not told from zero and {UNKNOWN} what is not determined. More: result.interval(name)."
)
REDRAWN = "± is approximate: from releases that were drawn again as if what was released were the truth"


def value_section(record: Record, interval: Interval | None, why: str = "", lines: int = LINES) -> list[RenderableType]:
    """The value of a step under its heading.

    Args:
        record: the value.
        interval: its interval; None where it is not known.
        why: why there is no interval; "" where there is one.
        lines: the most lines; a larger value is shown in part.
    """
    from rich.padding import Padding
    from rich.text import Text

    value = record.value
    shape = " × ".join(map(str, value.array.shape)) or "one number"
    parts: list[RenderableType] = [heading(f"{record.name}: {record.line.kind}, {shape}")]
    if not value.array.size:
        parts.append(Text("  empty"))
    elif value.array.ndim:
        parts.append(grid(value, interval, record.name, lines))
    else:
        parts.append(Text(f"  {number(value, interval)}"))
    parts += [Padding(Text(line), (0, 0, 0, 2)) for line in remarks(interval, why)]
    return [*parts, Text()]


def remarks(interval: Interval | None, why: str) -> list[str]:
    """What is said about the error of a value below it.

    Args:
        interval: its interval; None where it is not known.
        why: why it is not known.
    """
    if interval is None:
        return [why] if why else []
    if interval.angle_degrees is not None:
        return [angle(interval.angle_degrees)]
    if not interval.determined.any():
        return [interval.method]  # what else is known
    return [REDRAWN] if interval.approximate else []


def number(value: Kind, interval: Interval | None) -> str:
    """A single number with its error.

    Args:
        value: the value, of no dimension.
        interval: its interval; None where it is not known.
    """
    found = value.array.item()
    if interval is None:
        return f"{found:.6g}"
    if not (interval.determined and math.isfinite(_reach(found, interval.low, interval.high))):
        return f"{found:.6g}, its error not determined"
    return with_interval(found, float(interval.low), float(interval.high))


def with_error(value: float, reach: float) -> str:
    """A number and how far off it may be, to two digits of that.

    >>> with_error(0.31415, 0.0274), with_error(20013.2, 413.0), with_error(3.2e-9, 4.1e-11), with_error(2.5, 0.0)
    ('0.314 ± 0.027', '20010 ± 410', '(3.200 ± 0.041)e-09', '2.5')
    """
    if reach == 0.0:
        return f"{value:.4g}"
    size = max(abs(value), reach)
    if not 1e-290 < size < 1e290 or reach < 1e-12 * size:
        return f"{value:.4g} ± {reach:.2g}"
    if not FEWEST <= size < MOST:
        power = math.floor(math.log10(size))
        return f"({_fixed(value / 10.0**power, reach / 10.0**power)})e{power:+03d}"
    return _fixed(value, reach)


def with_interval(value: float, low: float, high: float) -> str:
    """A number and how far off it may be; where that would seem to reach zero but does not, the ends of its interval.

    >>> with_interval(0.3, 0.2, 0.35), with_interval(0.028, 0.0021, 0.118), with_interval(0.028, -0.02, 0.118)
    ('0.30 ± 0.10', '0.028 [0.002, 0.118]', '0.028 ± 0.090')
    """
    reach = max(high - value, value - low)
    if reach < abs(value) or not (low > 0.0 or high < 0.0):
        return with_error(value, reach)
    decimals = max(1 - math.floor(math.log10((high - low) / 2)), 0) if high > low else 0
    if high == low or decimals > 6 or reach >= MOST:
        return f"{value:.2g} [{low:.2g}, {high:.2g}]"
    return f"{value:.{decimals}f} [{low:.{decimals}f}, {high:.{decimals}f}]"


def _fixed(value: float, reach: float) -> str:
    decimals = min(1 - math.floor(math.log10(reach)), 12)
    shown = max(decimals, 0)
    return f"{round(value, decimals) + 0.0:.{shown}f} ± {round(reach, decimals):.{shown}f}"


def angle(degrees: float) -> str:
    """How far a span may be off, in words.

    Args:
        degrees: the largest angle to the span without noise.
    """
    if degrees >= 90.0:
        return "the span is not determined: noise may have exchanged its last direction with the next"
    return f"the span is within {degrees:.2g}° of the one without noise"


def _reach(number: float, low: Any, high: Any) -> float:
    return float(max(high - number, number - low))


def _with_errors(
    array: NDArray[Any], low: NDArray[Any], high: NDArray[Any], determined: NDArray[Any], zero_means: bool
) -> list[list[str]]:
    """Each number of a matrix as text; one that is not determined is shown only where it stands alone in its row."""

    def cell(at: tuple[int, int]) -> str:
        reach = _reach(array[at], low[at], high[at])
        if not (determined[at] and math.isfinite(reach)):
            return UNKNOWN if array.shape[1] > 1 else f"{array[at]:.4g}, {UNKNOWN}"
        told = not zero_means or low[at] > 0.0 or high[at] < 0.0 or reach == 0.0
        return ("" if told else NOT_TOLD) + with_interval(float(array[at]), float(low[at]), float(high[at]))

    return [[cell((row, column)) for column in range(array.shape[1])] for row in range(array.shape[0])]


def grid(value: Kind, interval: Interval | None, name: str, lines: int) -> Grid:
    """The numbers of a value, each with its error, under the names of its columns and beside those of its rows.

    Args:
        value: the value, of at least one number and one dimension.
        interval: its interval; None where it is not known.
        name: the name of the step.
        lines: the most rows, and columns.
    """
    array, along = value.array, directions(value)
    matrix = array.reshape(len(array), math.prod(array.shape[1:]))
    part = (slice(lines), slice(lines))
    if interval is None:
        cells = [[f"{number:.4g}" for number in row] for row in matrix[part]]
    else:
        zero_means = not isinstance(value, Mean | Scales | LinearModel)
        low, high, determined = (
            end.reshape(matrix.shape)[part] for end in (interval.low, interval.high, interval.determined)
        )
        cells = _with_errors(matrix[part], low, high, determined, zero_means)
    return Grid(
        cells=cells,
        rows=row_names(value, along[0])[:lines],
        columns=column_names(along, matrix.shape[1])[:lines] if array.ndim > 1 else None,
        shape=(matrix.shape[0], matrix.shape[1]),
        where=f"result.frame({name!r}), and the files that result.save writes",
        faint=lambda cell: cell.endswith(UNKNOWN) or cell.startswith(NOT_TOLD),
        lines=lines,
    )


def row_names(value: Kind, rows: Direction) -> list[str]:
    """The names of the rows, each with its unit where values are in that unit.

    Args:
        value: the value.
        rows: its first direction.
    """
    axes = value.axes
    without = isinstance(value, SymmetricMatrix) and not isinstance(value, Covariance)  # such as a correlation
    if axes is None or len(axes.labels) != len(rows.labels) or without:
        return list(map(str, rows.labels))
    in_units = zip(axes.labels, axes.scale, axes.unit, strict=True)
    return [f"{label} ({unit})" if unit and scale == 1.0 else label for label, scale, unit in in_units]


def column_names(along: tuple[Direction, ...], number: int) -> list[str]:
    """The names of the columns, or numbers where an array has more directions than a matrix.

    Args:
        along: the directions of the array.
        number: the number of columns.
    """
    if len(along) != 2:
        return [str(place) for place in range(1, number + 1)]
    return [label if isinstance(label, str) else f"{along[1].name} {label}" for label in along[1].labels]
