"""Correction of a released matrix for its noise, whose law is public."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_adaptive.shrinkage import positive_with_trace, rotation_invariant, toward_diagonal

LARGEST = 1e100
"""A deviation this many times the largest entry says as much as any larger one."""


@attrs.frozen(kw_only=True)
class Denoise(dp.PostProcessor):
    """A released symmetric matrix, corrected for its noise, which is known: free, and usually closer to the truth.

    With goal "covariance" eigenvectors stay and eigenvalues are shrunk: best in Frobenius norm, no gain for subspaces,
    and small eigenvalues may come out as zero, so the result is not for inversion. With "eigenvalues" it is the nearest
    positive semidefinite matrix with the released trace: better for the spectrum alone. With "correlation" entries off
    the diagonal are also shrunk toward zero by how noisy they are: best for correlations; the result may have slightly
    negative eigenvalues.

    Args:
        of: a symmetric matrix that was released with noise that is the same in all directions, by `gaussian` or
            `matrix-laplace`, or the `covariance` of one. Of other results the noise is not known: then only negative
            eigenvalues are replaced by zero, and the report says so.
        goal: "covariance", "eigenvalues" or "correlation".
    """

    name = "denoise"
    gives = dp.SymmetricMatrix

    of: Any = dp.input(dp.SymmetricMatrix)
    goal: str = attrs.field(
        default="covariance", validator=dp.validators.one_of("covariance", "eigenvalues", "correlation")
    )
    of_noise: Any = dp.noise_of("of")

    def output(self, kinds: Mapping[str, type[dp.Kind]]) -> type[dp.Kind]:
        return kinds["of"]

    def output_shape(self, rows: dp.Rows) -> dp.Shape | None:
        return dp.shape_of(self.of)

    def check(self, rows: dp.Rows) -> None:
        if isinstance(self.of, dp.Kind):
            raise dp.PlanError("'denoise' needs the result of a step, whose noise is known; got numbers.")

    def apply(self) -> dp.Kind:
        return attrs.evolve(self.of, array=corrected(self.of.array, self.goal, self._deviation))  # type: ignore[no-any-return]

    def result_law(self, laws: Mapping[str, dp.Law]) -> dp.Law | None:
        """That of the input, of which the law is known; the result itself is closer to the truth, usually."""
        return laws.get("of")

    def choice(self) -> str:
        if self.goal == "eigenvalues" or self._deviation > 0.0:
            return ""
        return "The noise of the input is not known: only negative eigenvalues are replaced by zero."

    @property
    def _deviation(self) -> float:
        """The deviation of the noise off the diagonal; 0 where there is none."""
        return float(self.of_noise.get("off-diagonal", 0.0))


def corrected(matrix: dp.FloatArray, goal: str, deviation: float) -> dp.FloatArray:
    """The matrix corrected for its noise.

    Args:
        matrix: a symmetric matrix.
        goal: "covariance", "eigenvalues" or "correlation".
        deviation: the deviation of the noise off the diagonal.
    """
    unit = float(np.abs(matrix).max())
    if unit == 0.0:
        return matrix
    in_units = matrix / unit  # squares of its entries are doubles
    if goal == "eigenvalues":
        return unit * positive_with_trace(in_units)
    shrunk = toward_diagonal if goal == "correlation" else rotation_invariant
    return unit * shrunk(in_units, min(deviation / unit, LARGEST))
