"""Gaussian noise on the exact second moment."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp

DRAWN = 1 << 20  # entries of noise drawn at a time

_ROOT_HALF = dp.rounding.sqrt_up(2) / 2

# Standard deviations (diagonal, off-diagonal) in units of s = sensitivity / level.
_SHAPES = {"goe": (1.0, _ROOT_HALF), "triangular": (1.0, 1.0), "paper": (2.0, 2 * _ROOT_HALF)}


@attrs.frozen(kw_only=True)
class SymmetricGaussian(dp.Mechanism):
    """The second moment with symmetric Gaussian noise.

    One person moves the moment by at most Δ in Frobenius norm. The default noise has density ∝ exp(−‖N‖²/2s²) on
    symmetric matrices: along any direction it is a Gaussian of deviation s, so a shift by Δ is exactly as hard to
    detect as a shift of one unit Gaussian by mu = Δ/s. The moment is a matrix of integers, and noise is drawn as the
    nearest integers of real Gaussians; since round(M + z) = M + round(z) entry by entry, the release is post-processing
    of the real-valued mechanism and has the same mu. Scales are rounded up, so mu is never exceeded.

    The moment of complex rows is Hermitian, and so is the noise, with the same density: deviation s on the diagonal,
    s/√2 for the real and for the imaginary part off it (GUE). The argument is the same in the Euclidean space of
    Hermitian matrices, where ‖N‖² = Σ N_ii² + 2 Σ_{i<j} (Re N_ij)² + (Im N_ij)².

    Args:
        noise: "goe" (default) has off-diagonal variance s²/2, all that the guarantee needs. "triangular" draws
            the upper triangle independently with variance s² (Dwork et al. 2014): the same mu for more noise, since the
            upper triangle moves by up to Δ as well. "paper" is σ(G + Gᵀ) with σ = s (Mangoubi and Vishnoi 2022): "goe"
            with twice the noise; the loss stated is the one its proof claims, twice the true mu. Complex rows take the
            default only.

    Guarantee:
        Gaussian loss with mu = level, for either neighboring relation; worst case.

    References:
        Dwork, Talwar, Thakurta and Zhang, "Analyze Gauss", STOC 2014.
        Dong, Roth and Su, "Gaussian differential privacy", JRSS B 2022, Theorem 2.7.
        Mangoubi and Vishnoi, "Re-Analyze Gauss", NeurIPS 2022 [Re-Analyze Gauss: Theorem 2.2]
        [Slides of Re-Analyze Gauss: Algorithm].

    >>> SymmetricGaussian().loss(dp.Rows(norm=1.0, neighbors="replace"), level=0.25)
    Gaussian(mu=0.25)
    """

    name = "gaussian"
    unit = "mu"
    matrix_norm = "frobenius"
    gives = dp.SymmetricMatrix
    numerics = "exact"
    smallest_level = 2.0**-21
    takes_complex = True

    noise_shape: str = attrs.field(default="goe", alias="noise", validator=dp.validators.one_of(*_SHAPES))

    def output(self, rows: dp.Rows) -> type[dp.Kind]:
        return dp.Moment.kind(rows)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return dp.Moment.shape(rows)

    def check(self, rows: dp.Rows) -> None:
        if rows.complex and self.noise_shape != "goe":
            raise dp.PlanError(f"noise={self.noise_shape!r} is for real rows; leave it out for complex ones.")

    def working_bytes(self, rows: dp.Rows) -> int:
        return 8 * math.prod(length or 0 for length in dp.Moment().part_shapes(rows)["moment"])  # the noisy integers

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noisy = data.moment.copy()
        diagonal, off_diagonal = self._lattice_scales(data.rows, level)
        real = noisy[0] if data.rows.complex else noisy
        real[np.diag_indices_from(real)] += random.gaussian(diagonal, len(real))
        add_symmetric(real, partial(random.gaussian, off_diagonal))
        if data.rows.complex:
            add_symmetric(noisy[1], partial(random.gaussian, off_diagonal), sign=-1)
        return dp.Moment.value(noisy, data.rows)

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        diagonal, off_diagonal = self._lattice_scales(rows, level)
        return {"diagonal": diagonal * rows.step**2, "off-diagonal": off_diagonal * rows.step**2}

    def log_density(self, value: dp.Kind, data: dp.PrivateData, level: float) -> float:
        diagonal, off_diagonal = self._lattice_scales(data.rows, level)
        moment = dp.hermitian.as_complex(data.moment) if data.rows.complex else data.moment
        squares = np.square(np.abs(value.array / data.rows.step**2 - moment))
        on_diagonal = float(np.diagonal(squares).sum())
        above = (float(squares.sum()) - on_diagonal) / 2
        return -(on_diagonal / diagonal**2 + above / off_diagonal**2) / 2

    def noiseless(self, data: dp.PrivateData) -> dp.Kind:
        return dp.Moment.value(data.moment, data.rows)

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        """Release the moment, and derive the task's result from it."""
        return dp.moment_steps(cls.name, task, rows=public["rows"], k=public["k"])

    def _lattice_scales(self, rows: dp.Rows, level: float) -> tuple[float, float]:
        """Standard deviations on and off the diagonal, in lattice units, rounded up."""
        scale = dp.Moment().sensitivity(rows)["moment"].gaussian_scale(level)
        diagonal, off_diagonal = _SHAPES[self.noise_shape]
        return scale * diagonal, scale if off_diagonal == 1.0 else dp.rounding.up(scale * off_diagonal)


def add_symmetric(matrix: NDArray[np.int64], draw: Callable[[int], NDArray[np.int64]], *, sign: int = 1) -> None:
    """Add noise to the upper triangle and the same noise to the lower triangle; several rows are drawn at a time.

    Args:
        matrix: a symmetric matrix, or an antisymmetric one, which is changed.
        draw: draws so many numbers.
        sign: of the noise in the lower triangle: −1 for an antisymmetric matrix.
    """
    dim = len(matrix)
    start = 0
    while start < dim - 1:
        stop = min(start + max(DRAWN // dim, 1), dim - 1)
        lengths = range(dim - 1 - start, dim - 1 - stop, -1)
        entries, place = draw(sum(lengths)), 0
        for row, length in zip(range(start, stop), lengths, strict=True):
            noise = entries[place : place + length]
            matrix[row, row + 1 :] += noise
            matrix[row + 1 :, row] += sign * noise
            place += length
        start = stop


def classical_level(*, epsilon: float, delta: float) -> float:
    """The level of the classical calibration σ = Δ √(2 ln(1.25/δ)) / ε, for ``dp.release(..., level=...)``.

    It is proved for epsilon < 1 only, and never better than solving the level from the budget, as a step without
    ``level=`` does. It is provided to reproduce published experiments.

    >>> round(1 / classical_level(epsilon=0.5, delta=1e-6), 4)
    10.5976
    """
    if not (0.0 < epsilon < 1.0 and 0.0 < delta < 1.0):
        raise dp.PlanError(
            "the classical calibration is proved for 0 < epsilon < 1 and 0 < delta < 1 only; "
            f"got epsilon={epsilon!r}, delta={delta!r}. Leave level= out to calibrate exactly."
        )
    return epsilon / math.sqrt(2 * math.log(1.25 / delta))
