"""The target to estimate from a noisy matrix, and its sensitivity to small changes of the matrix."""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

import dpframe.plugin as dp
from dpframe_gaussian.noise import Noise

Floats = NDArray[np.float64]


def spectrum(values: ArrayLike) -> Floats:
    """Check that eigenvalues are finite, not negative, and sorted from the largest."""
    return dp.Spectrum.of(values).array


def check_k(k: int, dim: int) -> None:
    """Refuse k unless 1 ≤ k ≤ dim."""
    if not 1 <= k <= dim:
        raise dp.PlanError(f"k must be at least 1 and at most the {dim} eigenvalues there are; got k={k}.")


def check_below(k: int, dim: int) -> None:
    """Refuse k unless 1 ≤ k < dim, so that there is a gap below eigenvalue k."""
    check_k(k, dim)
    if k == dim:
        raise dp.PlanError(f"k must be below the {dim} eigenvalues there are; got k={k}.")


@attrs.frozen(eq=False, slots=False)
class Target:
    """H = VΛVᵀ for M = VΣVᵀ, to be compared with V̂ΛV̂ᵀ for M + N = V̂Σ̂V̂ᵀ.

    With `kept`, Λ is the k leading eigenvalues of M and is compared with the k leading ones of M + N, negative ones as
    zero: the rank-k part. Otherwise Λ is the same on both sides.

    Args:
        eigenvalues: σ_1 ≥ … ≥ σ_d of M.
        values: λ_1 ≥ … ≥ λ_d, zero beyond k.
        k: the number of values that may differ from zero.
        kept: whether the noisy eigenvalues are kept.
    """

    eigenvalues: Floats
    values: Floats
    k: int
    kept: bool = False

    @classmethod
    def subspace(cls, eigenvalues: ArrayLike, k: int) -> Target:
        """The projector on the k leading eigenvectors."""
        sigma = spectrum(eigenvalues)
        check_below(k, len(sigma))
        return cls(sigma, np.where(np.arange(len(sigma)) < k, 1.0, 0.0), k)

    @classmethod
    def rank_k(cls, eigenvalues: ArrayLike, k: int) -> Target:
        """The rank-k part: the k leading eigenvectors with their eigenvalues."""
        sigma = spectrum(eigenvalues)
        check_below(k, len(sigma))
        return cls(sigma, np.where(np.arange(len(sigma)) < k, sigma, 0.0), k, kept=True)

    @classmethod
    def with_spectrum(cls, eigenvalues: ArrayLike, values: ArrayLike) -> Target:
        """The eigenvectors with a given spectrum, zero beyond its length."""
        sigma, wanted = spectrum(eigenvalues), spectrum(values)
        check_k(len(wanted), len(sigma))
        return cls(sigma, np.pad(wanted, (0, len(sigma) - len(wanted))), int(np.count_nonzero(wanted)))

    @property
    def dim(self) -> int:
        """d, the number of eigenvalues."""
        return len(self.eigenvalues)

    @cached_property
    def diameter(self) -> float:
        """D = max ‖UΛUᵀ − Λ‖ over orthogonal U: D² = 2(‖Λ‖² − Σ λ_i λ_{d+1−i}), by the rearrangement inequality."""
        largest = float(self.values[0])
        shares = self.values / (largest or 1.0)
        return largest * math.sqrt(2 * float(shares @ (shares - shares[::-1])))

    @cached_property
    def steps(self) -> Floats:
        """λ_i − λ_{i+1} for i < d."""
        return self.values[:-1] - self.values[1:]

    @cached_property
    def gaps(self) -> Floats:
        """σ_i − σ_{i+1} for i < d."""
        return self.eigenvalues[:-1] - self.eigenvalues[1:]

    @cached_property
    def tightest(self) -> tuple[int, float]:
        """The index i of the eigenvalue above the smallest relevant gap, and that gap; (d, ∞) if no gap is relevant.

        Gaps between equal λ are not relevant; with `kept` only the gap below eigenvalue k is.
        """
        matters = np.arange(1, self.dim) == self.k if self.kept else self.steps > 0
        if not matters.any():
            return self.dim, math.inf
        at = int(np.argmin(np.where(matters, self.gaps, np.inf)))
        return at + 1, float(self.gaps[at])

    def sensitivity(self, width: float = 0.0) -> Sensitivity:
        """Bounds on the derivatives of the target while the noise has a spread of at most `width`.

        By Weyl's inequality all relevant gaps σ_i − σ_j are then at least σ_i − σ_j − width.
        """
        with np.errstate(divide="ignore", over="ignore"):
            return self._keeping(width) if self.kept else self._turning(width)

    def _turning(self, width: float) -> Sensitivity:
        falls = np.maximum(self.values[: self.k, None] - self.values[None, :], 0.0)
        apart = np.where(falls > 0, self.eigenvalues[: self.k, None] - self.eigenvalues[None, :] - width, np.inf)
        turns = falls / apart
        pulls = turns / apart
        strongest = pulls.sum(axis=0)  # on the later of two eigenvectors; the pull on the earlier has the opposite sign
        strongest[: self.k] = np.maximum(strongest[: self.k], pulls.sum(axis=1))
        return Sensitivity(float(np.square(turns).sum()), _norm(strongest) / 2, float(turns.max(initial=0.0)))

    def _keeping(self, width: float) -> Sensitivity:
        top, rest = self.eigenvalues[: self.k, None], self.eigenvalues[None, self.k :]
        apart = top - rest - width
        turns = np.where(apart > 0, top, 1.0) / apart  # a zero gap, even between zeros, is infinitely sensitive
        inside, outside = (
            (np.where(apart > 0, rest + width, 1.0) / apart / apart).sum(axis=1),
            (turns / apart).sum(axis=0),
        )
        squares = self.k * (self.k + 1) / 2 + float(np.square(turns).sum())
        return Sensitivity(squares, _norm(np.concatenate([inside, outside])) / 2, max(1.0, float(turns.max(initial=0))))


@attrs.frozen
class Sensitivity:
    """The derivatives of a target at a matrix, or bounds on them.

    Args:
        squares: the sum of squared first derivatives over an orthonormal basis of symmetric matrices.
        drift: the norm of half the Laplacian.
        lipschitz: the largest derivative along a unit direction, in Frobenius norm.
    """

    squares: float
    drift: float
    lipschitz: float


def _norm(values: Floats) -> float:
    return math.sqrt(float(values @ values))


def in_units(target: Target, noise: Noise) -> tuple[Target, Noise, float]:
    """Everything divided by the scale of the noise, and what bounds are to be multiplied by.

    Powers of eigenvalues in the units of the rows may be beyond what floats hold.
    """
    scale = noise.scale
    values = target.values / scale if target.kept else target.values
    own = Noise(noise.diagonal / scale, noise.off_diagonal / scale, noise.complex)
    return (
        attrs.evolve(target, eigenvalues=target.eigenvalues / scale, values=values),
        own,
        scale if target.kept else 1.0,
    )
