"""Quantiles of the Marchenko–Pastur law, and the noise variance of a spectrum's bulk from them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

import dpframe.plugin as dp

POINTS = 4001


@lru_cache(maxsize=16)
def quantiles(dim: int, rows: int) -> tuple[float, ...]:
    """The k/(p∧n) upper quantiles for unit variance and k = 1, …, p∧n, of the law without its atom at zero."""
    ratio = dim / rows
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    # x = middle + half·cos θ removes the square-root singularities at the ends of the density √((x−low)(high−x))/x.
    angles = np.linspace(0.0, np.pi, POINTS)
    values = (low + high) / 2 + (high - low) / 2 * np.cos(angles)
    with np.errstate(invalid="ignore", divide="ignore"):
        density = np.nan_to_num(((high - low) / 2 * np.sin(angles)) ** 2 / values, nan=0.0, posinf=0.0)
    above = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    count = min(dim, rows)
    wanted = np.arange(1, count + 1) / count
    return tuple(np.interp(wanted, above / above[-1], values).tolist())


def noise_variance(eigenvalues: dp.lattice.FloatArray, rows: int) -> float:
    """Σ q_k λ_k / Σ q_k² over the middle half of the non-zero eigenvalues, sorted from the largest (§5.3)."""
    expected = np.array(quantiles(len(eigenvalues), rows))
    count = len(expected)
    middle = slice(max(-(-count // 4), 1) - 1, max(3 * count // 4, 1))
    return float(expected[middle] @ eigenvalues[:count][middle] / np.square(expected[middle]).sum())
