"""A matrix that was computed elsewhere, as integers of the public lattice.

Let u = 4^−h be the lattice unit. Each entry is divided by 2u, which is a power of two, so the division is exact, and
rounded to the nearest integer. The sum of that matrix of integers and its transpose is the symmetric part (A + Aᵀ)/2 in
units of u: exactly symmetric, and within 1 of that of the real matrix in every entry. Two matrices are moved
apart by at most 2 in every entry, which their sensitivity includes (:mod:`dpframe.sensitivity`).

All of it is done entry by entry, and takes any entry: one that is not a finite number is 0, and a larger one than
`dp.Matrix.largest` is that. So nothing fails after the charge, whatever the matrix holds; and all integers have 64
bits, so that time and memory do not depend on it here either.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.display.redacted import Redacted
from dpframe.lattice import IntArray
from dpframe.spec.matrix import LARGEST_ENTRY, Matrix


@attrs.frozen(repr=False, eq=False)
class GivenMatrix(Redacted):
    """A private matrix, of which only the shape and the type were looked at.

    Args:
        values: a square array of floats of up to 64 bits, of pairs of such floats, or of integers.
    """

    values: NDArray[Any]

    def moment(self, promise: Matrix) -> IntArray:
        """The symmetric part in lattice units, whose entries leave headroom for noise.

        Of a complex matrix, the Hermitian part: its real and its imaginary part, one after the other (2, dim, dim).

        Args:
            promise: the promise, which has the lattice.
        """
        if promise.complex:
            real, imaginary = _rounded(np.stack([self.values.real, self.values.imag]), promise)
            return np.stack([real + real.T, imaginary - imaginary.T])
        rounded = _rounded(self.values, promise)
        return np.asarray(rounded + rounded.T)


def _rounded(values: NDArray[Any], promise: Matrix) -> IntArray:
    """Real numbers in units of 2u, rounded, of at most LARGEST_ENTRY."""
    bits = 2 * promise.halvings - 1
    rounded = _wide(values, bits) if values.dtype.kind in "iu" else _scaled(values, promise)
    return np.asarray(rounded.astype(np.int64))


def _scaled(values: NDArray[Any], promise: Matrix) -> Any:
    """Floats in units of 2u, rounded: integers of at most LARGEST_ENTRY, in float64."""
    with np.errstate(all="ignore"):  # whether NumPy warns would depend on the data
        wide = values.astype(np.float64)
        wide[~np.isfinite(wide)] = 0.0
        np.clip(wide, -promise.largest, promise.largest, out=wide)
        return np.rint(np.ldexp(wide, 2 * promise.halvings - 1))


def _wide(values: NDArray[Any], bits: int) -> Any:
    """Integers times 2^bits, rounded, in Python integers: those of 64 bits are not all floats."""
    wide = values.astype(object)
    wide = wide << bits if bits >= 0 else (wide + (1 << -bits - 1)) >> -bits
    return np.clip(wide, -LARGEST_ENTRY, LARGEST_ENTRY)
