"""Error bounds with all constants that need one gap only, the one below eigenvalue k: for projectors and rank-k parts.

In the eigenbasis of M, split after k, the noise has blocks N₁₁, N₁₂ and N₂₂, which are independent. Let a = −λ_min(N₁₁)
and b = λ_max(N₂₂). While a + b ≤ w < g = σ_k − σ_{k+1}, the sine of the largest angle between the noisy and the true
subspace is at most ‖N₁₂‖/(g − w), and finer sums of the same kind bound the Frobenius norm; given N₁₁ and N₂₂ these are
Gaussian, without any stochastic calculus. The event fails with probability at most exp(−y²), y = (w − W)/2s, for a
least width W below s√2(√k + √(d − k)) ≤ 2s√d. Means are summed over increasing widths. In the mean the eigenvalues of
a noisy block are nearer than its ends: traces of convex functions of them are bounded by their second order.

This answers the closing question of [Re-Analyze Gauss: Section 9] for the Gaussian mechanism, with real and with
complex noise; statement, proof and comparison are in docs/explanation/kth-gap.md.
"""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from dpframe_gaussian.noise import Noise
from dpframe_gaussian.target import Floats, Target, in_units

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


def lengths(target: Target, noise: Noise) -> tuple[float, float]:
    """ζ_k and ζ_{d−k}, the mean lengths of Gaussian vectors in the two subspaces; complex coordinates count twice."""
    parts = 1 + noise.complex
    return length(parts * target.k), length(parts * (target.dim - target.k))


def least_width(target: Target, noise: Noise) -> float:
    """W = s√2(ζ_k + ζ_{d−k}) ≥ E(a + b) (Sudakov–Fernique)."""
    return noise.scale * math.sqrt(2) * sum(lengths(target, noise))


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
        """The deviation of an entry of N₁₂, or of its real and of its imaginary part."""
        return self.noise.scale / math.sqrt(2)

    @property
    def size(self) -> float:
        """The root mean square of an entry of N₁₂."""
        return self.tau * math.sqrt(1 + self.noise.complex)

    @property
    def cross(self) -> float:
        """An upper bound on E‖N₁₂‖ in spectral norm: (s/√2)(√k + √(d − k)), for each part of complex noise."""
        return (
            (1 + self.noise.complex)
            * self.tau
            * (math.sqrt(self.target.k) + math.sqrt(self.target.dim - self.target.k))
        )

    @cached_property
    def left(self) -> Floats:
        """Upper bounds on the probability that the blocks are not within each width."""
        y = (self.widths - least_width(self.target, self.noise)) / (2 * self.noise.scale)
        own, rest = lengths(self.target, self.noise)
        ends = 2 * math.exp(-(own**2)) + math.exp(-(rest**2))  # a, b and −λ_min(N₂₂), each within w
        return np.minimum(np.exp(-y * y) * (1 + (ends if self.target.kept else 0.0) * np.exp(-y * y)), 1.0)

    @cached_property
    def astray(self) -> Floats:
        """The same, or that the block of which only the end counts in `trace` is beyond its own share of the width."""
        y = (self.widths - least_width(self.target, self.noise)) / (2 * self.noise.scale)
        return np.minimum(self.left + np.exp(-y * y), 1.0)

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
        return self.size * np.sqrt((self.target.dim - k) * first), self.size * np.sqrt(k * second)

    @cached_property
    def turned(self) -> Floats:
        """√E Σ max(r_i − 1, 1)² ‖row i of N₁₂‖², what the eigenvalues of M + N below k make of N₁₂ in a rank-k part."""
        k, sigma = self.target.k, self.target.eigenvalues
        factors = np.maximum(sigma[:k] / (sigma[:k] - sigma[k] - self.widths[:, None]) - 1, 1.0)
        turned: Floats = self.size * np.sqrt((self.target.dim - k) * np.square(factors).sum(axis=1))
        return turned

    def trace(self, *, below: bool) -> Floats:
        """Upper bounds on E tr f(A), within each width, for the block A = A₂ below the gap, or A₁ above it.

        Let z be the end of the other block. For projectors f(x) = (z − x)⁻², for rank-k parts (x/(z − x))²; then
        tr f(A) ≤ tr f(M) + ⟨f′(M), N⟩ + C‖N‖_F² for the blocks of M and N, and the second term is not positive in the
        mean.
        """
        k, sigma = self.target.k, self.target.eigenvalues
        own, rest = lengths(self.target, self.noise)
        far = sigma[k - 1] - sigma[k:] if below else sigma[:k] - sigma[k]
        y = (self.widths - least_width(self.target, self.noise)) / (2 * self.noise.scale)
        start = self.noise.scale * math.sqrt(2) * ((own if below else rest) + y)
        m, end = far.min() - start, self.open
        if self.target.kept:
            ratio = (sigma[k - 1] - start) / m
            bound = np.square(sigma[k:] / (far - start[:, None])).sum(axis=1)
            steep = np.square(ratio / end) + 2 * ratio * (ratio - 1) / (end * m)
        else:
            bound = np.power(far - start[:, None], -2.0).sum(axis=1)
            steep = (m + 2 * end) / (end**2 * m**3)
        numbers = len(far) * (len(far) if self.noise.complex else (len(far) + 1) / 2)
        beyond = np.cumsum(np.diff(steep) * _chi_square_on(numbers, self.astray[:-1]))
        squares = steep[0] * numbers + np.concatenate([[0.0], beyond])
        trace: Floats = self.summed(bound, self.astray) + self.noise.scale**2 * squares
        return trace

    def summed(self, squares: Floats, left: Floats | None = None) -> Floats:
        """Upper bounds on the mean of a square that increases with the width, while within each of the widths.

        The mean of h(z) on z ≤ w_n is at most h(w_1) + Σ_{i<n} (h(w_{i+1}) − h(w_i)) P(z > w_i).
        """
        left = self.left if left is None else left
        summed: Floats = squares[0] + np.concatenate([[0.0], np.cumsum(np.diff(squares) * left[:-1])])
        return summed


