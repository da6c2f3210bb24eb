"""Numbers in order, such as eigenvalues, with error bars: a scree plot."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.lattice import FloatArray
from dpframe.plots.canvas import FAINT, INK, Display, folded, many


@attrs.define(kw_only=True, eq=False, repr=False, slots=False)
class ScreeDisplay(Display):
    """Numbers in order, each with its error bar; one that is not told from zero has a hollow marker.

    Args:
        values: the numbers.
        low: the lower ends of their intervals; None where nothing is known.
        high: the upper ends.
        told: where a number is told from zero.
        determined: where anything is known about a number; others have a cross.
        along: what is counted from 1: "component", say.
    """

    values: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    told: NDArray[Any] = attrs.field()
    determined: NDArray[Any] = attrs.field()
    along: str = "component"

    @told.default
    def _all_told(self) -> NDArray[Any]:
        return np.ones(self.values.shape, dtype=bool)

    @determined.default
    def _all_determined(self) -> NDArray[Any]:
        return np.ones(self.values.shape, dtype=bool)

    def plot(self, ax: Any = None) -> ScreeDisplay:
        """Draw the numbers.

        Args:
            ax: the axes to draw on; None for a new figure.
        """
        number = len(self.values)
        ax = self._on(ax, many(number, 0.3, 4.5, 12.0), 3.4)
        places = np.arange(1, number + 1)
        if self.low is not None and self.high is not None:
            known = np.isfinite(self.low) & np.isfinite(self.high)
            ax.vlines(places[known], self.low[known], self.high[known], color=INK, lw=1.6)
            for ends in (self.low, self.high):
                ax.plot(places[known], ends[known], "_", color=INK, ms=7)
        ax.plot(places, self.values, "-", color=FAINT, lw=0.8, zorder=1)
        marks = (
            (self.told & self.determined, "o", INK, ""),
            (~self.told & self.determined, "o", "white", "not told from zero"),
            (~self.determined, "x", INK, "not determined"),
        )
        for chosen, marker, face, label in marks:
            if chosen.any():
                at = places[chosen], self.values[chosen]
                ax.plot(*at, marker, ms=6, color=INK, markerfacecolor=face, label=label or "_")
        ax.axhline(0.0, color=FAINT, lw=0.8)
        ax.set_xlabel(folded(self.along, self.note, width=56))
        ax.xaxis.get_major_locator().set_params(integer=True)
        if number <= 12:
            ax.set_xticks(places)
        if not (self.told & self.determined).all():
            ax.legend(frameon=False, fontsize="small")
        return self
