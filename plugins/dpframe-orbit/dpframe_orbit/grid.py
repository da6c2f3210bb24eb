"""Rounding to a public grid, and the cost of float errors that remains after it.

The last bits of a float depend on how it was computed, and that on the data: they alone can distinguish neighbors. So
only integers are released: floor(x/h + U) for each number x that was drawn, with h the spacing of the grid and U an
independent uniform variable for each. This is post-processing of the exact draw, and unbiased. If a float x′
approximates an exact x, both give the same integer unless a boundary falls between them, which has probability
|x′ − x|/h over U, *whatever the law of x*. (Rounding to the nearest has no such bound: a law narrower than the grid may
be centered on a boundary.) Over N numbers with a mean error of at most η the released law is within Nη/h of the exact
one in total variation, and a mechanism that is ε-private in exact arithmetic is (ε, δ)-private with

    δ = (1 + e^ε)·N·η/h,

since P′(S) ≤ P(S) + τ ≤ e^ε Q(S) + τ ≤ e^ε(Q′(S) + τ) + τ for the laws P and Q of neighbors, computed as P′ and Q′.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe_orbit.uniform import Floats, uniforms

ERROR = 2.0**-50
"""η, for numbers of at most 1: measured against 50-digit arithmetic, not proved; tests require half of it."""


LARGEST_SLACK = 1e-5
"""A release with more slack is refused."""


def rounded(values: Floats, bits: int, random: dp.Random) -> Floats:
    """Round each value at random to one of the two nearest multiples of 2⁻ᵇⁱᵗˢ, without bias."""
    offsets = uniforms(random.words(values.size)).reshape(values.shape)
    on_grid: Floats = np.floor(values * 2.0**bits + offsets) * 2.0**-bits
    return on_grid


def rounded_symmetric(values: Floats, bits: int, random: dp.Random, *, sign: float = 1.0) -> Floats:
    """Round the upper triangle of a symmetric matrix and mirror it; antisymmetric if `sign` is −1."""
    dim = len(values)
    upper = np.triu_indices(dim, 0 if sign > 0 else 1)
    matrix = np.zeros((dim, dim))
    entries = rounded(values[upper], bits, random)
    matrix[upper[1], upper[0]] = sign * entries
    matrix[upper] = entries
    return matrix


def slack(numbers: int, bits: int, epsilon: float) -> float:
    """The δ that float errors may cost a release of this many numbers on a grid of spacing 2⁻ᵇⁱᵗˢ."""
    variation = numbers * ERROR * 2.0**bits
    return min(1.0, (1.0 + math.exp(min(epsilon, 700.0))) * variation)


def check_slack(mechanism: dp.Mechanism, rows: dp.Rows, level: float) -> None:
    """Refuse a release whose slack is above LARGEST_SLACK; nothing is checked while the dimension is unknown."""
    if rows.dim is None or (cost := mechanism.slack(rows, level)) <= LARGEST_SLACK:
        return
    raise dp.PlanError(
        f"{mechanism.name!r} at this level would have a numerical slack of {cost:.1e}, more than {LARGEST_SLACK:g}. "
        "Lower bits=, each of which halves it, or the budget."
    )


def rounded_hermitian(values: NDArray[np.complex128], bits: int, random: dp.Random) -> NDArray[np.complex128]:
    """Round the real and imaginary parts of a Hermitian matrix to the grid."""
    real = rounded_symmetric(values.real, bits, random)
    imaginary = rounded_symmetric(values.imag, bits, random, sign=-1.0)
    matrix: NDArray[np.complex128] = real + 1j * imaginary
    return matrix
