"""A radius for regression that scales down no more rows than the noise calls for.

A radius that leaves many rows beyond it is right where noise is what makes a model wrong. Where there is little noise,
it is wrong: the slopes of a relation that is not linear are those of the rows as they were scaled down. A rare feature
whose largest values are far out is the worst case: a model of the others is extended to them, and may predict worse
than none. How wrong it is, no release says. But how much noise costs at each radius is known, nearly, from the pilot:
noise of deviation τ on all entries costs slopes w about τ²(1 + |w|²)·tr A⁻¹ of the variance that they explain, A being
the covariance of the features, and τ grows with the squared radius. So what noise costs grows like r⁴, and what is
lost by scaling down is supposed to fall like 1/r²: of rows with a variance at most a share in proportion to 1/r² is
beyond r, each pulls slopes in proportion to r, and the loss is the square of how far slopes are off. The radius is the
one with the smallest sum, and never below the released one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_adaptive.denoise import corrected

LARGEST = 1e6
"""A radius is not enlarged by more than this."""

MISSED = 0.05
"""What scaling rows down to the released radius is supposed to cost, as a share of what a model explains, in columns
that are divided by their deviations. Nothing that is released says what it does cost: 0 where all is linear, and all of
it in the worst case. A model that explains 95 percent of what least squares explains is taken for a good one."""


def check_targets(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Validate a list of coordinates."""
    if not isinstance(value, tuple) or not all(dp.validators.is_int(each) and each >= 0 for each in value):
        raise dp.validators.refuse(owner, attribute.name, "a list of coordinates, from 0 on", value)


def noise_cost(
    covariance: dp.FloatArray,
    noise: Mapping[str, float],
    scale: dp.FloatArray,
    targets: tuple[int, ...],
    target: int,
    *,
    times: float,
) -> float:
    """What the noise of the moment to come costs a model, as a share of what it explains.

    Noise of deviation τ on all entries costs slopes w about τ²(1 + |w|²)·tr A⁻¹ of the variance that they explain, A
    being the covariance of the features. No number, or infinity, where nothing is known.

    Args:
        covariance: of the pilot, not scaled.
        noise: that on its entries.
        scale: the numbers that coordinates are divided by.
        targets: the coordinates that are predicted.
        target: the one of them that counts.
        times: how large that noise is in scaled coordinates, in units of the noise of the pilot.
    """
    deviation = np.float64(noise.get("off-diagonal", 0.0))
    features = [place for place in range(len(scale)) if place not in targets]
    model = dp.postprocess.Regression(
        of=dp.Covariance(covariance),
        mean=dp.Mean(np.zeros(len(scale))),
        target=target,
        features=features,
        of_noise=noise,
    ).apply()
    explained = model.r_squared * covariance[target, target] / scale[target] ** 2
    slopes = model.slopes * scale[features] / scale[target]
    inner = corrected(covariance[np.ix_(features, features)], "covariance", deviation)
    scaled = inner / np.outer(scale[features], scale[features])
    if not np.all(np.isfinite(scaled)):
        return math.inf
    variances = np.linalg.eigvalsh(scaled)
    coming = deviation * times
    hidden = coming * math.sqrt(len(features))  # half of the usual largest eigenvalue of the noise
    cost = coming**2 * (1 + slopes @ slopes) * (1 / np.maximum(variances, hidden)).sum()
    return float(cost / max(explained, 0.0))


def enlargement(noise: float, missed: float) -> float:
    """How many times longer a radius is best, if noise costs the first share and scaling down the second as it is.

    For a radius x times as long it is noise·x⁴ + missed/x², which is smallest where 4·noise·x⁶ = 2·missed.
    """
    return float((missed / (2 * np.float64(noise))) ** (1 / 6))


@attrs.frozen(kw_only=True)
class AffordableRadius(dp.PostProcessor):
    """The released radius, or a larger one where noise costs a regression less than scaling rows down may.

    What a model explains, and what noise costs it, is estimated from a pilot. Where the pilot finds nothing that
    explains the target, the radius stays.

    Args:
        radius: the released radius, in coordinates that are divided by scales.
        pilot: the pilot moment, augmented, about the same center, not divided.
        pilot_radius: the radius that its rows were scaled down to.
        scale: the scales.
        targets: the coordinates that are predicted.
        gain: the level of the moment to come, in units of that of the pilot.
        missed: how much of what a model explains is supposed to be lost if rows are scaled down to the released radius.
    """

    name = "affordable-radius"
    gives = dp.Scalar

    radius: Any = dp.input(dp.Scalar)
    pilot: Any = dp.input(dp.AugmentedMoment)
    pilot_radius: Any = dp.input(dp.Scalar)
    scale: Any = dp.input(dp.Scales)
    targets: tuple[int, ...] = attrs.field(converter=dp.validators.as_tuple, validator=check_targets)
    gain: float = attrs.field(default=1.0, converter=dp.validators.as_float, validator=dp.validators.number(above=0.0))
    missed: float = attrs.field(
        default=MISSED, converter=dp.validators.as_float, validator=dp.validators.number(above=0.0, below=1.0)
    )
    pilot_noise: Any = dp.noise_of("pilot")

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return ()

    def apply(self) -> dp.Scalar:
        return dp.Scalar(self._found)

    def choice(self) -> str:
        radius = float(self.radius.array)
        if self._found == radius:
            return "The radius is not enlarged: noise would cost a model too much of what it explains."
        longer = self._found / radius
        return (
            f"The radius is enlarged {longer:.3g} times, so that fewer rows are scaled down: there noise costs a model "
            f"about {self.missed / 2 / longer**2:.2g} of what it explains."
        )

    @property
    def _found(self) -> float:
        radius = float(self.radius.array)
        with np.errstate(all="ignore"):  # released values may be anything
            wanted = min((self._affordable(target) for target in self.targets), default=0.0)
        return min(max(radius, wanted), LARGEST * radius) if math.isfinite(wanted) else radius

    def _affordable(self, target: int) -> float:
        """The radius at which noise and what is lost by scaling down cost the model of one target least."""
        released = dp.postprocess.CovarianceOf(of=self.pilot, of_noise=self.pilot_noise)
        covariance, noise, scale = released.apply().array, released.result_noise(), self.scale.array
        if not (noise.get("off-diagonal", 0.0) > 0.0 and len(set(self.targets)) < len(scale)):
            return 0.0
        radius = np.float64(self.radius.array)
        times = float((radius / self.pilot_radius.array) ** 2 / self.gain)
        cost = noise_cost(covariance, noise, scale, self.targets, target, times=times)
        return float(radius * enlargement(cost, self.missed))
