"""Error bounds with all constants, from Dyson's motion of eigenvectors while noise grows from zero to its size.

Let N(t) be Brownian motion in the symmetric matrices, N(s²) the noise. The target Ψ(t) of M + N(t) is a smooth function
of it while the gaps that matter stay open, and they do while the spread of N(t), its largest eigenvalue less its
smallest, is at most some width below the smallest of them. By Itô's formula Ψ(s²) − Ψ(0) is then a martingale with
E‖·‖² ≤ s²·squares plus a drift of norm at most s²·drift (:class:`~dpframe_gaussian.target.Sensitivity`). The spread
exceeds the width at some time with probability at most p. Every width gives a bound, and the smallest is taken.

This is Theorem 2.2 of Mangoubi and Vishnoi 2022 with constants, for noise without a preferred direction. Its proof is
in docs/explanation/gaussian-error.md.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from dpframe_gaussian.noise import Noise
from dpframe_gaussian.target import Target

WIDTHS = 60  # tried; each of them gives a bound
FARTHEST = 24.0  # widths above the least, in units of s: beyond, p is below e⁻¹⁴⁴


@attrs.frozen
class Stay:
    """What is proved for one width.

    Args:
        path: √E‖Ψ(τ) − Ψ(0)‖² ≤ path, where τ is the end, or the moment when the width is left.
        lipschitz: of the error as a function of the noise, while it stays.
        reach: no error is larger while it stays.
        left: the probability that the width is left, at most.
        astray: √E[‖Ψ(s²) − Ψ(0)‖²; the width is left] ≤ astray.
    """

    path: float
    lipschitz: float
    reach: float
    left: float
    astray: float


def stays(target: Target, noise: Noise) -> list[Stay]:
    """What is proved for widths between 2√2 s√d and the smallest gap that matters; none where that is not above."""
    least = noise.least_width(target.dim)
    most = min(target.tightest[1], least + FARTHEST * noise.scale)
    return [_stay(target, noise, width) for width in np.linspace(least, most, WIDTHS + 2)[1:-1]] if most > least else []


def _stay(target: Target, noise: Noise, width: float) -> Stay:
    found, s, left = target.sensitivity(width), noise.scale, noise.leaves(target.dim, width)
    path = s * (math.sqrt(found.squares) + s * found.drift)
    if not target.kept:
        reach, astray = target.diameter, target.diameter * math.sqrt(left)
    else:  # the norm of the noise must stay below the width as well, and eigenvalues have no diameter
        left *= 1 + 2 * math.exp(-target.dim)
        reach = target.diameter + math.sqrt(target.k) * width
        values = math.sqrt(target.k) * noise.spectral_on(target.dim, min(left, 1.0))
        astray = target.diameter * math.sqrt(left) + values
    return Stay(path, found.lipschitz, reach, left, astray)


def mean(found: list[Stay]) -> float:
    """The smallest √((path)² + (astray)²) ≥ √E‖Ĥ − H‖²."""
    return min(math.hypot(stay.path, stay.astray) for stay in found)


def markov(root_mean_square: float, beta: float) -> float:
    """What an error exceeds with probability at most β, by Markov's inequality for its square (Appendix E)."""
    return root_mean_square / math.sqrt(beta)


def concentrated(found: list[Stay], noise: Noise, beta: float) -> float | None:
    """What an error exceeds with probability at most β, by Gaussian concentration; None where every p is above β.

    On the convex set of noise within the width, the error is Lipschitz. Continued to all noise with the same constant,
    and cut at its reach, it has a mean of at most path + reach · p, and exceeds that by lipschitz · s · x with
    probability at most exp(−x²/2). It is the error except with probability p.
    """
    return min(
        (
            stay.path
            + stay.reach * stay.left
            + stay.lipschitz * noise.scale * math.sqrt(-2 * math.log(beta - stay.left))
            for stay in found
            if stay.left < beta
        ),
        default=None,
    )


def needed_gap(target: Target, noise: Noise, beta: float) -> float:
    """The gap above which the largest width that is tried is left with probability below β."""
    share = 1 + 2 * math.exp(-target.dim) if target.kept else 1.0
    least, width = noise.least_width(target.dim), noise.spread_quantile(target.dim, beta / share)
    return least + (width - least) * (WIDTHS + 1) / WIDTHS
