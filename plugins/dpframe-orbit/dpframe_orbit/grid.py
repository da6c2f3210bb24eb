"""Rounding to a public grid, and the cost of float errors that remains after it.

The last bits of a float depend on how it was computed, and that on the data: they alone can distinguish neighbors. So
only integers are released: floor(x/h + U) for each number x that was drawn, with h the spacing of the grid and U an
independent uniform variable for each. This is post-processing of the exact draw, and unbiased. If a float x′
approximates an exact x, both give the same integer unless a boundary falls between them, which has probability
|x′ − x|/h over U, *whatever the law of x*. (Rounding to the nearest has no such bound: a law narrower than the grid may
be centered on a boundary.) Over N numbers with a mean error of at most η the released law is within Nη/h of the exact
one in total variation. What this costs follows from the guarantee that a plan states for all its releases
(:mod:`dpframe.plan.slack`).

η grows with the dimension d. A released number is a sum of up to d products, of factors that were computed in up to d
stages, so that rounding errors add up at most in proportion to d.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe_orbit.uniform import Floats, uniforms

ERROR, DIMENSIONS = 2.0**-50, 16
"""η is ERROR up to this number of dimensions, and proportional to it beyond, for numbers of at most 1.

It is measured against 50-digit arithmetic, not proved: less than half of it up to d = 6, and 1.2 · 2⁻⁵⁰ at d = 60 and
3.2 · 2⁻⁵⁰ at d = 150, a third of it."""


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


def error(dim: int) -> float:
    """η: the mean error of a number of at most 1 that was computed from a matrix of this dimension."""
    return ERROR * max(1.0, dim / DIMENSIONS)


def law_error(numbers: int, dim: int, bits: int) -> float:
    """Nη/h for a release of this many numbers on a grid of spacing 2⁻ᵇⁱᵗˢ, or 1 if that is less."""
    return min(1.0, numbers * error(dim) * 2.0**bits)


def rounded_hermitian(values: NDArray[np.complex128], bits: int, random: dp.Random) -> NDArray[np.complex128]:
    """Round the real and imaginary parts of a Hermitian matrix to the grid."""
    real = rounded_symmetric(values.real, bits, random)
    imaginary = rounded_symmetric(values.imag, bits, random, sign=-1.0)
    matrix: NDArray[np.complex128] = real + 1j * imaginary
    return matrix
