"""Error bounds with all constants that need one gap only, the one below eigenvalue k: for projectors and rank-k parts.

In the eigenbasis of M, split after k, the noise has blocks N₁₁, N₁₂ and N₂₂, which are independent. Let a = −λ_min(N₁₁)
and b = λ_max(N₂₂). While a + b ≤ w < g = σ_k − σ_{k+1}, the sine of the largest angle between the noisy and the true
subspace is at most ‖N₁₂‖/(g − w), and finer sums of the same kind bound the Frobenius norm; given N₁₁ and N₂₂ these are
Gaussian, without any stochastic calculus. The event fails with probability at most exp(−y²), y = (w − W)/2s, for a
least width W below s√2(√k + √(d − k)) ≤ 2s√d. Means are summed over increasing widths.

This answers the closing question of [Re-Analyze Gauss: Section 9] for the real Gaussian mechanism; statement, proof and
comparison are in docs/explanation/kth-gap.md.
"""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from dpframe_gaussian.noise import Noise
from dpframe_gaussian.target import Floats, Target

WIDTHS = 120  # the number of widths tried
FARTHEST = 24.0  # the largest width tried, above the least, in units of s


def applies(target: Target, noise: Noise) -> bool:
    """Whether the target is a rank-k part or a multiple of a projector, and the noise isotropic."""
    values = target.values[: target.k]
    return noise.isotropic and 0 < target.k < target.dim and (target.kept or bool(values[0] == values[-1]))


def length(dim: int) -> float:
    """The mean length of a standard Gaussian vector, at most √dim.

    >>> round(length(1) ** 2, 6), round(length(100), 3)
    (0.63662, 9.975)
    """
    return math.sqrt(2) * math.exp(math.lgamma((dim + 1) / 2) - math.lgamma(dim / 2))


def least_width(target: Target, noise: Noise) -> float:
    """W = s√2(ζ_k + ζ_{d−k}) ≥ E(a + b), where ζ is the mean length of a Gaussian vector (Sudakov–Fernique)."""
    return noise.scale * math.sqrt(2) * (length(target.k) + length(target.dim - target.k))


@attrs.frozen(eq=False, slots=False)
class Split:
    """What holds while the blocks of the noise are within a width, for increasing widths up to the gap.

    Args:
        target: a rank-k part or a multiple of a projector.
        noise: isotropic.
    """

    target: Target
    noise: Noise

    @cached_property
    def widths(self) -> Floats:
        """The widths w; none if the gap below eigenvalue k is not above the least width."""
        least = least_width(self.target, self.noise)
        most = min(self.gap, least + FARTHEST * self.noise.scale)
        return np.linspace(least, most, WIDTHS + 2)[1:-1] if most > least else np.empty(0)

    @property
    def gap(self) -> float:
        """σ_k − σ_{k+1}."""
        return float(self.target.gaps[self.target.k - 1])

    @property
    def tau(self) -> float:
        """The deviation of an entry of N₁₂."""
        return self.noise.scale / math.sqrt(2)

    @property
    def cross(self) -> float:
        """An upper bound on E‖N₁₂‖ in spectral norm: (s/√2)(√k + √(d − k))."""
        return self.tau * (math.sqrt(self.target.k) + math.sqrt(self.target.dim - self.target.k))

    @cached_property
    def left(self) -> Floats:
        """Upper bounds on the probability that the blocks are not within each width."""
        y = (self.widths - least_width(self.target, self.noise)) / (2 * self.noise.scale)
        k, rest = self.target.k, self.target.dim - self.target.k
        ends = 2 * math.exp(-(length(k) ** 2)) + math.exp(-(length(rest) ** 2))  # a, b and −λ_min(N₂₂), each within w
        return np.minimum(np.exp(-y * y) * (1 + (ends if self.target.kept else 0.0) * np.exp(-y * y)), 1.0)

    @cached_property
    def open(self) -> Floats:
        """Lower bounds, g − w, on the gap between the diagonal blocks of M + N."""
        return self.gap - self.widths

    @cached_property
    def steepest(self) -> Floats:
        """The largest factor by which an entry of N₁₂ is multiplied in the error."""
        return (float(self.target.eigenvalues[self.target.k - 1]) if self.target.kept else 1.0) / self.open

    @cached_property
    def sides(self) -> tuple[Floats, Floats]:
        """√E Σ r_i² ‖row i of N₁₂‖² and the same for N₂₁, with the largest possible factors r_i."""
        k, sigma = self.target.k, self.target.eigenvalues
        above = sigma[:k] - sigma[k] - self.widths[:, None]
        below = sigma[k - 1] - sigma[k:] - self.widths[:, None]
        first = np.square((sigma[:k] if self.target.kept else 1.0) / above).sum(axis=1)
        second = np.square((sigma[k - 1] if self.target.kept else 1.0) / below).sum(axis=1)
        return self.tau * np.sqrt((self.target.dim - k) * first), self.tau * np.sqrt(k * second)

    def summed(self, squares: Floats) -> Floats:
        """Upper bounds on the mean of a square that increases with the width, while within each of the widths.

        The mean of h(z) on z ≤ w_n is at most h(w_1) + Σ_{i<n} (h(w_{i+1}) − h(w_i)) P(z > w_i).
        """
        summed: Floats = squares[0] + np.concatenate([[0.0], np.cumsum(np.diff(squares) * self.left[:-1])])
        return summed


# -- Frobenius norm ---------------------------------------------------------------------------------------------------


