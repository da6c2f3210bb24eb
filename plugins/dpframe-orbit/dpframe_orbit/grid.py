"""Rounding to a public grid, and what is left of the error of floats after it.

The last bits of a float depend on the way it was computed, and that way on the data: they alone can tell neighbours
apart. So nothing is released but integers: floor(x/h + U) for each number x that was drawn, h the spacing of the grid
and U a uniform variable of its own. This is post-processing of the exact draw, and unbiased. If a float x′ stands for
an exact x, both give the same integer unless a boundary falls between them, which has probability |x′ − x|/h over U,
*whatever the law of x*. (Rounding to the nearest has no such bound: a law narrower than the grid may sit on a
boundary.) Over N numbers with a mean error of at most η the released law is within Nη/h of the exact one in total
variation, and a mechanism that is ε-private in exact arithmetic is (ε, δ)-private with

    δ = (1 + e^ε)·N·η/h,

since P′(S) ≤ P(S) + τ ≤ e^ε Q(S) + τ ≤ e^ε(Q′(S) + τ) + τ for neighbours P and Q, computed as P′ and Q′.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe_orbit.uniform import Floats, uniforms

ERROR = 2.0**-50
"""η, for numbers that are at most 1: measured against arithmetic with 50 digits, not proved; tests hold it to half."""


LARGEST_SLACK = 1e-5
"""A release that may cost more is refused."""


def rounded(values: Floats, bits: int, random: dp.Random) -> Floats:
    """Each value as an integer multiple of 2⁻ᵇⁱᵗˢ: one of the two next to it, right in the mean."""
    offsets = uniforms(random.words(values.size)).reshape(values.shape)
    found: Floats = np.floor(values * 2.0**bits + offsets) * 2.0**-bits
    return found


def rounded_symmetric(values: Floats, bits: int, random: dp.Random, *, sign: float = 1.0) -> Floats:
    """The same for a symmetric matrix, or an antisymmetric one where `sign` is −1: the upper triangle decides."""
    dim = len(values)
    upper = np.triu_indices(dim, 0 if sign > 0 else 1)
    found = np.zeros((dim, dim))
    entries = rounded(values[upper], bits, random)
    found[upper[1], upper[0]] = sign * entries
    found[upper] = entries
    return found


def slack(numbers: int, bits: int, epsilon: float) -> float:
    """The δ that floats may cost a release of so many numbers on a grid of 2⁻ᵇⁱᵗˢ."""
    variation = numbers * ERROR * 2.0**bits
    return min(1.0, (1.0 + math.exp(min(epsilon, 700.0))) * variation)


def check_slack(mechanism: dp.Mechanism, rows: dp.Rows, level: float) -> None:
    """Refuse a release whose floats may cost more than a negligible δ; the dimension may still be unknown."""
    if rows.dim is None or (cost := mechanism.slack(rows, level)) <= LARGEST_SLACK:
        return
    raise dp.PlanError(
        f"{mechanism.name!r} at this level would have a numerical slack of {cost:.1e}, more than {LARGEST_SLACK:g}. "
        "Lower bits=, each of which halves it, or the budget."
    )


def rounded_hermitian(values: NDArray[np.complex128], bits: int, random: dp.Random) -> NDArray[np.complex128]:
    """A Hermitian matrix with real and imaginary parts on the grid."""
    real = rounded_symmetric(values.real, bits, random)
    imaginary = rounded_symmetric(values.imag, bits, random, sign=-1.0)
    found: NDArray[np.complex128] = real + 1j * imaginary
    return found
