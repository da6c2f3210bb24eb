"""Complex rows as real ones, and Hermitian matrices as real ones of twice the size.

A complex row of d coordinates is the real row (Re x₁, Im x₁, …, Re x_d, Im x_d) of 2d, of the same length. With the
real Gram matrix Σ q qᵀ of such rows, where a are the even and b the odd coordinates of q, the Hermitian moment is

    Σ (a + ib)(a + ib)ᴴ = Σ (a aᵀ + b bᵀ) + i Σ (b aᵀ − a bᵀ),

sums of integers. A Hermitian matrix of integers is held as its real and its imaginary part, one after the other in an
array (2, d, d).

The map A + iB ↦ [[A, B], [−B, A]] takes complex matrices to real ones: sums to sums, products to products and conjugate
transposes to transposes. So it takes Hermitian matrices to symmetric ones with the same eigenvalues, each twice, and
unitary matrices to orthogonal ones; spectral norms stay as they are, and squared Frobenius norms double.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def real_rows(values: NDArray[Any]) -> NDArray[Any]:
    """Complex rows as real ones of twice the number of coordinates, with the same numbers.

    >>> real_rows(np.array([[1 + 2j, 3 - 4j]])).tolist()
    [[1.0, 2.0, 3.0, -4.0]]
    """
    return np.ascontiguousarray(values).view(values.real.dtype)


def of_gram(gram: NDArray[Any]) -> NDArray[Any]:
    """The Hermitian moment of complex rows, from the Gram matrix of the real ones.

    >>> rows = np.array([[1, 2, 3, -4]])
    >>> of_gram(rows.T @ rows).tolist()  # 5, and (1 + 2i)(3 + 4i) = −5 + 10i
    [[[5, -5], [-5, 25]], [[0, 10], [-10, 0]]]
    """
    crossed = gram[1::2, ::2]  # Σ b aᵀ
    return np.stack([gram[::2, ::2] + gram[1::2, 1::2], crossed - crossed.T])


def doubled(matrix: NDArray[Any]) -> NDArray[Any]:
    """The real matrix of twice the size, of a complex matrix or of one held as its two parts.

    >>> doubled(np.array([[1 + 2j]])).tolist()
    [[1.0, 2.0], [-2.0, 1.0]]
    """
    real, imaginary = (matrix.real, matrix.imag) if np.iscomplexobj(matrix) else matrix
    return np.block([[real, imaginary], [-imaginary, real]])


def as_complex(parts: NDArray[Any]) -> NDArray[Any]:
    """The complex matrix that is held as its two parts."""
    return np.asarray(parts[0] + 1j * parts[1], dtype=np.complex128)
