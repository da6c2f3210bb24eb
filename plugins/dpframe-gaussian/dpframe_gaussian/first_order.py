"""The error to first order in the noise."""

from __future__ import annotations

import math

from dpframe_gaussian.noise import Noise
from dpframe_gaussian.target import Target, in_units


def forecast(target: Target, noise: Noise) -> float:
    """√E‖Ĥ − H‖² to first order, capped at the largest possible distance.

    Eigenvector i turns towards j by N_ij/(σ_i − σ_j), so E‖Ĥ − H‖² ≈ s² Σ_{i<j} (λ_i − λ_j)²/(σ_i − σ_j)². For
    the rank-k part, which keeps its noisy eigenvalues, it is s²[k(k+1)/2 + Σ_{i≤k<j} σ_i²/(σ_i − σ_j)²]. Compare
    Mangoubi and Vishnoi 2022, Theorem 2.2. For complex noise, E|N_ij|² is twice as large for i ≠ j, and so is the
    second sum; the first is k². For noise that is not isotropic, this is the value for isotropic noise of
    the same scale s, which is never smaller.

    >>> round(forecast(Target.subspace([300.0, 100.0, 100.0], 1), Noise(1.0, math.sqrt(0.5))), 6)
    0.007071
    """
    target, noise, unit = in_units(target, noise)
    own = target.k * (target.k + 1) / 2 if target.kept else 0.0  # noise within the kept part, whatever the gaps
    pairs = target.sensitivity().squares - own
    if noise.complex:
        own, pairs = target.k**2 if target.kept else 0.0, 2 * pairs
    return unit * math.hypot(math.sqrt(own), min(math.sqrt(pairs), target.diameter))
