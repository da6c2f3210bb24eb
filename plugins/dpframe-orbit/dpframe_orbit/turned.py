"""What the released spectrum says of the directions that the exponential mechanism drew."""

from __future__ import annotations

import numpy as np

import dpframe.plugin as dp

UNKNOWN = 1e100
"""Stands for the noise of what nothing is known of."""


def law(basis: dp.FloatArray, values: dp.FloatArray, own: dp.FloatArray, between: dp.FloatArray) -> dp.MatrixLaw:
    """The law of a matrix with these eigenvectors, which noise between directions has turned.

    The last eigenvalue is that of all directions beyond the drawn ones, if there are any.

    Args:
        basis: the drawn directions, in columns.
        values: estimates of the eigenvalues of the moment along each, and along all others.
        own: the variances of the noise of each.
        between: those of the noise between two of them, by which rotations have their variances.
    """
    dim, drawn = basis.shape
    group = np.minimum(np.arange(dim), drawn)
    levels = between.copy()
    np.fill_diagonal(levels, own / 2)
    rotation = np.column_stack([basis, np.linalg.qr(basis, mode="complete")[0][:, drawn:]])
    center = (rotation * values[group]) @ rotation.T
    parts = np.eye(len(values))[group]
    return dp.MatrixLaw(center=(center + center.T) / 2, parts=parts, levels=levels, rotation=rotation, drawn=True)
