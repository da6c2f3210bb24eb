"""Products of rows and matrices whose every bit depends on the row alone.

A product of a library of linear algebra adds up in an order that may depend on the number of rows and on the place of a
row among them. Where a later private step reads its output, removing one row would then change others in their last
bits, and a chain of private steps would not be private bit by bit.
"""

from __future__ import annotations

import numpy as np

from dpframe_sklearn.inputs import Matrix, Vector


def products(rows: Matrix, vectors: Matrix) -> Matrix:
    """The inner product of each row with each vector, added up elementwise in the order of the features.

    Args:
        rows: one row for each.
        vectors: one in each row.
    """
    found = np.zeros((len(rows), len(vectors)))
    with np.errstate(all="ignore"):  # rows may hold anything
        for j in range(vectors.shape[1]):
            found += rows[:, j, None] * vectors[:, j]
    return found


def quadratic_forms(rows: Matrix, matrix: Matrix) -> Vector:
    """xᵀAx of each row x, added up in the same way.

    Args:
        rows: one row for each x.
        matrix: A, symmetric.
    """
    mapped, found = products(rows, matrix), np.zeros(len(rows))
    with np.errstate(all="ignore"):
        for j in range(len(matrix)):
            found += mapped[:, j] * rows[:, j]
    return found
