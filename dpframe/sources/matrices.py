"""A matrix that was computed elsewhere: its shape and type are checked before the charge, and no entry is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpframe.errors import DataError
from dpframe.reading.given_matrix import GivenMatrix
from dpframe.reading.type_names import type_name
from dpframe.sources.arrays import check_complete, memory_map
from dpframe.sources.opened import what
from dpframe.spec.matrix import Matrix
from dpframe.spec.rows import Rows

ALLOWED = "A plan with rows=dp.Matrix(...) takes one square NumPy array or memory map of numbers."


def open_matrix(data: Any, promise: Matrix) -> GivenMatrix:
    """Check the shape and the type of a matrix; no entry is read.

    Args:
        data: the matrix.
        promise: the promise.
    """
    if not isinstance(data, np.ndarray) or data.dtype.names is not None:
        raise DataError(f"{what(data)} is not a matrix. {ALLOWED} Of a data frame pass its values as floats.")
    if isinstance(data, np.ma.MaskedArray):
        raise DataError(f"masked arrays are not read. {ALLOWED}")
    kinds, bits = ("c", 128) if promise.complex else ("iuf", 64)
    if data.dtype.kind not in kinds or data.dtype.itemsize > bits // 8:
        held = "complex numbers" if data.dtype.kind == "c" else type_name(data.dtype)
        wanted = "complex numbers, as complex=True says," if promise.complex else "real ones"
        raise DataError(
            f"the matrix holds {held} of {8 * data.dtype.itemsize} bits; the plan takes {wanted} of at most {bits}. "
            "Convert them, or say dp.Matrix(..., complex=True) of complex ones."
        )
    wanted = "" if promise.dim is None else f" of {promise.dim} by {promise.dim}, as the plan says"
    fits = data.ndim == 2 and data.shape[0] == data.shape[1] > 0 and promise.dim in (None, len(data))
    if not fits:  # its own shape is not shown: if these are rows of people, it has their number
        raise DataError(f"the array is no square matrix{wanted}. {ALLOWED} If its rows are people, promise dp.Rows.")
    if (mapped := memory_map(data)) is not None:
        check_complete(mapped)
    return GivenMatrix(np.asarray(data))  # subclasses, such as np.matrix, have arithmetic of their own


def refuse_square(data: Any, rows: Rows) -> None:
    """Refuse an array of as many rows as columns where the number of rows is public: it may be a covariance.

    Where that number is private, a refusal would show that it equals the number of columns.

    Args:
        data: what was passed as data, before it is opened.
        rows: the promise.
    """
    bare = isinstance(data, np.ndarray) and data.dtype.names is None and data.ndim == 2
    if bare and not isinstance(rows, Matrix) and rows.neighbors == "replace" and data.shape[0] == data.shape[1] > 1:
        raise DataError(
            f"the array has {data.shape[0]} rows and as many columns. Is it a covariance or a moment, and not the rows "
            "of so many people? A matrix that was computed elsewhere needs "
            "rows=dp.Matrix(...), which promises how far one person moves it. If these are rows, pass them in a list: "
            "[array]."
        )
