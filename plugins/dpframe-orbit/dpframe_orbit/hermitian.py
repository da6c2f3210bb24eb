"""Exact draws of a Hermitian matrix with a given spectrum and density ∝ exp(⟨A, H⟩)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe_orbit.direction import complex_direction
from dpframe_orbit.lift import eigenvectors
from dpframe_orbit.past import draw_pattern
from dpframe_orbit.pattern import Floats, Pattern

Complex = NDArray[np.complex128]
FINEST = 2.0**-40  # eigenvalues closer than this, of a spread of 1, count as equal


def draw_hermitian(values: Floats, basis: Floats, spectrum: Floats, random: dp.Random) -> Complex:
    """H = UΛUᴴ with density ∝ exp(⟨A, H⟩) under the invariant measure: floats, to be rounded before release.

    With one positive eigenvalue, H is given by a complex Bingham direction; otherwise a Gelfand–Tsetlin pattern is
    drawn by coupling from the past, in the eigenvectors of A, and lifted.

    Args:
        values, basis: the eigenvalues of A, from the smallest, and its eigenvectors.
        spectrum: Λ from the largest eigenvalue, which is 1, to the smallest, which is 0.
        random: the source of randomness.
    """
    values, basis = values[::-1], basis[:, ::-1]
    pattern = Pattern.below(np.rint(spectrum / FINEST) * FINEST)
    if pattern.rank == 1:
        vectors = complex_direction(values[0] - values, random)[:, None]
    else:
        rates = np.zeros(pattern.dim + 1)
        rates[1 : pattern.dim] = np.maximum(-np.diff(values), 0.0)
        vectors = eigenvectors(pattern, draw_pattern(pattern, rates, random).depths, random)
    turned = basis @ vectors
    matrix: Complex = (turned * pattern.spectrum[: pattern.rank]) @ turned.conj().T
    return matrix