def _chi_square_on(numbers: float, probability: Floats) -> Floats:
    """An upper bound on E[χ²; A] for events A of at most these probabilities p; the mean K where p > 1/e.

    E[χ² | A] ≤ (ln E e^{θχ²} + L)/θ for every θ and L = ln(1/p), which is K + 2√(KL) + 2L at the best θ at most.
    """
    tail = np.log(1 / np.clip(probability, 1e-300, 1 / math.e))
    found = np.clip(probability, 1e-300, None) * (numbers + 2 * np.sqrt(numbers * tail) + 2 * tail)
    bound: Floats = np.where(probability > 1 / math.e, numbers, np.minimum(found, numbers))
    return bound


# -- Frobenius norm ---------------------------------------------------------------------------------------------------


def frobenius(target: Target, noise: Noise) -> float | None:
    """An upper bound on √E‖Ĥ − H‖_F²; None if the gap is not above the least width.

    Projectors: E‖P̂ − P‖² ≤ s² min{(d−k) Σ_{i≤k} (σ_i−σ_{k+1}−w)⁻², k Σ_{j>k} (σ_k−σ_j−w)⁻²} + 2 min(k, d−k) p for
    each w, and less when summed over widths, or with a trace in place of a sum. The first sum is that of
    [Re-Analyze Gauss: Theorem 2.2, Corollary 2.4] for a projector; the bound for the rank-k part is at most of the
    order √(kd) σ_k/(σ_k−σ_{k+1}), as in [Re-Analyze Gauss: Corollary 2.3].
    """
    target, noise, unit = in_units(target, noise)
    split = Split(target, noise)
    if not len(split.widths):
        return None
    found = []
    for inside, left in _within(split):
        apart = [_astray(target, noise, float(p)) for p in left] if target.kept else target.diameter * np.sqrt(left)
        found.append(unit * float(np.min(np.hypot(inside, apart))))
    return min(found)


def _within(split: Split) -> tuple[tuple[Floats, Floats], ...]:
    """√E[‖Ĥ − H‖²; A] for the event A of each width, with the probability that it fails: by sums, and by traces."""
    target, (first, second) = split.target, split.sides
    k, beside = target.k, target.dim - target.k
    if not target.kept:
        height = float(target.values[0])
        squares = np.minimum(2 * np.square(height * np.minimum(first, second)), target.diameter**2)
        traces = np.minimum(k * split.trace(below=True), beside * split.trace(below=False))
        averaged = math.sqrt(2) * height * split.size * np.sqrt(traces)
        return (np.sqrt(split.summed(squares)), split.left), (averaged, split.astray)
    sine = np.minimum(3**0.25 * (split.cross + math.sqrt(2) * split.noise.scale) / split.open, math.sqrt(0.5))
    leading = split.noise.frobenius(k) + np.sqrt(split.summed(np.square(split.turned * sine)))
    within = np.hypot(leading, np.sqrt(split.summed(_beside(first, second, sine))))
    second = split.size * (math.sqrt(k * beside) + np.sqrt(k * split.trace(below=True)))
    return (within, split.left), (np.hypot(leading, math.sqrt(2) * second), split.astray)


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
    target, noise, unit = in_units(target, noise)
    split = Split(target, noise)
    at = split.left < beta
    return unit * float(min(_by_concentration(split, beta), np.min(_by_parts(split, beta)[at]))) if at.any() else None


