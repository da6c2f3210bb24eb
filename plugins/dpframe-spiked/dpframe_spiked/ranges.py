"""Radii for both sides of a row from the public ranges of its columns, in a released basis."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp

_ROUNDING = 1.0 + 2.0**-20  # far above the rounding error of a basis and of its products


def _widths(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not (isinstance(value, tuple) and value and all(dp.validators.is_int(each) and each > 0 for each in value)):
        raise dp.validators.refuse(owner, "columns", "positive integers, one for each column", value)


def coordinates(rows: dp.Rows) -> tuple[int, ...]:
    """The number of coordinates of each column."""
    return tuple(len(column.labels) for column in rows.columns or ())


def longest(rows: dp.Rows) -> float:
    """The largest length of a row, from the ranges of its columns and from the norm if that is public."""
    within = math.sqrt(len(rows.columns or ()))
    return within if rows.awaited else min(within, rows.length)


@attrs.frozen(eq=False, slots=False)
class ColumnRadii(dp.Radii):
    """Radii that clip no row within the ranges of its columns."""

    title = "radii from the column ranges"


@attrs.frozen(kw_only=True)
class RangeRadii(dp.PostProcessor):
    """Upper bounds on the lengths of both sides of a row, from the ranges of its columns and a released basis.

    With P = UUᵀ, the squared length of Uᵀx is xᵀPx, a sum with one term for each pair of columns. A numeric column is
    one number in [-1, 1] and a category one indicator, so that a term is at most the largest |P_ij| of its block, and
    for a column paired with itself the largest P_ii. The same holds for U⊥, and no side is longer than the row. So
    these radii clip nothing, whatever the data is.

    Args:
        of: the subspace, released earlier.
        columns: the number of coordinates of each column; one each by default.
        norm: the largest length of a row; √(number of columns) by default.
    """

    name = "range-radii"
    gives = ColumnRadii

    of: Any = dp.input(dp.Subspace)
    columns: tuple[int, ...] | None = attrs.field(
        default=None, converter=dp.validators.as_tuple, validator=attrs.validators.optional(_widths)
    )
    norm: float | None = attrs.field(
        default=None,
        converter=dp.validators.as_float,
        validator=attrs.validators.optional(dp.validators.number(above=0.0)),
    )

    def check(self, rows: dp.Rows) -> None:
        if rows.columns is None:
            raise dp.PlanError(
                "'range-radii' needs dp.Rows(columns=[...]), whose ranges bound both sides of a row. Without columns, "
                "give radii as numbers, or release them with 'block-radii'."
            )
        if rows.is_moved:
            raise dp.PlanError(
                "'range-radii' is about the middle of the ranges, but the rows are not: leave out Rows.about and "
                "Rows.scale, or give radii as numbers."
            )
        if self.columns not in (None, coordinates(rows)):
            raise dp.PlanError(
                f"'range-radii' has columns={self.columns}, but the columns of the rows have {coordinates(rows)} "
                "coordinates; leave columns= out, or give these."
            )
        dp.BlockMoment(basis=self.of, radii=(1.0, 1.0)).check(rows)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (2,)

    def apply(self) -> ColumnRadii:
        dim, rank = self.of.array.shape
        rotation = dp.BlockMoment.rotation(self.of)
        widths = self.columns or (1,) * dim
        norm = math.sqrt(len(widths)) if self.norm is None else self.norm
        lengths = (_largest(rotation[:, side], widths) for side in (slice(None, rank), slice(rank, None)))
        return ColumnRadii([min(length, norm) * _ROUNDING for length in lengths])


def _largest(side: dp.FloatArray, widths: tuple[int, ...]) -> float:
    """A bound on ‖sideᵀx‖ over all rows x within the ranges; attained for one direction and numeric columns."""
    projector = side @ side.T
    starts = [0, *accumulate(widths)][:-1]
    pairs = np.maximum.reduceat(np.maximum.reduceat(np.abs(projector), starts, axis=0), starts, axis=1)
    np.fill_diagonal(pairs, np.maximum.reduceat(np.diagonal(projector), starts))
    return math.sqrt(float(pairs.sum()))
