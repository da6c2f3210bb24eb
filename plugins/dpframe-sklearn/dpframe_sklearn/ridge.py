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
from dpframe_sklearn.base import PrivateEstimator, Steps, _unused
from dpframe_sklearn.bounds import one_range
from dpframe_sklearn.inputs import Matrix, Vector, check_lengths, features, target
from dpframe_sklearn.row_maps import products


class LinearEstimator(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """What estimators of linear models have in common: a target, a fit and predictions."""

    target_bounds: Any

    def _target_column(self, names: Sequence[str]) -> list[dp.Column]:
        if self.rows is not None:
            return [dp.Column("target", 0, 1)]  # its range is in rows
        return [dp.Column(_unused("target", names), *one_range(self.target_bounds, "target_bounds"))]

    def _steps(self, features: int) -> Steps:
        return [dp.release("covariance", "adaptive", goal="regression")]

    def _plan(self, names: Sequence[str], person: str | None) -> dp.Plan:
        plan = super()._plan(names, person)
        columns = plan.rows.columns or ()
        model = dp.derive("model", "regression", of="covariance", target=columns[-1].name, **self._parameters)
        return dp.Plan(rows=plan.rows, budget=plan.budget, steps=[*plan.declared, model])

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
            y: the target of each row.
            person: the person of each row, integers or text, of whom `contributions` rows count.
        """
        checked, found = self._checked(X, y)
        model = self._model(self._run(checked, found, person))
        self.coef_ = np.array(model.slopes)
        self.intercept_ = model.intercept
        self.r_squared_ = model.r_squared
        self.penalty_ = model.penalty
        return self

    def _model(self, result: dp.Result) -> dp.LinearModel:
        """The fitted model, from what was released."""
        model = result.record("model").value
        assert isinstance(model, dp.LinearModel)
        return model

    def _checked(self, X: Any, y: Any = None) -> tuple[Matrix, Vector | None]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        checked, found = super()._checked(X)[0], target(y)
        check_lengths(checked, found, "X and y")
        return checked, found

    def predict(self, X: Any) -> Vector:
        """Predicted targets of rows.

        Args:
            X: rows of features.
        """
        check_is_fitted(self)
        return products(features(self, X), self.coef_[None])[:, 0] + self.intercept_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # with a small epsilon, by design
        return tags


class PrivateRidge(LinearEstimator):
    """A linear model of a target, from one private release: `dp.regression` as an estimator.

    Args:
        penalty: "auto", chosen from the law of the noise, or a number that is added to the variance of every feature,
            in the coordinates of the released covariance.
        epsilon: the most that one fit may spend; mandatory.
        delta: the same; with 0 the guarantee is pure.
        bounds: public ranges of the features: (low, high), two lists, or ranges by name; mandatory unless rows= is.
        target_bounds: the public range of the target, (low, high); mandatory unless rows= is.
        rows: a `dp.Rows` instead of bounds=, target_bounds= and neighbors=; its last column is the target.
        neighbors: "add-remove" or "replace"; mandatory.
        contributions: the largest number of rows of any one person.
        ledger: the path or URL of a ledger, which every fit charges before anything is read.
        dataset: the name of the data set in the ledger.
        insecure_seed: makes every draw repeatable, for tests; the result is then NOT PRIVATE.

    Attributes:
        coef_: the slope of each feature, in units.
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

    @property
    def _parameters(self) -> dict[str, Any]:
        return {"penalty": self.penalty}
