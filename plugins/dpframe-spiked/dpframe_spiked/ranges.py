"""Radii for both sides of a row from the public ranges of its columns, in a released basis."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp

_ROUNDING = 1.0 + 2.0**-20  # far above the rounding of a basis and of its products


def _widths(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not (isinstance(value, tuple) and value and all(dp.validators.is_int(each) and each > 0 for each in value)):
        raise dp.validators.refuse(owner, "columns", "positive integers, one for each column", value)


def coordinates(rows: dp.Rows) -> tuple[int, ...]:
    """How many coordinates each column makes."""
    return tuple(len(column.labels) for column in rows.columns or ())


def longest(rows: dp.Rows) -> float:
    """The length of the longest row within its columns' ranges, and within a norm that the plan tells."""
    within = math.sqrt(len(rows.columns or ()))
    return within if rows.released_norm is not None else min(within, rows.length)


@attrs.frozen(eq=False, slots=False)
class ColumnRadii(dp.Radii):
    """Radii by which no row within the ranges of its columns is clipped."""

    title = "radii from the column ranges"


@attrs.frozen(kw_only=True)
class RangeRadii(dp.PostProcessor):
    """Lengths that neither side of a row exceeds, from the ranges of its columns and a released basis.

    With P = UUᵀ, the squared length of Uᵀx is xᵀPx, a sum of one term for each pair of columns. A numeric column holds
    one number in [-1, 1] and a category one indicator, so that a term is at most the largest |P_ij| of its block, and
    the largest P_ii where a column meets itself. Nothing is clipped by these radii, whatever the data is; the same
    holds for U⊥, and no side is longer than the row.

    Args:
        of: the subspace, released earlier.
        columns: how many coordinates each column makes; one unless given.
        norm: the length of the longest row; √(number of columns) unless given.
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
                "say radii in numbers, or release them with 'block-radii'."
            )
        if self.columns not in (None, coordinates(rows)):
            raise dp.PlanError(
                f"'range-radii' was told of columns that make {self.columns} coordinates, but those of the rows make "
                f"{coordinates(rows)}; leave columns= out, or say that."
            )
        dp.BlockMoment(basis=self.of, radii=(1.0, 1.0)).check(rows)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (2,)

    def apply(self) -> ColumnRadii:
        dim, rank = self.of.array.shape
        rotation = dp.BlockMoment.rotation(self.of)
        widths = self.columns or (1,) * dim
        norm = math.sqrt(len(widths)) if self.norm is None else self.norm
        found = (_largest(rotation[:, side], widths) for side in (slice(None, rank), slice(rank, None)))
        return ColumnRadii([min(length, norm) * _ROUNDING for length in found])


def _largest(side: dp.FloatArray, widths: tuple[int, ...]) -> float:
    """A bound on ‖sideᵀx‖ over all rows x within the ranges; for one direction and numeric columns, the largest."""
    projector = side @ side.T
    starts = [0, *accumulate(widths)][:-1]
    pairs = np.maximum.reduceat(np.maximum.reduceat(np.abs(projector), starts, axis=0), starts, axis=1)
    np.fill_diagonal(pairs, np.maximum.reduceat(np.diagonal(projector), starts))
    return math.sqrt(float(pairs.sum()))
