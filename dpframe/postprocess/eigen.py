"""Leading eigenpairs of a released matrix, at the cost of what is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.lattice import FloatArray

LANCZOS_DIM = 500
LANCZOS_SHARE = 50
"""Lanczos pays from dimension LANCZOS_DIM on, for at most one eigenpair in LANCZOS_SHARE (`make bench` measures it)."""


def top_eigenpairs(matrix: NDArray[Any], k: int) -> tuple[FloatArray, NDArray[Any]]:
    """The k largest eigenvalues, from the largest, and their eigenvectors in columns, with a fixed sign.

    For k much smaller than the dimension this is a Lanczos iteration, which never forms the other eigenvectors.
    """
    dim = len(matrix)
    if dim >= LANCZOS_DIM and k * LANCZOS_SHARE <= dim:
        values, vectors = _lanczos(matrix, k)
    else:
        from scipy.linalg import eigh

        values, vectors = eigh(matrix, subset_by_index=(dim - k, dim - 1), driver="evr")
        if len(values) < k:  # LAPACK may lose eigenvalues that are tied
            values, vectors = (part[..., dim - k :] for part in np.linalg.eigh(matrix))
    order = np.argsort(values)[::-1]
    return values[order], _with_fixed_sign(vectors[:, order])


def _lanczos(matrix: NDArray[Any], k: int) -> tuple[Any, Any]:
    from scipy.linalg import eigh
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    start = np.random.default_rng(0).standard_normal(len(matrix))  # any public start will do: this is post-processing
    try:
        values, vectors = eigsh(matrix, k=k, which="LA", v0=start)
    except ArpackNoConvergence:
        dim = len(matrix)
        return eigh(matrix, subset_by_index=(dim - k, dim - 1))
    return values, np.linalg.qr(vectors)[0]


def _with_fixed_sign(vectors: NDArray[Any]) -> NDArray[Any]:
    """Each column turned so that its largest entry is positive."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    turned: NDArray[Any] = vectors / (largest / np.abs(largest))
    return turned
