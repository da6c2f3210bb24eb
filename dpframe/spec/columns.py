"""Columns of a table: public ranges, and public lists of levels."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.lattice import FloatArray
from dpframe.rounding import format_given

WIDEST = 1e140
"""The largest half of a range: its square, times that of a scale, is far inside the range of 64-bit numbers."""


def _assumed(validator: validators.Validator) -> Any:
    """A figure that only forecasts use: not part of what a column is in a release, so not of its representation."""
    return attrs.field(
        default=None,
        kw_only=True,
        repr=False,
        converter=validators.as_float,
        validator=attrs.validators.optional(validator),
    )


@attrs.frozen
class Column:
    """A numeric column with a public range.

    Values are clipped to [low, high] and mapped to [-1, 1]. A cell that is not finite takes the value ``missing`` if it
    is given; otherwise its whole row contributes nothing.

    Args:
        name: the column's name in tables; arrays are matched by position.
        low: smallest value, known without looking at the data.
        high: largest value, known without looking at the data.
        missing: the public value of a missing cell.
        unit: what the values are measured in, shown in reports.
        sd: the standard deviation to assume in forecasts; by default a sixth of the range, or the distance of ``mean``
            from the nearer end of the range where that is less.
        mean: the mean to assume in forecasts; the middle of the range by default. Nothing but forecasts depends on
            ``sd`` and ``mean``: no release, no noise and no price does, and the hash of a plan leaves them out. So they
            are not shown in ``repr`` either.

    >>> Column("age", 17, 90)
    Column(name='age', low=17.0, high=90.0, missing=None, unit='')
    """

    name: str = attrs.field(validator=validators.text)
    low: float = attrs.field(converter=validators.as_float, validator=validators.number())
    high: float = attrs.field(converter=validators.as_float, validator=validators.number())
    missing: float | None = attrs.field(
        default=None,
        kw_only=True,
        converter=validators.as_float,
        validator=attrs.validators.optional(validators.number()),
    )
    unit: str = attrs.field(default="", kw_only=True, validator=validators.text)
    sd: float | None = _assumed(validators.number(above=0.0))
    mean: float | None = _assumed(validators.number())

    def __attrs_post_init__(self) -> None:
        if not self.low < self.high:
            raise PlanError(
                f"column {self.name!r} must have low < high; got low={format_given(self.low)}, "
                f"high={format_given(self.high)}."
            )
        if not 1 / WIDEST <= self.half_width <= WIDEST:
            raise PlanError(
                f"column {self.name!r} has a range that is too wide or too narrow for variances in 64-bit numbers: "
                f"half of it must be from {1 / WIDEST:g} to {WIDEST:g}. State it in another unit."
            )
        if self.missing is not None and not self.low <= self.missing <= self.high:
            raise PlanError(
                f"column {self.name!r}: missing={format_given(self.missing)} must lie in its range "
                f"[{format_given(self.low)}, {format_given(self.high)}]."
            )
        self._check_assumed()

    def _check_assumed(self) -> None:
        """Raise PlanError where no column within the range has such a mean and standard deviation."""
        range_ = f"[{format_given(self.low)}, {format_given(self.high)}]"
        if self.mean is not None and not self.low < self.mean < self.high:
            raise PlanError(f"column {self.name!r}: mean={format_given(self.mean)} must lie within its range {range_}.")
        mean = self.middle if self.mean is None else self.mean
        most = self.half_width * math.sqrt(max(1.0 - ((mean - self.middle) / self.half_width) ** 2, 0.0))
        if self.sd is not None and not self.sd < most:
            about = "" if self.mean is None else f" and a mean of {format_given(self.mean)}"
            raise PlanError(
                f"column {self.name!r}: sd={format_given(self.sd)} must be below {most:.6g}: no column with the range "
                f"{range_}{about} varies more."
            )

    @property
    def assumed(self) -> tuple[float, float]:
        """The mean and the standard deviation that forecasts assume, in the units of the column."""
        mean = self.middle if self.mean is None else self.mean
        if self.sd is not None:
            return mean, self.sd
        return mean, min(self.half_width / 3, mean - self.low, self.high - mean)

    @property
    def middle(self) -> float:
        """The middle of the range, mapped to 0."""
        return self.low + self.half_width

    @property
    def half_width(self) -> float:
        """Half the width of the range, mapped to 1."""
        return (self.high - self.low) / 2

    @property
    def rate(self) -> float:
        """The reciprocal of the half width: multiplying by it is three times as fast as dividing."""
        return 1 / self.half_width

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of its one coordinate."""
        return (self.name,)

    def affine(self, shift: float = 0.0, rate: float = 1.0) -> tuple[float, float]:
        """(middle, rate) with which a cell x is mapped to (x − middle) · rate.

        Args:
            shift: the coordinate that is mapped to 0, from -1 to 1.
            rate: the factor by which coordinates about it are multiplied.
        """
        return self.middle + self.half_width * shift, self.rate * rate

    def map(self, cells: NDArray[Any], shift: float = 0.0, rate: float = 1.0) -> FloatArray:
        """Cells on [-1, 1], (rows, 1), about a coordinate; NaN where a cell is missing and has no public value.

        Args:
            cells: the cells of the column.
            shift: the coordinate that is mapped to 0.
            rate: the factor by which coordinates about it are multiplied.
        """
        with np.errstate(over="ignore"):
            values = np.asarray(cells, dtype=np.float64)
        fill = math.nan if self.missing is None else self.missing
        values = np.where(np.isfinite(values), values, fill)
        middle, per_unit = self.affine(shift, rate)
        mapped = (np.clip(values, self.low, self.high) - middle) * per_unit
        return (np.clip(mapped, -1.0, 1.0) if (shift, rate) == (0.0, 1.0) else mapped)[:, None]


