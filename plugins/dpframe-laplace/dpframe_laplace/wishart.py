"""Exact samples of the rounded difference of two Wishart matrices.

The real matrix is N = scale·(G₁ᵀG₁ − G₂ᵀG₂), with G₁ and G₂ of dim + 1 rows of dim independent standard normals; the
sample is floor(N + 1/2), entry by entry. It is a function of the normals, which are real numbers of which any number of
bits can be read (`Random.normals`). So the law is exact if this function is computed right, however many bits it takes:

1. Each normal z is replaced by an integer n with |2^b·z − n| ≤ 1. Let K = 2(dim + 1) be the number of terms of an
   entry, and L the largest |n|. Since |n_i n_j − 2^(2b)·z_i z_j| ≤ |n_i| + |n_j| + 1, the sum S = Σ ± n_i n_j is within
   E = K·(2L + 1) of the real one, and N within scale·E/2^(2b) of scale·S/2^(2b).
2. If both ends of that interval round to the same integer, this is the sample. If not, more bits of the *same* normals
   are read, until they do. Drawing new normals instead would bias the law.

**Sums are exact.** The integers n are split into limbs of w bits, |limb| ≤ 2^(w−1), with K·2^(2w−2) ≤ 2⁵³. Products of
limbs, and all sums of up to K of them, are integers of at most 2⁵³, which float64 holds: a product of matrices of limbs
is exact in any order of summation, with threads and with fused operations. Everything after it is in integers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp

GUARD = 16  # bits of precision beyond those of the noise; about one entry in ten thousand needs more
MORE = 36  # bits to add where an entry does
ENTRIES = 1 << 17  # at a time, since they are Python integers

Floats = NDArray[np.float64]


def rounded_wishart_difference(random: dp.Random, scale: float, dim: int) -> NDArray[Any]:
    """A symmetric matrix of integers: scale·(G₁ᵀG₁ − G₂ᵀG₂), rounded. Python integers where int64 is too narrow.

    Args:
        random: the source of randomness; 4·dim·(dim + 1) words are taken.
        scale: a positive float64, taken as it is.
        dim: the number of rows and columns.

    Guarantee:
        Every matrix of integers has exactly its probability under the law of the rounded real matrix.
    """
    normals = random.normals(2 * (dim + 1) * dim)
    bits = max(math.frexp(scale)[1] + (2 * (dim + 1)).bit_length() + GUARD, 1)
    values = normals.scaled(bits).reshape(-1, dim)
    ball = len(values) * (2 * int(np.abs(values).max()) + 1)
    limbs, width = _split(values)
    noise = np.zeros((dim, dim), np.int64)
    height = max(ENTRIES // dim, 1)
    for start in range(0, dim, height):
        sums = _sums(limbs, width, start, start + height)
        nearest, other = _ends(sums, ball, scale, bits)
        for i, j in np.argwhere(np.triu(nearest != other)).tolist():
            nearest[i, j] = _refined(normals, scale, bits, dim, (start + i, start + j))
        if max(abs(nearest.min()), abs(nearest.max())) >= 2**62:
            noise = noise.astype(object)
        noise[start : start + height, start:] = np.triu(nearest)
    return noise + np.triu(noise, 1).T


def _ends(sums: Any, ball: int, scale: float, bits: int) -> tuple[Any, Any]:
    """The integers nearest to both ends of scale·(sums ± ball)/2^(2·bits)."""
    numerator, denominator = scale.as_integer_ratio()  # a power of two
    shift = 2 * bits + denominator.bit_length() - 1
    middle, radius = sums * numerator + (1 << shift - 1), ball * numerator
    return (middle - radius) >> shift, (middle + radius) >> shift


def _split(values: NDArray[Any]) -> tuple[list[Floats], int]:
    """The limbs of integers from the lowest, and their width in bits: values = Σ limbs[a]·2^(a·width)."""
    width = (55 - len(values).bit_length()) // 2
    half = 1 << width - 1
    limbs: list[Floats] = []
    while values.any() or not limbs:
        low = ((values + half) & (2 * half - 1)) - half
        limbs.append(low.astype(np.float64))
        values = (values - low) >> width
    return limbs, width


def _sums(limbs: list[Floats], width: int, start: int, stop: int) -> NDArray[Any]:
    """Rows start to stop of Σ ± n_i n_j, exact, from column start on; the first half of the terms is positive."""
    signs = np.repeat([1.0, -1.0], len(limbs[0]) // 2)[:, None]
    total: Any = 0
    for power in reversed(range(2 * len(limbs) - 1)):
        pairs = [(a, power - a) for a in range(len(limbs)) if 0 <= power - a < len(limbs)]
        products = [(signs * limbs[a][:, start:stop]).T @ limbs[b][:, start:] for a, b in pairs]
        total = (total << width) + np.sum([product.astype(np.int64) for product in products], axis=0).astype(object)
    return np.asarray(total)


def _refined(normals: dp.Normals, scale: float, bits: int, dim: int, entry: tuple[int, int]) -> int:
    """The rounded entry, from as many bits of its normals as decide it."""
    terms = np.arange(2 * (dim + 1)) * dim
    while True:
        bits += MORE
        left, right = (normals.scaled(bits, terms + column).astype(object) for column in entry)
        products = left * right
        total = products[: dim + 1].sum() - products[dim + 1 :].sum()
        low, high = _ends(total, (abs(left) + abs(right) + 1).sum(), scale, bits)
        if low == high:
            return int(low)
