"""Features, targets and ids as arrays, decided by their types and shapes alone.

Before the charge no cell may decide whether a fit is refused, and no error may show a cell or the number of rows. So
numbers are cast, cells of Python objects and of text that are no numbers are missing, and every message is of here.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

import dpframe as dp

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

NOTHING = "Nothing was charged, read or drawn."
NUMBERS = "biuf"
CELLS = "OUT"
"""The kinds of types whose cells are converted one by one: Python objects and text."""
IDS = "iuOUT"
LARGEST = 2**128
"""Integers beyond it are no ids: Python refuses to write very long ones."""


def features(estimator: Any, X: Any, *, fitting: bool = False, least: int = 0) -> Matrix:
    """Rows of features, one for each row of X. Sets or checks the number and names of features of the estimator.

    Args:
        estimator: the estimator.
        X: a two-dimensional array, a data frame or nested lists.
        fitting: whether the number and names are set.
        least: the least number of rows, where it is public.
    """
    found = matrix(X)
    if fitting and not found.shape[1]:
        raise dp.DataError(f"X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required. {NOTHING}")
    validate_data(estimator, X if _is_frame(X) else found, reset=fitting, skip_check_array=True)  # names and number
    if len(found) < least:
        raise dp.DataError(f"X has no rows. {NOTHING}")
    return found


def matrix(X: Any) -> Matrix:
    """A two-dimensional array of floats; raises DataError by type and shape alone.

    Args:
        X: a two-dimensional array, a data frame or nested lists.
    """
    if issparse(X):
        raise dp.DataError(f"X is sparse, which is not supported. Pass a dense array. {NOTHING}")
    if _is_frame(X):
        count = len(X.columns)
        columns = [_numbers(X.iloc[:, j] if hasattr(X, "iloc") else X[:, j], "X") for j in range(count)]
        return np.column_stack(columns) if columns else np.empty((len(X), 0))
    found = _numbers(X, "X")
    if found.ndim != 2:
        raise dp.DataError(
            "Expected 2D array: X must have one row for each row of data and one column for each feature. Reshape your "
            f"data, by X.reshape(-1, 1) if it is one feature and by X.reshape(1, -1) if it is one row. {NOTHING}"
        )
    return found


def targets(y: Any) -> Matrix | Vector:
    """One target of each row as floats, or several, one in each column.

    Args:
        y: an array of one dimension or two, a series, a data frame or a list.
    """
    found = matrix(y) if _is_frame(y) else _numbers(y, "y")
    if found.ndim not in (1, 2) or width(found) == 0:
        raise dp.DataError(f"y must be a 1d array, or a 2d array with one column for each target. {NOTHING}")
    return found


def width(found: Matrix | Vector | None) -> int:
    """The number of targets.

    Args:
        found: the target or the targets of each row; None where there is none, which counts as one.
    """
    return 1 if found is None or found.ndim == 1 else found.shape[1]


def target(y: Any) -> Vector:
    """The target of each row as floats.

    Args:
        y: a one-dimensional array, series or list; an array of one column is taken with a warning.
    """
    found = matrix(y) if _is_frame(y) else _numbers(y, "y")
    if found.ndim == 2 and found.shape[1] == 1:
        words = "A column-vector y was passed when a 1d array was expected. Pass y.ravel() instead."
        warnings.warn(words, DataConversionWarning, stacklevel=4)
        return found[:, 0]
    if found.ndim != 1:
        raise dp.DataError(f"y should be a 1d array: one number for each row. {NOTHING}")
    return found


def ids(person: Any) -> NDArray[Any]:
    """The id of each row: integers, or text, which is empty where there is none.

    Integers and text are the same ids either way: 17 and "17" are one person.

    Args:
        person: an array, a series or a list of integers or text.
    """
    kind = _kind(person)
    if getattr(person, "ndim", 1) != 1 or isinstance(person, str | bytes):
        raise dp.DataError(f"person must have one id for each row. {NOTHING}")
    if kind is not None and kind not in IDS:
        raise dp.DataError(f"person must hold integers or text. {NOTHING}")
    if isinstance(person, np.ndarray) and kind != "O":
        return person
    cells = _attempt(lambda: person.to_pylist() if hasattr(person, "to_pylist") else list(person), "person")
    return np.array([_id(cell) for cell in cells], dtype=np.dtypes.StringDType())


def check_lengths(first: Sequence[Any] | NDArray[Any], second: Sequence[Any] | NDArray[Any], names: str) -> None:
    """Refuse arrays with different numbers of rows, which are not shown.

    Args:
        first: one array.
        second: the other.
        names: both, for the message.
    """
    if len(first) != len(second):
        raise dp.DataError(f"{names} have different numbers of rows. {NOTHING}")


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "dtypes")


def _kind(data: Any) -> str | None:
    """The kind of a declared type as NumPy has it; "O" for those of other libraries without one, None for none."""
    dtype = getattr(data, "dtype", None)
    return None if dtype is None else getattr(dtype, "kind", "O")


def _numbers(data: Any, name: str) -> NDArray[np.float64]:
    """An array of floats with the shape of the data, whatever its cells are."""
    if isinstance(data, np.ma.MaskedArray):
        raise dp.DataError(f"{name} is a masked array, which is not read: fill masked cells with NaN. {NOTHING}")
    if isinstance(data, list | tuple):
        cells = _attempt(lambda: np.array(data, dtype=object), name)  # its type would depend on the cells
    elif hasattr(data, "isna") and _kind(data) in tuple(NUMBERS):
        return np.asarray(_attempt(lambda: data.to_numpy(dtype=np.float64, na_value=np.nan), name))
    else:
        cells = _attempt(lambda: np.asarray(data), name)
    if cells.dtype.kind == "c":
        raise dp.DataError(f"Complex data not supported: {name} must hold real numbers. {NOTHING}")
    if cells.dtype.kind in CELLS:
        flat = [_number(cell) for cell in cells.ravel().tolist()]
        return np.array(flat, dtype=np.float64).reshape(cells.shape)
    if cells.dtype.kind not in NUMBERS:
        raise dp.DataError(f"{name} must hold numbers. {NOTHING}")
    with np.errstate(all="ignore"):  # whether a number overflows depends on it
        return np.asarray(cells, dtype=np.float64)


def _attempt(convert: Callable[[], Any], name: str) -> Any:
    """What a conversion gives; an error of another library, which may show cells, becomes one of here."""
    with suppress(Exception), np.errstate(all="ignore"):
        return convert()
    raise dp.DataError(f"{name} cannot be converted to an array. {NOTHING}")


def _number(cell: Any) -> float:
    """A cell as a number; NaN, which is missing, if it is none."""
    try:
        return float(cell) if isinstance(cell, Real | Decimal | np.bool_ | str) else math.nan
    except Exception:  # raised by the cell: too large an integer, say, or a word
        return math.nan


def _id(cell: Any) -> str:
    """A cell as an id, each byte of its text a character; empty, which is missing, if it is none."""
    if isinstance(cell, Integral) and not isinstance(cell, bool) and -LARGEST < int(cell) < LARGEST:
        return str(int(cell))
    word = cell.encode("utf-8", "surrogatepass") if isinstance(cell, str) else cell
    return word.decode("latin-1") if isinstance(word, bytes) else ""
