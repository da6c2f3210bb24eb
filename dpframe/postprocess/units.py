"""Conversion of results from [-1, 1] to the units of the columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from dpframe.errors import PlanError
from dpframe.interfaces import PostProcessor
from dpframe.intervals import AffineLaw, Law, MatrixLaw
from dpframe.kinds import ComplexSubspace, Covariance, Kind, Loadings, Mean, Subspace
from dpframe.spec.refs import input
from dpframe.spec.rows import Rows


@attrs.frozen(kw_only=True)
class ToUnits(PostProcessor):
    """A mean, a covariance, or the loadings of components, in the units of the original columns.

    Args:
        of: the mean, covariance or subspace, in coordinates from -1 to 1.
    """

    name = "to-units"
    gives = Kind

    of: Any = input(Covariance, Mean, Subspace, ComplexSubspace)

    def output(self, kinds: Mapping[str, type[Kind]]) -> type[Kind]:
        return Loadings if issubclass(kinds["of"], ComplexSubspace) else kinds["of"]

    def check(self, rows: Rows) -> None:
        if rows.columns is None:
            raise PlanError("to-units needs dp.Rows(columns=[...]), whose ranges define the units.")
        if isinstance(self.of, Kind) and self.of.axes is None:
            raise PlanError(
                f"to-units needs a value that carries its columns; {self.of.title} written in the plan has none."
            )

    def apply(self) -> Kind:
        value, axes = self.of, self.of.axes
        scale = np.asarray(axes.scale)
        if isinstance(value, Mean):
            return Mean(np.asarray(axes.offset) + scale * value.array, axes=axes.in_units)
        if isinstance(value, Covariance):
            return Covariance(value.array * np.outer(scale, scale), axes=axes.in_units)
        return Loadings(value.array * scale[:, None], axes=axes.in_units)

    def result_law(self, laws: Mapping[str, Law]) -> Law | None:
        of, axes = laws.get("of"), self.of.axes
        if of is None:
            return None
        scale = np.asarray(axes.scale)
        if isinstance(self.of, Mean):
            return AffineLaw(of=of, scale=scale, offset=np.asarray(axes.offset))
        if isinstance(self.of, Covariance):
            if isinstance(of, MatrixLaw) and of.rotation is None:
                return of.scaled(scale)
            return AffineLaw(of=of, scale=np.outer(scale, scale))
        return AffineLaw(of=of, scale=scale[:, None])
