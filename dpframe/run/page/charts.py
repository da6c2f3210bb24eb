"""The pictures of a report: budget bar, scree plot, heat map and loadings.

Nothing depends on color: what is below noise is hollow or dotted, negative cells are hatched, and each picture stands
above a table with the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.intervals.interval import Interval
from dpframe.run.page.svg import Markup, cut, drawing, element
from dpframe.run.value_text import NOT_TOLD, UNKNOWN, with_interval

FloatArray = NDArray[np.float64]

LONGEST_LABEL = 16
MOST_CELLS = 40  # rows of a heat map
MOST_NUMBERS = 14  # rows of a heat map with numbers in its cells
MOST_COMPONENTS, MOST_COLUMNS = 4, 60  # of loadings
MOST_EIGENVALUES = 40


@attrs.frozen(kw_only=True)
class Bars:
    """Numbers with the ends of their intervals.

    Args:
        values: the numbers.
        low: the lower ends; NaN where they are not known.
        high: the upper ends.
        has_law: whether anything is known about the error of these numbers.
    """

    values: FloatArray
    low: FloatArray
    high: FloatArray
    has_law: bool

    @classmethod
    def of(cls, values: NDArray[Any], interval: Interval | None) -> Bars:
        """The numbers of a value with its interval, where that is known and determined."""
        if interval is None:
            unknown = np.full(values.shape, math.nan)
            return cls(values=values, low=unknown, high=unknown, has_law=False)
        known = interval.determined & np.isfinite(interval.low) & np.isfinite(interval.high)
        low, high = (np.where(known, end, math.nan) for end in (interval.low, interval.high))
        return cls(values=values, low=low, high=high, has_law=True)

    def at(self, place: Any) -> Bars:
        """Some of the numbers."""
        return attrs.evolve(self, values=self.values[place], low=self.low[place], high=self.high[place])

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which have an interval."""
        return np.isfinite(self.low)

    @property
    def told(self) -> NDArray[np.bool_]:
        """Which are told from zero: all of them where nothing is known about their error."""
        with np.errstate(invalid="ignore"):
            told: NDArray[np.bool_] = (self.low > 0.0) | (self.high < 0.0)
            return told | (not self.has_law)

    def text(self, place: Any) -> str:
        """One number with its error."""
        value = float(self.values[place])
        if not self.has_law:
            return f"{value:.4g}"
        if not self.known[place]:
            return UNKNOWN
        return with_interval(value, float(self.low[place]), float(self.high[place]))


def budget_bar(shares: Iterable[tuple[str, float]], label: str) -> Markup:
    """A bar as wide as the page, in parts.

    Args:
        shares: the name of each part, for its style, and its share of the whole.
        label: what it shows.
    """
    parts, at = [], 0.0
    for name, share in shares:
        width = min(max(share, 0.0), 1.0 - at)
        place = {"x": f"{100 * at:.3f}%", "width": f"{100 * width:.3f}%", "height": "100%"}
        parts.append(element("rect", **place, class_=f"part {name}"))
        at += width
    return element("svg", *parts, role="img", aria_label=label, class_="bar", width="100%", height=30)


def swatch(name: str) -> Markup:
    """A sample of a style, for a legend."""
    return element("svg", element("rect", width=14, height=14, class_=name), class_="swatch", aria_hidden="true")


# -- scree plot -------------------------------------------------------------------------------------------------------


