"""Statistics of rows under a promise of their own."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from dpframe.interfaces import Statistic
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


def under(statistic: Statistic, own: Rows, rows: Rows) -> Statistic:
    """The statistic to read for a step.

    Args:
        statistic: the statistic, with its references resolved.
        own: the promise of the step.
        rows: the promise of the plan, under which all statistics are read that do not say otherwise.
    """
    seen = own.unplaced if statistic.sees == "mapped" else own
    return statistic if seen == rows else Under(statistic, seen)
