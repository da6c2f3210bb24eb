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

FINE = 50  # bits of the coordinates of a basis
MOST = 256  # directions: each is a loss to compose, and at a level below 1/256 of the whole shows nothing


@attrs.frozen(kw_only=True)
class Bingham(dp.Mechanism):
    """The k leading directions of the second moment, each by the exponential mechanism on the unit sphere.

    A direction v is drawn with density ∝ exp(κ vᵀMv), the next ones in the orthogonal complement of those released. One
    row moves the scores vᵀMv apart by at most norm², and twice that when a row is replaced; with κ = (level/k) divided
    by this spread the log-likelihood ratio of neighbors lies in an interval of length level/k for each direction. In
    the complement rows are no longer than before. The error of the eigenvalue solver is part of the spread: it is
    bounded for the data at hand (`dpframe.eigensolver`).

    In exact arithmetic each draw is exact, by rejection from an angular central Gaussian envelope; it is computed in
    floats, and rounded to a public grid before anything else is computed from it; `law_error` estimates how far that
    moves its law, from errors that were measured, not proved. The number of proposals depends on the data.

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
    smallest_level = 2.0**-40  # the draw is uniform long before, and all figures are finite
    draws_depend_on_data = True

    k: int = attrs.field(default=1, validator=dp.validators.integer(at_least=1, at_most=MOST))
    bits: int = attrs.field(default=16, validator=check_bits)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return rows.dim, self.k

    def working_bytes(self, rows: dp.Rows) -> int:
        return 3 * 8 * rows.known_dim**2  # the moment in floats, a basis and the moment in it

    def check(self, rows: dp.Rows) -> None:
        refuse_centered(self.name, rows)
        if rows.dim is not None and self.k > rows.dim:
            raise dp.PlanError(f"k={self.k} is more than the {rows.dim} coordinates of the rows.")

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss | tuple[dp.PrivacyLoss, ...]:
        each = dp.losses.BoundedRange(epsilon=level / self.k)
        return each if self.k == 1 else (each,) * self.k

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        from dpframe_orbit.direction import real_direction

        rate = self._rate(data.rows, level)
        released = np.zeros((len(data.moment), 0))
        for number in range(self.k):
            complement = _complement(released)
            values, basis = _eigensystem(data.moment, complement)
            drawn = real_direction(rate * (values[-1] - values), random.child(f"draw {number}"))
            on_grid = grid.rounded(complement @ (basis @ drawn), self.bits, random.child(f"grid {number}"))
            released = np.column_stack([released, on_grid])
        return dp.Subspace(_orthonormal(released), axes=data.rows.axes)

    def law_error(self, rows: dp.Rows, level: float) -> float:
        return grid.law_error(self.k * rows.known_dim, rows.known_dim, self.bits)

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
    """A basis C of the orthogonal complement of the columns, in multiples of 2^−FINE, of released values alone.

    It is orthonormal up to rounding, ‖CᵀC − I‖ ≤ 2^−30, so that a row has a length of at most (1 + 2^−31)·norm in it,
    for which the allowance of the solver has room.
    """
    dim, count = released.shape
    if not count:
        return np.eye(dim)
    basis: Floats = np.rint(np.linalg.qr(released, mode="complete")[0][:, count:] * 2.0**FINE) * 2.0**-FINE
    if not np.linalg.norm(basis.T @ basis - np.eye(dim - count)) < 2.0**-30:
        raise dp.SamplingError(
            "no orthonormal basis was found beside the directions released so far. The charge stands."
        )
    return basis


def _eigensystem(moment: Any, complement: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues and eigenvectors of CᵀMC, whose scores are within half of SOLVER_ERROR of each other's error."""
    from flint import fmpz_mat

    allowed = SOLVER_ERROR / 4
    if complement.shape[0] == complement.shape[1]:
        return dp.eigensolver.eigensystem(moment, allowed)
    basis = fmpz_mat([[int(entry * 2.0**FINE) for entry in row] for row in complement.tolist()])
    inner = basis.transpose() * fmpz_mat(moment.tolist()) * basis
    exact = np.array([[int(entry) for entry in row] for row in inner.tolist()], dtype=object)
    values, vectors = dp.eigensolver.eigensystem(exact, allowed * 4.0**FINE)
    return values * 4.0**-FINE, vectors


def _orthonormal(released: Floats) -> Floats:
    """The released directions made orthonormal again after rounding, with their signs."""
    basis, triangle = np.linalg.qr(released)
    oriented: Floats = basis * np.sign(np.diagonal(triangle))
    return oriented
