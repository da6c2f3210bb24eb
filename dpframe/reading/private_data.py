"""The private data that a mechanism receives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs
import numpy as np

from dpframe.display.redacted import Redacted
from dpframe.errors import PlanError
from dpframe.lattice import IntArray
from dpframe.reading.chunk import read_only
from dpframe.spec.rows import Rows

if TYPE_CHECKING:
    from dpframe.interfaces import Statistic

Parts = Mapping[str, IntArray]


def _all_read_only(statistics: Mapping[Statistic, Parts]) -> Mapping[Statistic, Parts]:
    return {
        statistic: {name: read_only(np.asanyarray(part)) for name, part in parts.items()}
        for statistic, parts in statistics.items()
    }


def _unheard(done: int, total: int) -> None:
    """Nobody watches."""


@attrs.frozen(repr=False, eq=False)
class PrivateData(Redacted):
    """What a mechanism receives: the public promise and the exact statistics that it declared.

    Args:
        rows: the promise about the rows.
        statistics: the integer parts of each statistic.
        progress: a function that mechanisms with a long draw may call with the number of parts that are done, and of
            all of them. Whoever runs the plan sees both, so they must not depend on the data.
    """

    rows: Rows
    _statistics: Mapping[Statistic, Parts] = attrs.field(alias="statistics", converter=_all_read_only)
    progress: Callable[[int, int], None] = attrs.field(default=_unheard, kw_only=True)

    def handed(
        self,
        rows: Rows,
        statistics: Mapping[Statistic, Statistic],
        progress: Callable[[int, int], None] = _unheard,
    ) -> PrivateData:
        """What a mechanism is handed of these data: only its own statistics, with its own promise.

        Args:
            rows: the promise about the rows that its step sees.
            statistics: by each statistic that it declared, the one that was read for it.
            progress: receives how much of its draw is done.
        """
        own = {declared: self._statistics[read] for declared, read in statistics.items()}
        return PrivateData(rows, statistics=own, progress=progress)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The statistics that are available."""
        return tuple(self._statistics)

    def parts(self, statistic: Statistic) -> Parts:
        """The integer parts of a statistic that the mechanism declared in ``reads``."""
        if statistic not in self._statistics:
            raise PlanError(f"{statistic!r} was not declared: return it from the mechanism's reads().")
        return self._statistics[statistic]

    @property
    def moment(self) -> IntArray:
        """The second moment in lattice units, augmented if the plan is centered; (2, dim, dim) of complex rows."""
        from dpframe.statistics import Moment

        return self.parts(Moment())["moment"]
