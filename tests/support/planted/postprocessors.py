"""Post-processors that draw, give another kind or shape, fail on noise, or ask for data."""

from __future__ import annotations

import math
import sys
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp


@attrs.frozen(kw_only=True)
class RightTrace(dp.PostProcessor):
    """The trace of a released matrix."""

    name = "planted-trace"
    gives = dp.Scalar
    of: Any = dp.input(dp.SymmetricMatrix)

    def apply(self) -> dp.Kind:
        return dp.Scalar(float(np.trace(self.of.array)))


class RandomTrace(RightTrace):
    """Adds noise from the global generator."""

    def apply(self) -> dp.Kind:
        return dp.Scalar(float(np.trace(self.of.array)) + np.random.normal())


class TraceOfAnotherKind(RightTrace):
    """Gives a vector where it says a number."""

    def apply(self) -> dp.Kind:
        return dp.Vector([float(np.trace(self.of.array))])


class TraceOfUntrueShape(RightTrace):
    """Tells of a vector where it gives a number."""

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (None,)


class RootOfTrace(RightTrace):
    """Takes a root, which noise may have made imaginary."""

    def apply(self) -> dp.Kind:
        return dp.Scalar(math.sqrt(np.linalg.eigvalsh(self.of.array)[0]))


class ExitsOnNoise(RightTrace):
    """Ends the process where noise has made an eigenvalue negative."""

    def apply(self) -> dp.Kind:
        if np.linalg.eigvalsh(self.of.array)[0] < 0:
            sys.exit("a covariance has no negative eigenvalues")
        return super().apply()


class VectorOnNoise(RightTrace):
    """Gives a vector where noise has made an eigenvalue negative."""

    def apply(self) -> dp.Kind:
        number = super().apply()
        return number if np.linalg.eigvalsh(self.of.array)[0] >= 0 else dp.Vector(number.array.reshape(1))


class AsksForData(RightTrace):
    """Wants the private data as well."""

    def apply(self, data: dp.PrivateData) -> dp.Kind:  # type: ignore[override]
        return dp.Scalar(float(np.trace(data.moment)))
