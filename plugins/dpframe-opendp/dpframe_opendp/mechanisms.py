"""Two mechanisms of OpenDP: Gaussian noise on the second moment, and Laplace noise on the sum of the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_opendp.measured import MeasuredMechanism


@attrs.frozen(kw_only=True)
class OpenDPGaussian(MeasuredMechanism):
    """The second moment with OpenDP's discrete Gaussian noise on each of its entries.

    One person moves the matrix, as a vector of all its entries, by at most Δ in Euclidean norm. Every entry gets
    independent noise of one scale, and entries (i, j) and (j, i) are averaged afterward, which is post-processing: off
    the diagonal the variance is half of that on it, as with the noise "goe" of ``gaussian``.

    Guarantee:
        rho-zCDP with rho = level, by OpenDP's map for ``make_gaussian``; worst case.

    >>> OpenDPGaussian(neighbors="replace").loss(dp.Rows(norm=1.0, neighbors="replace"), level=0.25)
    ZCDP(rho=0.25)
    """

    name = "opendp-gaussian"
    unit = "rho"
    gives = dp.SymmetricMatrix
    numerics = "exact"
    part = "moment"

    def measurement(self, scale: float) -> Any:
        import opendp.prelude as opendp

        integers = opendp.vector_domain(opendp.atom_domain(T="i64"))
        return opendp.m.make_gaussian(integers, opendp.l2_distance(T="f64"), scale=scale)

    def output(self, rows: dp.Rows) -> type[dp.Kind]:
        return dp.Moment.kind(rows)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return dp.Moment.shape(rows)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noisy = self.measured(data, level).astype(np.float64)
        average: Any = (noisy + noisy.T) / 2
        return dp.Moment.value(average, data.rows)

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        diagonal = self.scale(rows, level) * rows.step**2
        return {"diagonal": diagonal, "off-diagonal": diagonal / math.sqrt(2)}

    def noiseless(self, data: dp.PrivateData) -> dp.Kind:
        return dp.Moment.value(data.moment, data.rows)


@attrs.frozen(kw_only=True)
class OpenDPLaplace(MeasuredMechanism):
    """The sum and the number of rows, with OpenDP's discrete Laplace noise on each entry.

    One person moves the vector by at most Δ in L1 norm. Rows are taken about the middle of their ranges, as in
    ``laplace-sum``.

    Guarantee:
        Pure epsilon-DP with epsilon = level, by OpenDP's map for ``make_laplace``; worst case.

    >>> OpenDPLaplace(neighbors="replace").loss(dp.Rows(norm=1.0, neighbors="replace"), level=0.25)
    Pure(epsilon=0.25)
    """

    name = "opendp-laplace"
    unit = "epsilon"
    gives = dp.AugmentedSum
    numerics = "exact"
    part = "sum"

    def measurement(self, scale: float) -> Any:
        import opendp.prelude as opendp

        integers = opendp.vector_domain(opendp.atom_domain(T="i64"))
        return opendp.m.make_laplace(integers, opendp.l1_distance(T="i64"), scale=scale)

    def reads(self) -> tuple[dp.Statistic, ...]:
        return (dp.RowSum(),)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return dp.RowSum.shape(rows)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        return dp.RowSum.value(self.measured(data, level), data.rows)

    def noise(self, rows: dp.Rows, level: float) -> Mapping[str, float]:
        return {"each": math.sqrt(2) * self.scale(rows, level) * rows.unplaced.step}

    def law(self, value: dp.Kind, rows: dp.Rows, level: float, laws: Mapping[str, dp.Law]) -> dp.Law | None:
        return dp.law_of(value, self.noise(rows, level), shape=1.0)

    def noiseless(self, data: dp.PrivateData) -> dp.Kind:
        return dp.RowSum.value(data.parts(dp.RowSum())["sum"], data.rows)
