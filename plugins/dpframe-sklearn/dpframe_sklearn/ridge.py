"""Private ridge regression."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

import dpframe.plugin as dp
from dpframe_sklearn.base import PrivateEstimator, Steps, feature_names, unused
from dpframe_sklearn.bounds import columns
from dpframe_sklearn.inputs import NOTHING, Matrix, Vector, check_lengths, features, target, targets, width
from dpframe_sklearn.row_maps import products


class LinearEstimator(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """What estimators of linear models have in common: a target, a fit and predictions."""

    target_bounds: Any
    _several = False
    """Whether there may be several targets."""

    def _target_columns(self, names: Sequence[str], targets: int) -> list[dp.Column]:
        if self.rows is not None:
            return [dp.Column("target", 0, 1)] * targets  # their ranges are in rows
        if self.target_bounds is None:
            raise dp.PlanError(
                "target_bounds is missing. Say target_bounds=(low, high), the public range of the target, which is "
                f"never read off the data. {NOTHING}"
            )
        first = unused("target", names)
        made = [first] if targets == 1 else [unused(f"{first}{index}", names) for index in range(targets)]
        return columns(self.target_bounds, made)

    def _steps(self, features: list[str], targets: list[str]) -> Steps:
        of: dict[str, Any] = {"of": "covariance", "features": features, **self._parameters}
        models = zip(model_steps(len(targets)), targets, strict=True)
        return [
            dp.release("covariance", "adaptive", goal="regression", target=targets),
            *(dp.derive(step, "regression", target=target, **of) for step, target in models),
        ]

    def make_plan(self, features: int | Sequence[str], targets: int = 1) -> dp.Plan:
        """The plan that `fit` runs: to be explained, priced or saved, without any data.

        Args:
            features: the number of features, or their names.
            targets: the number of targets.
        """
        return self._plan(feature_names(features), targets=targets)

    @property
    def _parameters(self) -> dict[str, Any]:
        """Parameters of the step "model"."""
        return {}

    def fit(self, X: Any, y: Any, *, person: Any = None) -> Self:
        """Charge the plan, read the rows a few times, and draw.

        Under "add-remove" the rows must not have been chosen by place, as scikit-learn's splitters do: the charge does
        not cover that, and a fit cannot notice. See `RowHashFold`.

        Args:
            X: rows of features.
            y: the target of each row; several, where the estimator takes them, one in each column.
            person: the person of each row, integers or text, of whom `contributions` rows count.
        """
        result, found = self._released(X, y, person=person)
        assert found is not None
        models = [self._model(result, step) for step in model_steps(width(found))]
        slopes = np.array([model.slopes for model in models])
        others = np.array([(model.intercept, model.r_squared, model.penalty) for model in models])
        self.coef_ = slopes if found.ndim == 2 else slopes[0]
        self.intercept_, self.r_squared_, self.penalty_ = others.T if found.ndim == 2 else others[0].tolist()
        return self

    def _model(self, result: dp.Result, step: str) -> dp.LinearModel:
        """The fitted model of one target, from what was released."""
        model = result.record(step).value
        assert isinstance(model, dp.LinearModel)
        return model

    def _checked(self, X: Any, y: Any = None) -> tuple[Matrix, Matrix | Vector | None]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        checked = super()._checked(X)[0]
        found = targets(y) if self._several else target(y)
        check_lengths(checked, found, "X and y")
        return checked, found

    def predict(self, X: Any) -> Matrix | Vector:
        """Predicted targets of rows.

        Args:
            X: rows of features.
        """
        check_is_fitted(self)
        found = products(features(self, X), np.atleast_2d(self.coef_)) + self.intercept_
        return np.asarray(found if self.coef_.ndim == 2 else found[:, 0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # with a small epsilon, by design
        tags.target_tags.multi_output = self._several
        return tags


def model_steps(targets: int) -> list[str]:
    """The names of the steps that are models, one for each target."""
    return ["model"] if targets == 1 else [f"model{index}" for index in range(targets)]


class PrivateRidge(LinearEstimator):
    """A linear model of a target, from one private release: `dp.regression` as an estimator.

    Several targets, the columns of y, are released together, and each has a model of its own.

    Args:
        penalty: "auto", chosen from the law of the noise, or a number that is added to the variance of every feature,
            in the coordinates of the released covariance.
        epsilon: the most that one fit may spend; mandatory.
        delta: the same; with 0 the guarantee is pure.
        bounds: public ranges of the features: (low, high), two lists, or ranges by name; mandatory unless rows= is.
        target_bounds: the public range of the target, (low, high), or two lists for several targets; mandatory unless
            rows= is.
        rows: a `dp.Rows` instead of bounds=, target_bounds= and neighbors=; its last columns are the targets.
        neighbors: "add-remove" or "replace"; mandatory.
        contributions: the largest number of rows of any one person.
        ledger: the path or URL of a ledger, which every fit charges before anything is read.
        dataset: the name of the data set in the ledger.
        insecure_seed: makes every draw repeatable, for tests; the result is then NOT PRIVATE.

    Attributes:
        coef_: the slope of each feature, in units; one row for each target, where y has columns.
        intercept_: the intercept.
        r_squared_: the R² of the model on the rows, estimated from the same release.
        penalty_: the penalty.
        result_: the `dp.Result` of the run, with everything that was released.
        spent_: what the fit spent.
    """

    def __init__(
        self,
        penalty: str | float = "auto",
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        bounds: Any = None,
        target_bounds: Any = None,
        rows: dp.Rows | None = None,
        neighbors: str | None = None,
        contributions: int = 1,
        ledger: str | Path | None = None,
        dataset: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.rows = rows
        self.neighbors = neighbors
        self.contributions = contributions
        self.ledger = ledger
        self.dataset = dataset
        self.insecure_seed = insecure_seed

    _several = True

    @property
    def _parameters(self) -> dict[str, Any]:
        return {"penalty": self.penalty}
