"""A matrix as a field of shaded cells; what is not told from zero is gray and hatched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.lattice import FloatArray
from dpframe.plots.canvas import Display, folded, literal, many, pyplot
from dpframe.run.value_text import with_interval

WITH_ERRORS, WITH_NUMBERS, WITH_SIGNS = 8, 16, 60  # columns up to which cells hold these
MOST_NAMES, MOST_HATCHED = 60, 120  # columns up to which they are named, and cells hatched
PLAIN: dict[str, Any] = {"facecolor": "#f0f0f0", "edgecolor": "#bdbdbd", "linewidth": 0.0}


@attrs.define(kw_only=True, eq=False, repr=False, slots=False)
class MatrixDisplay(Display):
    """A matrix, each cell shaded by its value.

    A cell that is not told from zero is gray and hatched, one that is not determined cross-hatched. Cells hold their
    numbers where there is room, else their signs, so that shades need not be told apart by color.

    Args:
        values: the matrix.
        rows: the names of the rows.
        columns: the names of the columns.
        low: the lower ends of the intervals; None where nothing is known.
        high: the upper ends.
        told: where a value is told from zero.
        determined: where anything is known about a value.
        shades: numbers that the cells are shaded by; the values by default.
        shaded_by: what the shades are, in words.
    """

    values: FloatArray
    rows: Sequence[str]
    columns: Sequence[str]
    low: FloatArray | None = None
    high: FloatArray | None = None
    told: NDArray[Any] = attrs.field()
    determined: NDArray[Any] = attrs.field()
    shades: FloatArray = attrs.field()
    shaded_by: str = ""

    @told.default
    def _all_told(self) -> NDArray[Any]:
        return np.ones(self.values.shape, dtype=bool)

    @determined.default
    def _all_determined(self) -> NDArray[Any]:
        return np.ones(self.values.shape, dtype=bool)

    @shades.default
    def _by_value(self) -> FloatArray:
        return self.values

    def plot(self, ax: Any = None) -> MatrixDisplay:
        """Draw the matrix.

        Args:
            ax: the axes to draw on; None for a new figure.
        """
        plt, (height, width) = pyplot(), self.values.shape
        wide = 0.85 if width <= WITH_ERRORS else 0.55 if width <= WITH_NUMBERS else 0.25
        tall = wide if height == width else 0.45
        ax = self._on(ax, many(width, wide, 3.2) + 2.2, many(height, tall, 2.0) + 1.6)
        shown = self.told & self.determined
        limit = float(np.abs(self.shades[shown]).max(initial=0.0)) or 1.0
        painted = np.ma.masked_where(~shown, self.shades)
        aspect = "equal" if height == width else "auto"
        colors = plt.get_cmap("RdBu_r").with_extremes(bad=PLAIN["facecolor"])
        image = ax.imshow(painted, cmap=colors, vmin=-limit, vmax=limit, aspect=aspect)
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8)
        bar.set_label(self.shaded_by)
        if width <= MOST_NAMES:
            ax.set_xticks(range(width), map(literal, self.columns), rotation=90 if width > 3 else 0)
        if height <= MOST_NAMES:
            ax.set_yticks(range(height), map(literal, self.rows))
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        for side in ax.spines.values():
            side.set_visible(False)
        keys = [
            *self._hatched(ax, self.determined & ~self.told, "////", "not told from zero"),
            *self._hatched(ax, ~self.determined, "xxxx", "not determined"),
        ]
        self._write(ax, limit)
        if self.note:
            keys.append(plt.Line2D([], [], linestyle="none", label=folded(self.note, width=60)))
        if keys:
            ax.legend(handles=keys, loc="upper left", bbox_to_anchor=(0.0, -0.01), fontsize="small", frameon=False)
        return self

    def _hatched(self, ax: Any, where: NDArray[Any], hatch: str, label: str) -> list[Any]:
        """Hatch cells; a key for the legend if there are any."""
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Patch, Rectangle

        places = np.argwhere(where)
        if not len(places):
            return []
        if where.shape[1] > MOST_HATCHED:  # cells are too small to be seen
            return [Patch(label=f"gray: {label}", **PLAIN)]
        cells = [Rectangle((column - 0.5, row - 0.5), 1, 1) for row, column in places.tolist()]
        ax.add_collection(PatchCollection(cells, hatch=hatch, **PLAIN))
        return [Patch(hatch=hatch, label=label, **PLAIN)]

    def _write(self, ax: Any, limit: float) -> None:
        """Numbers or signs in the cells."""
        width = self.values.shape[1]
        if width > WITH_SIGNS:
            return
        for place in np.ndindex(*self.values.shape):
            if not self.determined[place]:
                continue
            dark = self.told[place] and abs(self.shades[place]) > 0.6 * limit
            ax.text(
                *place[::-1],
                self._words(place),
                ha="center",
                va="center",
                fontsize=8 if width <= WITH_NUMBERS else 6,
                color="white" if dark else "black",
            )

    def _words(self, place: tuple[int, ...]) -> str:
        value, width = float(self.values[place]), self.values.shape[1]
        if width > WITH_NUMBERS:
            return ("+" if value > 0 else "−") if self.told[place] else ""
        if self.low is None or self.high is None:
            return f"{value:.2g}".replace("-", "−")
        words = with_interval(value, float(self.low[place]), float(self.high[place])).replace("-", "−")
        number, *error = words.split(" ", 1)
        return "\n".join([number, *error]) if width <= WITH_ERRORS else number
