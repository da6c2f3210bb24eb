"""Varimax rotation of a released subspace."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp

SWEEPS = 500  # far more than ever needed; after any number the result is a basis of the same subspace
SMALLEST_ANGLE = 1e-12
FLAT = 1e-13  # planes in which a rotation changes the criterion by no more than rounding


@attrs.frozen(kw_only=True)
class Varimax(dp.PostProcessor):
    """The same subspace in a basis that maximizes the variance of its squared entries, plane by plane.

    For columns of length one the criterion is equivalent to the sum of all fourth powers. In the plane of two columns x
    and y the best angle φ has a closed form: with a = Σ (x² − y²)² − (2xy)² and b = 2 Σ (x² − y²)(2xy), 4φ is the angle
    of (a, b). All planes are rotated in turn, repeatedly, until no angle is above a tolerance. Only a released value is
    used, so this is post-processing and free.

    Components are then characterized by the columns with large entries, no longer by how much variance they explain.
    By convention they are ordered by the column of their largest entry, and that entry is positive.

    Args:
        of: a released subspace of real numbers.

    References:
        Kaiser, "The varimax criterion for analytic rotation in factor analysis", Psychometrika 1958.

    >>> half = 0.5**0.5
    >>> (Varimax(of=[[half, half], [half, -half], [0.0, 0.0]]).apply().array ** 2).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """

    name = "varimax"
    gives = dp.Subspace

    of: Any = dp.input(dp.Subspace)

    def output_shape(self, rows: dp.Rows) -> dp.Shape | None:
        return dp.shape_of(self.of)

    def apply(self) -> dp.Subspace:
        return dp.Subspace(_in_order(_rotated(self.of.array)), axes=self.of.axes)


def _rotated(basis: dp.FloatArray) -> dp.FloatArray:
    columns: dp.FloatArray = basis.copy()
    planes = list(combinations(range(columns.shape[1]), 2))
    for _ in range(SWEEPS):
        largest = max((_rotate(columns, i, j) for i, j in planes), default=0.0)
        if largest <= SMALLEST_ANGLE:
            break
    return columns


def _rotate(columns: dp.FloatArray, i: int, j: int) -> float:
    """Rotate two columns in their plane by the best angle, and return its absolute value."""
    x, y = columns[:, i].copy(), columns[:, j].copy()
    u, v = x**2 - y**2, 2 * x * y
    a, b = float(u @ u - v @ v), 2 * float(u @ v)
    if math.hypot(a, b) <= FLAT:
        return 0.0
    angle = math.atan2(b, a) / 4
    columns[:, i] = math.cos(angle) * x + math.sin(angle) * y
    columns[:, j] = math.cos(angle) * y - math.sin(angle) * x
    return abs(angle)


def _in_order(columns: dp.FloatArray) -> dp.FloatArray:
    """Sort columns by the position of their largest entry, larger entries first for ties, and make it positive."""
    places = np.abs(columns).argmax(axis=0)
    largest = columns[places, np.arange(columns.shape[1])]
    order = np.lexsort((-np.abs(largest), places))
    ordered: dp.FloatArray = (columns * np.sign(largest))[:, order]
    return ordered
