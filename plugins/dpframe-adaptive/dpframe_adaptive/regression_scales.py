"""Scales of columns for a regression: how much rare features are stretched, by what noise and clipping may cost.

Columns that are divided by their deviations all have the same variance, and noise that is the same everywhere harms the
slopes of all alike. But a feature that few rows have, such as a capital gain, varies little, and is stretched most: its
largest values become the longest rows, which are scaled down, and where the relation is not linear, slopes are then
wrong. Dividing by a power p of the deviations stretches it less, and leaves more noise on the slopes of columns that
vary little. What noise costs follows from the pilot (`noise_cost`). What scaling down costs, no release says; it is
supposed to be in proportion to p, and a twentieth of what a model explains for p = 1. The power with the smallest sum
is taken, for the radius at which it is smallest.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_adaptive.place import column_deviations, relative_scales
from dpframe_adaptive.reach import LARGEST, MISSED, check_targets, enlargement, noise_cost

POWERS = (0.5, 0.75, 1.0)
"""The powers that are compared. On simulated tables 1/2 is best where noise is small, and 1 where it is large; below
1/2 nothing is gained."""


def target_weight(dim: int, targets: int) -> float:
    """β, the variance of a target in the scaled coordinates, where that of a feature is 1: √(p/q), at least 1.

    For p features and q targets the squared length of a row is about p + qβ, and noise on the moment is in proportion
    to it. Slopes are wrong by noise on the covariances with the target, which costs (p + qβ)²·p/β of its variance, and
    by noise on those among features, which costs (p + qβ)²·pρ, ρ being the squared length of the slopes. Without the
    second, β = p/q is best, and without the first, β = 0. At √(p/q) the sum is at most 1.11 times what it is at 1 for
    ρ up to 1 and one target; where ρ is near zero, it is 0.65 of it for 5 features, and 0.29 for 22.

    Args:
        dim: the number of all coordinates.
        targets: how many of them are predicted.
    """
    return max(math.sqrt((dim - targets) / targets), 1.0) if targets else 1.0


@attrs.frozen(kw_only=True)
class RegressionScales(dp.PostProcessor):
    """A power of the deviation of each coordinate from a pilot moment, as a share of the largest, for a regression.

    Rows are divided by these. The power is 1 where noise is what makes slopes wrong, and 3/4 or 1/2 where the pilot
    says that there is less: then rare features are stretched less, and fewer of their largest values are scaled down.
    A deviation that is within noise of zero is replaced by that of the noise. The coordinates that are predicted are
    divided by less, see `target_weight`.

    Args:
        of: the pilot moment, augmented, about any center.
        targets: the coordinates that are predicted.
        gain: the level of the moment to come, in units of that of the pilot.
    """

    name = "regression-scales"
    gives = dp.Scales

    of: Any = dp.input(dp.AugmentedMoment)
    targets: tuple[int, ...] = attrs.field(converter=dp.validators.as_tuple, validator=check_targets)
    gain: float = attrs.field(default=1.0, converter=dp.validators.as_float, validator=dp.validators.number(above=0.0))
    of_noise: Any = dp.noise_of("of")

    def check(self, rows: dp.Rows) -> None:
        if not 0 < len(set(self.targets)) < rows.known_dim or max(self.targets) >= rows.known_dim:
            raise dp.PlanError(
                f"targets of {self.name!r} must be some, not all, of the coordinates 0 to {rows.known_dim - 1}; "
                f"got {list(self.targets)}."
            )

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (rows.dim,)

    def apply(self) -> dp.Scales:
        return dp.Scales(self._scales(self._power))

    def choice(self) -> str:
        if self._power == max(POWERS):
            return "Columns are divided by their deviations: noise is what makes slopes wrong."
        return (
            f"Columns are divided by their deviations to the power {self._power:g}, so that rare features are "
            "stretched less; the pilot says that the noise allows it."
        )

    @property
    def _power(self) -> float:
        """The power with the smallest cost; the largest where the pilot finds no model."""
        with np.errstate(all="ignore"):  # released values may be anything
            costs = {power: self._cost(power) for power in sorted(POWERS, reverse=True)}
        known = {power: cost for power, cost in costs.items() if math.isfinite(cost)}
        return min(known, key=lambda power: known[power], default=max(POWERS))

    def _cost(self, power: float) -> float:
        """What noise and scaling down cost together, for all targets, at the best radius that is not shorter."""
        released = dp.postprocess.CovarianceOf(of=self.of, of_noise=self.of_noise)
        covariance, noise, scale = released.apply().array, released.result_noise(), self._scales(power)
        variances = self._deviations**2
        longer = (variances / scale**2).sum() / variances.sum()  # squared lengths of rows, on average
        total = 0.0
        for target in self.targets:
            cost = noise_cost(covariance, noise, scale, self.targets, target, times=float(longer / self.gain))
            more = min(max(enlargement(cost, power * MISSED), 1.0), LARGEST)
            total += cost * more**4 + power * MISSED / more**2
        return total

    def _scales(self, power: float) -> dp.FloatArray:
        scales = self._deviations**power
        scales[list(self.targets)] /= math.sqrt(target_weight(len(scales), len(self.targets)))
        return relative_scales(scales)

    @property
    def _deviations(self) -> dp.FloatArray:
        return column_deviations(self.of, self.of_noise)
