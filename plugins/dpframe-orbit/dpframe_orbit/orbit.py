"""The exponential mechanism on a unitary orbit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe_orbit import turned

Floats = NDArray[np.float64]
SOLVER_ERROR = 2**20  # allowed spread of the error of scores, where one row has a spread of 2³²: costs 0.05 %
GRID_BITS = (8, 28)
SMALLEST = 5e-324
FINEST = 2.0**-40  # eigenvalues closer than this, of a spread of 1, count as equal


def check_bits(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Refuse a grid that is too coarse to be useful, or too fine for its slack to be small."""
    if not dp.validators.is_int(value) or not GRID_BITS[0] <= value <= GRID_BITS[1]:
        raise dp.validators.refuse(owner, attribute.name, f"an integer from {GRID_BITS[0]} to {GRID_BITS[1]}", value)


def refuse_centered(name: str, rows: dp.Rows) -> None:
    """Refuse rows with a constant coordinate, whose augmented moment is not what an orbit estimates."""
    if rows.center:
        raise dp.PlanError(f"{name} needs rows without a constant coordinate: dp.Rows(center=False).")


@attrs.frozen(kw_only=True)
class Orbit(dp.Mechanism):
    """A matrix with a given spectrum, close to the second moment, by the exponential mechanism.

    H = UΛUᴴ is drawn with density ∝ exp(κ⟨M, H⟩) under the invariant measure, which favors matrices whose leading
    eigenvectors are those of M. One row moves the scores ⟨M, H⟩ apart by at most norm²·(λ_1 − λ_d), and twice that when
    a row is replaced (`dpframe.sensitivity`), λ_d being zero where fewer values than coordinates are given. With
    κ = level divided by this spread the log-likelihood ratio of neighbors lies in an interval of length level. The
    error of the eigenvalue solver is part of the spread: it is bounded for the data at hand (`dpframe.eigensolver`).

    The draw is exact, and direct: the eigenvalues of nested blocks of H are drawn row by row from their conditional
    laws, which are determinants (docs/explanation/orbit.md). Released are integers on a public grid, each of which is
    proved in ball arithmetic to be that of the exact draw for the random bits that were read. The number of operations
    is bounded by the dimension, the rank and the size of the eigenvalues of M, except for rare repetitions at a higher
    precision.

    Args:
        spectrum: Λ, the eigenvalues of the result from the largest: a public list, or the result of an earlier step.
            Ones give a projector; missing values are zero.
        real: release the real part of H, which is post-processing and suits real data; False releases
            the Hermitian draw itself, whose spectrum is Λ. Of complex rows, that is released in any case.
        as_printed: κ = level/(4λ_1) as in the paper, whose sampler is approximate. With the exact one the true loss is
            at most half the stated one when a row is replaced, and a quarter when it is added or removed.
        bits: the grid has a spacing of 2^−bits times λ_1 − λ_d.

    Guarantee:
        BoundedRange loss with epsilon = level, hence pure epsilon-DP, for either neighboring relation; worst case.

    References:
        Mangoubi, Wu, Kale, Thakurta and Vishnoi, "Private matrix approximation and geometry of unitary orbits",
        COLT 2022 [Unitary orbits: Problem 2.1, Algorithm 1, Lemma 6.1, Lemma 6.2, Theorem 5.3, Theorem 2.2].
        Leake, McSwiggen and Vishnoi, "Sampling matrices from Harish-Chandra–Itzykson–Zuber densities with applications
        to quantum inference and differential privacy", STOC 2021.

    >>> Orbit(spectrum=[1.0, 1.0]).loss(dp.Rows(norm=1.0, neighbors="replace"), level=0.5)
    BoundedRange(epsilon=0.5)
    """

    name = "orbit"
    unit = "epsilon"
    matrix_norm = "trace_norm"
    gives = dp.SymmetricMatrix
    numerics = "exact"
    smallest_level = 2.0**-40  # the draw is uniform long before, and all figures are finite
    draws_depend_on_data = True
    takes_complex = True
    law_unknown = (
        "how far the eigenvectors are off depends on the eigenvalues of the moment. For a real draw it is known if an "
        "earlier step released the spectrum, as in 'orbit-low-rank'."
    )

    spectrum: Any = dp.input(dp.Spectrum)
    real: bool = attrs.field(default=True, validator=dp.validators.boolean)
    as_printed: bool = attrs.field(default=False, validator=dp.validators.boolean)
    bits: int = attrs.field(default=16, validator=check_bits)

    def output(self, rows: dp.Rows) -> type[dp.Kind]:
        return dp.SymmetricMatrix if self._gives_real(rows) else dp.HermitianMatrix

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return dp.Moment.shape(rows)

    def working_bytes(self, rows: dp.Rows) -> int:
        return 4 * 8 * rows.known_dim**2  # the target, its eigenvectors and a complex draw

    def check(self, rows: dp.Rows) -> None:
        refuse_centered(self.name, rows)
        if rows.dim is not None and isinstance(self.spectrum, dp.Spectrum):
            self._eigenvalues(rows.dim)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.BoundedRange(epsilon=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        from dpframe_orbit.direct import Target, draw_integers

        dim = data.rows.known_dim
        values = self._eigenvalues(dim)
        width, smallest = float(values[0] - values[-1]), float(values[-1])
        if width == 0.0:
            return self._value(np.zeros((dim, dim)), smallest, width, data.rows)
        gamma, basis, overlap = _eigensystem(data.moment, solver_error(data.rows))
        strength = Fraction(self._strength(data.rows, level))
        scaled = np.rint((values - smallest) / width / FINEST) * FINEST
        target = Target.of([strength * Fraction(value) for value in gamma[::-1].tolist()], scaled)
        real, imaginary = draw_integers(
            target,
            basis[:, ::-1],
            overlap,
            self.bits,
            random,
            real=self._gives_real(data.rows),
            report=data.progress,
        )
        unit = 2.0**-self.bits
        drawn = real * unit if imaginary is None else real * unit + 1j * (imaginary * unit)
        return self._value(drawn, smallest, width, data.rows)

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        """How far the score ⟨M, H⟩ falls below its maximum, per two real dimensions of the orbit, to first order."""
        if not isinstance(self.spectrum, dp.Spectrum):
            if self.as_printed:
                return {"score, per λ₁": rows.step**2 * _printed_spread(rows) / level}
            return {"score, per λ₁ − λ_d": rows.step**2 * _spread(rows) / level}
        values = self._eigenvalues(rows.known_dim)
        width = float(values[0] - values[-1])
        return {"score": width * rows.step**2 / self._strength(rows, level)} if width > 0.0 else {}

    def law(self, value: dp.Kind, rows: dp.Rows, level: float, laws: Mapping[str, dp.Law]) -> dp.Law | None:
        """If the spectrum was released: rotations between a and b have a variance of 1/(2κ(γ_a − γ_b)(λ_a − λ_b)).

        That is to first order, with γ the eigenvalues of the moment, of which those of the target, λ, are estimates.
        Where λ is zero, since no more were released, γ is at most the last one that was, and counts as that.
        """
        values = self._eigenvalues(rows.known_dim)
        width = float(values[0] - values[-1])
        if "spectrum" not in laws or not self._gives_real(rows):
            return None
        k, dim, released = len(self.spectrum.array), rows.known_dim, self.spectrum.array
        variance = width * rows.step**2 / self._strength(rows, level) if width > 0.0 else turned.UNKNOWN
        place = np.minimum(np.arange(min(k + 1, dim)), k - 1)
        between = np.full((len(place),) * 2, variance / 2)
        if k < dim:
            beyond = variance / 2 * (released - released[-1]) / np.maximum(released, np.finfo(float).tiny)
            between[:k, k] = between[k, :k] = beyond
        basis = np.linalg.eigh(value.array)[1][:, ::-1][:, :k]
        law = turned.law(basis, released[place], np.full(len(place), variance), between)
        return dp.LowRankLaw(of=law, k=k, spectrum=released)

    def log_density(self, value: dp.Kind, data: dp.PrivateData, level: float) -> float:
        values = self._eigenvalues(data.rows.known_dim)
        width = float(values[0] - values[-1])
        moment = data.moment.astype(np.float64)
        if data.rows.complex:  # ⟨M, H⟩ is real
            score = float(np.sum(moment[0] * value.array.real + moment[1] * value.array.imag))
        else:
            score = float(np.sum(moment * value.array.real))
        return self._strength(data.rows, level) * score / width if width > 0.0 else 0.0

    def noiseless(self, data: dp.PrivateData) -> dp.Kind:
        values = self._eigenvalues(data.rows.known_dim)
        moment = data.moment.astype(np.float64)
        vectors = np.linalg.eigh(dp.hermitian.as_complex(moment) if data.rows.complex else moment)[1][:, ::-1]
        exact = (vectors * values) @ vectors.conj().T
        return self._value((exact + exact.conj().T) / 2, 0.0, 1.0, data.rows)

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        """All components in one draw, which was measured to be better than one at a time from two components on.

        A low-rank part is Algorithm 2 of the paper (`orbit-low-rank`).
        """
        k: Any = public.get("k")
        if task == "low-rank":
            from dpframe_orbit.recipes import OrbitLowRank

            return OrbitLowRank(k=k).steps("estimate", 1.0)
        if task != "subspace" or k < 2:
            return None
        return [
            dp.release("estimate", cls.name, spectrum=[1.0] * k),
            dp.derive("components", "top-subspace", of="estimate", k=k),
        ]

    def _eigenvalues(self, dim: int) -> Floats:
        """All d eigenvalues."""
        given = self.spectrum.array
        if len(given) > dim:
            raise dp.PlanError(f"the spectrum has {len(given)} values, but the rows have {dim} coordinates.")
        return np.concatenate([given, np.zeros(dim - len(given))])

    def _strength(self, rows: dp.Rows, level: float) -> float:
        """κ·(λ_1 − λ_d) in lattice units; the spectrum must be a value."""
        if not self.as_printed:
            return level / _spread(rows)
        values = self._eigenvalues(rows.known_dim)
        return level / _printed_spread(rows) * float(1.0 - values[-1] / max(values[0], SMALLEST))

    def _value(self, drawn: Any, smallest: float, width: float, rows: dp.Rows) -> dp.Kind:
        matrix = smallest * np.eye(len(drawn)) + width * drawn
        if self._gives_real(rows):
            return dp.SymmetricMatrix(matrix, axes=rows.axes)
        return dp.HermitianMatrix(matrix.astype(np.complex128), axes=rows.axes)

    def _gives_real(self, rows: dp.Rows) -> bool:
        return self.real and not rows.complex


def solver_error(rows: dp.Rows) -> int:
    """The spread of the error of scores that is allowed, and paid for, in lattice units.

    A matrix that was computed elsewhere may have entries of up to 2⁶² in any pattern, and a norm of d times that: the
    error of a solver in floats is then above what is allowed for rows. At that limit its bound, as a spread, was
    measured to be at most 2^16.1·d^1.5, up to d = 300.
    """
    if not isinstance(rows, dp.Matrix):
        return SOLVER_ERROR
    return max(SOLVER_ERROR, (math.isqrt(rows.known_dim**3) + 1) << 17 + rows.complex)


def _spread(rows: dp.Rows) -> int:
    """How far one person moves the scores apart, with the error of the solver."""
    return dp.sensitivity.score(rows) + 2 * solver_error(rows)


def _printed_spread(rows: dp.Rows) -> int:
    """Four times the score of one row, which the paper pays for.

    It is more than the spread, except of a matrix of some hundred coordinates, for the error of its solver.
    """
    one_row = dp.sensitivity.score(attrs.evolve(rows, neighbors="add-remove"))
    return max(4 * one_row, _spread(rows))


def _eigensystem(moment: Any, error: float = SOLVER_ERROR) -> tuple[Floats, NDArray[Any], float]:
    """Γ from the smallest, V and o ≥ ‖VᴴV − I‖, with ‖M − QΓQᴴ‖ within half of error/√d for V's factor Q.

    The scores of two matrices of the orbit then move apart by at most √d·‖M − QΓQᴴ‖. The other half is for the rounding
    of κ.
    """
    allowed = error / 2 / math.sqrt(moment.shape[-1])
    solve = dp.eigensolver.hermitian_eigensystem if moment.ndim == 3 else dp.eigensolver.certified_eigensystem
    values, vectors, found = solve(moment, allowed)
    if not found.of_matrix <= allowed:
        raise dp.SamplingError("the error of the eigenvalue solver is above what the noise covers. The charge stands.")
    return values, vectors, found.overlap
