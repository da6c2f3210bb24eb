"""Second moments in a released basis, each side of a row clipped separately, with Gaussian noise."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe_spiked.calibration import LARGEST, multiples

_ROOT_HALF = dp.rounding.sqrt_up(2) / 2


def _subspace(value: Any) -> dp.Subspace:
    return dp.Subspace.of(value)


@attrs.frozen(eq=False, slots=False)
class Blocks(dp.Kind):
    """A symmetric matrix in the coordinates of a basis and its complement, whose last block is a multiple of I.

    Args:
        basis: the subspace whose coordinates come first.
    """

    title = "a moment in blocks"

    basis: dp.Subspace = attrs.field(kw_only=True, converter=_subspace)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.ndim != 2 or not np.array_equal(self.array, self.array.T) or self.array.dtype.kind != "f":
            raise self._refused("equal rows and columns, of real numbers")
        dim, rank = self.basis.array.shape
        if dim != len(self.array) or rank == dim:
            raise self._refused(f"as many rows as its basis, which has shape {(dim, rank)} and not all directions")


@attrs.frozen(kw_only=True, slots=False)
class BlockGaussian(dp.Mechanism):
    """The blocks of the second moment in a released basis, with Gaussian noise.

    In the basis U a row is a = Uᵀx, clipped to α, and b = U⊥ᵀx, clipped to β. The release consists of the signal Σaaᵀ,
    the cross part Σabᵀ and the residual Σ‖b‖², which represents the last block as a multiple of the identity. The basis
    is a released value, and for each value of it this is one Gaussian mechanism on integers, with the noise of
    :mod:`dpframe_spiked.calibration`: one person moves (signal, cross, residual), in units of their noise, by at most
    mu = level.

    Args:
        basis: the subspace, released earlier.
        radii: α and β, public or released earlier.

    Guarantee:
        Gaussian loss with mu = level, for either neighboring relation; worst case.
    """

    name = "block-gaussian"
    unit = "mu"
    gives = Blocks
    numerics = "exact"
    smallest_level = LARGEST * 2.0**-23

    basis: Any = dp.input(dp.Subspace)
    radii: Any = dp.input(dp.Radii)

    def reads(self) -> tuple[dp.Statistic, ...]:
        return (self._statistic,)

    @cached_property
    def _statistic(self) -> dp.BlockMoment:
        return dp.BlockMoment(basis=self.basis, radii=self.radii)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return dp.Moment.shape(rows)

    def working_bytes(self, rows: dp.Rows) -> int:
        return 8 * rows.known_dim**2  # the basis with its complement

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        statistic = self._statistic
        parts, scales = data.parts(statistic), self._lattice_scales(data.rows, level)
        rank = len(parts["signal"])
        signal = np.zeros((rank, rank), dtype=np.int64)
        np.fill_diagonal(signal, random.gaussian(scales[0], rank))
        upper = np.triu_indices(rank, 1)
        signal[upper] = signal.T[upper] = random.gaussian(dp.rounding.up(scales[0] * _ROOT_HALF), len(upper[0]))
        cross = random.gaussian(scales[1], parts["cross"].shape)
        residual = random.gaussian(scales[2], ())
        return self._value(parts["signal"] + signal, parts["cross"] + cross, parts["residual"] + residual)

    def noiseless(self, data: dp.PrivateData) -> dp.Kind:
        parts = data.parts(self._statistic)
        return self._value(parts["signal"], parts["cross"], parts["residual"])

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        if isinstance(self.basis, dp.Ref) or isinstance(self.radii, dp.Ref):
            return {}
        a, b = self._statistic.steps()
        signal, cross, residual = self._lattice_scales(rows, level)
        return {"signal": signal * a * a, "cross": cross * a * b, "residual": residual * b * b}

    def law(self, value: dp.Kind, rows: dp.Rows, level: float, laws: Mapping[str, dp.Law]) -> dp.Law | None:
        noise, (dim, rank) = self.noise(rows, level), self.basis.array.shape
        deviation = np.zeros((dim, dim))
        deviation[:rank, :rank] = noise["signal"] * _ROOT_HALF
        np.fill_diagonal(deviation[:rank, :rank], noise["signal"])
        deviation[:rank, rank:] = noise["cross"]
        deviation[rank:, :rank] = noise["cross"]
        np.fill_diagonal(deviation[rank:, rank:], noise["residual"] / (dim - rank))
        return dp.EntryLaw(center=value.array, deviation=deviation)

    def redraw(self, value: dp.Kind, rows: dp.Rows, level: float, random: np.random.Generator) -> dp.Kind | None:
        law, rank = self.law(value, rows, level, {}), self.basis.array.shape[1]
        assert isinstance(law, dp.EntryLaw)
        noise = np.triu(law.deviation * random.standard_normal(law.deviation.shape))
        np.fill_diagonal(noise[rank:, rank:], noise[-1, -1])  # one number
        return attrs.evolve(value, array=value.array + noise + np.triu(noise, 1).T)

    def log_density(self, value: dp.Kind, data: dp.PrivateData, level: float) -> float:
        exact = self.noiseless(data).array
        rank, noise = self.basis.array.shape[1], self.noise(data.rows, level)
        shift = value.array - exact
        squares = {
            "signal": float(np.square(shift[:rank, :rank]).sum()),
            "cross": float(np.square(shift[:rank, rank:]).sum()),
            "residual": float(shift[-1, -1] * (len(shift) - rank)) ** 2,
        }
        return -sum(square / noise[part] ** 2 for part, square in squares.items()) / 2

    def _lattice_scales(self, rows: dp.Rows, level: float) -> tuple[float, float, float]:
        """Standard deviations of signal (on its diagonal), cross part and residual, in lattice units, rounded up."""
        dim, rank = self.basis.array.shape
        alpha, beta = self.radii.array.tolist()
        unit = self._statistic.sensitivity(rows)["residual"].gaussian_scale(level)
        signal, cross, residual = (
            dp.rounding.up(unit * multiple) for multiple in multiples(str(rows.neighbors), dim, rank, (alpha, beta))
        )
        return signal, cross, residual

    def _value(self, signal: NDArray[Any], cross: NDArray[Any], residual: NDArray[Any]) -> Blocks:
        """The parts in the units of the rows: post-processing."""
        a, b = self._statistic.steps()
        dim, rank = self.basis.array.shape
        array = np.zeros((dim, dim))
        array[:rank, :rank] = signal.astype(np.float64) * (a * a)
        array[:rank, rank:] = cross.astype(np.float64) * (a * b)
        array[rank:, :rank] = array[:rank, rank:].T
        np.fill_diagonal(array[rank:, rank:], float(residual) * (b * b) / (dim - rank))
        return Blocks(array, basis=self.basis)
