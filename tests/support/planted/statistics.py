"""Statistics that move too far, do not add up, are not exact or keep rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe.lattice import RADIUS, gram
from tests.support.planted.right import RESULTS, Right


@attrs.frozen(kw_only=True)
class RightSum(dp.Statistic):
    """The sum of the lattice rows."""

    name = "planted-sum"

    def sensitivity(self, rows: dp.Rows) -> Mapping[str, dp.Sensitivity]:
        moved = (2 if rows.neighbors == "replace" else 1) * rows.contributions * RADIUS
        return {"sum": dp.Sensitivity(l2_squared=moved**2)}

    def partial(self, chunk: dp.Chunk) -> Mapping[str, Any]:
        return {"sum": self.rows(chunk).sum(axis=0).astype(np.int64)}

    def rows(self, chunk: dp.Chunk) -> Any:
        return chunk.integers()

    def check(self, rows: dp.Rows) -> None:
        if rows.center:
            raise dp.PlanError("planted-sum needs dp.Rows(center=False).")


class UnnormalizedRows(RightSum):
    """Rows taken as they are."""

    def rows(self, chunk: dp.Chunk) -> Any:
        values = np.nan_to_num(np.where(np.isfinite(chunk.values).all(axis=1)[:, None], chunk.values, 0.0))
        return np.rint(np.clip(values * (RADIUS // 2), -(2.0**40), 2.0**40))


class DataDependentRadius(RightSum):
    """Rows scaled down to the length of the longest of their chunk, not to the norm."""

    def rows(self, chunk: dp.Chunk) -> Any:
        finite = np.where(np.isfinite(chunk.values).all(axis=1)[:, None], chunk.values, 0.0).astype(np.longdouble)
        longest = np.sqrt((finite**2).sum(axis=1)).max(initial=np.longdouble(0))
        return np.rint(finite / longest * (RADIUS - 2)) if longest > 0 else finite


class SlippedNaN(RightSum):
    """Rows scaled down where they are longer than the norm, which a row with a NaN never is."""

    def rows(self, chunk: dp.Chunk) -> Any:
        values = chunk.values.astype(np.longdouble) * (RADIUS - 2) / chunk.rows.length
        lengths = np.sqrt((values**2).sum(axis=1))
        too_long = lengths > RADIUS - 2
        values[too_long] *= ((RADIUS - 2) / lengths[too_long])[:, None]
        return np.rint(np.where(np.isnan(values), 0.0, values)).astype(np.float64)


class RoundedTotals(RightSum):
    """Halves of rows, rounded once they are summed."""

    def partial(self, chunk: dp.Chunk) -> Mapping[str, Any]:
        return {"sum": np.floor(chunk.integers().sum(axis=0) / 2).astype(np.int64)}


class AddsTwice(RightSum):
    """Adds every chunk to its totals twice."""

    def add_to(self, chunk: dp.Chunk, sums: Mapping[str, Any]) -> None:
        super().add_to(chunk, sums)
        super().add_to(chunk, sums)


class FloatSums(RightSum):
    """Sums that are not integers."""

    def partial(self, chunk: dp.Chunk) -> Mapping[str, Any]:
        return {"sum": chunk.integers().sum(axis=0)}


class KeepsRows(RightSum):
    """Keeps the rows it has seen, for an extra pass over the data."""

    def partial(self, chunk: dp.Chunk) -> Mapping[str, Any]:
        RESULTS.append(chunk)
        return super().partial(chunk)


@attrs.frozen(kw_only=True)
class ExtraPass(Right):
    """Reads through a statistic that keeps the rows, and looks at them a second time."""

    def reads(self) -> tuple[dp.Statistic, ...]:
        return (dp.Moment(), KeepsRows())

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        again = gram(RESULTS[-1].integers())
        return dp.SymmetricMatrix(super().release(data, level, random).array + 0 * again)
