"""Error bounds that hold for any gaps and any noise shape of the mechanism, with larger constants."""

from __future__ import annotations

import math

import numpy as np

from dpframe_gaussian.noise import Noise
from dpframe_gaussian.target import Target


def largest(target: Target, noise: Noise) -> float:
    """An upper bound on √E‖Ĥ − H‖² for any gaps: the diameter, plus the error of the eigenvalues if they are kept."""
    return target.diameter + _kept(target, noise.spectral(target.dim), noise.frobenius(target.dim))


def largest_quantile(target: Target, noise: Noise, beta: float) -> float:
    """A bound that ‖Ĥ − H‖ exceeds with probability at most β, for any gaps."""
    dim = target.dim
    return target.diameter + _kept(target, noise.spectral_quantile(dim, beta), noise.frobenius_quantile(dim, beta))


def hoffman_wielandt(target: Target, noise: Noise) -> float:
    """√E‖Ĥ − H‖² ≤ 2L √E‖N‖_F² with L the largest (λ_i − λ_{i+1})/(σ_i − σ_{i+1}).

    For the rank-k part L is σ_k/(σ_k − σ_{k+1}). H = f(M) for a function f with Lipschitz constant L, so
    ‖f(M + N) − f(M)‖_F ≤ L‖N‖_F; and the eigenvalues of f(M + N) differ from those of Ĥ by at most L|σ̂_i − σ_i|, whose
    squares add up to at most ‖N‖_F² (Hoffman and Wielandt).
    """
    return min(2 * target.sensitivity().lipschitz * noise.frobenius(target.dim), largest(target, noise))


def davis_kahan(target: Target, noise: Noise) -> float:
    """√E‖Ĥ − H‖² ≤ Σ_i (λ_i − λ_{i+1}) √(2m_i) min(1, z/(σ_i − σ_{i+1})), m_i = min(i, d − i), z² = s²(8d + 2).

    The projector on the i leading eigenvectors moves by at most √(2m_i) z/(σ_i − σ_{i+1}) where z is the spread of the
    noise, and H is a sum of projectors [Re-Analyze Gauss: (37), (42)].
    """
    kept = _kept(target, noise.spectral(target.dim), noise.frobenius(target.dim))
    return min(_telescoped(target, noise.spread(target.dim)) + kept, largest(target, noise))


def davis_kahan_quantile(target: Target, noise: Noise, beta: float) -> float:
    """A bound that ‖Ĥ − H‖ exceeds with probability at most β; for kept eigenvalues β is split in half."""
    if not target.kept:
        bound = _telescoped(target, noise.spread_quantile(target.dim, beta))
    else:
        bound = _telescoped(target, noise.spread_quantile(target.dim, beta / 2))
        quantiles = noise.spectral_quantile(target.dim, beta / 2), noise.frobenius_quantile(target.dim, beta / 2)
        bound += _kept(target, *quantiles)
    return min(bound, largest_quantile(target, noise, beta))


def _telescoped(target: Target, spread: float) -> float:
    below = np.arange(1, target.dim)
    moves = np.sqrt(2 * np.minimum(below, target.dim - below))
    with np.errstate(divide="ignore", over="ignore"):
        shares = np.where(target.gaps > spread, spread / target.gaps, 1.0)
    return float(target.steps @ (moves * shares))


def _kept(target: Target, spectral: float, frobenius: float) -> float:
    """√Σ_{i≤k} (σ̂_i − σ_i)², which is at most √k‖N‖ by Weyl and at most ‖N‖_F by Hoffman and Wielandt."""
    return min(math.sqrt(target.k) * spectral, frobenius) if target.kept else 0.0