def _by_concentration(split: Split, beta: float) -> float:
    """Within a width the error has a Lipschitz constant L; the mean of its extension, and L times a deviation.

    The event of a width is convex, so that the error within it extends to all noise with the same L (McShane). It
    vanishes at 0, so that outside it is at most L‖N‖_F, of mean at most L s √(p E[χ²; outside]).
    """
    noise, dim, found = split.noise, split.target.dim, [math.inf]
    numbers = dim * (dim if noise.complex else (dim + 1) / 2)
    height = 1.0 if split.target.kept else float(split.target.values[0])
    for inside, left in _within(split):
        outside = np.sqrt(left * _chi_square_on(numbers, left))
        error = inside + height * split.steepest * noise.scale * (outside + _tail(beta - left))
        found.append(float(np.min(error)))
    return min(found)


def _by_parts(split: Split, beta: float) -> Floats:
    """For each width, the parts of the error with a share of β each: for rank-k parts there are five."""
    target, (first, second), moved = split.target, split.sides, split.tau * split.steepest
    if not target.kept:
        error: Floats = np.minimum(first, second) + moved * _tail(beta - split.left)
        return float(target.values[0]) * math.sqrt(2) * error
    x = _tail((beta - split.left) / 5)  # ‖N₁₁‖, ‖N₁₂‖, and the sums with the factors of turned, first and second
    own = split.noise.frobenius(target.k) + split.noise.scale * x
    sine = np.minimum((split.cross + split.tau * x) / split.open, math.sqrt(0.5))
    leading = own + (split.turned + moved * x) * sine
    first, second = first + moved * x, second + moved * x
    parts: Floats = np.hypot(leading, np.sqrt(_beside(first, second, sine)))
    return parts


def _tail(beta: Floats) -> Floats:
    """The x with exp(−x²/2) = β; infinite where β is not positive."""
    x: Floats = np.sqrt(-2 * np.log(beta, out=np.full(len(beta), -np.inf), where=beta > 0))
    return x


# -- spectral norm ----------------------------------------------------------------------------------------------------


def spectral(target: Target, noise: Noise) -> float:
    """An upper bound on √E‖Ĥ − H‖² in spectral norm, for any gap.

    Projectors: ‖P̂ − P‖ ≤ ‖N₁₂‖/(g − w), and never above 1. Rank-k parts: ‖M̂_k − M_k‖ ≤ ‖N₁₁‖ + (3/√2) σ_k/(g − w)
    ‖N₁₂‖, and never above 2(σ_{k+1} + ‖N‖). Dwork et al. 2014, Theorems 6 and 7, have such bounds without constants.
    Nor is it above the Frobenius norm, for projectors divided by √2, since every angle counts twice there.
    """
    target, noise, unit = in_units(target, noise)
    split = Split(target, noise)
    most = _least(target, _largest(target, noise.spectral(target.dim)), frobenius(target, noise))
    if not len(split.widths):
        return unit * most
    cross = math.hypot(split.cross, split.tau)
    if not target.kept:
        squares = np.minimum(np.square(cross / split.open), 1.0)
        return min(most, float(target.values[0]) * math.sqrt(float(np.min(split.summed(squares) + split.left))))
    within = noise.spectral(target.k) + 3 / math.sqrt(2) * cross * np.sqrt(split.summed(np.square(split.steepest)))
    below = float(target.eigenvalues[target.k]) * np.sqrt(split.left)
    astray = 2 * (below + [noise.spectral_on(target.dim, float(left)) for left in split.left])
    return unit * min(most, float(np.min(np.hypot(within, astray))))


def spectral_quantile(target: Target, noise: Noise, beta: float) -> float:
    """A bound that ‖Ĥ − H‖ in spectral norm exceeds with probability at most β, for any gap."""
    target, noise, unit = in_units(target, noise)
    split = Split(target, noise)
    at = split.left < beta
    most = _largest(target, noise.spectral_quantile(target.dim, beta))
    most = _least(target, most, frobenius_quantile(target, noise, beta))
    if not at.any():
        return unit * most
    if not target.kept:
        error = (split.cross + split.tau * _tail(beta - split.left)) / split.open
        return min(most, float(target.values[0]) * float(error[at].min()))
    own = [noise.spectral_quantile(target.k, float(beta - left) / 2) for left in split.left[at]]
    cross = split.cross + split.tau * _tail((beta - split.left) / 2)
    return unit * min(most, float(np.min(own + 3 / math.sqrt(2) * (split.steepest * cross)[at])))


def _least(target: Target, most: float, frobenius: float | None) -> float:
    """The smaller of a bound in spectral norm, and of one in Frobenius norm, if there is one."""
    return most if frobenius is None else min(most, frobenius / (1.0 if target.kept else math.sqrt(2)))


def _largest(target: Target, size: float) -> float:
    return 2 * (float(target.eigenvalues[target.k]) + size) if target.kept else float(target.values[0])
