"""Draws of a direction in floats, for comparisons: the Bingham law.

The density exp(−Σ a_i x_i²) on the unit sphere, a_i ≥ 0 with smallest 0, is drawn by rejection from the angular central
Gaussian law: x = z/‖z‖ for independent normal z_i of variance 1/(1 + 2a_i/b), whose density is ∝ (1 + 2s/b)^{−d/2} with
s = Σ a_i x_i². The ratio e^{−s}(1 + 2s/b)^{d/2} is largest at s = (d − b)/2, so a proposal is accepted with probability

    exp(−s + (d/2)·log(1 + 2s/b) + (d − b)/2 − (d/2)·log(d/b)) ≤ 1,

for any 0 < b ≤ d; the best b solves Σ 1/(b + 2a_i) = 1 (Kent, Ganeiban and Mardia 2018). The exponent of 1 + 2s/b is
*plus* d/2: with a minus sign the draw would have another law, and almost no proposal would be accepted.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
BATCH = 32  # proposals at a time


def real_direction(costs: Floats, random: dp.Random) -> Floats:
    """A unit vector of density ∝ exp(−Σ costs_i·x_i²).

    Args:
        costs: none negative, the smallest zero.
        random: the source of randomness.

    >>> from dpframe.testing import seeded
    >>> real_direction(np.array([0.0, 1e12]), seeded(7)).round(3).tolist()
    [-1.0, 0.0]
    """
    dim, b = len(costs), envelope(costs)
    shrink = 1.0 / np.sqrt(1.0 + 2.0 * costs / b)
    while True:
        words = random.words(BATCH * (dim + 1)).reshape(BATCH, dim + 1)
        proposals = normals(words[:, :dim]) * shrink
        proposals /= np.linalg.norm(proposals, axis=1, keepdims=True)
        accepted = np.log(uniforms(words[:, dim])) <= log_acceptance(proposals**2 @ costs, dim, b)
        if accepted.any():
            first: Floats = proposals[int(accepted.argmax())]
            return first


def log_acceptance(exponents: Floats, dim: int, b: float) -> Floats:
    """The log-probability of accepting proposals with these s = Σ a_i x_i²; at most 0 up to rounding."""
    half = dim / 2
    logarithm: Floats = -exponents + half * np.log1p(2.0 * exponents / b) + (dim - b) / 2 - half * math.log(dim / b)
    return logarithm


def envelope(costs: Floats) -> float:
    """The b with Σ 1/(b + 2·costs_i) = 1; a slightly different b gives the same law a little more slowly."""
    b = 1.0  # not above the root, since one cost is zero; Newton's method rises to it, the sum being convex
    for _ in range(100):
        inverse = 1.0 / (b + 2.0 * costs)
        step = (float(inverse.sum()) - 1.0) / float(inverse @ inverse)
        b += step
        if step < 1e-9 * b:
            break
    return min(b, float(len(costs)))


def uniforms(words: Words) -> Floats:
    """(word + ½)·2⁻⁶⁴: never 0, with full relative precision near 0."""
    values: Floats = (words.astype(np.float64) + 0.5) * 2.0**-64
    return values


def normals(words: Words) -> Floats:
    """Standard normal variables: the highest bit of a word is the sign, the rest the probability of the tail."""
    from scipy.special import ndtri

    tails = ((words & np.uint64(2**63 - 1)).astype(np.float64) + 0.5) * 2.0**-64
    values: Floats = np.copysign(ndtri(tails), words.view(np.float64))  # negative where its highest bit is set
    return values
