"""Numbers with names, such as means, slopes and loadings, as points with error bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.lattice import FloatArray
from dpframe.plots.canvas import BETWEEN, COLORS, FAINT, MARKERS, Display, folded, literal, many


@attrs.define(kw_only=True, eq=False, repr=False, slots=False)
class PointsDisplay(Display):
    """A row for each name, with a point and its error bar for each series.

    A point that is not told from zero is hollow; series differ by their markers.

    Args:
        values: the numbers, (names, series).
        names: the names of the rows.
        series: the names of the series; one needs no name.
        low: the lower ends of the intervals; None where nothing is known.
        high: the upper ends.
        told: where a number is told from zero.
        determined: where anything is known about a number; others have a cross.
        own_scales: whether each row has a scale of its own, because units differ.
    """

    values: FloatArray
    names: Sequence[str]
    series: Sequence[str] = ("",)
    low: FloatArray | None = None
    high: FloatArray | None = None
    told: NDArray[Any] = attrs.field()
    determined: NDArray[Any] = attrs.field()
    own_scales: bool = False

    @told.default
    def _all_told(self) -> NDArray[Any]:
        return np.ones(self.values.shape, dtype=bool)

    @determined.default
    def _all_determined(self) -> NDArray[Any]:
        return np.ones(self.values.shape, dtype=bool)

    def plot(self, ax: Any = None) -> PointsDisplay:
        """Draw the points.

        Args:
            ax: the axes to draw on; None for a new figure.
        """
        number, beside = self.values.shape
        each = 0.75 if self.own_scales else 0.16 + 0.09 * beside
        ax = self._on(ax, 6.0, many(number, each, 1.6) + 1.0)
        if self.own_scales:
            self._strips(ax)
        else:
            self._rows(ax, range(number))
            ax.set_yticks(range(number), map(literal, self.names))
            ax.set_ylim(number - 0.5, -0.5)
            ax.set_xlabel(folded(self.note))
        self._legend(ax)
        return self

    def _strips(self, ax: Any) -> None:
        """Axes for each row, one below the other, in place of the given ones."""
        ax.set_axis_off()
        number = len(self.names)
        for place, name in enumerate(self.names):
            strip = ax.inset_axes((0.0, 1.0 - (place + 0.55) / number, 1.0, 0.5 / number))
            self._rows(strip, [place])
            strip.set_yticks([place], [literal(name)])
            strip.set_ylim(place + 0.5, place - 0.5)
            strip.tick_params(labelsize="small", axis="x")
            strip.locator_params(axis="x", nbins=6)
            strip.margins(x=0.1)
        ax.text(0.0, -0.02, folded(self.note), transform=ax.transAxes, va="top", fontsize="small")

    def _rows(self, ax: Any, places: Sequence[int]) -> None:
        for number in range(self.values.shape[1]):
            at = np.array(places) + self._offset(number)
            values, told = self.values[places, number], self.told[places, number]
            style: dict[str, Any] = {"color": COLORS[number % len(COLORS)]}
            if self.low is not None and self.high is not None:
                low, high = self.low[places, number], self.high[places, number]
                known = np.isfinite(low) & np.isfinite(high)
                ax.hlines(at[known], low[known], high[known], lw=1.6, **style)
                for ends in (low, high):
                    ax.plot(ends[known], at[known], "|", ms=6, **style)
            known, own = self.determined[places, number], MARKERS[number % len(MARKERS)]
            marks = ((told & known, own, style["color"]), (~told & known, own, "white"), (~known, "x", style["color"]))
            for chosen, marker, face in marks:
                ax.plot(values[chosen], at[chosen], marker, ms=5.5, markerfacecolor=face, **style)
        for place in places:
            ax.axhline(place + 0.5, color=BETWEEN, lw=0.6, zorder=0)
        low, high = ax.get_xlim()
        if low < 0.0 < high:
            ax.axvline(0.0, color=FAINT, lw=0.8, zorder=0)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)

    def _offset(self, number: int) -> float:
        series = self.values.shape[1]
        return 0.0 if series == 1 else 0.6 * (number / (series - 1) - 0.5)

    def _legend(self, ax: Any) -> None:
        from matplotlib.lines import Line2D

        keys = [
            Line2D([], [], marker=MARKERS[number % len(MARKERS)], color=COLORS[number % len(COLORS)], ls="", label=name)
            for number, name in enumerate(self.series)
            if name
        ]
        if not (self.told | ~self.determined).all():
            hollow = Line2D([], [], marker="o", color=FAINT, markerfacecolor="white", ls="")
            hollow.set_label("hollow: not told from zero")
            keys.append(hollow)
        if not self.determined.all():
            keys.append(Line2D([], [], marker="x", color=FAINT, ls="", label="not determined"))
        if keys:
            ax.legend(handles=keys, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)
