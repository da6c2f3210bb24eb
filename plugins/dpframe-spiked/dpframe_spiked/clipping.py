"""Lengths of Gaussian rows, and what clipping leaves of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist


def gamma_law(variances: Sequence[float]) -> tuple[float, float]:
    """A unit u and degrees ν such that uχ²_ν has the mean and the variance of a sum of independent v·χ²₁.

    >>> gamma_law([7.0, 7.0, 7.0])
    (7.0, 3.0)
    >>> unit, degrees = gamma_law([3.0, 1.0])
    >>> round(unit * degrees, 9), round(2 * unit**2 * degrees, 9)  # 3 + 1, and 2(3² + 1²)
    (4.0, 20.0)
    """
    if min(variances) == max(variances):
        return variances[0], float(len(variances))
    largest, total = max(variances), sum(variances)
    square = sum(each * (each / largest) for each in variances)
    return square / (total / largest), total / largest * (total / square)


def power_mean(values: Sequence[float], power: float) -> float:
    """The mean of the powers of positive numbers, to the inverse power.

    >>> power_mean([4.0, 4.0], -2.0), power_mean([1.0, 3.0], -1.0)
    (4.0, 1.5)
    """
    if min(values) == max(values):
        return values[0]
    mean: float = (sum(each**power for each in values) / len(values)) ** (1.0 / power)
    return mean


def remaining(degrees: float, square: float) -> float:
    """E min(X, c)/E X for X of a χ² law: the share of a mean square that remains after clipping at √c."""
    from scipy.special import gammainc

    half = degrees / 2
    return min(float(gammainc(half + 1, square / 2) + square / degrees * (1.0 - gammainc(half, square / 2))), 1.0)


def remaining_cross(degrees: float, square: float) -> float:
    """E √X·min(√X, √c)/E X: the share of a product that remains after clipping one factor."""
    from scipy.special import gammainc, gammaln

    half = degrees / 2
    mean_length = math.sqrt(2) * math.exp(gammaln(half + 0.5) - gammaln(half))
    beyond = mean_length * (1.0 - gammainc(half + 0.5, square / 2))
    return min(float(gammainc(half + 1, square / 2) + math.sqrt(square) * beyond / degrees), 1.0)


def gamma_quantile(mean: float, shape: float, quantile: float) -> float:
    """The quantile of a Gamma variable by the Wilson–Hilferty approximation: within 3 percent for the upper half."""
    deviate = NormalDist().inv_cdf(quantile)
    return mean * max(1.0 - 1.0 / (9 * shape) + deviate / (3 * math.sqrt(shape)), 0.05) ** 3
