"""Neighboring data sets chosen to expose privacy loss: synthetic, never anyone's data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe import hermitian
from dpframe.auditing.matrix_pairs import check_apart, of_matrices
from dpframe.auditing.pair import Pair
from dpframe.errors import PlanError
from dpframe.lattice import RADIUS, FloatArray
from dpframe.reading.mapper import coordinates
from dpframe.sources import open_source
from dpframe.spec.columns import Category, Column
from dpframe.spec.matrix import Matrix
from dpframe.spec.rows import Rows

BACKGROUND = 2048  # rows along the first direction; each further direction has half as many as the one before


def built_in(rows: Rows) -> list[Pair]:
    """Worst-case neighbors for this promise.

    The rows of one person are added to an empty data set; along the top, second and bottom eigenvector of a large
    background, and orthogonal or opposite to a background of one direction, for mechanisms whose noise depends on the
    data; in all coordinates at once; and longer than the norm allows, with the opposite sign, or with a cell that is
    not a number, for errors of clipping. Where people are identified by ids, the person has one row more than counts.

    Args:
        rows: the promise, with a known dimension.
    """
    if isinstance(rows, Matrix):
        return of_matrices(rows)
    top, second, bottom = _directions(rows)
    dense, mirrored = _dense(rows, 1.0), _dense(rows, -1.0)
    ground = np.vstack([np.tile(row, (BACKGROUND >> place, 1)) for place, row in enumerate((top, second, bottom))])
    line, short, nothing = np.tile(top, (BACKGROUND >> 4, 1)), np.tile(top / 10, (2, 1)), ground[:0]
    far, lost = 1000.0 * top, np.where(np.arange(len(top)) == 0, np.nan, top)
    settings: list[tuple[str, FloatArray, FloatArray, FloatArray | None]]
    if rows.neighbors == "add-remove":
        settings = [
            ("a row where there was none", nothing, top, None),
            ("a row along the top of a background", ground, top, None),
            ("a row along the second direction of a background", ground, second, None),
            ("a row along the bottom of a background", ground, bottom, None),
            ("a row across a background of one direction", line, second, None),
            ("a row against a background of one direction", line, -top, None),
            ("a row in all coordinates", nothing, dense, None),
            ("a row a thousand norms long", nothing, far, None),
            ("a row a thousand norms long beside a short one", short, far, None),
            ("a row with a cell that is not a number", nothing, lost, None),
        ]
    else:
        settings = [
            ("a row for a row of zeros", nothing, top, 0 * top),
            ("a row for its negative", nothing, top, -top),
            ("the top of a background for its bottom", ground, top, bottom),
            ("the second direction of a background for its top", ground, second, top),
            ("the bottom of a background for its second direction", ground, bottom, second),
            ("a row across a background of one direction for one along it", line, second, top),
            ("a row in all coordinates for its mirror image", nothing, dense, mirrored),
            ("a row a thousand norms long for its negative", nothing, far, -far),
            ("a row a thousand norms long for a short one beside another", short, far, short[0]),
            ("a row with a cell that is not a number for its negative", nothing, lost, -top),
        ]
        if rows.center and rows.columns is None:
            cosine = -((rows.constant / RADIUS) ** 2)
            opposed = cosine * top + math.sqrt(1 - cosine**2) * second
            settings.append(("a row for the one orthogonal to it with the constant", nothing, top, opposed))
    return [Pair(name, _with(rows, base, one), _with(rows, base, other)) for name, base, one, other in settings]


def _with(rows: Rows, base: FloatArray, row: FloatArray | None) -> FloatArray | dict[str, NDArray[Any]]:
    """A background whose rows belong to different people, and one more person with this row, repeated as allowed."""
    theirs = [] if row is None else [row] * (rows.contributions + (rows.person is not None))
    table = cells(rows, np.vstack([base, *theirs]))
    if rows.person is not None:
        assert isinstance(table, dict)  # ids need columns
        table[rows.person][len(base) :] = len(base)
    return table


def _directions(rows: Rows) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Three rows of the largest length, orthogonal where the dimension allows."""
    dim = rows.known_dim
    if rows.columns is None:
        top, second, bottom = np.zeros((3, dim), dtype=rows.dtype)
        top[0] = second[min(1, dim - 1)] = bottom[-1] = _length(rows)
        return top, second * _phase(rows), bottom
    place = np.arange(dim, dtype=np.float64)
    return np.ones(dim), 1.0 - 2.0 * (place % 2), 1.0 - 2.0 * (place // 2 % 2)


def _dense(rows: Rows, sign: float) -> FloatArray:
    """A row whose coordinates have the same magnitude, every second one with this sign."""
    dim = rows.known_dim
    row: FloatArray = np.where(np.arange(dim) % 2, sign * _phase(rows), 1.0)
    return row if rows.columns is not None else row * (_length(rows) / math.sqrt(dim))


def _phase(rows: Rows) -> Any:
    """i for complex rows, so that imaginary parts of their moment are not zero; 1 for real ones."""
    return 1j if rows.complex else 1.0


def _length(rows: Rows) -> float:
    return 1.0 if rows.awaited else rows.length


def cells(rows: Rows, coordinates: FloatArray) -> FloatArray | dict[str, NDArray[Any]]:
    """Data whose rows, once mapped and clipped, have these coordinates: cells in the units of the columns.

    For a promise about a matrix, the second moment of these rows.

    Args:
        rows: the promise, with a known dimension.
        coordinates: one row for each person.
    """
    if isinstance(rows, Matrix):
        with np.errstate(all="ignore"):  # some are very long, or not numbers
            return coordinates.T @ coordinates.conj()
    if rows.columns is None:
        return coordinates
    table: dict[str, NDArray[Any]] = {}
    at = 0
    for column in rows.columns:
        block = coordinates[:, at : at + len(column.labels)]
        at += len(column.labels)
        table[column.name] = _column_cells(column, block)
    if rows.person is not None:
        table[rows.person] = np.arange(len(coordinates))
    return table


def _column_cells(column: Column | Category, block: FloatArray) -> NDArray[Any]:
    if isinstance(column, Column):
        return column.middle + column.half_width * block[:, 0]
    cells: NDArray[Any] = np.asarray(column.levels)[np.argmax(block, axis=1)]
    return cells


def checked(supplied: Any, rows: Rows, number: int) -> Pair:
    """A pair that a user supplies; raises PlanError unless its data sets are neighbors.

    Args:
        supplied: a `Pair` or a tuple of two data sets.
        rows: the promise.
        number: the position of the pair in the argument, from 1.
    """
    if not isinstance(supplied, Pair | tuple) or (isinstance(supplied, tuple) and len(supplied) != 2):
        raise PlanError("pairs= takes pairs (one, other) of data sets that are neighbors.")
    pair = supplied if isinstance(supplied, Pair) else Pair(f"pair {number} as supplied", *supplied)
    if isinstance(rows, Matrix):
        check_apart(pair, rows)
        return pair
    one, other = (Counter(_records(data, rows)) for data in (pair.one, pair.other))
    more, less = (one - other).total(), (other - one).total()
    allowed = rows.contributions
    if rows.neighbors == "replace":
        close = 0 < more == less <= allowed
    else:
        close = min(more, less) == 0 < max(more, less) <= allowed
    if not close:
        raise PlanError(
            f"{pair.name}: these are not neighbors under {rows.neighbors!r} with at most {allowed} rows per person: "
            f"one has {more} rows that the other lacks, and the other has {less} that it lacks."
        )
    return pair


def _records(data: Any, rows: Rows) -> Iterator[bytes]:
    """The rows as a run would read them, as bytes that can be counted."""
    source = open_source(data, rows)
    if source.one_shot:
        raise PlanError("neighbors are read many times; pass arrays, tables or paths, not one-shot iterables.")
    for block in source.blocks():
        mapped = coordinates(rows.unplaced, block)
        mapped = (hermitian.real_rows(mapped) if rows.complex else mapped).astype(np.float64)
        yield from (row.tobytes() for row in np.where(np.isnan(mapped), np.nan, mapped + 0.0))
