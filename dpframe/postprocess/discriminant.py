"""Linear discriminant analysis from one released covariance of features and of the levels of a category.

Levels are one-hot coordinates, so the mean has the share π of each level, and the covariance of a feature with a level
is π times how far the mean of that class is from the mean of all. With B the slopes of the regressions of all levels on
the features, everything else follows from the small matrix M = BᵀC between the levels (Hastie, Tibshirani and Buja
1994, optimal scoring): its eigenvalues relative to the shares are the squared canonical correlations ρ², and the scores
of linear discriminant analysis have slopes B D^{-1/2} U (1 − ρ²)⁻¹ Uᵀ D^{-1/2}, D = diag(π). Slopes are those of
`regression`, with its penalty for the noise; ρ² is cut to [0, 0.99].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.interfaces import PostProcessor
from dpframe.kinds import AugmentedMoment, Axes, Covariance, Discriminant, Kind, Mean
from dpframe.postprocess.center import CovarianceOf, MeanOf
from dpframe.postprocess.regression import Regression, as_penalty, check_features, check_penalty
from dpframe.spec.refs import Shape, input, noise_of
from dpframe.spec.rows import Rows

LARGEST = 0.99
"""The largest squared canonical correlation: classes that look separated altogether are not told apart for sure."""

SMALLEST = 1e-3
"""The smallest share of a class; those of rarer ones are mostly noise."""


@attrs.frozen(kw_only=True)
class DiscriminantOf(PostProcessor):
    """Scores of linear discriminant analysis: a row is of the class whose score is largest.

    Args:
        of: a covariance, or an augmented moment, of features and of a category.
        target: the category.
        features: the columns that it is predicted from; all others by default.
        penalty: "auto" or a number; see `regression`.
        mean: the mean of the same rows; by default that of the step '<of>.mean'. An augmented moment has its own.
    """

    name = "discriminant"
    gives = Discriminant

    of: Any = input(Covariance, AugmentedMoment)
    target: str = attrs.field(validator=validators.text)
    features: tuple[str | int, ...] | None = attrs.field(
        default=None, converter=validators.as_tuple, validator=check_features
    )
    penalty: str | float = attrs.field(default="auto", converter=as_penalty, validator=check_penalty)
    mean: Any = input(Mean, default=None, beside="of")
    of_noise: Any = noise_of("of")

    def check(self, rows: Rows) -> None:
        if rows.columns is None:
            raise PlanError("'discriminant' needs dp.Rows(columns=[...]) with a dp.Category that it predicts.")

    def output(self, kinds: Mapping[str, type[Kind]]) -> type[Kind]:
        if self.mean is None and not issubclass(kinds["of"], AugmentedMoment):
            raise PlanError("'discriminant' of a covariance needs the mean of the same rows: mean=....")
        return Discriminant

    def output_shape(self, rows: Rows) -> Shape:
        if rows.columns is None:
            return (None, None)
        labels = tuple(label for column in rows.columns for label in column.labels)
        levels, features = self._places(labels)
        return (len(levels), len(features) + 1)

    def apply(self) -> Discriminant:
        covariance, mean = self._parts()
        axes = covariance.axes
        levels, features = self._places(axes.labels)
        scale = np.asarray(axes.scale)
        at = np.asarray(mean.axes.offset) + np.asarray(mean.axes.scale) * mean.array
        shares = np.maximum(at[levels], SMALLEST)
        shares /= shares.sum()
        names = tuple(axes.labels[place] for place in features)
        given = {"of": covariance, "mean": mean, "features": names, "penalty": self.penalty, "of_noise": self._noise}
        models = [Regression(**given, target=axes.labels[level]).apply() for level in levels]
        slopes = np.column_stack([model.slopes for model in models])
        between = slopes.T @ (covariance.array * np.outer(scale, scale))[np.ix_(features, levels)]
        root = 1 / np.sqrt(shares)
        values, turned = np.linalg.eigh((between + between.T) / 2 * np.outer(root, root))
        values = np.clip(values, 0.0, LARGEST)
        inner = root[:, None] * (turned * np.where(values > 0.0, 1 / (1 - values), 0.0)) @ turned.T * root
        scores = slopes @ inner
        # The squared Mahalanobis distance of the mean of each class from that of all.
        own = np.diag(root[:, None] * (turned * (values / (1 - values))) @ turned.T * root)
        intercepts = np.log(shares) - own / 2 - at[features] @ scores
        return Discriminant(
            np.column_stack([scores.T, intercepts]),
            axes=Axes(tuple(axes.labels[level] for level in levels), (1.0,) * len(levels), (0.0,) * len(levels)),
            features=names,
            shares=tuple(shares.tolist()),
        )

    def _parts(self) -> tuple[Any, Any]:
        """The covariance and the mean."""
        if isinstance(self.of, AugmentedMoment):
            return CovarianceOf(of=self.of).apply(), MeanOf(of=self.of).apply()
        return self.of, self.mean

    @property
    def _noise(self) -> Mapping[str, float]:
        if isinstance(self.of, AugmentedMoment):
            return CovarianceOf(of=self.of, of_noise=self.of_noise).result_noise()
        noise: Mapping[str, float] = self.of_noise
        return noise

    def _places(self, labels: tuple[str, ...]) -> tuple[list[int], list[int]]:
        """The coordinates of the levels and of the features."""
        levels = [place for place, label in enumerate(labels) if label.startswith(f"{self.target}=")]
        if len(levels) < 2:
            raise PlanError(f"target={self.target!r} must be a category of at least two levels among the columns.")
        others = tuple(label for place, label in enumerate(labels) if place not in levels)
        chosen = others if self.features is None else self.features
        found = Regression(of="of", target=labels[levels[0]], features=chosen).places(labels)[1] if chosen else []
        if not found or set(found) & set(levels):
            raise PlanError("'discriminant' needs features, and none that is a level of its target.")
        return levels, found
