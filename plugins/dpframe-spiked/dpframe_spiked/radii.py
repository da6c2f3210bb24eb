"""Radii for both sides of a row, from private quantiles of their lengths in a released basis."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp


@attrs.frozen(kw_only=True, slots=False)
class BlockHistogram(dp.Statistic):
    """Histograms of the lengths of both sides of a row: ``signal`` for Uᵀx and ``residual`` for U⊥ᵀx.

    Rows are projected in exact integers, as for a block moment, so that a row's share depends on that row alone.

    Args:
        basis: a released basis.
        edges: increasing lengths, public.
    """

    name = "block-histogram"

    basis: Any = dp.input(dp.Subspace)
    edges: tuple[float, ...] = attrs.field(converter=dp.validators.as_tuple)

    def check(self, rows: dp.Rows) -> None:
        self._sides.check(rows)

    @cached_property
    def _sides(self) -> dp.BlockMoment:
        """The projection of rows, clipped at twice the last edge, which is beyond all bins.

        One instance for all chunks: the complement of the basis is computed once, with the same bits for every row.
        """
        return dp.BlockMoment(basis=self.basis, radii=(2 * self.edges[-1], 2 * self.edges[-1]))

    def sensitivity(self, rows: dp.Rows) -> Mapping[str, dp.Sensitivity]:
        return dict.fromkeys(("signal", "residual"), dp.sensitivity.histogram(rows))

    def part_shapes(self, rows: dp.Rows) -> Mapping[str, dp.Shape]:
        return dict.fromkeys(("signal", "residual"), (len(self.edges) + 1,))

    def partial(self, chunk: dp.Chunk) -> Mapping[str, dp.IntArray]:
        keep = np.isfinite(chunk.values).all(axis=1)
        signal, residual = self._sides.sides(chunk)
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
        high: the largest point of the grid, public.
        low: its smallest point; high/1000 by default.
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
    high: float = attrs.field(converter=dp.validators.as_float)
    low: float | None = attrs.field(default=None, converter=dp.validators.as_float)
    points: int = attrs.field(default=200, validator=dp.validators.positive_int)

    def __attrs_post_init__(self) -> None:
        _ = self._choice  # checks the parameters

    @cached_property
    def _choice(self) -> dp.PrivateQuantile:
        return dp.PrivateQuantile(quantile=self.quantile, high=self.high, low=self.low, points=self.points)

    def reads(self) -> tuple[dp.Statistic, ...]:
        return (BlockHistogram(basis=self.basis, edges=self._choice.grid),)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (2,)

    def loss(self, rows: dp.Rows, level: float) -> tuple[dp.PrivacyLoss, ...]:
        return (dp.losses.BoundedRange(epsilon=level / 2),) * 2

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        choice, parts = self._choice, data.parts(self.reads()[0])
        rate = Fraction(level) / 2 / choice.cost_range(data.rows)
        radii = [
            choice.grid[random.exponential_choice(choice.costs(parts[side]), rate)] for side in ("signal", "residual")
        ]
        return dp.Radii(radii)

    def log_density(self, value: dp.Kind, data: dp.PrivateData, level: float) -> float:
        choice, parts = self._choice, data.parts(self.reads()[0])
        costs = [
            choice.costs(parts[side])[choice.grid.index(radius)]
            for side, radius in zip(("signal", "residual"), value.array.tolist(), strict=True)
        ]
        return -level / 2 * sum(costs) / choice.cost_range(data.rows)
