"""Gaussian noise on a public grid, for numbers and symmetric matrices that are computed in floats."""

from __future__ import annotations

import math

import attrs
import numpy as np

import dpframe.plugin as dp

GRID = 2.0**20  # grid steps of a released number per deviation of its noise


@attrs.frozen
class GridNoise:
    """Noise of deviation shift · factor, on a public grid: the low-order bits of floats would reveal more.

    Numbers are rounded to the grid before noise is added, each by up to half a step, so that neighbors may differ by
    shift + r steps, where r is the norm of a difference of one step everywhere. The noise grows with it, to
    GRID + r · factor steps, so that this is still 1/factor deviations.
    """

    random: dp.Random
    factor: float

    def numbers(self, exact: dp.FloatArray, shift: float) -> dp.FloatArray:
        """An array with independent noise."""
        step, deviation = self._grid(shift, math.sqrt(exact.size))
        whole = np.rint(exact / step) + self.random.gaussian(deviation, exact.shape)
        return np.asarray(whole * step, dtype=np.float64)

    def symmetric(self, exact: dp.FloatArray, shift: float, off_diagonal: float) -> dp.FloatArray:
        """A symmetric matrix with noise, multiplied by ``off_diagonal`` off the diagonal."""
        step, deviation = self._grid(shift, float(len(exact)))  # the norm of a matrix of ones
        beside = dp.rounding.up(deviation * off_diagonal)
        noise = np.triu(self.random.gaussian(beside, exact.shape), 1)
        np.fill_diagonal(noise, self.random.gaussian(deviation, len(exact)))
        whole = np.rint((exact + exact.T) / (2 * step)) + noise + np.triu(noise, 1).T
        return np.asarray(whole * step, dtype=np.float64)

    def _grid(self, shift: float, rounded: float) -> tuple[float, float]:
        """The step of the grid, and the deviation of the noise in steps, both rounded up."""
        return dp.rounding.up(shift * self.factor) / GRID, dp.rounding.up(GRID + rounded * self.factor)
