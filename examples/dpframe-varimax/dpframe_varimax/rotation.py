"""Varimax: the basis of a released subspace that is easiest to read."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp

SWEEPS = 500  # far more than planes ever took; the result is a basis of the same subspace whenever it stops
SMALLEST_TURN = 1e-12
FLAT = 1e-13  # a plane in which no turn changes the criterion by more than rounding does


@attrs.frozen(kw_only=True)
class Varimax(dp.PostProcessor):
    """The same subspace in the basis that maximises the variance of its squared entries, plane by plane.

    For columns of length one that is the sum of all fourth powers. In the plane of two columns x and y the best angle
    φ has a closed form: with a = Σ (x² − y²)² − (2xy)² and b = 2 Σ (x² − y²)(2xy), 4φ is the angle of (a, b). All
    planes are turned in order, again and again, until none turns any more. It looks at a released value only, so it is
    free.

    Components are then told apart by what they rest on and no longer by how much they explain. Their order and signs
    are a convention: by the column with the largest entry, which is positive.

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
        return dp.Subspace(_in_order(_turned(self.of.array)), axes=self.of.axes)


def _turned(basis: dp.FloatArray) -> dp.FloatArray:
    columns: dp.FloatArray = basis.copy()
    planes = list(combinations(range(columns.shape[1]), 2))
    for _ in range(SWEEPS):
        largest = max((_turn(columns, i, j) for i, j in planes), default=0.0)
        if largest <= SMALLEST_TURN:
            break
    return columns


def _turn(columns: dp.FloatArray, i: int, j: int) -> float:
    """Turn two columns in their plane to the best angle; the size of that angle."""
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
    """Sorted by where the largest entry stands, the larger one first where two stand together; that entry positive."""
    places = np.abs(columns).argmax(axis=0)
    largest = columns[places, np.arange(columns.shape[1])]
    order = np.lexsort((-np.abs(largest), places))
    ordered: dp.FloatArray = (columns * np.sign(largest))[:, order]
    return ordered
