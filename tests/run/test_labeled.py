"""Released values as tables with labels: each number where its labels say, for every kind of value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.run.labeled import CONSTANT, directions, tidy, wide

AXES = dp.Axes(("age", "sex=F"), (2.0, 1.0), (0.0, 0.0), ("years", ""))
SYMMETRIC = np.array([[4.0, 1.0], [1.0, 3.0]])
AUGMENTED = np.array([[4.0, 1.0, 7.0], [1.0, 3.0, 8.0], [7.0, 8.0, 9.0]])
NAMES = ("age", "sex=F")

VALUES: dict[str, tuple[dp.Kind, tuple[str, ...], list[tuple[Any, ...]]]] = {
    "number": (dp.Scalar(2.5), (), []),
    "mean": (dp.Mean([1.0, 2.0], axes=AXES), ("column",), [NAMES]),
    "mean without names": (dp.Mean([1.0, 2.0]), ("index",), [(1, 2)]),
    "spectrum": (dp.Spectrum([2.0, 1.0], axes=AXES), ("component",), [(1, 2)]),
    "matrix": (dp.SymmetricMatrix(SYMMETRIC, axes=AXES), ("row", "column"), [NAMES, NAMES]),
    "matrix without names": (dp.SymmetricMatrix(SYMMETRIC), ("row", "column"), [(1, 2), (1, 2)]),
    "complex": (dp.HermitianMatrix(SYMMETRIC * (1 + 0j), axes=AXES), ("row", "column"), [NAMES, NAMES]),
    "moment": (dp.AugmentedMoment(AUGMENTED, axes=AXES, constant=1.0), ("row", "column"), [(*NAMES, CONSTANT)] * 2),
    "sum": (dp.AugmentedSum([1.0, 2.0, 3.0], axes=AXES, constant=1.0), ("column",), [(*NAMES, CONSTANT)]),
    "subspace": (dp.Subspace([[1.0], [0.0]], axes=AXES), ("column", "component"), [NAMES, (1,)]),
    "loadings": (dp.Loadings([[1.0, 2.0], [0.0, 3.0]], axes=AXES), ("column", "component"), [NAMES, (1, 2)]),
    "discriminant": (
        dp.Discriminant([[1.0, 2.0], [3.0, 4.0]], axes=AXES.in_units, features=("hours",), shares=(0.5, 0.5)),
        ("row", "column"),
        [NAMES, ("hours", "intercept")],
    ),
    "three dimensions": (dp.Kind(np.arange(8.0).reshape(2, 2, 2)), ("index_1", "index_2", "index_3"), [(1, 2)] * 3),
}


@pytest.mark.parametrize("name", VALUES)
def test_every_number_has_a_row_with_its_labels(name: str) -> None:
    value, titles, labels = VALUES[name]
    along = directions(value)
    assert (titles, labels) == (tuple(each.name for each in along), [each.labels for each in along])
    table = tidy(value)
    numbers = table["real"] if name == "complex" else table["value"]
    places = list(zip(*(table[title] for title in titles), strict=True)) if titles else [()]
    assert value.array.size == len(places) == len(numbers) == len(set(places))
    for place, number in zip(places, numbers, strict=True):
        assert value.array[tuple(labels[i].index(label) for i, label in enumerate(place))] == number
    assert "unit" not in table  # none of these is in units


def test_kinds_of_third_parties_have_labels_too() -> None:
    class Other(dp.Kind):
        pass

    for size in (5, 2):  # names are those of the first direction, whatever the size of the second
        found = directions(Other(np.ones((2, size)), axes=AXES))
        assert [("row", NAMES), ("column", tuple(range(1, size + 1)))] == [(each.name, each.labels) for each in found]


def test_values_in_units_say_which() -> None:
    assert ["years", ""] == tidy(dp.Mean([1.0, 2.0], axes=AXES.in_units))["unit"]
    loadings = dp.Loadings([[1.0, 2.0], [0.0, 3.0]], axes=AXES.in_units)
    assert ["years", "years", "", ""] == tidy(loadings)["unit"]


def test_intervals_are_beside_the_values() -> None:
    value = dp.SymmetricMatrix(SYMMETRIC, axes=AXES)
    low, high = SYMMETRIC - 1, SYMMETRIC + np.array([[2, 3], [3, 4]])
    interval = dp.Interval(low=low, high=high, confidence=0.9, method="made up", determined=low < high)
    table = tidy(value, interval)
    assert ["row", "column", "value", "low", "high"] == list(table)
    assert [3.0, 0.0, 0.0, 2.0] == list(table["low"])
    assert [6.0, 4.0, 4.0, 7.0] == list(table["high"])


def test_a_wide_table_is_the_matrix() -> None:
    rows, columns = wide("m", dp.Subspace([[0.6], [0.8]], axes=AXES))
    assert ("column", NAMES, ["component 1"]) == (rows.name, rows.labels, list(columns))
    assert [0.6, 0.8] == list(columns["component 1"])
    with pytest.raises(dp.DataError, match="'m' is not a matrix, so that it has no wide form"):
        wide("m", dp.Spectrum([1.0]))
