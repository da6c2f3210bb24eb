"""What is known about a quantile that was chosen from a grid by the exponential mechanism: its rank, not its value.

A point of the grid that is t rows farther from the wanted rank than the nearest one has e^(−t/scale) times its
probability. So with all points of the grid together the excess is at most scale · log(points/(1 − confidence)) rows.
How far that is in the units of the rows depends on how many of them are near, which was not released.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from dpframe.intervals.interval import Interval
from dpframe.intervals.law import Law, refuse_sampling
from dpframe.lattice import FloatArray


@attrs.frozen(kw_only=True, eq=False)
class RankLaw(Law):
    """A quantile of which the rank is known.

    Args:
        scale: the excess rank, in rows, at which a point has 1/e times the probability of the best one.
        points: the number of points of the grid.
        quantile: the wanted quantile.
        shape: of the value, where several were chosen in the same way.
    """

    scale: float
    points: int
    quantile: float
    shape: tuple[int, ...] = ()

    def rank_error(self, confidence: float) -> float:
        """The number of rows by which the rank is farther from the wanted one than that of the nearest grid point.

        Args:
            confidence: the probability that it is at most this.
        """
        return self.scale * math.log(self.points / (1 - confidence))

    def interval(self, confidence: float, *, sampled: bool = False) -> Interval:
        refuse_sampling(sampled, "a quantile")
        method = (
            f"Its rank among the rows is known, not its value: the number of rows at or below it differs from "
            f"{self.quantile:.4g} of all by at most {self.rank_error(confidence):.3g} rows more than at the nearest "
            "point of the grid. How far that is in units depends on how many rows are near, which was not released."
        )
        return Interval(
            low=np.full(self.shape, -np.inf),
            high=np.full(self.shape, np.inf),
            confidence=confidence,
            method=method,
            determined=np.zeros(self.shape, dtype=bool),
        )

    def standard_error(self) -> FloatArray:
        return np.full(self.shape, np.inf)
