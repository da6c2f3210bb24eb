"""Laplace noise on the largest eigenvalues of the second moment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_laplace.certified import largest_eigenvalues

SOLVER_ERROR = 2**20  # where one row has a sensitivity of 2³²: 0.05 % more noise per eigenvalue


@attrs.frozen(kw_only=True)
class LaplaceEigenvalues(dp.Mechanism):
    """The k largest eigenvalues of the second moment, each with Laplace noise.

    One row moves all eigenvalues in the same direction, by its squared length in total (Lemma 7.2 of the reference), so
    their L1 sensitivity Δ is norm², and twice that when a row is replaced. Eigenvalues of an integer matrix need not be
    integers: each is computed with a proved error of at most η and rounded, so the integers before noise differ between
    neighbors by at most Δ + k(2η + 1) in total. Laplace noise of that scale, divided by the level, gives pure
    differential privacy; being a vector of independent Laplace variables, it is dominated by one Laplace variable
    shifted by the level (docs/explanation/laplace.md has the proof), and is accounted as that. The moment of complex
    rows has the same sensitivity; its eigenvalues are those of a real matrix of integers, each of which that has twice.

    Args:
        k: the number of eigenvalues.

    Guarantee:
        Laplace loss with epsilon = level, hence pure epsilon-DP, for either neighboring relation; worst case.

    References:
        Mangoubi, Wu, Kale, Thakurta and Vishnoi, "Private matrix approximation and geometry of unitary orbits",
        COLT 2022 [Unitary orbits: Theorem 7.1, Lemma 7.2, Theorem 5.2].

    >>> LaplaceEigenvalues(k=2).loss(dp.Rows(norm=1.0, neighbors="replace"), level=0.5)
    Laplace(epsilon=0.5)
    """

    name = "laplace-eigenvalues"
    unit = "epsilon"
    matrix_norm = "trace_norm"
    gives = dp.Spectrum
    numerics = "certified"
    smallest_level = 2.0**-18
    takes_complex = True

    k: int = attrs.field(validator=dp.validators.positive_int)

    def check(self, rows: dp.Rows) -> None:
        if rows.center:
            raise dp.PlanError("laplace-eigenvalues needs rows without a constant coordinate: dp.Rows(center=False).")
        if rows.dim is not None and self.k > rows.dim:
            raise dp.PlanError(f"k={self.k} is more than the {rows.dim} coordinates of the rows.")

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (self.k,)

    def working_bytes(self, rows: dp.Rows) -> int:
        return 3 * 8 * rows.real_dim**2  # the moment in floats, its eigenvectors and a residual

    def check_level(self, rows: dp.Rows, level: float) -> None:
        """Refuse a level whose noise is beyond the exact sampler; every eigenvalue adds its error to the scale."""
        super().check_level(rows, level)
        if rows.dim is not None and self._lattice_scale(rows, level) > dp.Random.largest_laplace:
            smallest = level * self._lattice_scale(rows, level) / dp.Random.largest_laplace
            raise dp.PlanError(
                f"'laplace-eigenvalues' with k={self.k} needs a level of at least {dp.rounding.format_up(smallest)}; "
                f"got {level:.3g}. Raise the budget or this step's share, or lower k."
            )

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Laplace(epsilon=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Spectrum:
        if data.rows.complex:
            values = largest_eigenvalues(dp.hermitian.doubled(data.moment), 2 * self.k, SOLVER_ERROR)[::2]
        else:
            values = largest_eigenvalues(data.moment, self.k, SOLVER_ERROR)
        noise = random.laplace(self._lattice_scale(data.rows, level), self.k).tolist()
        in_units = data.rows.step**2
        return dp.Spectrum.from_noisy([(value + draw) * in_units for value, draw in zip(values, noise, strict=True)])

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        return {"each": math.sqrt(2) * self._lattice_scale(rows, level) * rows.step**2}

    def law(self, value: dp.Kind, rows: dp.Rows, level: float, laws: Mapping[str, dp.Law]) -> dp.Law | None:
        """Independent Laplace noise, after which the eigenvalues were sorted."""
        return dp.OrderedLaw(center=value.array, deviation=self.noise(rows, level)["each"], shape=1.0)

    def redraw(self, value: dp.Kind, rows: dp.Rows, level: float, random: np.random.Generator) -> dp.Kind | None:
        scale = self._lattice_scale(rows, level) * rows.step**2
        return dp.Spectrum.from_noisy(value.array + random.laplace(0.0, scale, self.k))

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        """One release, for the task of eigenvalues only."""
        return [dp.release("spectrum", cls.name, k=public["k"])] if task == "eigenvalues" else None

    def _lattice_scale(self, rows: dp.Rows, level: float) -> float:
        """The scale of the noise in lattice units, rounded up."""
        moved = dp.sensitivity.eigenvalues(rows).l1
        assert moved is not None
        return dp.rounding.up(float(Fraction(moved + self.k * (2 * SOLVER_ERROR + 1)) / Fraction(level)))
