"""A report on the raw data for its steward. NOT PRIVATE: nothing here may be shown to anyone else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, overload

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import hermitian, lattice
from dpframe.display.printable import NOT_PRIVATE, Printable
from dpframe.display.tables import pairs, table
from dpframe.display.visible import Visible
from dpframe.errors import DataError
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading.mapper import coordinates
from dpframe.sources import Source, open_source
from dpframe.sources.opened import Raw, is_panic
from dpframe.spec.columns import Category, Column
from dpframe.spec.matrix import Matrix
from dpframe.spec.rows import Rows

if TYPE_CHECKING:
    from rich.console import RenderableType

QUANTILES = (0.5, 0.9, 0.95, 0.99, 1.0)

KEPT = 1 << 20
"""The largest number of distinct lengths stored; if there are more, they are rounded to fewer bits until they fit."""


@attrs.frozen(kw_only=True)
class ColumnCheck:
    """How one column fits its public range. NOT PRIVATE.

    Args:
        name: the name of the column.
        missing: the number of cells that are not finite or, in a category, none of the levels.
        below: the number of cells below the range.
        above: the number of cells above the range.
    """

    name: str
    missing: int
    below: int
    above: int


@attrs.frozen(kw_only=True, repr=False)
class DataCheck(Printable):
    """How the data fits the promise. NOT PRIVATE.

    Args:
        rows: the number of rows.
        uncounted: the number of rows left out because they have no person id, or exceed the contributions of their
            person; None if the promise has no ``person``. The fields below are about the other rows.
        dropped: the number of rows with a non-finite entry that has no public value; they contribute nothing.
        shortened: the number of rows longer than the promised norm, which are scaled down; None if the norm is
            released.
        norms: quantiles of the lengths of rows; to about four digits if there are more than a million lengths.
        columns: the fit of each declared column.
        symmetric: whether it is a square and symmetric array, hence more likely a covariance than rows.
    """

    shareable: ClassVar[bool] = False

    rows: int
    uncounted: int | None
    dropped: int
    shortened: int | None
    norms: dict[float, float]
    columns: tuple[ColumnCheck, ...]
    symmetric: bool = False

    def __rich__(self) -> RenderableType:
        return Visible(_render(self))  # a plan file may hold any text


@attrs.frozen(kw_only=True, repr=False)
class MatrixCheck(Printable):
    """How a matrix that was computed elsewhere is taken. NOT PRIVATE.

    Args:
        lost: the number of entries that are not finite, which count as 0. Of complex numbers, real and imaginary parts
            are two entries.
        cut: the number of entries beyond the largest that is taken.
        largest: the largest absolute value of the entries that are taken.
        asymmetry: the largest difference of two such entries that mirror each other; their mean counts.
        eigenvalues: the smallest and the largest eigenvalue of what is taken.
    """

    shareable: ClassVar[bool] = False

    lost: int
    cut: int
    largest: float
    asymmetry: float
    eigenvalues: tuple[float, float]

    def __rich__(self) -> RenderableType:
        return _render_matrix(self)


@overload
def check(data: Any, rows: Matrix) -> MatrixCheck: ...
@overload
def check(data: Any, rows: Rows) -> DataCheck: ...
def check(data: Any, rows: Rows) -> DataCheck | MatrixCheck:
    """Report to the steward how the raw data fits the promise; reads all of it, and marks the report NOT PRIVATE.

    Never choose a norm or a range from this report and then release under it: the choice itself would leak data.

    Args:
        data: the data, as for ``plan.run``.
        rows: the promise.
    """
    source = open_source(data, rows)
    rows = rows.bind(source.dim)
    if source.matrix is not None:
        assert isinstance(rows, Matrix)  # or it would not have been opened
        return _matrix_check(source.matrix.values, rows)
    released = bool(rows.awaited)
    if released:
        rows = rows.unplaced  # a released center is not known here: rows are looked at about the middle of the ranges
    norms, counted, dropped = Lengths(), 0, 0
    shortened = None if released else 0
    counts = {column.name: np.zeros(3, dtype=np.int64) for column in rows.columns or ()}
    for raw in _blocks(source):
        mapped = coordinates(rows, raw)
        mapped = (hermitian.real_rows(mapped) if rows.complex else mapped).astype(np.float64)
        lengths = _lengths(mapped)
        kept = lengths[np.isfinite(lengths)]
        norms.add(kept)
        counted, dropped = counted + len(lengths), dropped + len(lengths) - len(kept)
        if shortened is not None:
            longest = rows.length * (lattice.RADIUS / lattice.inner_radius(rows.real_dim))
            shortened += int((lengths > longest).sum())
        cells = list(raw.T) if isinstance(raw, np.ndarray) else [raw[column.name] for column in rows.columns or ()]
        for column, values in zip(rows.columns or (), cells, strict=False):
            counts[column.name] += _fit(column, values)
    return DataCheck(
        rows=source.meter.rows,
        uncounted=None if rows.person is None else source.meter.rows - counted,
        dropped=dropped,
        shortened=shortened,
        norms={q: norms.quantile(q) for q in QUANTILES} if counted > dropped else {},
        columns=tuple(
            ColumnCheck(name=name, missing=int(missing), below=int(below), above=int(above))
            for name, (missing, below, above) in counts.items()
        ),
        symmetric=_is_symmetric(data),
    )


def _is_symmetric(data: Any) -> bool:
    """Whether this is a square array, of more than one number, that equals its transpose."""
    square = isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[0] == data.shape[1] > 1
    return square and bool(np.array_equal(data, data.T))


def _matrix_check(values: NDArray[Any], promise: Matrix) -> MatrixCheck:
    """How a matrix is taken."""
    floats = np.stack([values.real, values.imag] if promise.complex else [values]).astype(np.float64)
    finite = np.isfinite(floats)
    parts = np.clip(np.where(finite, floats, 0.0), -promise.largest, promise.largest)
    taken = hermitian.as_complex(parts) if promise.complex else parts[0]
    eigenvalues = np.linalg.eigvalsh((taken + taken.conj().T) / 2)
    return MatrixCheck(
        lost=int((~finite).sum()),
        cut=int((np.abs(floats[finite]) > promise.largest).sum()),
        largest=float(np.abs(parts).max()),
        asymmetry=float(np.abs(taken - taken.conj().T).max()),
        eigenvalues=(float(eigenvalues[0]), float(eigenvalues[-1])),
    )


def _blocks(source: Source) -> Iterator[Raw]:
    """The rows of the source; an error of another library is replaced by our own, since its message may hold a cell."""
    try:
        yield from source.blocks()
        return
    except BaseException as error:
        if isinstance(error, DataError) or not (isinstance(error, Exception) or is_panic(error)):
            raise
        failed = type(error).__name__
    raise DataError(f"the data could not be read ({failed}). Read it with its own library to see why.")


class Lengths:
    """Quantiles of any number of lengths, in bounded memory."""

    def __init__(self) -> None:
        self._bits = 52  # significand bits kept of each length, after the leading one
        self._values: FloatArray = np.zeros(0)
        self._counts: IntArray = np.zeros(0, dtype=np.int64)
        self._waiting: list[FloatArray] = []

    def add(self, lengths: FloatArray) -> None:
        """Add lengths, all of them finite."""
        self._waiting.append(lengths)
        if sum(map(len, self._waiting)) >= KEPT:
            self._merge()

    def quantile(self, share: float) -> float:
        """The quantile at this share, interpolated linearly between the two nearest lengths."""
        self._merge()
        ends = np.cumsum(self._counts)
        place = share * float(ends[-1] - 1)
        low, high = (self._values[np.searchsorted(ends, rank, side="right")] for rank in (place // 1, -(-place // 1)))
        return float(low + (high - low) * (place % 1))

    def _merge(self) -> None:
        values = np.concatenate([self._values, *self._waiting])
        counts = np.append(self._counts, np.ones(len(values) - len(self._counts), dtype=np.int64))
        self._waiting = []
        while True:
            values, places = np.unique(_rounded(values, self._bits), return_inverse=True)
            counts = np.bincount(places, counts).astype(np.int64)
            if len(values) <= KEPT:
                break
            self._bits = min(self._bits, 22) - 2
        self._values, self._counts = values, counts


def _rounded(lengths: FloatArray, bits: int) -> FloatArray:
    """Round lengths to this many significand bits after the leading one."""
    if bits == 52:
        return lengths
    dropped = 52 - bits
    rounded = ((lengths.view(np.int64) + (1 << (dropped - 1))) >> dropped << dropped).view(np.float64)
    return np.minimum(rounded, sys.float_info.max)


def _lengths(mapped: FloatArray) -> FloatArray:
    """Row lengths, without overflow or warnings; NaN for rows that contribute nothing."""
    finite = np.isfinite(mapped).all(axis=1)
    safe = np.where(np.expand_dims(finite, 1), mapped, 0.0)
    largest = np.maximum(np.abs(safe).max(axis=1), np.finfo(np.float64).tiny)
    return np.where(finite, largest * np.sqrt(((safe / largest[:, None]) ** 2).sum(axis=1)), np.nan)


def _fit(column: Column | Category, values: NDArray[Any]) -> IntArray:
    """The numbers of cells that are missing, below the range and above it."""
    if not isinstance(column, Column):
        return np.array([int((~np.isin(values, column.levels)).sum()), 0, 0])
    cells = np.asarray(values, dtype=np.float64)
    known = cells[np.isfinite(cells)]
    return np.array([len(cells) - len(known), (known < column.low).sum(), (known > column.high).sum()])


__all__ = ["NOT_PRIVATE", "ColumnCheck", "DataCheck", "MatrixCheck", "check"]


LEFT_OUT = "without a person, or beyond the rows that count per person"
SYMMETRIC = "the array is square and symmetric, as a covariance is, which needs dp.Matrix instead of dp.Rows"


WARNING = f"{NOT_PRIVATE}: read off the raw data, for its steward only."


def _render_matrix(check: MatrixCheck) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    labeled = {
        "Not finite": f"{check.lost} entries, which count as 0",
        "Beyond the largest": f"{check.cut} entries, which count as that",
        "Largest entry": f"{check.largest:.4g}",
        "Asymmetry": f"{check.asymmetry:.4g} (the symmetric part counts)",
        "Eigenvalues": f"from {check.eigenvalues[0]:.4g} to {check.eigenvalues[1]:.4g}",
        "The promise": "cannot be checked: a matrix does not show how far one person moves it",
    }
    return Group(Text(WARNING, style="bold red"), pairs(labeled))


def _render(check: DataCheck) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(WARNING, style="bold red")]
    lengths = ", ".join(f"{100 * q:g} % up to {length:.4g}" for q, length in check.norms.items())
    labeled = {
        "Rows": str(check.rows),
        **({} if check.uncounted is None else {"Left out": f"{check.uncounted} ({LEFT_OUT})"}),
        "Contribute nothing": f"{check.dropped} (a non-finite or unknown cell without a public missing= value)",
        "Scaled down": "depends on the norm to be released"
        if check.shortened is None
        else f"{check.shortened} (longer than the promised norm)",
        "Lengths": lengths or "none",
        **({"Rows of people?": SYMMETRIC} if check.symmetric else {}),
    }
    parts.append(pairs(labeled))
    if check.columns:
        cells = [
            {"column": c.name, "missing": str(c.missing), "below range": str(c.below), "above range": str(c.above)}
            for c in check.columns
        ]
        parts += [Text(), table(cells)]
    return Group(*parts)
