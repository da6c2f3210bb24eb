"""The smallest gap between eigenvalues of a Wishart matrix W = AᵀA, where A is m × d with standard normal entries.

[Re-Analyze Gauss: Figure 1, Figure 2] show by simulation that it grows like √m for a fixed d. What is proved about it,
and what is not, is in docs/explanation/wishart-gaps.md.
"""

from __future__ import annotations

import math

import numpy as np


def two_columns(rows: int) -> float:
    """The mean gap for d = 2, exactly: m(m − 1) Γ(3/2) Γ((m − 1)/2)/Γ((m + 2)/2), which is √(2πm) in the limit.

    >>> round(two_columns(2), 6), round(two_columns(10**6) / math.sqrt(2 * math.pi * 10**6), 6)
    (3.141593, 1.0)
    """
    logarithm = math.lgamma(1.5) + math.lgamma((rows - 1) / 2) - math.lgamma((rows + 2) / 2)
    return rows * (rows - 1) * math.exp(logarithm)


def bulk(rows: float, dim: int) -> float:
    """2√π √m/d, the mean of the smallest gap for m/d³ → ∞ and then d → ∞.

    >>> round(bulk(1000**3, 1000) / math.sqrt(1000), 3)
    3.545
    """
    return 2 * math.sqrt(math.pi * rows) / dim


def predicted(rows: int, dim: int, points: int = 2000) -> float:
    """What the law of local spacings suggests for every m > d: ½√(π/K) with K = (π²/12) ∫ρ³.

    The density ρ of eigenvalues is that of Marchenko and Pastur, √((b − x)(x − a))/(2πx) between a and b, (√m ± √d)².
    Where eigenvalues have the density ρ, a pair is within x of each other ρ·π²(ρx)²/12 times per unit of length, as
    x → 0; the pairs are taken as a Poisson process. It tends to `bulk` as m/d → ∞. This is not proved.
    """
    low, high = (math.sqrt(rows) - math.sqrt(dim)) ** 2, (math.sqrt(rows) + math.sqrt(dim)) ** 2
    middle, half = (high + low) / 2, (high - low) / 2
    angles = (np.arange(points) + 0.5) * math.pi / points
    places = middle + half * np.cos(angles)
    density = half * np.sin(angles) / (2 * math.pi * places)
    cubes = float(np.sum(density**3 * half * np.sin(angles))) * math.pi / points
    return 0.5 * math.sqrt(math.pi / (math.pi**2 / 12 * cubes))
