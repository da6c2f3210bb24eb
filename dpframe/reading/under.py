"""Statistics of rows under a promise of their own."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from dpframe.interfaces import Statistic
from dpframe.kinds import Kind
from dpframe.lattice import IntArray
from dpframe.reading.chunk import Chunk
from dpframe.reading.exact_sum import ExactSum
from dpframe.sensitivity import Sensitivity
from dpframe.spec.rows import Rows


@attrs.frozen
class Under(Statistic):
    """A statistic that is read in the same pass as others, of rows that are mapped by another promise.

    Args:
        statistic: the statistic.
        rows: its promise, with its dimension known.
    """

    name = "under"

    statistic: Statistic
    rows: Rows

    def sensitivity(self, rows: Rows) -> Mapping[str, Sensitivity]:
        """The sensitivity of the statistic under its own promise."""
        return self.statistic.sensitivity(self.rows)

    def partial(self, chunk: Chunk) -> Mapping[str, IntArray]:
        """The parts of a chunk that was mapped by its own promise."""
        return self.statistic.partial(chunk)

    def add_to(self, chunk: Chunk, sums: Mapping[str, ExactSum]) -> None:
        """Add the parts of a chunk that was mapped by its own promise."""
        self.statistic.add_to(chunk, sums)

    def check(self, rows: Rows) -> None:
        """Check the statistic under its own promise."""
        self.statistic.check(self.rows)


def under(statistic: Statistic, own: Rows, rows: Rows, values: Mapping[str, Kind]) -> Statistic:
    """The statistic to read for a step: as it is, where it sees the rows of the plan.

    The decision rests on the promises as they were declared, and the promise of an `Under` on the released parts alone
    that the statistic needs. So it is the same before the pass and after it, when more may have been released.

    Args:
        statistic: the statistic, with its references resolved.
        own: the promise of the step, as declared.
        rows: the promise of the plan, as declared.
        values: the results of earlier passes at least, by step.
    """
    seen = _visible(own, rows, statistic)
    return statistic if seen == rows else Under(statistic, seen.with_released(values))


def _visible(own: Rows, rows: Rows, statistic: Statistic) -> Rows:
    """The promise of a step without the parts that a statistic does not depend on."""
    if statistic.sees == "clipped":
        return own
    if own.columns is None:
        return rows if own.awaited else own  # what sees arrays before their norm is released does not use it
    if statistic.sees == "mapped":
        return own.unplaced
    return rows if own == rows else attrs.evolve(own, norm=None)
