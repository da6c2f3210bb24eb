"""Comparisons of mechanisms: their simulated errors at one budget, or against epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from dpframe.plots.canvas import COLORS, INK, LINES, MARKERS, Display, folded, many

if TYPE_CHECKING:
    from dpframe.forecast.comparison import Comparison, Comparisons

WIDE = 5.0  # the ratio of errors from which a scale is logarithmic
KEY = "dot: simulated median; bar: its 99 % confidence interval; stroke: 95 % of releases stay within"


@attrs.define(kw_only=True, eq=False, repr=False, slots=False)
class ComparisonDisplay(Display):
    """The median error of each mechanism, with its interval, and the error that 95 percent of releases stay within.

    Args:
        names: the mechanisms, from the smallest error.
        errors: their median errors.
        intervals: the confidence intervals of the medians.
        errors_95: the errors that 95 percent of releases stay within.
        norm: the norm of the errors.
    """

    names: Sequence[str]
    errors: Sequence[float]
    intervals: Sequence[tuple[float, float]]
    errors_95: Sequence[float]
    norm: str

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> ComparisonDisplay:
        """What a comparison shows.

        Args:
            comparison: the comparison.
        """
        ranked = comparison.candidates
        return cls(
            title=_title(comparison),
            note=_left_out(comparison.left_out),
            names=[each.name for each in ranked],
            errors=[each.error for each in ranked],
            intervals=[each.interval for each in ranked],
            errors_95=[each.error_95 for each in ranked],
            norm=comparison.norm,
        )

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw the errors.

        Args:
            ax: the axes to draw on; None for a new figure.
        """
        number = len(self.names)
        ax = self._on(ax, 7.0, many(number, 0.4, 1.6) + 1.4)
        places = np.arange(number)
        low, high = np.reshape(self.intervals, (number, 2)).T
        ax.hlines(places, self.errors, self.errors_95, color=INK, lw=0.8, ls=":")
        ax.hlines(places, low, high, color=INK, lw=3.5)
        ax.plot(self.errors, places, "o", color=INK, ms=7)
        ax.plot(self.errors_95, places, "|", color=INK, ms=12, mew=2)
        ax.set_yticks(places, self.names)
        ax.set_ylim(number - 0.5, -0.5)
        _scaled(ax.xaxis, [*self.errors, *self.errors_95])
        ax.set_xlabel(folded(f"error ({self.norm})", KEY, self.note))
        return self


@attrs.define(kw_only=True, eq=False, repr=False, slots=False)
class EpsilonsDisplay(Display):
    """The median error of each mechanism against epsilon.

    Args:
        lines: for each mechanism its epsilons, median errors and the ends of their confidence intervals.
        norm: the norm of the errors.
    """

    lines: Mapping[str, Sequence[tuple[float, float, float, float]]]
    norm: str

    @classmethod
    def from_comparisons(cls, comparisons: Comparisons) -> EpsilonsDisplay:
        """What comparisons at several budgets show.

        Args:
            comparisons: the comparisons.
        """
        first = next(iter(comparisons))
        lines: dict[str, list[tuple[float, float, float, float]]] = {}
        reasons: dict[str, str] = {}
        for epsilon, each in sorted(comparisons.by_epsilon.items()):
            reasons |= each.left_out
            for candidate in each.candidates:
                lines.setdefault(candidate.name, []).append((epsilon, candidate.error, *candidate.interval))
        left_out = {name: reason for name, reason in reasons.items() if name not in lines}
        return cls(title=_title(first), note=_left_out(left_out), lines=lines, norm=first.norm)

    def plot(self, ax: Any = None) -> EpsilonsDisplay:
        """Draw the errors.

        Args:
            ax: the axes to draw on; None for a new figure.
        """
        ax = self._on(ax, 7.0, 4.4)
        for number, (name, points) in enumerate(self.lines.items()):
            epsilons, errors, low, high = np.array(points).T
            style = {"color": COLORS[number % len(COLORS)], "ls": LINES[number % len(LINES)]}
            ax.plot(epsilons, errors, marker=MARKERS[number % len(MARKERS)], ms=6, lw=1.6, label=name, **style)
            ax.vlines(epsilons, low, high, color=style["color"], lw=3.0, alpha=0.6)
        known = [point for points in self.lines.values() for point in points]
        _scaled(ax.xaxis, [epsilon for epsilon, *_ in known])
        _scaled(ax.yaxis, [error for _, error, *_ in known])
        ax.set_xlabel(folded("ε", "bar: 99 % confidence interval of the median", self.note))
        ax.set_ylabel(folded(f"median error ({self.norm})", width=40))
        ax.grid(True, alpha=0.3)
        if self.lines:
            ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return self


def _title(comparison: Comparison) -> str:
    return f"{comparison.task}: simulated error, {comparison.scenario.source} scenario"


def _left_out(reasons: Mapping[str, str]) -> str:
    return f"{len(reasons)} others cannot do it, for reasons that print() tells" if reasons else ""


def _scaled(axis: Any, values: Sequence[float]) -> None:
    """A logarithmic scale where values differ much, with plain numbers beside it."""
    positive = [value for value in values if value > 0.0]
    if len(positive) < len(values) or not positive or max(positive) < WIDE * min(positive):
        return
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