def frobenius(target: Target, noise: Noise) -> float | None:
    """An upper bound on √E‖Ĥ − H‖_F²; None if the gap is not above the least width.

    Projectors: E‖P̂ − P‖² ≤ s² min{(d−k) Σ_{i≤k} (σ_i−σ_{k+1}−w)⁻², k Σ_{j>k} (σ_k−σ_j−w)⁻²} + 2 min(k, d−k) p for
    each w, and less when summed over widths. The first sum is that of [Re-Analyze Gauss: Theorem 2.2, Corollary 2.4]
    for a projector; the bound for the rank-k part is at most of the order √(kd) σ_k/(σ_k−σ_{k+1}), as in
    [Re-Analyze Gauss: Corollary 2.3].
    """
    split = Split(target, noise)
    if not len(split.widths):
        return None
    first, second = split.sides
    if not target.kept:
        height = float(target.values[0])
        squares = np.minimum(2 * np.square(height * np.minimum(first, second)), target.diameter**2)
        return math.sqrt(float(np.min(split.summed(squares) + target.diameter**2 * split.left)))
    own = noise.scale * math.sqrt(target.k * (target.k + 1) / 2)
    sine = np.minimum(3**0.25 * (split.cross + math.sqrt(2) * noise.scale) / split.open, math.sqrt(0.5))
    within = np.hypot(
        own + np.sqrt(split.summed(np.square(first * sine))), np.sqrt(split.summed(_beside(first, second, sine)))
    )
    return float(np.min(np.hypot(within, [_astray(target, noise, float(left)) for left in split.left])))


def _beside(first: Floats, second: Floats, sine: Floats) -> Floats:
    """The squared norm of what a rank-k part is off outside of its leading block, by either of two bounds."""
    least: Floats = np.minimum(2 * np.square(second), 2 * np.square(first) + np.square(second * sine))
    return least


def _astray(target: Target, noise: Noise, left: float) -> float:
    """√E[‖M̂_k − M_k‖_F²; A] for any event A of at most this probability."""
    size, root = noise.spectral_on(target.dim, left), math.sqrt(left)
    turned = target.diameter * root + math.sqrt(target.k) * size
    return min(turned, math.sqrt(2 * target.k) * 2 * (float(target.eigenvalues[target.k]) * root + size))


def frobenius_quantile(target: Target, noise: Noise, beta: float) -> float | None:
    """A bound that ‖Ĥ − H‖_F exceeds with probability at most β; None if no width has p below β."""
    split = Split(target, noise)
    at = split.left < beta
    if not at.any():
        return None
    (first, second), moved = split.sides, split.tau * split.steepest
    if not target.kept:
        error = np.minimum(first, second) + moved * _tail(beta - split.left)
        return float(target.values[0]) * math.sqrt(2) * float(error[at].min())
    x = _tail((beta - split.left) / 4)
    own = noise.scale * (math.sqrt(target.k * (target.k + 1) / 2) + x)
    sine = np.minimum((split.cross + split.tau * x) / split.open, math.sqrt(0.5))
    first, second = first + moved * x, second + moved * x
    return float(np.hypot(own + first * sine, np.sqrt(_beside(first, second, sine)))[at].min())


def _tail(beta: Floats) -> Floats:
    """The x with exp(−x²/2) = β; infinite where β is not positive."""
    x: Floats = np.sqrt(-2 * np.log(beta, out=np.full(len(beta), -np.inf), where=beta > 0))
    return x


# -- spectral norm ----------------------------------------------------------------------------------------------------


def spectral(target: Target, noise: Noise) -> float:
    """An upper bound on √E‖Ĥ − H‖² in spectral norm, for any gap.

    Projectors: ‖P̂ − P‖ ≤ ‖N₁₂‖/(g − w), and never above 1. Rank-k parts: ‖M̂_k − M_k‖ ≤ ‖N₁₁‖ + (3/√2) σ_k/(g − w)
    ‖N₁₂‖, and never above 2(σ_{k+1} + ‖N‖). Dwork et al. 2014, Theorems 6 and 7, have such bounds without constants.
    """
    split = Split(target, noise)
    most = _largest(target, noise.spectral(target.dim))
    if not len(split.widths):
        return most
    cross = math.hypot(split.cross, split.tau)
    if not target.kept:
        squares = np.minimum(np.square(cross / split.open), 1.0)
        return float(target.values[0]) * min(1.0, math.sqrt(float(np.min(split.summed(squares) + split.left))))
    within = noise.spectral(target.k) + 3 / math.sqrt(2) * cross * np.sqrt(split.summed(np.square(split.steepest)))
    below = float(target.eigenvalues[target.k]) * np.sqrt(split.left)
    astray = 2 * (below + [noise.spectral_on(target.dim, float(left)) for left in split.left])
    return min(most, float(np.min(np.hypot(within, astray))))


def spectral_quantile(target: Target, noise: Noise, beta: float) -> float:
    """A bound that ‖Ĥ − H‖ in spectral norm exceeds with probability at most β, for any gap."""
    split = Split(target, noise)
    at, most = split.left < beta, _largest(target, noise.spectral_quantile(target.dim, beta))
    if not at.any():
        return most
    if not target.kept:
        error = (split.cross + split.tau * _tail(beta - split.left)) / split.open
        return min(most, float(target.values[0]) * float(error[at].min()))
    own = [noise.spectral_quantile(target.k, float(beta - left) / 2) for left in split.left[at]]
    cross = split.cross + split.tau * _tail((beta - split.left) / 2)
    return min(most, float(np.min(own + 3 / math.sqrt(2) * (split.steepest * cross)[at])))


def _largest(target: Target, size: float) -> float:
    return 2 * (float(target.eigenvalues[target.k]) + size) if target.kept else float(target.values[0])