def scree(bars: Bars, label: str) -> Markup:
    """Numbers by component, from the largest, with their intervals.

    Args:
        bars: the numbers.
        label: what it shows.
    """
    bars = bars.at(slice(MOST_EIGENVALUES))
    count = len(bars.values)
    step = max(24.0, min(72.0, 520.0 / count))
    left, top, width, height = 64.0, 14.0, step * count, 210.0
    top_value = float(np.nanmax([bars.values, np.where(bars.known, bars.high, math.nan)]))
    ticks = _ticks(0.0, top_value if top_value > 0.0 else 1.0)
    scale = height / ticks[-1]

    def y(value: float) -> float:
        return top + height - min(max(value, 0.0), ticks[-1]) * scale

    def x(place: int) -> float:
        return left + step * (place + 0.5)

    parts: list[Markup] = []
    for tick in ticks:
        parts.append(element("line", x1=left, x2=left + width, y1=y(tick), y2=y(tick), class_="grid"))
        parts.append(element("text", f"{tick:.6g}", x=left - 8, y=y(tick) + 4, text_anchor="end"))
    path = " ".join(f"{x(place):.2f},{y(value):.2f}" for place, value in enumerate(bars.values))
    parts.append(element("polyline", points=path, class_="thread"))
    for place, value in enumerate(bars.values):
        ends = (y(float(bars.low[place])), y(float(bars.high[place]))) if bars.known[place] else None
        parts += _point(x(place), y(float(value)), ends, told=bool(bars.told[place]), title=bars.text(place))
        if count <= 12 or (place + 1) % 5 == 0 or place == 0:
            parts.append(element("text", place + 1, x=x(place), y=top + height + 20, text_anchor="middle"))
    parts.append(element("text", "component", x=left + width, y=top + height + 38, text_anchor="end", class_="axis"))
    return drawing(label, left + width + 16, top + height + 46, *parts)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from low to at least high.

    >>> _ticks(0.0, 1.7)
    [0.0, 0.5, 1.0, 1.5, 2.0]
    """
    size = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(size * factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if size * factor * 5 >= high - low)
    count = max(math.ceil((high - low) / step - 1e-9), 1)
    return [float(f"{low + step * place:.12g}") for place in range(count + 1)]


def _point(x: float, y: float, ends: tuple[float, float] | None, *, told: bool, title: str) -> list[Markup]:
    """A mark with a vertical whisker; hollow where it is not told from zero."""
    parts = []
    if ends is not None:
        parts.append(element("line", x1=x, x2=x, y1=ends[0], y2=ends[1], class_="whisker"))
        parts += [element("line", x1=x - 5, x2=x + 5, y1=end, y2=end, class_="whisker") for end in ends]
    mark = element("circle", element("title", title), cx=x, cy=y, r=4.5, class_="mark" if told else "mark hollow")
    return [*parts, mark]


# -- heat map ---------------------------------------------------------------------------------------------------------


def heat_map(labels: Sequence[str], bars: Bars, label: str, tints: FloatArray | None = None) -> Markup:
    """A symmetric matrix; cells that are not told from zero are dotted and without tint.

    Args:
        labels: the names of rows and columns.
        bars: the numbers, each with its interval.
        label: what it shows.
        tints: numbers from -1 to 1 by which cells are tinted, where those of the matrix are others.
    """
    count = len(labels)
    numbers = count <= MOST_NUMBERS and tints is None
    cell_width, cell_height = (62.0, 46.0) if numbers else (26.0, 22.0)
    tints = bars.values if tints is None else tints
    left, top, slant = _margin(labels), 84.0 if numbers else 112.0, 35 if numbers else 60
    parts = []
    for place, name in enumerate(labels):
        middle, short = (place + 0.5), cut(name, LONGEST_LABEL)
        full = element("title", name)
        parts.append(element("text", short, full, x=left - 10, y=top + cell_height * middle + 4, text_anchor="end"))
        x = left + cell_width * middle
        parts.append(element("text", short, full, transform=f"translate({x:.1f} {top - 10:.0f}) rotate(-{slant})"))
    for row in range(count):
        for column in range(count):
            x, y = left + cell_width * column, top + cell_height * row
            title = f"{labels[row]}, {labels[column]}"
            box = (x, y, cell_width, cell_height)
            parts += _cell(bars, (row, column), box, float(tints[row, column]), title, numbers=numbers)
    beyond = 0.8 * 7.2 * min(LONGEST_LABEL, len(labels[-1]))  # of the last slanted name
    return drawing(label, left + cell_width * count + beyond, top + cell_height * count + 6, *parts)


def _cell(
    bars: Bars, place: tuple[int, int], box: tuple[float, ...], tint: float, title: str, *, numbers: bool
) -> list[Markup]:
    x, y, width, height = box
    told = bool(bars.told[place])
    size = {"x": x + 1, "y": y + 1, "width": width - 2, "height": height - 2}
    words = element("title", f"{title}: {_sign(told, bars.text(place))}")
    style = "quiet" if not told else "plus" if tint >= 0.0 else "minus"
    strength = None if not told else 0.06 + 0.54 * min(abs(tint), 1.0)
    parts = [element("rect", words, **size, class_=style, fill_opacity=strength)]
    if not told or tint < 0.0:
        parts.append(element("rect", **size, class_="dotted" if not told else "hatched"))
    if numbers:
        middle, (first, _, error) = x + width / 2, bars.text(place).partition(" ")
        style, lift = ("number" if told else "number faint"), (-2.0 if error else 4.0)
        parts.append(element("text", _sign(told, first), x=middle, y=y + height / 2 + lift, class_=style))
        if error:
            below = "error" if told else "error faint"
            parts.append(element("text", error, x=middle, y=y + height / 2 + 13, class_=below))
    return parts


def _sign(told: bool, text: str) -> str:
    return text if told or text == UNKNOWN else NOT_TOLD + text


# -- loadings ---------------------------------------------------------------------------------------------------------


def loadings(labels: Sequence[str], bars: Bars, label: str) -> Markup:
    """The weights of columns in components, side by side, with their intervals.

    Args:
        labels: the names of the columns.
        bars: the weights, one column for each component.
        label: what it shows.
    """
    bars = bars.at((slice(MOST_COLUMNS), slice(MOST_COMPONENTS)))
    rows, components = bars.values.shape
    labels = labels[:rows]
    left, top, line, panel, gap = _margin(labels), 28.0, 24.0, 168.0, 28.0
    ends = [np.abs(each[np.isfinite(each)]) for each in (bars.values, bars.low, bars.high)]
    widest = max((float(each.max()) for each in ends if each.size), default=1.0) or 1.0
    parts = []
    for row, name in enumerate(labels):
        y = top + line * (row + 0.5)
        full = element("title", name)
        parts.append(element("text", cut(name, LONGEST_LABEL), full, x=left - 10, y=y + 4, text_anchor="end"))
        parts.append(element("line", x1=left, x2=left + components * (panel + gap) - gap, y1=y, y2=y, class_="grid"))
    for component in range(components):
        start = left + component * (panel + gap)
        middle, scale = start + panel / 2, panel / 2 / widest
        bottom = top + line * rows
        parts.append(element("text", f"component {component + 1}", x=middle, y=16, text_anchor="middle", class_="axis"))
        parts.append(element("line", x1=middle, x2=middle, y1=top, y2=bottom, class_="zero"))
        below = ((start, f"{-widest:.2g}", "start"), (middle, "0", "middle"), (start + panel, f"{widest:.2g}", "end"))
        parts += [element("text", text, x=at, y=bottom + 18, text_anchor=anchor) for at, text, anchor in below]
        for row in range(rows):
            place, y = (row, component), top + line * (row + 0.5)
            if bars.known[place]:
                low, high = (middle + scale * float(end[place]) for end in (bars.low, bars.high))
                parts.append(element("line", x1=low, x2=high, y1=y, y2=y, class_="whisker"))
            x, style = middle + scale * float(bars.values[place]), "mark" if bars.told[place] else "mark hollow"
            title = element("title", f"{labels[row]}, component {component + 1}: {bars.text(place)}")
            parts.append(element("circle", title, cx=x, cy=y, r=4.5, class_=style))
    return drawing(label, left + components * (panel + gap), top + line * rows + 28, *parts)


def _margin(labels: Sequence[str]) -> float:
    """The room for names on the left of a picture."""
    return 24.0 + 7.2 * max(len(cut(name, LONGEST_LABEL)) for name in labels)
