"""Axes to draw on, and what all figures share: inks, markers and the lines below."""

from __future__ import annotations

import textwrap
from typing import Any

import attrs

from dpframe.display.visible import visible
from dpframe.errors import DataError

INK, FAINT, BETWEEN = "#1f4e79", "#6b6b6b", "#e3e3e3"
MARKERS = "osD^vP*X<>"  # told apart without color
LINES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)))
COLORS = ("#1f4e79", "#b3541e", "#2f7d4f", "#7a4fa3", "#8a6d00", "#a02c5a")


def pyplot() -> Any:
    """The module matplotlib.pyplot; raises DataError where matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise DataError(
            "a figure needs matplotlib: pip install 'dpframe[plots]'. Nothing is lost: results and comparisons are "
            "printed, and written to files, without it."
        ) from None
    return plt


@attrs.define(kw_only=True, eq=False, repr=False, slots=False)
class Display:
    """What a figure shows.

    Args:
        title: the title of the figure.
        note: a line below it: the confidence of error bars, or why there are none.

    Attributes:
        figure_: the figure that it was last drawn on.
        ax_: the axes that it was last drawn on.
    """

    title: str
    note: str = ""
    figure_: Any = attrs.field(default=None, init=False)
    ax_: Any = attrs.field(default=None, init=False)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.title!r}>"

    def _on(self, ax: Any, width: float, height: float) -> Any:
        """The axes to draw on: those that are given, or those of a new figure of this size in inches."""
        if ax is None:
            _, ax = pyplot().subplots(figsize=(width, height), layout="constrained")
        else:
            pyplot()
        self.figure_, self.ax_ = ax.figure, ax
        ax.set_title(literal(self.title), loc="left", fontsize="medium", wrap=True)
        return ax


def folded(*lines: str, width: int = 76) -> str:
    """Lines of text, broken where they are longer than a figure is wide.

    Args:
        lines: the lines; empty ones are left out.
        width: the most characters in a line.

    >>> folded("component", "", "a b", width=2).splitlines()
    ['component', 'a', 'b']
    """
    return "\n".join(part for line in lines for part in textwrap.wrap(line, width, break_long_words=False))


def literal(text: str) -> str:
    """A text as it is: names come from files of other people, and matplotlib reads formulas between dollars.

    >>> print(literal("cost ($), price ($)"))
    cost (\\$), price (\\$)
    """
    return visible(text).replace("$", r"\$")


def many(number: int, each: float, least: float, most: float = 30.0) -> float:
    """Inches for a number of things next to each other.

    Args:
        number: how many there are.
        each: inches for one.
        least: the fewest inches.
        most: the most inches.
    """
    return min(max(least, each * number), most)
