"""Leading directions, one at a time, by the exponential mechanism on the sphere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_orbit import grid
from dpframe_orbit.orbit import SOLVER_ERROR, check_bits, refuse_centered
from dpframe_orbit.pattern import Floats

MOST = 256  # directions: each is a loss to compose, and at a level below 1/256 of the whole shows nothing


@attrs.frozen(kw_only=True)
class Bingham(dp.Mechanism):
    """The k leading directions of the second moment, each by the exponential mechanism on the unit sphere.

    A direction v is drawn with density ∝ exp(κ vᵀMv), the next ones in the orthogonal complement of those released. One
    row moves the scores vᵀMv apart by at most norm², and twice that when a row is replaced; with κ = (level/k) divided
    by this spread the log-likelihood ratio of neighbors lies in an interval of length level/k for each direction. In
    the complement rows are no longer than before. The error of the eigenvalue solver is part of the spread.

    Each draw is exact, by rejection from an angular central Gaussian envelope; it is computed in floats, and rounded to
    a public grid before anything else is computed from it; `slack` estimates the cost. The number of proposals depends
    on the data.

    Args:
        k: the number of directions, at most 256. For more than one, the joint draw of ``orbit`` is closer to the truth.
        bits: the grid has a spacing of 2^−bits.

    Guarantee:
        k BoundedRange losses with epsilon = level/k, hence pure epsilon-DP at the level, for either neighboring
        relation; worst case, in exact arithmetic.

    References:
        Chaudhuri, Sarwate and Sinha, "A near-optimal algorithm for differentially-private principal components",
        JMLR 2013; Kapralov and Talwar, "On differentially private low rank approximation", SODA 2013.
        Kent, Ganeiban and Mardia, "A new unified approach for the simulation of a wide class of directional
        distributions", JCGS 2018.

    >>> Bingham().loss(dp.Rows(norm=1.0, neighbors="replace"), level=0.5)
    BoundedRange(epsilon=0.5)
    """

    name = "bingham"
    unit = "epsilon"
    gives = dp.Subspace
    numerics = "floating"
    draws_depend_on_data = True

    k: int = attrs.field(default=1, validator=dp.validators.integer(at_least=1, at_most=MOST))
    bits: int = attrs.field(default=16, validator=check_bits)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return rows.dim, self.k

    def check(self, rows: dp.Rows) -> None:
        refuse_centered(self.name, rows)
        if rows.dim is not None and self.k > rows.dim:
            raise dp.PlanError(f"k={self.k} is more than the {rows.dim} coordinates of the rows.")

    def check_level(self, rows: dp.Rows, level: float) -> None:
        grid.check_slack(self, rows, level)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss | tuple[dp.PrivacyLoss, ...]:
        each = dp.losses.BoundedRange(epsilon=level / self.k)
        return each if self.k == 1 else (each,) * self.k

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        from dpframe_orbit.direction import real_direction

        moment = data.moment.astype(np.float64) * self._rate(data.rows, level)
        released = np.zeros((len(moment), 0))
        for number in range(self.k):
            complement = _complement(released)
            values, basis = np.linalg.eigh(complement.T @ moment @ complement)
            drawn = real_direction(values[-1] - values, random.child(f"draw {number}"))
            on_grid = grid.rounded(complement @ (basis @ drawn), self.bits, random.child(f"grid {number}"))
            released = np.column_stack([released, on_grid])
        return dp.Subspace(_orthonormal(released), axes=data.rows.axes)

    def slack(self, rows: dp.Rows, level: float) -> float:
        return grid.slack(self.k * rows.known_dim, self.bits, level)

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        """How far the score vᵀMv falls below its maximum, per two real dimensions, to first order."""
        return {"score": rows.step**2 / self._rate(rows, level)}

    def log_density(self, value: dp.Kind, data: dp.PrivateData, level: float) -> float | None:
        if self.k > 1:
            return None  # the densities of later directions are normalized in a space that depends on the earlier ones
        direction = value.array[:, 0]
        return self._rate(data.rows, level) * float(direction @ data.moment.astype(np.float64) @ direction)

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        """One release for one component; for more, the joint draw of ``orbit`` was measured to be more accurate."""
        if task != "subspace" or public.get("k") != 1:
            return None
        return [dp.release("components", cls.name)]

    def _rate(self, rows: dp.Rows, level: float) -> float:
        """κ in lattice units."""
        return level / self.k / (dp.sensitivity.score(rows) + 2 * SOLVER_ERROR)


def _complement(released: Floats) -> Floats:
    """An orthonormal basis of the orthogonal complement of the columns, a function of released values alone."""
    dim, count = released.shape
    return np.linalg.qr(released, mode="complete")[0][:, count:] if count else np.eye(dim)


def _orthonormal(released: Floats) -> Floats:
    """The released directions made orthonormal again after rounding, with their signs."""
    basis, triangle = np.linalg.qr(released)
    oriented: Floats = basis * np.sign(np.diagonal(triangle))
    return oriented
