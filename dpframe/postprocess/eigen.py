"""Leading eigenpairs of a released matrix, without computing the others where that is faster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.lattice import FloatArray

LANCZOS_DIM = 500
LANCZOS_SHARE = 50
"""Lanczos iteration is faster from dimension LANCZOS_DIM on, for at most dim / LANCZOS_SHARE eigenpairs (`make bench`
measures it)."""


def top_eigenpairs(matrix: NDArray[Any], k: int) -> tuple[FloatArray, NDArray[Any]]:
    """The k largest eigenvalues in decreasing order, and their eigenvectors as columns with a fixed sign.

    For k much smaller than the dimension this is a Lanczos iteration, which never forms the other eigenvectors.

    Args:
        matrix: a symmetric or Hermitian matrix.
        k: the number of eigenpairs.
    """
    dim = len(matrix)
    if dim >= LANCZOS_DIM and k * LANCZOS_SHARE <= dim:
        values, vectors = _lanczos(matrix, k)
    else:
        from scipy.linalg import eigh

        values, vectors = eigh(matrix, subset_by_index=(dim - k, dim - 1), driver="evr")
        if len(values) < k:  # LAPACK may miss some of several equal eigenvalues
            values, vectors = (part[..., dim - k :] for part in np.linalg.eigh(matrix))
    order = np.argsort(values)[::-1]
    return values[order], _with_fixed_sign(vectors[:, order])


def _lanczos(matrix: NDArray[Any], k: int) -> tuple[Any, Any]:
    from scipy.linalg import eigh
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    start = np.random.default_rng(0).standard_normal(len(matrix))  # any fixed vector will do: this is post-processing
    try:
        values, vectors = eigsh(matrix, k=k, which="LA", v0=start)
    except ArpackNoConvergence:
        dim = len(matrix)
        return eigh(matrix, subset_by_index=(dim - k, dim - 1))
    return values, np.linalg.qr(vectors)[0]


def _with_fixed_sign(vectors: NDArray[Any]) -> NDArray[Any]:
    """Each column multiplied by the sign, or the phase, that makes its entry of largest magnitude positive."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    signed: NDArray[Any] = vectors / (largest / np.abs(largest))
    return signed
