"""Noise that does not hide a person."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe.lattice import RADIUS
from tests.support.planted.right import Right, symmetric


class LowNoise(Right):
    """Noise 20 % too small."""

    def scale(self, rows: dp.Rows, level: float) -> float:
        return 0.8 * super().scale(rows, level)


class OtherRelation(Right):
    """The sensitivity of add-remove under replace."""

    def scale(self, rows: dp.Rows, level: float) -> float:
        return super().scale(attrs.evolve(rows, neighbors="add-remove"), level)


class OneRowOnly(Right):
    """The sensitivity of one row where a person has several."""

    def scale(self, rows: dp.Rows, level: float) -> float:
        return super().scale(attrs.evolve(rows, contributions=1), level)


class ForgottenHalf(Right):
    """Noise on the upper triangle; the lower one, left as it was, is released beside it."""

    gives = dp.Vector

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noise = random.gaussian(self.scale(data.rows, level), data.moment.shape)
        return dp.Vector((data.moment + np.triu(noise)).ravel())


class NormNotSquared(Right):
    """The sensitivity of a sum of rows for a sum of squares: in units, norm for norm²."""

    def scale(self, rows: dp.Rows, level: float) -> float:
        return super().scale(rows, level) / rows.length


class ForgottenConstant(Right):
    """The sensitivity without the constant coordinate of centered rows."""

    def output(self, rows: dp.Rows) -> type[dp.Kind]:
        return dp.Moment.kind(rows)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        scale = self.scale(attrs.evolve(data.rows, center=False), level)
        dim = len(data.moment)
        noise = random.gaussian(scale / math.sqrt(2), (dim, dim))
        np.fill_diagonal(noise, random.gaussian(scale, dim))
        return dp.Moment.value(data.moment + symmetric(noise), data.rows)


class WrongDensity(Right):
    """No noise on the diagonal, and a density that hides it."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noise = symmetric(random.gaussian(self.scale(data.rows, level), data.moment.shape))
        np.fill_diagonal(noise, 0)
        return dp.SymmetricMatrix(data.moment + noise)

    def log_density(self, value: dp.Kind, data: dp.PrivateData, level: float) -> float:
        return 0.0


class TellingSign(Right):
    """A random direction whose sign is that of the data."""

    gives = dp.Subspace

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        direction = random.gaussian(2.0**30, len(data.moment)).astype(np.float64)
        direction *= np.sign(direction[0]) * (1 if np.trace(data.moment) > 0 else -1)
        return dp.Subspace((direction / np.linalg.norm(direction))[:, None])


class VaryingNoise(Right):
    """Noise of a size that depends on the data, from a stream of the same calls."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noise = random.gaussian(self.scale(data.rows, level), data.moment.shape)
        return dp.SymmetricMatrix(data.moment + symmetric(noise) * (10 if data.moment.any() else 1))


class RareFailure(Right):
    """Too little noise, and an error where it would show."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        scale = 0.3 * self.scale(data.rows, level)
        noise = symmetric(random.gaussian(scale, data.moment.shape))
        if noise[0, 0] > 2.6 * scale:
            raise dp.SamplingError("the noise is too large")
        return dp.SymmetricMatrix(data.moment + noise)


class TooSureOfItself(Right):
    """The right noise, of which a release says that it is 30 % smaller."""

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        deviation = 0.7 * self.scale(rows, level)
        return {"diagonal": deviation, "off-diagonal": deviation}

    def noiseless(self, data: dp.PrivateData) -> dp.Kind:
        return dp.SymmetricMatrix(data.moment)


class RedrawnTooClose(Right):
    """The right noise, stated as it is, but a release that is drawn again has half of it."""

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        deviation = self.scale(rows, level)
        return {"diagonal": deviation, "off-diagonal": deviation}

    def noiseless(self, data: dp.PrivateData) -> dp.Kind:
        return dp.SymmetricMatrix(data.moment)

    def redraw(self, value: dp.Kind, rows: dp.Rows, level: float, random: np.random.Generator) -> dp.Kind:
        noise = random.standard_normal(value.array.shape) * self.scale(rows, level) / 2
        return dp.SymmetricMatrix(value.array + symmetric(noise))


class RoughLattice(Right):
    """Noise in steps of 2²⁰, which leave the last digits of the moment as they are."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noise = random.gaussian(self.scale(data.rows, level) / 2**20, data.moment.shape) * 2**20
        return dp.SymmetricMatrix(data.moment + symmetric(noise))


@attrs.frozen(kw_only=True)
class DirectionDraw(dp.Mechanism):
    """A direction with density proportional to exp(κ xᵀMx), drawn by rejection in the plane spanned by two axes."""

    name = "planted-direction"
    unit = "epsilon"
    gives = dp.Subspace
    draws_depend_on_data = True
    exponent: ClassVar[float] = 1.0

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.BoundedRange(epsilon=level)

    def check(self, rows: dp.Rows) -> None:
        if rows.dim != 2:
            raise dp.PlanError("planted-direction draws in two dimensions: say dim=2.")

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        spread = (2 if data.rows.neighbors == "replace" else 1) * data.rows.contributions * RADIUS**2
        moment = level / spread * data.moment.astype(np.float64)
        values, vectors = np.linalg.eigh(values_last(moment))
        shape = values[-1] - values  # A: density exp(−xᵀAx), smallest eigenvalue 0
        b = self._b(shape)
        omega = 1 + 2 * shape / b
        while True:
            z = np.array([uniform_normal(random) for _ in range(2)]) / np.sqrt(omega)
            x = z / np.linalg.norm(z)
            # Kent, Ganeiban and Mardia: the envelope needs the power +d/2 of xᵀΩx.
            ratio = math.exp(-float(shape @ x**2)) * float(omega @ x**2) ** self.exponent
            if random.words(1)[0] / 2**64 < ratio / (math.exp(-(2 - b) / 2) * (2 / b)):
                return dp.Subspace((vectors @ x)[:, None])

    @staticmethod
    def _b(shape: Any) -> float:
        low, high = 1.0, 2.0  # Σ 1/(b + 2a) = 1
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if float((1 / (middle + 2 * shape)).sum()) > 1 else (low, middle)
        return high


def values_last(matrix: Any) -> Any:
    return (matrix + matrix.T) / 2


def uniform_normal(random: dp.Random) -> float:
    first, second = ((word + 0.5) / 2**64 for word in random.words(2).tolist())
    return math.sqrt(-2 * math.log(first)) * math.cos(2 * math.pi * second)


class InvertedBingham(DirectionDraw):
    """The acceptance ratio of the direction draw with the exponent inverted."""

    exponent = -1.0
