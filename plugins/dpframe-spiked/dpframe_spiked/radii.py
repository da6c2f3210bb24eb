"""Radii for both sides of a row, from private quantiles of their lengths in a released basis."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp

SHORTEST = 1e-140  # radii of a block moment are not shorter


@attrs.frozen(kw_only=True, slots=False)
class BlockHistogram(dp.Statistic):
    """Histograms of the lengths of both sides of a row: ``signal`` for Uᵀx and ``residual`` for U⊥ᵀx.

    Rows are projected in exact integers, as for a block moment, so that a row's share depends on that row alone.

    Args:
        basis: a released basis.
        edges: increasing lengths, public.
        relative: whether the edges are shares of the norm of the rows, which may be released.
    """

    name = "block-histogram"

    basis: Any = dp.input(dp.Subspace)
    edges: tuple[float, ...] = attrs.field(converter=dp.validators.as_tuple)
    relative: bool = attrs.field(default=False, validator=dp.validators.boolean)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.basis, dp.Subspace):
            _ = self._projection  # computed once, here: the linear algebra of a worker may round differently

    def check(self, rows: dp.Rows) -> None:
        self._projection.check(rows)

    @cached_property
    def _projection(self) -> dp.BlockMoment:
        """One instance for all chunks: the complement of the basis has the same bits for every row."""
        return dp.BlockMoment(basis=self.basis, radii=(1.0, 1.0))

    def sensitivity(self, rows: dp.Rows) -> Mapping[str, dp.Sensitivity]:
        return dict.fromkeys(("signal", "residual"), dp.sensitivity.histogram(rows))

    def part_shapes(self, rows: dp.Rows) -> Mapping[str, dp.Shape]:
        return dict.fromkeys(("signal", "residual"), (len(self.edges) + 1,))

    def partial(self, chunk: dp.Chunk) -> Mapping[str, dp.IntArray]:
        keep = np.isfinite(chunk.values).all(axis=1)
        beyond = 2 * self.edges[-1] * (chunk.rows.length if self.relative else 1.0)  # longer than all bins
        signal, residual = self._projection.sides(chunk, (beyond, beyond))
        return {"signal": self._counts(signal[keep]), "residual": self._counts(residual[keep])}

    def _counts(self, rows: dp.FloatArray) -> dp.IntArray:
        squares = np.einsum("ij,ij->i", rows, rows)  # sums of integers below 2⁵³: exact
        in_steps = np.rint(np.asarray(self.edges) * (dp.lattice.inner_radius(rows.shape[1]) / (2 * self.edges[-1])))
        bins = np.searchsorted(np.square(in_steps), squares, side="left")
        return np.bincount(bins, minlength=len(self.edges) + 1).astype(np.int64)


@attrs.frozen(kw_only=True, slots=False)
class BlockRadii(dp.Mechanism):
    """Points of a public grid near a quantile of the lengths of both sides of a row, by the exponential mechanism.

    Two draws of `private-quantile`, each at half the level; that mechanism has the privacy argument.

    Args:
        basis: the subspace, released earlier.
        quantile: the share of rows that should not be clipped.
        high: the largest point of the grid, public. By default it is the norm of the rows, public or released.
        low: its smallest point; high/1000 by default. Without high, it is a share of the norm.
        points: the number of points of the grid.

    Guarantee:
        Two BoundedRange losses with epsilon = level/2 each, for either neighboring relation; worst case.
    """

    name = "block-radii"
    unit = "epsilon"
    gives = dp.Radii
    numerics = "exact"
    smallest_level = 2 * dp.PrivateQuantile.smallest_level

    basis: Any = dp.input(dp.Subspace)
    quantile: float = attrs.field(converter=dp.validators.as_float)
    high: float | None = attrs.field(default=None, converter=dp.validators.as_float)
    low: float | None = attrs.field(default=None, converter=dp.validators.as_float)
    points: int = attrs.field(default=200, validator=dp.validators.positive_int)

    def __attrs_post_init__(self) -> None:
        _ = self._choice  # checks the parameters

    @cached_property
    def _choice(self) -> dp.PrivateQuantile:
        high = 1.0 if self.high is None else self.high
        return dp.PrivateQuantile(quantile=self.quantile, high=high, low=self.low, points=self.points)

    def _grid(self, rows: dp.Rows) -> list[float]:
        """The points of the grid, in the units of the rows."""
        unit = rows.length if self.high is None else 1.0
        return [max(point * unit, SHORTEST) for point in self._choice.grid]

    def reads(self) -> tuple[dp.Statistic, ...]:
        return (BlockHistogram(basis=self.basis, edges=self._choice.grid, relative=self.high is None),)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (2,)

    def loss(self, rows: dp.Rows, level: float) -> tuple[dp.PrivacyLoss, ...]:
        return (dp.losses.BoundedRange(epsilon=level / 2),) * 2

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        choice, parts = self._choice, data.parts(self.reads()[0])
        rate, grid = Fraction(level) / 2 / choice.cost_range(data.rows), self._grid(data.rows)
        sides = ("signal", "residual")
        return dp.Radii([grid[random.exponential_choice(choice.costs(parts[side]), rate)] for side in sides])

    def law(self, value: dp.Kind, rows: dp.Rows, level: float, laws: Mapping[str, dp.Law]) -> dp.Law:
        return self._choice.law(value, rows, level / 2, laws)

    def log_density(self, value: dp.Kind, data: dp.PrivateData, level: float) -> float:
        choice, parts = self._choice, data.parts(self.reads()[0])
        grid = self._grid(data.rows)
        costs = [
            choice.costs(parts[side])[grid.index(radius)]
            for side, radius in zip(("signal", "residual"), value.array.tolist(), strict=True)
        ]
        return -level / 2 * sum(costs) / choice.cost_range(data.rows)
