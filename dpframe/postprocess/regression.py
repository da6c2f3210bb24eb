"""Linear regression of one coordinate on others, from a released covariance: ridge, with the noise taken into account.

Slopes, the penalty and R² are functions of released values and of the law of their noise (`dpframe.postprocess.ridge`):
all of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.interfaces import PostProcessor
from dpframe.intervals import Law
from dpframe.intervals.centered import covariance_law, mean_law
from dpframe.intervals.law import AffineLaw
from dpframe.intervals.slopes import slopes_law
from dpframe.kinds import AugmentedMoment, Axes, Covariance, Kind, LinearModel, Mean
from dpframe.lattice import FloatArray
from dpframe.postprocess.center import CovarianceOf, MeanOf
from dpframe.postprocess.ridge import Problem
from dpframe.spec.refs import Shape, input, noise_of
from dpframe.spec.rows import Rows

TINY, LARGEST = 1e-100, 1e100
"""No unit is smaller than the first; noise and penalties of more than the second, in units, are cut to it."""


def as_penalty(value: Any) -> Any:
    """A penalty, or anything else unchanged, to be refused."""
    return value if isinstance(value, str) else validators.as_float(value)


def check_penalty(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Validate a penalty."""
    if value != "auto" and not (validators.is_finite(value) and value >= 0.0):
        raise validators.refuse(owner, "penalty", "'auto' or a number of at least 0", value)


