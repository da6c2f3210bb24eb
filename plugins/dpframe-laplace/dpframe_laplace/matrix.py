"""Matrix Laplace noise on the exact second moment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

import dpframe.plugin as dp
from dpframe_laplace.wishart import rounded_wishart_difference


@attrs.frozen(kw_only=True)
class MatrixLaplace(dp.Mechanism):
    """The second moment with symmetric matrix Laplace noise: pure epsilon.

    One person moves the moment by at most Δ in trace norm. The noise is (Δ/2ε)·(G₁ᵀG₁ − G₂ᵀG₂) with independent
    standard normal matrices of D + 1 rows and D columns, D being the width of the moment. ½GᵀG has the density
    f(A) ∝ e^(−tr A) on positive semi-definite matrices, and 0 elsewhere, so that f(A + X) ≥ e^(−tr X)·f(A) for X ⪰ 0.
    The difference of two inherits this, and is symmetric about zero. Hence a shift by X changes the log-density of the
    noise by at most ε‖X‖/Δ, in trace norm (docs/explanation/laplace.md has the proof). The moment is a matrix of
    integers, and the noise is drawn as integers with exactly the law of the rounded real matrix; since round(M + N) =
    M + round(N) entry by entry, the release is post-processing of the real-valued mechanism. For D = 1 the noise is a
    Laplace variable.

    Guarantee:
        Pure epsilon-DP with epsilon = level, for either neighboring relation; worst case.

    >>> MatrixLaplace().loss(dp.Rows(norm=1.0, neighbors="replace"), level=0.5)
    Pure(epsilon=0.5)
    """

    name = "matrix-laplace"
    unit = "epsilon"
    matrix_norm = "trace_norm"
    gives = dp.SymmetricMatrix
    numerics = "exact"
    smallest_level = 2.0**-18  # Δ ≤ 2³⁴ a row, so the scale of the noise is at most 2⁵¹, and the noise fits in int64

    def output(self, rows: dp.Rows) -> type[dp.Kind]:
        return dp.Moment.kind(rows)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return dp.Moment.shape(rows)

    def working_bytes(self, rows: dp.Rows) -> int:
        return 8 * rows.width * (4 * (rows.width + 1) + rows.width)  # two words for each normal, and the noise

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Pure(epsilon=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noise = rounded_wishart_difference(random, self._lattice_scale(data.rows, level), data.rows.width)
        return dp.Moment.value(data.moment + noise, data.rows)

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        """Entries of GᵀG have variances of 2(D + 1) on the diagonal and D + 1 off it, and covariances of zero."""
        scale = self._lattice_scale(rows, level) * rows.step**2
        return {
            "diagonal": scale * math.sqrt(4 * (rows.width + 1)),
            "off-diagonal": scale * math.sqrt(2 * (rows.width + 1)),
        }

    def law(self, value: dp.Kind, rows: dp.Rows, level: float, laws: Mapping[str, dp.Law]) -> dp.Law | None:
        """An entry off the diagonal is a sum of D + 1 Laplace variables; along any direction, half as many."""
        noise, shape = self.noise(rows, level), (rows.width + 1) / 2
        return dp.law_of(value, noise, shape=shape, semidefinite=rows.semidefinite)

    def noiseless(self, data: dp.PrivateData) -> dp.Kind:
        return dp.Moment.value(data.moment, data.rows)

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        """Release the moment, and derive the task's result from it."""
        return dp.moment_steps(cls.name, task, rows=public["rows"], k=public["k"])

    def _lattice_scale(self, rows: dp.Rows, level: float) -> float:
        """Δ/2ε in lattice units, rounded up."""
        return dp.rounding.up(float(Fraction(dp.sensitivity.moment_trace_norm(rows)) / (2 * Fraction(level))))
