"""The post-processing of one round of DP-Oja: a step of the direction."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_oja.statistic import check_direction, check_seed, start


@attrs.frozen(kw_only=True)
class OjaStep(dp.PostProcessor):
    """The direction after one round: w + step · g/‖g‖ for the noisy sum g, normalized to length one.

    The learning rate is step/‖g‖, a function of released values; g is not divided by the number of rows, which is
    private under add-remove. The sign is fixed: the entry of largest absolute value is positive.

    Args:
        of: the noisy sum at the direction.
        direction: the previous direction, whose leading column is used; without one, the public start.
        seed: the seed of the public start, the same as in the release.
        step: how far the direction moves; with a large step the previous direction has little weight.

    >>> OjaStep(of=[3.0, 4.0], direction=[[0.0], [1.0]], step=1e9).apply().array.round(6).tolist()
    [[0.6], [0.8]]
    """

    name = "oja-step"
    gives = dp.Subspace

    of: Any = dp.input(dp.Vector)
    direction: Any = dp.input(dp.Subspace, default=None)
    seed: int = attrs.field(default=0, validator=check_seed)
    step: float = attrs.field(
        default=1.0, converter=dp.validators.as_float, validator=dp.validators.number(above=0.0, below=1e12)
    )

    def check(self, rows: dp.Rows) -> None:
        check_direction(self.direction, rows)

    def apply(self) -> dp.Subspace:
        before = start(len(self.of.array), self.seed) if self.direction is None else self.direction.array[:, 0]
        after = _unit(before + self.step * _unit(self.of.array))
        if not after.any():  # the step canceled the direction exactly, as can happen with one coordinate
            after = before
        return dp.Subspace(after[:, None] * np.sign(after[np.abs(after).argmax()]), axes=self.of.axes)


def _unit(vector: dp.FloatArray) -> dp.FloatArray:
    """The vector normalized to length one, or zero; divided by its largest entry first to avoid overflow."""
    largest = np.abs(vector).max()
    if largest == 0.0:
        return vector
    scaled = vector / largest
    unit: dp.FloatArray = scaled / np.linalg.norm(scaled)
    return unit
