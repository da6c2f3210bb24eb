"""Synthetic data with the figures of a scenario: the only data that a forecast ever reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from dpframe import lattice
from dpframe.errors import PlanError
from dpframe.forecast import synthetic_rows
from dpframe.interfaces import Statistic
from dpframe.lattice import FloatArray, IntArray
from dpframe.plan import Plan
from dpframe.reading.chunk import Chunk
from dpframe.reading.private_data import Parts, PrivateData
from dpframe.reading.under import Under
from dpframe.spec.matrix import Matrix as Promised
from dpframe.spec.placement import NORM_LIMIT
from dpframe.spec.rows import Rows
from dpframe.spec.scenario import Scenario
from dpframe.statistics import Moment

BLOCK = 1 << 16  # rows at a time
EXACT = 2.0**61  # entries below this fit 64 bits with room for noise
KEPT = 64  # statistics in the cache of a sample
MOST_SIMULATED = 10**8  # numbers in synthetic rows, which are held in memory


class Population(ABC):
    """Synthetic data of a scenario, which any promise about rows can be applied to."""

    @abstractmethod
    def spread(self, rows: Rows) -> FloatArray:
        """The second moment of the unclipped rows: about their mean if they are centered, or as they are placed.

        Args:
            rows: the promise.
        """

    @abstractmethod
    def data(self, rows: Rows, statistics: Iterable[Statistic]) -> PrivateData:
        """The statistics as a run would read them.

        Args:
            rows: the promise, whose norm clips rows.
            statistics: the statistics to read.
        """

    @abstractmethod
    def unclipped(self, rows: Rows, statistics: Iterable[Statistic]) -> PrivateData:
        """The statistics without scaling down any row.

        Args:
            rows: the promise; its norm is not applied.
            statistics: the statistics to read.
        """


@attrs.frozen(eq=False)
class Matrix(Population):
    """A second moment without rows.

    Args:
        exact: the matrix, in a random basis.
    """

    exact: FloatArray

    def spread(self, rows: Rows) -> FloatArray:
        return self.exact

    def data(self, rows: Rows, statistics: Iterable[Statistic]) -> PrivateData:
        with np.errstate(over="ignore"):
            scaled = np.rint(self.exact / rows.step**2)
        if not np.isfinite(scaled).all():
            raise PlanError("the eigenvalues of the scenario are too large to be simulated for rows of this norm.")
        integers: Any = scaled.astype(np.int64) if np.abs(scaled).max() < EXACT else _wide(scaled)
        return PrivateData(rows, statistics={statistic: {"moment": integers} for statistic in statistics})

    unclipped = data


@attrs.frozen(eq=False, slots=False)
class Sample(Population):
    """Rows drawn from a model.

    Args:
        values: the mapped rows, about the middle of the ranges of columns.
        times: how many rows of the table each of them stands for, in runs of equal numbers; one by default.
        known: a cache of the statistics that were read.
    """

    values: FloatArray
    times: IntArray = attrs.Factory(lambda sample: np.ones(len(sample.values), dtype=np.int64), takes_self=True)
    _known: dict[tuple[Rows, Statistic], Parts] = attrs.field(factory=dict, alias="known")

    @cached_property
    def count(self) -> int:
        """The number of rows of the table."""
        return int(self.times.sum())

    @cached_property
    def mean(self) -> FloatArray:
        """The mean of the rows."""
        return np.asarray(self.times @ self.values / self.count)

    @cached_property
    def covariance(self) -> FloatArray:
        """The covariance of the rows, divided by their number."""
        about = self.values - self.mean
        about *= np.sqrt(self.times)[:, None]
        return np.asarray(about.T @ about / self.count)

    def spread(self, rows: Rows) -> FloatArray:
        if rows.center:
            return self.covariance * self.count
        placed = _placed(self.values, rows) * np.sqrt(self.times)[:, None]
        return placed.T @ placed

    def data(self, rows: Rows, statistics: Iterable[Statistic]) -> PrivateData:
        return PrivateData(rows, statistics={each: self._parts(rows, each) for each in statistics})

    def unclipped(self, rows: Rows, statistics: Iterable[Statistic]) -> PrivateData:
        placed = _placed(self.values, rows)
        longest = float(np.sqrt(np.einsum("ij,ij->i", placed, placed).max()))
        within = attrs.evolve(rows, norm=min(max(longest, 1 / NORM_LIMIT), NORM_LIMIT))
        parts = {each: self._parts(within.unplaced if each.sees == "mapped" else within, each) for each in statistics}
        return PrivateData(within, statistics=parts)

    def _parts(self, rows: Rows, statistic: Statistic) -> Parts:
        """A statistic summed over blocks, and cached: releases that differ only in noise read the same."""
        key = (rows, statistic)
        if key not in self._known:
            if len(self._known) > KEPT:
                self._known.clear()
            seen = statistic.rows if isinstance(statistic, Under) else rows
            parts = ((statistic.partial(Chunk(seen, _placed(block, seen))), times) for block, times in self._blocks)
            self._known[key] = _sum(parts, wide=self.count * 4.0**lattice.BITS >= EXACT)
        return self._known[key]

    @cached_property
    def _blocks(self) -> list[tuple[FloatArray, int]]:
        """Blocks of rows that stand for equally many, with that number."""
        changes = np.flatnonzero(np.diff(self.times)) + 1
        return [
            (part[start : start + BLOCK], int(times[0]))
            for part, times in zip(np.split(self.values, changes), np.split(self.times, changes), strict=True)
            for start in range(0, len(part), BLOCK)
        ]


def _placed(values: FloatArray, rows: Rows) -> FloatArray:
    """Mapped rows about the center of a promise, divided by its scales or multiplied by its matrix."""
    if not rows.is_moved:
        return values
    shift, rate = rows.affine
    moved = (values - shift) * rate
    return moved if rows.linear is None else moved @ rows.multiplied


def _wide(values: FloatArray) -> Any:
    return np.array([[int(value) for value in row] for row in values], dtype=object)


def _sum(parts: Iterable[tuple[Parts, int]], *, wide: bool) -> Mapping[str, IntArray]:
    """The sum of parts, each taken a number of times; in integers of any size if 64 bits are too few."""
    total: dict[str, Any] = {}
    for part, times in parts:
        counted = {name: (array.astype(object) if wide else array) * times for name, array in part.items()}
        total = {name: total[name] + array if total else array for name, array in counted.items()}
    return total


def population(plan: Plan, scenario: Scenario, seed: int) -> Population:
    """Data with the scenario's figures, in a random basis; raises PlanError where it lacks what the plan reads.

    Args:
        plan: the plan to simulate.
        scenario: the assumed data; a table with its shape.
        seed: the seed of the data.
    """
    if plan.rows.complex:
        raise PlanError("simulations are of real rows, and these are complex (complex=True); explain() forecasts.")
    eigenvalues = scenario.eigenvalues
    if eigenvalues is None and scenario.model != "table":
        raise PlanError("a simulation needs a scenario with spectrum=, or with model='spiked' or model='table'.")
    numbers = np.random.default_rng([seed, 0xDA7A])
    if scenario.model is not None and isinstance(plan.rows, Promised):
        raise PlanError(
            "dp.Matrix is about a matrix without rows; leave model= out of the scenario, and say spectrum=."
        )
    if scenario.model is None:
        assert eigenvalues is not None  # by the check above
        _check_matrix_suffices(plan)
        basis = _basis(numbers, scenario.dim)
        matrix = (basis * eigenvalues) @ basis.T
        return Matrix((matrix + matrix.T) / 2)
    assert scenario.n is not None  # a model needs it
    if scenario.n * scenario.dim > MOST_SIMULATED:
        raise PlanError(
            f"a simulation of {scenario.n} rows in {scenario.dim} coordinates is too large; up to "
            f"{MOST_SIMULATED // scenario.dim} rows can be simulated. Without model=, none are."
        )
    if eigenvalues is None:
        return _table(plan, scenario, numbers)
    basis = _basis(numbers, scenario.dim)
    roots = np.sqrt(eigenvalues / scenario.n)
    return Sample((synthetic_rows.factors(numbers, scenario.n, scenario.dim, scenario.shape) * roots) @ basis.T)


def _basis(numbers: np.random.Generator, dim: int) -> FloatArray:
    return np.linalg.qr(numbers.standard_normal((dim, dim)))[0]


def _table(plan: Plan, scenario: Scenario, numbers: np.random.Generator) -> Sample:
    if plan.rows.columns is None:
        raise PlanError("a scenario with model='table' is about columns: dp.Rows(columns=[...]).")
    assert scenario.n is not None  # a model needs it
    assert scenario.shape is not None  # one of `Scenario.variations`
    return Sample(synthetic_rows.table(numbers, plan.rows.columns, scenario.n, scenario.shape))


def _check_matrix_suffices(plan: Plan) -> None:
    """Raise PlanError where a plan needs more than the second moment, which is all there is without a model of rows."""
    advice = "say how rows are distributed: dp.Scenario(..., n=..., model='gaussian')."
    if plan.rows.center:
        raise PlanError(f"this plan is centered, so a simulation needs rows; {advice}")
    if not plan.same_public_rows or plan.rows.is_moved:
        raise PlanError(
            f"its rows have a center, or a norm that differs or is released, so a simulation needs rows; {advice}"
        )
    for step, mechanism in plan.releases:
        if others := [statistic.name for statistic in mechanism.reads() if not isinstance(statistic, Moment)]:
            raise PlanError(f"step {step.name!r} reads {others[0]!r}, so a simulation needs rows; {advice}")
