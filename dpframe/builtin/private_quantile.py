"""A private quantile of the row lengths or of one column, for example to choose a radius."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.interfaces import Mechanism, Statistic
from dpframe.intervals.law import Law
from dpframe.intervals.rank import RankLaw
from dpframe.kinds import Kind, Scalar
from dpframe.lattice import IntArray
from dpframe.losses import BoundedRange, PrivacyLoss
from dpframe.noise import Random
from dpframe.reading.private_data import PrivateData
from dpframe.rounding import format_given
from dpframe.spec.placement import NORM_LIMIT
from dpframe.spec.refs import Ref, Shape, number
from dpframe.spec.rows import Rows
from dpframe.statistics import ColumnHistogram, NormHistogram

MOST_POINTS = 100_000  # of the grid, each a number in memory and a term of the choice
DENOMINATOR = 1_000_000  # a quantile is rounded to a fraction with at most this denominator: costs become integers
_ALLOWED = (
    f"more than {0.5 / DENOMINATOR:g} away from 0 and 1, since it is rounded to the nearest fraction with a "
    f"denominator of at most {DENOMINATOR}"
)


@attrs.frozen(kw_only=True)
class PrivateQuantile(Mechanism):
    """A point of a public grid near a quantile of the row lengths, or of one column, by the exponential mechanism.

    The cost of a grid point e is |(1−q)·#{rows ≤ e} − q·#{rows > e}|, which is zero at the q-quantile. Adding one row
    changes the cost of each point by at most max(q, 1−q), up or down, so the difference of two costs changes by at most
    2·max(q, 1−q); replacing one row changes each cost by at most 1, and a difference by at most 2. A point is drawn
    with probability proportional to exp(−level · cost / range), where range is that bound times the number of rows of a
    person, so the log-likelihood ratio of neighbors lies in an interval of length level. The costs are exact integers,
    and the draw is exact in ball arithmetic.

    Args:
        quantile: q, between 0 and 1, or an earlier result that is such a number; one outside is moved inside. For a
            radius, 0.9 to 0.99: longer rows are scaled down.
        high: the largest grid point, public. Nothing above it can be chosen.
        low: the smallest grid point; high/1000 by default. A column needs it.
        points: the number of grid points, at most 100,000, spaced geometrically for lengths and evenly for a column.
        column: a numeric column (or the index of a coordinate), in its own units, instead of the row lengths.

    Guarantee:
        BoundedRange loss with epsilon = level, for either neighboring relation; worst case.

    References:
        McSherry and Talwar 2007; Smith 2011 (quantiles); Dong, Durfee and Rogers 2020 (bounded range).

    >>> PrivateQuantile(quantile=0.95, high=10.0).loss(Rows(norm=1.0, neighbors="replace"), 0.1)
    BoundedRange(epsilon=0.1)
    """

    name = "private-quantile"
    unit = "epsilon"
    gives = Scalar
    numerics = "exact"
    smallest_level = 2.0**-40  # the draw is uniform long before, and all figures are finite
    takes_complex = True

    quantile: Any = number(validators.number(above=0.0, below=1.0), low=1 / DENOMINATOR, high=1 - 1 / DENOMINATOR)
    high: float = attrs.field(converter=validators.as_float, validator=validators.number())
    low: float | None = attrs.field(
        default=None, converter=validators.as_float, validator=attrs.validators.optional(validators.number())
    )
    points: int = attrs.field(default=200, validator=validators.integer(at_least=2, at_most=MOST_POINTS))
    column: str | int | None = attrs.field(default=None)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.quantile, Ref) and not 0 < self._fraction < 1:
            raise validators.refuse(self, "quantile", _ALLOWED, self.quantile)
        if self.column is None and not 1 / NORM_LIMIT <= self._low < self.high <= NORM_LIMIT:
            raise PlanError(
                f"private-quantile of lengths needs {1 / NORM_LIMIT:g} <= low < high <= {NORM_LIMIT:g}; "
                f"got low={format_given(self._low)}, high={format_given(self.high)}."
            )
        if self.column is not None and (self.low is None or not self.low < self.high):
            raise PlanError("private-quantile of a column needs low= and high= in the column's units, low < high.")

    @property
    def _low(self) -> float:
        return self.high / 1000 if self.low is None else self.low

    @property
    def _fraction(self) -> Fraction:
        return _fraction(self.quantile)

    @property
    def grid(self) -> tuple[float, ...]:
        """The candidate values, all public."""
        return _grid(self._low, self.high, self.points, self.column is None)

    def reads(self) -> tuple[Statistic, ...]:
        return (_histogram(self.column, self.grid),)

    def output_shape(self, rows: Rows) -> Shape:
        return ()

    def loss(self, rows: Rows, level: float) -> PrivacyLoss:
        return BoundedRange(epsilon=level)

    def release(self, data: PrivateData, level: float, random: Random) -> Kind:
        counts = data.parts(self.reads()[0])["counts"]
        rate = Fraction(level) / self.cost_range(data.rows)
        return Scalar(self.grid[random.exponential_choice(self.costs(counts), rate)])

    def log_density(self, value: Kind, data: PrivateData, level: float) -> float:
        cost = self.costs(data.parts(self.reads()[0])["counts"])[self.grid.index(float(value.array))]
        return -level * cost / self.cost_range(data.rows)

    def costs(self, counts: IntArray) -> list[int]:
        """The integer cost of each grid point: b·|(1−q)·below − q·above| for q = a/b.

        Args:
            counts: the number of rows in each bin of the histogram, in order.
        """
        a, b = self._fraction.numerator, self._fraction.denominator
        *below, total = np.cumsum(counts).tolist()
        return [abs(b * count - a * total) for count in below]  # a·above = a·(total − below)

    def cost_range(self, rows: Rows) -> int:
        """The most by which one person can change the difference of two costs.

        Args:
            rows: the promise, with the neighboring relation and the number of rows of a person.
        """
        a, b = self._fraction.numerator, self._fraction.denominator
        one_row = 2 * b if rows.neighbors == "replace" else 2 * max(a, b - a)
        return rows.contributions * one_row

    def noise(self, rows: Rows, level: float) -> Mapping[str, float]:
        """The rank error, in rows, at which a grid point has 1/e times the weight of the exact quantile."""
        if isinstance(self.quantile, Ref):
            return {}
        return {"rank (rows)": self._rank_scale(rows, level)}

    def law(self, value: Kind, rows: Rows, level: float, laws: Mapping[str, Law]) -> Law:
        scale, quantile = self._rank_scale(rows, level), float(self._fraction)
        return RankLaw(scale=scale, points=self.points, quantile=quantile, shape=value.array.shape)

    def _rank_scale(self, rows: Rows, level: float) -> float:
        """The rank error, in rows, at which a grid point has 1/e times the weight of the exact quantile."""
        return self.cost_range(rows) / self._fraction.denominator / level


@lru_cache(maxsize=64)
def _fraction(quantile: float) -> Fraction:
    return Fraction(quantile).limit_denominator(DENOMINATOR)


@lru_cache(maxsize=64)
def _grid(low: float, high: float, points: int, in_ratios: bool) -> tuple[float, ...]:
    return tuple((np.geomspace if in_ratios else np.linspace)(low, high, points).tolist())


@lru_cache(maxsize=64)
def _histogram(column: str | int | None, grid: tuple[float, ...]) -> Statistic:
    return NormHistogram(edges=grid) if column is None else ColumnHistogram(column=column, edges=grid)
