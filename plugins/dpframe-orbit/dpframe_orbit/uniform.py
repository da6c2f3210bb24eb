"""Uniform and normal variables from the words of a keystream."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]


def uniforms(words: Words) -> Floats:
    """(word + ½)·2⁻⁶⁴: never 0, with full relative precision near 0."""
    values: Floats = (words.astype(np.float64) + 0.5) * 2.0**-64
    return values


def normals(words: Words) -> Floats:
    """Standard normal variables: the highest bit of a word is the sign, the rest the probability of the tail."""
    from scipy.special import ndtri

    tails = ((words & np.uint64(2**63 - 1)).astype(np.float64) + 0.5) * 2.0**-64
    values: Floats = np.copysign(ndtri(tails), words.view(np.float64))  # negative where its highest bit is set
    return values
