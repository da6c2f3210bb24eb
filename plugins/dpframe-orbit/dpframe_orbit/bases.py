"""Orthonormal bases of released values in fixed point, whose rounding sensitivities include."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp

FINE = 50  # bits of the entries of a basis
STRETCH = 24  # a row is at most 1 + 2^−STRETCH times as long, squared, in a basis as it is

Floats = NDArray[np.float64]


def nearly_orthonormal(basis: Floats) -> Floats:
    """Orthonormal columns C in multiples of 2^−FINE, with ‖CᵀC − I‖ ≤ 2^−STRETCH; raises SamplingError if they are not.

    So the squares of a row's coordinates in them add up to at most (1 + 2^−STRETCH)·norm². The bound is proved: in
    floats the product has an error of at most (d + 2)·2⁻⁵²·‖C‖².
    """
    rounded: Floats = np.rint(basis * 2.0**FINE) * 2.0**-FINE
    dim, count = rounded.shape
    rounding = (dim + 2) * 2.0**-52 * float(np.sum(rounded**2))
    if not np.linalg.norm(rounded.T @ rounded - np.eye(count)) + rounding < 2.0 ** -(STRETCH + 1):
        raise dp.SamplingError("no orthonormal basis was found for the directions released so far. The charge stands.")
    return rounded
