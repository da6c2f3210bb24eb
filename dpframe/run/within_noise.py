"""Warnings about released moments that are within noise of zero.

After the charge nothing stops a run because of cells: a row whose cells cannot be read contributes nothing, and text in
a numeric column gives a release of pure noise. The release itself shows that. Warnings are functions of released values
and of their public noise, so they cost nothing and may be published.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import attrs
import numpy as np

from dpframe.kinds import AugmentedMoment, HermitianMatrix
from dpframe.lattice import FloatArray
from dpframe.run.result import Record
from dpframe.spec.rows import Rows

DEVIATIONS = 4.0
"""Standard deviations of the noise up to which a value is not told from zero; Gaussian noise on zero exceeds it with
probability 3e-5."""

SHOWN = 8  # names of columns in one warning

ZERO = f"not distinguishable from zero (within {DEVIATIONS:g} standard deviations of the noise)"
ADVICE = (
    "Whoever may see the raw data can look with dp.check (in a shell: dpframe check); a run on made-up rows of the "
    "same form, with insecure_seed=1, costs nothing."
)


def within_noise(rows: Rows, records: Iterable[Record]) -> tuple[str, ...]:
    """What in the released moments cannot be told from zero, in sentences.

    Args:
        rows: the promise, with its dimension.
        records: the values of the run. Those of releases are looked at whose noise has the parts "diagonal" and
            "off-diagonal".
    """
    found = []
    for record in records:
        noise, value = record.line.noise, record.value
        if not ({"diagonal", "off-diagonal"} <= set(noise) and rows.semidefinite):  # or its trace may well be 0
            continue
        if isinstance(value, AugmentedMoment):
            found += _augmented(record.name, value.array, noise["diagonal"], noise["off-diagonal"], rows)
        elif isinstance(value, HermitianMatrix):
            found += _moment(record.name, value.array.real, noise["diagonal"], rows)
    return tuple(found)


def _augmented(step: str, moment: FloatArray, diagonal: float, off_diagonal: float, rows: Rows) -> list[str]:
    """Warnings about the count and the variances in an augmented moment, whose last coordinate is constant."""
    count = moment[-1, -1]
    if count <= DEVIATIONS * diagonal:
        return [
            f"{step!r}: the number of rows is {ZERO}. There are too few for this budget, or most contribute "
            f"nothing, as with text or decimal commas in a numeric column that has no missing=. {ADVICE}"
        ]
    sums, squares = moment[:-1, -1], np.diagonal(moment)[:-1]
    ratios = sums / count
    flat = []
    for column in _columns(rows):
        tilt = float(np.square(ratios[column.places]).sum())
        variance = float((squares - ratios * sums)[column.places].sum())
        # The derivatives of the variance: 1 by a square, -2 · ratio by a sum, and the sum of ratio² by the count.
        scale = math.sqrt((len(squares[column.places]) + tilt**2) * diagonal**2 + 4 * tilt * off_diagonal**2)
        if variance <= DEVIATIONS * scale:
            flat.append(column.name)
    return _constant(step, "variance", flat)


def _moment(step: str, moment: FloatArray, diagonal: float, rows: Rows) -> list[str]:
    """Warnings about the trace of a second moment, and about its columns."""
    squares = np.diagonal(moment)
    if squares.sum() <= DEVIATIONS * diagonal * math.sqrt(len(squares)):
        return [
            f"{step!r}: the sum of all squares is {ZERO}. There are too few rows for this budget, or most "
            f"contribute nothing, as with text or decimal commas in a numeric column that has no missing=. {ADVICE}"
        ]
    flat = []
    for column in _columns(rows):
        own = squares[column.places]
        if own.sum() <= DEVIATIONS * diagonal * math.sqrt(len(own)):
            flat.append(column.name)
    about = "center" if rows.about is not None else "middle of the range"
    return _constant(step, f"sum of squares about the {about}", flat)


def _constant(step: str, what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    others = f" and {len(names) - SHOWN} others" if len(names) > SHOWN else ""
    shown = ", ".join(map(repr, names[:SHOWN])) + others
    return [
        f"{step!r}: the {what} of {'columns' if len(names) > 1 else 'column'} {shown} is {ZERO}. The range "
        "is wide for what is in it, or nearly all cells are alike: missing, say, as text or decimal commas are in a "
        f"numeric column. {ADVICE}"
    ]


@attrs.frozen
class _Column:
    """A declared column and its coordinates: one for a number, several for a category, which count together."""

    name: str
    places: slice


def _columns(rows: Rows) -> list[_Column]:
    columns, start = [], 0
    for column in rows.columns or ():
        columns.append(_Column(column.name, slice(start, start + len(column.labels))))
        start += len(column.labels)
    return columns
