"""Error bounds with all constants, from Dyson Brownian motion of eigenvectors as the noise grows from zero.

Let N(t) be Brownian motion on the symmetric matrices, with N(s²) the noise. The target Ψ(t) is a smooth function of
M + N(t) as long as the relevant gaps stay positive; they do while the spread of N(t), its largest eigenvalue minus its
smallest, is at most some width below the smallest relevant gap. By Itô's formula Ψ(s²) − Ψ(0) is then a martingale with
E‖·‖² ≤ s²·squares plus a drift of norm at most s²·drift (:class:`~dpframe_gaussian.target.Sensitivity`). The spread
exceeds the width at some time with probability at most p. Every width gives a bound, and the smallest bound is used.

This is [Re-Analyze Gauss: Theorem 2.2] with constants, for isotropic noise. Its proof is in
docs/explanation/gaussian-error.md.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from dpframe_gaussian.noise import Noise
from dpframe_gaussian.target import Target, in_units

WIDTHS = 60  # the number of widths tried; each gives a bound
FARTHEST = 24.0  # the largest width tried, above the least, in units of s; there p is below e⁻¹⁴⁴


@attrs.frozen
class Stay:
    """What is proved for one width.

    Args:
        path: √E‖Ψ(τ) − Ψ(0)‖² ≤ path, where τ is s², or the first time that the spread exceeds the width.
        lipschitz: a Lipschitz constant of the error as a function of the noise, while the spread is within the width.
        reach: an upper bound on the error while the spread is within the width.
        left: an upper bound on the probability that the spread exceeds the width.
        astray: √E[‖Ψ(s²) − Ψ(0)‖²; the spread exceeds the width] ≤ astray.
    """

    path: float
    lipschitz: float
    reach: float
    left: float
    astray: float


def stays(target: Target, noise: Noise) -> list[Stay]:
    """What is proved for widths between 2√2 s√d and the smallest relevant gap; empty if that gap is not larger."""
    least = noise.least_width(target.dim)
    most = min(target.tightest[1], least + FARTHEST * noise.scale)
    return [_stay(target, noise, width) for width in np.linspace(least, most, WIDTHS + 2)[1:-1]] if most > least else []


def _stay(target: Target, noise: Noise, width: float) -> Stay:
    scale = noise.scale
    target, noise, unit = in_units(target, noise)
    width /= scale
    sensitivity, left = target.sensitivity(width), noise.leaves(target.dim, width)
    path = math.sqrt(sensitivity.squares) + sensitivity.drift
    if not target.kept:
        reach, astray = target.diameter, target.diameter * math.sqrt(left)
    else:  # the norm of the noise must also stay below the width, and eigenvalues are unbounded
        left *= 1 + 2 * math.exp(-target.dim)
        reach = target.diameter + math.sqrt(target.k) * width
        values = math.sqrt(target.k) * noise.spectral_on(target.dim, min(left, 1.0))
        astray = target.diameter * math.sqrt(left) + values
    return Stay(unit * path, sensitivity.lipschitz * unit / scale, unit * reach, left, unit * astray)


def mean(proved: list[Stay]) -> float:
    """The smallest √((path)² + (astray)²) ≥ √E‖Ĥ − H‖²."""
    return min(math.hypot(stay.path, stay.astray) for stay in proved)


def markov(root_mean_square: float, beta: float) -> float:
    """A bound that the error exceeds with probability at most β, by Markov's inequality for its square.

    [Re-Analyze Gauss: Appendix E]
    """
    return root_mean_square / math.sqrt(beta)


def concentrated(proved: list[Stay], noise: Noise, beta: float) -> float | None:
    """A bound that the error exceeds with probability at most β, by Gaussian concentration; None if every p is above β.

    On the convex set of noise within the width, the error is Lipschitz. Extended to all noise with the same constant,
    and truncated at its reach, it has a mean of at most path + reach · p, and exceeds that by lipschitz · s · x with
    probability at most exp(−x²/2). The extension equals the error except with probability p.
    """
    return min(
        (
            stay.path
            + stay.reach * stay.left
            + stay.lipschitz * noise.scale * math.sqrt(-2 * math.log(beta - stay.left))
            for stay in proved
            if stay.left < beta
        ),
        default=None,
    )


def needed_gap(target: Target, noise: Noise, beta: float) -> float:
    """The gap above which the spread exceeds the largest width tried with probability below β."""
    share = 1 + 2 * math.exp(-target.dim) if target.kept else 1.0
    least, width = noise.least_width(target.dim), noise.spread_quantile(target.dim, beta / share)
    return least + (width - least) * (WIDTHS + 1) / WIDTHS
