"""The linear map that rows are multiplied by before the last moment, from the pilot.

Noise on the moment of T(z − a), clipped to r, is isotropic and in proportion to r². Taken back by T⁻¹, its deviation
between directions i and j of V is in proportion to r²/(tᵢtⱼ), and r² grows with Σ tᵢ²λᵢ, λ being the variances along V.
So t decides where the noise goes. With t = λ^(−p):

- The sum of all squared deviations, the error of the covariance, is in proportion to (Σ t²λ · Σ t⁻²)², and smallest for
  p = 1/4: (Σ √λ)⁴ instead of (d Σ λ)².
- Relative to √(λᵢλⱼ), as correlations and slopes want it, it is (Σ t²λ · Σ 1/(t²λ))², and smallest for p = 1/2.
- For the leading k directions only noise between them and the others matters, over the gaps. Neither p = 0 nor p = 1/4
  is always better: the error is forecast from the pilot for several p, and the smallest is taken.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_adaptive.found import FromReleases

POWERS = (0.0, 0.125)
"""Values of p that are compared for components: more would gain little, and scale down rows for weak directions."""

SMALLEST = 1e-6
"""Of the largest variance: no direction is stretched for a smaller one."""

SPREADS = 2.0
"""A long row has a squared length this many deviations above the mean, if rows are normal."""


@attrs.frozen(kw_only=True)
class Preconditioner(FromReleases):
    """A linear map that takes noise where it does least harm: a power −p of the covariance that a pilot shows.

    Variances are corrected for noise, and none is taken to be smaller than the noise may hide, so that no direction is
    stretched for its noise alone. The map keeps the sum of the variances.

    Args:
        sum: the released sum.
        moment: the pilot, a moment of rows about the center.
        about: the center.
        scale: the scales that the rows of the pilot were divided by, if any.
        linear: the linear map that they were multiplied by, if any.
        pilot: an earlier moment of rows about the center, that counts as well, if any.
        offset: the released sum of the rows of the pilot, if any.
        power: p, from 0 to 1/2; None for the one with the smallest error of components, as forecast from the pilot.
        components: the numbers of leading directions that the forecast is an average over.
        gain: the level of the moment to come, in units of that of the pilot.
    """

    name = "preconditioner"
    gives = dp.LinearMap

    power: float | None = attrs.field(
        default=None,
        converter=dp.validators.as_float,
        validator=attrs.validators.optional(dp.validators.number(at_least=0.0, below=0.5 + 1e-9)),
    )
    components: tuple[int, ...] = attrs.field(
        default=(1,), converter=dp.validators.as_tuple, validator=dp.validators.positive_ints
    )
    gain: float = attrs.field(default=1.0, converter=dp.validators.as_float, validator=dp.validators.number(above=0.0))

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (rows.dim, rows.dim)

    def apply(self) -> dp.LinearMap:
        variances, axes, power = self._chosen()
        squares = variances ** (-2 * power)
        rates = np.sqrt(squares * (variances.sum() / (squares * variances).sum()))
        matrix = (axes * rates) @ axes.T
        return dp.LinearMap((matrix + matrix.T) / 2)

    def choice(self) -> str:
        variances, _, power = self._chosen()
        if power == 0.0:
            return "Rows are not turned or stretched: for the leading components the noise is best the same everywhere."
        return (
            f"Rows are multiplied by the covariance that the pilot shows to the power {-power:g}, so that noise is "
            f"{(variances[-1] / variances[0]) ** (2 * power):.2g} times smaller along the weakest direction "
            "than along the strongest."
        )

    def _chosen(self) -> tuple[dp.FloatArray, dp.FloatArray, float]:
        """Variances along the directions of the pilot, ascending; the directions; and p."""
        found = self.found()
        values, axes = np.linalg.eigh(found.corrected("covariance"))
        hidden = found.deviation * math.sqrt(len(values))  # half of the usual largest eigenvalue of the noise
        variances = np.maximum(values, max(hidden, SMALLEST * values[-1], 1e-200))
        if self.power is not None:
            return variances, axes, self.power
        errors = [self._forecast(variances, found.deviation, power) for power in POWERS]
        return variances, axes, POWERS[int(np.argmin(errors))]

    def _forecast(self, variances: dp.FloatArray, deviation: float, power: float) -> float:
        """The squared error of the leading directions, of both moments together."""
        squares = variances ** (-2 * power)
        longer = _squared_length(squares * variances) / _squared_length(variances)
        ours = (deviation / self.gain * longer) ** 2 / np.outer(squares, squares)
        noise = 1 / (1 / np.maximum(ours, 1e-300) + 1 / max(deviation**2, 1e-300))
        errors = noise / (np.square(variances[:, None] - variances) + noise)
        dim = len(variances)
        return float(np.mean([errors[-k:, :-k].sum() for k in (min(each, dim - 1) for each in self.components)]))


def _squared_length(variances: dp.FloatArray) -> float:
    """The squared length of a long row: its mean, and some of its deviations √(2 Σ λ²) for normal rows."""
    return float(variances.sum() + SPREADS * math.sqrt(2 * np.square(variances).sum()))
