"""The second moment along released directions, with Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_orbit.bases import FINE, STRETCH, nearly_orthonormal
from dpframe_orbit.orbit import refuse_centered


@attrs.frozen(kw_only=True)
class LaplaceScores(dp.Mechanism):
    """The scores vᵀMv of released directions v, each with Laplace noise.

    One row x moves the scores of orthonormal directions by the squares of its coordinates in them, hence by at most
    norm² in total (Bessel), and by twice that when a row is replaced. So k directions cost what one does. Directions
    are rounded to 2⁻⁵⁰, and scores are computed in exact integers and rounded: the sensitivity includes how far the
    rounded directions are from orthonormal, at most 2⁻²⁴, and one unit of the lattice for each score.

    Args:
        directions: an orthonormal basis, public or the result of an earlier step.

    Guarantee:
        Laplace loss with epsilon = level, hence pure epsilon-DP, for either neighboring relation; worst case.

    >>> LaplaceScores(directions=dp.ref("directions")).loss(dp.Rows(norm=1.0, neighbors="replace"), level=0.5)
    Laplace(epsilon=0.5)
    """

    name = "laplace-scores"
    unit = "epsilon"
    matrix_norm = "trace_norm"
    gives = dp.Vector
    numerics = "exact"
    smallest_level = 2.0**-18

    directions: Any = dp.input(dp.Subspace)

    def check(self, rows: dp.Rows) -> None:
        refuse_centered(self.name, rows)
        length = (dp.shape_of(self.directions) or (None,))[0]
        if None not in (length, rows.dim) and length != rows.dim:
            raise dp.PlanError(f"directions of {length} coordinates do not suit rows of {rows.dim}.")

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return ((dp.shape_of(self.directions) or (None, None))[1],)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Laplace(epsilon=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        basis = nearly_orthonormal(np.linalg.qr(self.directions.array)[0])  # their signs do not matter
        integers = np.array([[int(entry) for entry in row] for row in (basis * 2.0**FINE).tolist()], dtype=object)
        scores = (integers * (data.moment.astype(object) @ integers)).sum(axis=0)
        noise = random.laplace(self._lattice_scale(data.rows, level), len(scores)).tolist()
        in_units = data.rows.step**2
        return dp.Vector([((int(s) >> 2 * FINE) + draw) * in_units for s, draw in zip(scores, noise, strict=True)])

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        return {"each": math.sqrt(2) * self._lattice_scale(rows, level) * rows.step**2}

    def law(self, value: dp.Kind, rows: dp.Rows, level: float, laws: Mapping[str, dp.Law]) -> dp.Law | None:
        return dp.law_of(value, self.noise(rows, level), shape=1.0)

    def noiseless(self, data: dp.PrivateData) -> dp.Kind:
        basis = self.directions.array
        moment = data.moment.astype(np.float64) * data.rows.step**2
        return dp.Vector(np.sum(basis * (moment @ basis), axis=0))

    def _lattice_scale(self, rows: dp.Rows, level: float) -> float:
        """The scale of the noise in lattice units, rounded up; there are at most as many scores as coordinates."""
        spread = dp.sensitivity.score(rows)
        moved = spread + (spread >> STRETCH) + 1 + rows.known_dim
        return dp.rounding.up(float(Fraction(moved) / Fraction(level)))
