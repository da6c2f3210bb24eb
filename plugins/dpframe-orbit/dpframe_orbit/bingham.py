"""Leading directions, one at a time, by the exponential mechanism on the sphere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_orbit import turned
from dpframe_orbit.bases import FINE, STRETCH, Floats, nearly_orthonormal
from dpframe_orbit.orbit import check_bits, refuse_centered

MOST = 256  # directions: each is a loss to compose, and at a level below 1/256 of the whole shows nothing


@attrs.frozen(kw_only=True)
class Bingham(dp.Mechanism):
    """The k leading directions of the second moment, each by the exponential mechanism on the unit sphere.

    A direction v is drawn with density ∝ exp(κ vᵀMv), the next ones in the orthogonal complement of those released. One
    row moves the scores vᵀMv apart by at most norm², and twice that when a row is replaced; with κ = (level/k) divided
    by this spread the log-likelihood ratio of neighbors lies in an interval of length level/k for each direction. In
    the complement rows are no longer than before, up to the rounding of its basis, which the spread includes.

    Each draw is exact, by rejection from an angular central Gaussian envelope, and each is rounded to a public grid
    before anything else is computed from it. All of that is decided in exact integers and ball arithmetic, from random
    bits that are read as far as needed: the integers of the grid are proved to be those of the exact draw for M itself.
    An error of the eigenvalue solver costs time, and nothing else. The number of proposals depends on the data.

    Args:
        k: the number of directions, at most 256. For more than one, the joint draw of ``orbit`` is closer to the truth.
        spectrum: the largest eigenvalues of the moment, if an earlier step released them. The draw does not use them;
            with one more than directions, they say how far each direction may be off.
        bits: the grid has a spacing of 2^−bits.

    Guarantee:
        k BoundedRange losses with epsilon = level/k, hence pure epsilon-DP at the level, for either neighboring
        relation; worst case, for the integers that are released.

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
    matrix_norm = "trace_norm"
    gives = dp.Subspace
    numerics = "exact"
    smallest_level = 2.0**-40  # the draw is uniform long before, and all figures are finite
    draws_depend_on_data = True
    law_unknown = (
        "how far a direction is off depends on the gap between eigenvalues, which 'bingham' does not release. It is "
        "known if an earlier step released k + 1 of them: spectrum=dp.ref(...)."
    )

    k: int = attrs.field(default=1, validator=dp.validators.integer(at_least=1, at_most=MOST))
    spectrum: Any = dp.input(dp.Spectrum, default=None)
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
        from dpframe_orbit.envelope import Envelope
        from dpframe_orbit.rejection import directions, rounded

        rate, released = self._rate(data.rows, level), np.zeros((len(data.moment), 0))
        matrix, frame = data.moment, None
        for number in range(self.k):
            if number > 0:
                matrix, frame = _restricted(data.moment, _complement(released))
            law = Envelope.of(matrix, rate if number == 0 else rate * 4.0**-FINE)  # a power of two: no rounding
            drawn = next(directions(law, random.child(f"draw {number}")))
            on_grid = np.array(rounded(drawn, frame, self.bits, random.child(f"grid {number}"))) * 2.0**-self.bits
            released = np.column_stack([released, on_grid])
        return dp.Subspace(_orthonormal(released), axes=data.rows.axes)

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        """How far the score vᵀMv falls below its maximum, per two real dimensions, to first order."""
        return {"score": rows.step**2 / self._rate(rows, level)}

    def law(self, value: dp.Kind, rows: dp.Rows, level: float, laws: Mapping[str, dp.Law]) -> dp.Law | None:
        """If the spectrum was released: rotations between directions a and b have a variance of 1/(2κ(λ_a − λ_b)).

        That is to first order, and as by noise of the variance (λ_a − λ_b)/2κ between them. Directions that were not
        drawn have at most the eigenvalue that was released after the k-th, and count as having it.
        """
        if "spectrum" not in laws:
            return None
        rate = self._rate(rows, level) / rows.step**2
        place = np.minimum(np.arange(min(self.k + 1, rows.known_dim)), len(self.spectrum.array) - 1)
        values = self.spectrum.array[place]
        errors = np.minimum(laws["spectrum"].standard_error(), turned.UNKNOWN)[place]
        apart = -np.diff(values)
        nearest = np.minimum(np.append(values[0], apart), np.append(apart, values[0]))
        between = np.abs(values[:, None] - values) / (2 * rate)
        law = turned.law(value.array, values, np.square(errors) + nearest / rate, between)
        return dp.SubspaceLaw(of=law, basis=value.array)

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
        """κ in lattice units, not above (level/k) divided by how far the scores of two directions can move apart."""
        spread = dp.sensitivity.score(rows)
        exact = Fraction(level / self.k) / (spread + (spread >> STRETCH) + 1)
        rate = float(exact)
        return rate if rate <= exact else math.nextafter(rate, 0.0)


def _complement(released: Floats) -> Floats:
    """A basis of the orthogonal complement of the columns, of released values alone."""
    return nearly_orthonormal(np.linalg.qr(released, mode="complete")[0][:, released.shape[1] :])


def _restricted(moment: Any, complement: Floats) -> tuple[Any, Any]:
    """CᵀMC in units of 4^−FINE, and C as a matrix of exact balls."""
    from flint import arb, arb_mat, fmpz_mat

    basis = fmpz_mat((complement * 2.0**FINE).astype(np.int64).tolist())
    inner = basis.transpose() * fmpz_mat(moment.tolist()) * basis
    exact = np.array([[int(entry) for entry in row] for row in inner.tolist()], dtype=object)
    return exact, arb_mat(basis) * arb((1, -FINE))


def _orthonormal(released: Floats) -> Floats:
    """The released directions made orthonormal again after rounding, with their signs."""
    basis, triangle = np.linalg.qr(released)
    oriented: Floats = basis * np.where(np.diagonal(triangle) < 0.0, -1.0, 1.0)
    return oriented