@attrs.frozen
class Category:
    """A column with a public list of levels, mapped to one 0/1 coordinate per level.

    A cell that is none of the levels takes the value ``missing`` if it is given; otherwise its whole row contributes
    nothing. The same holds for a cell that equals more than one level: as doubles, 2⁵³ and 2⁵³ + 1 are the same number.

    Args:
        name: the column's name in tables; arrays are matched by position.
        levels: the possible values, known without looking at the data; all words or all numbers.
        missing: the public level of a missing or unknown cell.

    >>> Category("sex", ["F", "M"]).labels
    ('sex=F', 'sex=M')
    """

    name: str = attrs.field(validator=validators.text)
    levels: tuple[str | float, ...] = attrs.field(converter=validators.as_tuple)
    missing: str | float | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        words = isinstance(self.levels, tuple) and all(isinstance(level, str) for level in self.levels)
        numbers = isinstance(self.levels, tuple) and all(validators.is_finite(level) for level in self.levels)
        if not self.levels or not (words or numbers) or len(set(self.levels)) < len(self.levels):
            raise PlanError(
                f"category {self.name!r} must have a list of distinct levels, all words or all numbers; "
                f"got {self.levels!r}."
            )
        if self.missing is not None and self.missing not in self.levels:
            raise PlanError(f"category {self.name!r}: missing={self.missing!r} must be one of {list(self.levels)!r}.")

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of its coordinates, one per level."""
        return tuple(f"{self.name}={level}" for level in self.levels)

    @property
    def is_text(self) -> bool:
        """Whether the levels are words."""
        return isinstance(self.levels[0], str)

    def map(self, cells: NDArray[Any], shift: float | FloatArray = 0.0, rate: float | FloatArray = 1.0) -> FloatArray:
        """One 0/1 coordinate per level, (rows, levels); NaN where a cell is unknown and has no public value.

        Args:
            cells: the cells of the column.
            shift: for each level, what is subtracted from its coordinate.
            rate: for each level, the factor by which the difference is multiplied.
        """
        if cells.dtype.kind in "fb":  # compare with numeric levels in float64, whatever the precision of the column
            with np.errstate(over="ignore"):
                cells = cells.astype(np.float64)
        indicators = np.stack([np.asarray(cells == level, dtype=np.float64) for level in self.levels], axis=1)
        unknown = indicators.sum(axis=1) != 1.0  # two ones would make the row longer than its bound
        fill = math.nan if self.missing is None else [float(level == self.missing) for level in self.levels]
        indicators[unknown] = fill
        indicators -= shift
        indicators *= rate
        return indicators
