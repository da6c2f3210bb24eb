"""Released values as tables with labels, which frames and CSV files are made of.

A tidy table has one row for each number: its labels, the value, and the ends of its interval where it has one. A wide
table is a matrix as it is, with the labels of its rows in the first column.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.errors import DataError
from dpframe.intervals.interval import Interval
from dpframe.kinds import (
    AugmentedMoment,
    AugmentedSum,
    ComplexSubspace,
    Discriminant,
    HermitianMatrix,
    Kind,
    Loadings,
    Mean,
    Spectrum,
)

Label = str | int
Table = dict[str, list[Label] | NDArray[Any]]
"""Columns of equal length, by name."""

CONSTANT = "(constant)"
"""The label of the constant coordinate of an augmented moment or sum."""

NAMES = {
    Spectrum: ("component",),
    AugmentedMoment: ("row", "column"),
    HermitianMatrix: ("row", "column"),
    ComplexSubspace: ("column", "component"),
    Loadings: ("column", "component"),
}
"""What the directions of an array are called, by kind."""


@attrs.frozen
class Direction:
    """One direction of an array.

    Args:
        name: what runs along it: "row", "column", "component" or "index".
        labels: the names of columns where it has them; else numbers from 1.
    """

    name: str
    labels: tuple[Label, ...]


def directions(value: Kind) -> tuple[Direction, ...]:
    """The directions of an array with their labels.

    Args:
        value: a released value.
    """
    shape, names = value.array.shape, () if value.axes is None else value.axes.labels
    if names and isinstance(value, AugmentedMoment | AugmentedSum):
        names = (*names, CONSTANT)
    titles = next((titles for kind, titles in NAMES.items() if isinstance(value, kind)), ())
    if len(titles) != len(shape):
        by_number = {1: ("column",) if len(names) == shape[0] else ("index",), 2: ("row", "column")} if shape else {}
        titles = by_number.get(len(shape), tuple(f"index_{number}" for number in range(1, len(shape) + 1)))
    both = isinstance(value, HermitianMatrix | AugmentedMoment)  # of others, the names are those of the first direction
    named = [title in ("row", "column") and (place == 0 or both) for place, title in enumerate(titles)]
    known: list[tuple[str, ...]] = [names if each else () for each in named]
    if isinstance(value, Discriminant):
        known[1] = (*value.features, "intercept")
    return tuple(
        Direction(title, labels if labels and len(labels) == size else tuple(range(1, size + 1)))
        for title, labels, size in zip(titles, known, shape, strict=True)
    )


def tidy(value: Kind, interval: Interval | None = None) -> Table:
    """One row for each number, in the order of the array, with the ends of its interval.

    Args:
        value: a released value.
        interval: its interval, where it has one.
    """
    array, along = value.array, directions(value)
    table: Table = {}
    for place, direction in enumerate(along):
        repeated = math.prod(array.shape[place + 1 :])
        labels = [label for label in direction.labels for _ in range(repeated)]
        table[direction.name] = labels * math.prod(array.shape[:place])
    if isinstance(value, Mean | Loadings) and (units := _units(value)):
        table["unit"] = [unit for unit in units for _ in range(math.prod(array.shape[1:]))]
    return table | _numbers(array.ravel(), interval)


def _units(value: Kind) -> tuple[str, ...]:
    """The unit of each coordinate of a value that is in units; none where it is not, or no column has one."""
    axes = value.axes
    in_units = axes is not None and set(axes.scale) == {1.0} and len(axes.unit) == len(value.array)
    return axes.unit if axes is not None and in_units and any(axes.unit) else ()


def _numbers(flat: NDArray[Any], interval: Interval | None) -> Table:
    if np.iscomplexobj(flat):
        return {"real": flat.real, "imaginary": flat.imag}
    ends = {} if interval is None else {"low": interval.low.ravel(), "high": interval.high.ravel()}
    return {"value": flat, **ends}


def wide(name: str, value: Kind) -> tuple[Direction, dict[str, NDArray[Any]]]:
    """The labels of the rows of a matrix, and its columns by name.

    Args:
        name: the name of the result, for messages.
        value: a released value; raises DataError unless it is a matrix.
    """
    along = directions(value)
    if len(along) != 2:
        raise DataError(f"{name!r} is not a matrix, so that it has no wide form. Leave out wide=True.")
    rows, columns = along
    counted = f"{columns.name} {{}}" if columns.name != "column" else "{}"
    names = [label if isinstance(label, str) else counted.format(label) for label in columns.labels]
    return rows, {label: value.array[:, place] for place, label in enumerate(names)}