def _check_place(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not (isinstance(value, str) and value) and not (validators.is_int(value) and value >= 0):
        raise validators.refuse(owner, attribute.name, "the name or the index of a coordinate", value)


def check_features(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Validate a list of names or indices of coordinates, or None."""
    if value is None:
        return
    if not isinstance(value, tuple) or not value:
        raise validators.refuse(owner, "features", "a list of names or indices of coordinates, at least one", value)
    for each in value:
        _check_place(owner, attribute, each)


@attrs.frozen(kw_only=True, slots=False)
class Regression(PostProcessor):
    """Slopes and intercept of a linear model of one column, in the units of the columns, and its estimated R².

    Slopes are those of ridge regression in the coordinates of the covariance. With penalty "auto" small eigenvalues of
    the features are raised to what is usual for noise, and the penalty is chosen from the released values and the law
    of their noise; where the covariances with the target are hidden in noise, slopes are shrunk to nearly zero. R² is
    that of these slopes on the rows, estimated from the same release.

    Args:
        of: a covariance, or an augmented moment.
        target: the column that is predicted, by its name; by its index where rows have no columns.
        features: the columns that it is predicted from; all others by default. A category counts with all its levels.
        penalty: "auto", or a number that is added to the variance of every feature in the coordinates of the
            covariance; 0 for least squares.
        mean: the mean of the same rows, for the intercept; by default that of the step '<of>.mean'. An augmented moment
            has its own.
    """

    name = "regression"
    gives = LinearModel

    of: Any = input(Covariance, AugmentedMoment)
    target: str | int = attrs.field(validator=_check_place)
    features: tuple[str | int, ...] | None = attrs.field(
        default=None, converter=validators.as_tuple, validator=check_features
    )
    penalty: str | float = attrs.field(default="auto", converter=as_penalty, validator=check_penalty)
    mean: Any = input(Mean, default=None, beside="of")
    of_noise: Any = noise_of("of")

    def output(self, kinds: Mapping[str, type[Kind]]) -> type[Kind]:
        if self.mean is None and not issubclass(kinds["of"], AugmentedMoment):
            raise PlanError(
                "'regression' of a covariance needs the mean of the same rows, for the intercept: mean=..., from "
                'dp.derive(..., "mean", of=...).'
            )
        return LinearModel

    def output_shape(self, rows: Rows) -> Shape:
        """One slope for each feature, and the intercept; raises PlanError where rows have no such columns."""
        if rows.dim is None:
            return (None,)
        if rows.columns is None:
            labels = tuple(map(str, range(rows.dim)))
        else:
            labels = tuple(label for column in rows.columns for label in column.labels)
        return (len(self.places(labels)[1]) + 1,)

    def apply(self) -> LinearModel:
        return self._fitted

    def result_law(self, laws: Mapping[str, Law]) -> Law | None:
        of, mean = laws.get("of"), laws.get("mean")
        if isinstance(self.of, AugmentedMoment):
            of, mean = covariance_law(of, self.of.constant), mean_law(of, self.of.constant)
        target, features = self.places(self._labels)
        scale, at = self._units
        axes = self.mean.axes if self.mean is not None else self._covariance.axes
        if mean is not None and axes is not None:
            mean = AffineLaw(of=mean, scale=np.asarray(axes.scale), offset=np.asarray(axes.offset))
        return slopes_law(of, mean, target=target, features=features, scale=scale, at=at)

    def choice(self) -> str:
        fitted = self._fitted
        estimated = f"R² is estimated at {fitted.r_squared:.2g}."
        if self.penalty != "auto":
            return estimated
        if self._problem.deviation == 0.0:
            return f"The noise of the covariance is not known, so this is least squares without a penalty. {estimated}"
        if self._problem.hidden:
            return f"Covariances with the target are hidden in noise: slopes are shrunk to nearly zero. {estimated}"
        return f"The penalty {fitted.penalty:.3g} suits the noise, for a direction of average variance. {estimated}"

    @cached_property
    def _fitted(self) -> LinearModel:
        target, features = self.places(self._labels)
        problem, unit = self._problem, self._unit
        given = None if self.penalty == "auto" else min(float(self.penalty) / unit, LARGEST)
        shrinkage = problem.automatic() if given is None else problem.ridge(given)
        slopes, explained = problem.slopes(shrinkage)
        scale, offset = self._units
        slopes = slopes * (scale[target] / scale[features])
        variance = self._covariance.array[target, target] / unit
        share = min(max(explained / variance, 0.0), 1.0) if variance > 0.0 else 0.0
        intercept = offset[target] - slopes @ offset[features]
        units = self._covariance.axes.unit if self._covariance.axes is not None else ("",) * len(scale)
        labels = (*(self._labels[place] for place in features), "intercept")
        axes = Axes(
            labels,
            (1.0,) * len(labels),
            (0.0,) * len(labels),
            (*(_per(units[target], units[place]) for place in features), units[target]),
        )
        return LinearModel(
            np.append(slopes, intercept),
            axes=axes,
            target=self._labels[target],
            penalty=shrinkage.penalty * unit,
            r_squared=float(share),
        )

    @cached_property
    def _problem(self) -> Problem:
        target, features = self.places(self._labels)
        matrix = self._covariance.array / self._unit
        deviation = min(self._deviation / self._unit, LARGEST)
        raising = self.penalty == "auto"
        return Problem.of(matrix[np.ix_(features, features)], matrix[features, target], deviation, raising=raising)

    @cached_property
    def _covariance(self) -> Covariance:
        if isinstance(self.of, AugmentedMoment):
            return CovarianceOf(of=self.of).apply()
        covariance: Covariance = self.of
        return covariance

    @property
    def _deviation(self) -> float:
        """τ, the deviation of the noise off the diagonal; 0 where it is not known."""
        noise = self.of_noise
        if isinstance(self.of, AugmentedMoment):
            noise = CovarianceOf(of=self.of, of_noise=noise).result_noise()
        return float(noise.get("off-diagonal", 0.0))

    @cached_property
    def _unit(self) -> float:
        """The largest entry, or the smallest number that may stand for it: in its units, squares are doubles."""
        return max(float(np.abs(self._covariance.array).max()), TINY)

    @property
    def _units(self) -> tuple[FloatArray, FloatArray]:
        """The scale of each coordinate, and the mean, in the units of the columns."""
        mean = MeanOf(of=self.of).apply() if isinstance(self.of, AugmentedMoment) else self.mean
        axes = self._covariance.axes
        scale = np.ones(len(self._covariance.array)) if axes is None else np.asarray(axes.scale)
        if mean.axes is None:
            return scale, mean.array
        return scale, np.asarray(mean.axes.offset) + np.asarray(mean.axes.scale) * mean.array

    @property
    def _labels(self) -> tuple[str, ...]:
        axes = self._covariance.axes
        return tuple(map(str, range(len(self._covariance.array)))) if axes is None else axes.labels

    def places(self, labels: tuple[str, ...]) -> tuple[int, list[int]]:
        """The coordinates of the target and of the features; raises PlanError where there are none of these names.

        Args:
            labels: the names of all coordinates.
        """
        found = _found(self.target, labels, "target")
        if len(found) > 1:
            raise PlanError(
                f"target={self.target!r} is a category; name one of its levels: {', '.join(labels[i] for i in found)}."
            )
        target = found[0]
        if self.features is None:
            features = [place for place in range(len(labels)) if place != target]
        else:
            named = (place for each in self.features for place in _found(each, labels, "features"))
            features = list(dict.fromkeys(named))
        if target in features:
            raise PlanError(f"the target {self.target!r} is among the features; leave it out of them.")
        if not features:
            raise PlanError("'regression' needs at least one feature beside the target.")
        return target, features


def _found(wanted: str | int, labels: tuple[str, ...], field: str) -> list[int]:
    """The coordinates of a name: that of a coordinate, or that of a category, for all its levels."""
    names = [str(wanted)] if isinstance(wanted, int) else [wanted]
    found = [place for place, label in enumerate(labels) if label in names]
    found = found or [place for place, label in enumerate(labels) if label.startswith(f"{wanted}=")]
    if not found:
        raise PlanError(f"{field}={wanted!r} is not a column of the rows; there is: {', '.join(labels)}.")
    return found


def _per(target: str, feature: str) -> str:
    if not target and not feature:
        return ""
    return f"{target or '1'}/{feature}" if feature else target
