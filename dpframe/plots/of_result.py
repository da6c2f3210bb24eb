"""Which figure suits a released value, by its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from dpframe.display.printable import NOT_PRIVATE
from dpframe.errors import PlanError
from dpframe.intervals.interval import Interval
from dpframe.kinds import AugmentedMoment, Kind, LinearModel, Mean, Scales, SymmetricMatrix
from dpframe.plots.matrix import WITH_ERRORS, MatrixDisplay
from dpframe.plots.points import PointsDisplay
from dpframe.plots.scree import ScreeDisplay
from dpframe.run.labeled import directions
from dpframe.run.value_text import column_names, row_names

if TYPE_CHECKING:
    from dpframe.run.result import Result

NO_ZERO = (Mean, Scales, LinearModel)  # kinds for which being told from zero is no question
MOST_SERIES = 4  # components in one row of points; more are drawn as a matrix
MOST_POINTS = 40  # names in one figure of points with scales of their own


def display_of(result: Result, name: str, confidence: float) -> MatrixDisplay | PointsDisplay | ScreeDisplay:
    """What a figure of a value shows.

    Args:
        result: the result.
        name: the name of the step.
        confidence: of the error bars.
    """
    value = result.record(name).value
    if value.array.dtype.kind != "f" or not value.array.ndim or not value.array.size:
        raise PlanError(
            f"{name!r} is {result.record(name).line.kind}, of shape {value.array.shape} and type {value.array.dtype}: "
            "there is no figure of it. Lists and matrices of real numbers are drawn."
        )
    shown = _Value(value, result.known_interval(name, confidence))
    mark = "" if result.private else f"{NOT_PRIVATE}: "
    common: dict[str, Any] = {
        "title": f"{mark}{name}: {result.record(name).line.kind}",
        "note": shown.note(confidence, result.why_no_interval(name)),
    }
    matrix = value.array.reshape(len(value.array), -1)
    along = directions(value)
    components = len(along) == 2 and along[1].name == "component"
    if matrix.shape[1] > 1 and not (components and matrix.shape[1] <= MOST_SERIES):
        return shown.matrix(common)
    if len(along) == 1 and along[0].name in ("component", "index"):
        return shown.scree(common, along[0].name)
    return shown.points(common)


@attrs.frozen
class _Value:
    """A value and what is known about it."""

    value: Kind
    interval: Interval | None

    def note(self, confidence: float, why: str) -> str:
        if self.interval is None:
            return why
        if not self.interval.determined.any():
            return "its error is not determined: result.interval(name).method says what is known"
        together = "together" if self.interval.simultaneous else "each for itself"
        approximate = ", approximate" if self.interval.approximate else ""
        return f"± at {100 * confidence:g} % confidence, {together}{approximate}"

    @property
    def told(self) -> Any:
        """Where a number is told from zero, or where that is no question: of means, scales and models it is none."""
        if self.interval is None or isinstance(self.value, NO_ZERO):
            return np.ones(self.value.array.shape, dtype=bool)
        exact = self.interval.low == self.interval.high
        return self.interval.excludes_zero | exact

    def _flat(self, numbers: Any) -> Any:
        return np.reshape(numbers, (len(self.value.array), -1))

    def matrix(self, common: dict[str, Any]) -> MatrixDisplay:
        along, array = directions(self.value), self._flat(self.value.array)
        known = {name: self._flat(each) for name, each in {**self._known, "told": self.told}.items()}
        rows, columns = row_names(self.value, along[0]), column_names(along, array.shape[1])
        if array.shape[1] > WITH_ERRORS and len(along) == 2:
            columns = list(map(str, along[1].labels))  # numbers need no word beside them
        return MatrixDisplay(**common, values=array, rows=rows, columns=columns, **known, **self._shades(array))

    def _shades(self, array: Any) -> dict[str, Any]:
        """A moment is shaded by its correlations: the sizes of its columns may differ by orders of magnitude."""
        if not isinstance(self.value, SymmetricMatrix | AugmentedMoment) or (np.diag(array) <= 0.0).any():
            return {"shaded_by": "value"}
        deviations = np.sqrt(np.diag(array))
        if (deviations == 1.0).all():
            return {"shaded_by": "value"}
        correlations = np.clip(array / np.outer(deviations, deviations), -1.0, 1.0)
        return {"shades": correlations, "shaded_by": "value, divided by roots of the diagonal"}

    def scree(self, common: dict[str, Any], along: str) -> ScreeDisplay:
        return ScreeDisplay(**common, values=self.value.array, along=along, told=self.told, **self._known)

    @property
    def _known(self) -> dict[str, Any]:
        names = ("low", "high", "determined")
        return {} if self.interval is None else {name: getattr(self.interval, name) for name in names}

    def points(self, common: dict[str, Any]) -> PointsDisplay:
        along, array = directions(self.value), self._flat(self.value.array)
        series = column_names(along, array.shape[1]) if len(along) > 1 else [""]
        return PointsDisplay(
            **common,
            values=array,
            names=row_names(self.value, along[0]),
            series=series,
            told=self._flat(self.told),
            own_scales=self._own_scales,
            **{name: self._flat(each) for name, each in self._known.items()},
        )

    @property
    def _own_scales(self) -> bool:
        """Whether numbers are in units that may differ."""
        axes, number = self.value.axes, len(self.value.array)
        in_units = isinstance(self.value, LinearModel) or (axes is not None and set(axes.scale) == {1.0})
        return in_units and 1 < number <= MOST_POINTS
