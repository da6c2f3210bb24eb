"""Private principal components."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

import dpframe as dp
from dpframe_sklearn.base import PrivateEstimator, Steps
from dpframe_sklearn.inputs import features, matrix
from dpframe_sklearn.row_maps import products, quadratic_forms

SMALLEST = 1e-15
"""Variances below this share of the largest one count as zero, as in the pseudo-inverse."""


class ComponentsEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """What estimators of principal components have in common: a fit, and maps to and from them."""

    def fit(self, X: Any, y: Any = None, *, person: Any = None) -> Self:
        """Charge the plan, read the rows a few times, and draw.

        Under "add-remove" the rows must not have been chosen by place, as scikit-learn's splitters do: the charge does
        not cover that, and a fit cannot notice. See `RowHashFold`.

        Args:
            X: rows of features.
            y: ignored.
            person: the person of each row, integers or text, of whom `contributions` rows count.
        """
        result, _ = self._released(X, person=person)
        self._take(result, self._wanted(result))
        return self

    @abstractmethod
    def _wanted(self, result: dp.Result) -> float | None:
        """How many components to keep: a number, a share of the variance, or None for all."""

    def _take(self, result: dp.Result, wanted: float | None) -> None:
        """The fitted attributes, from what was released."""
        variances, total = np.array(result["variances"]), float(result["variances"].sum())
        ratios = variances / total if total > 0.0 else np.zeros_like(variances)
        count = len(variances)
        if isinstance(wanted, Integral):
            count = int(wanted)
        elif wanted is not None:
            count = min(int(np.searchsorted(np.cumsum(ratios), wanted)) + 1, len(variances))
        self.n_components_ = count
        self.components_ = np.array(result["components"].T[:count])
        self.explained_variance_ = variances[:count]
        self.explained_variance_ratio_ = ratios[:count]
        self.mean_ = np.array(result["mean_in_units"])
        self.singular_values_ = np.sqrt(self.explained_variance_ * max(float(result["covariance.count"]) - 1.0, 0.0))
        self.noise_variance_ = float(variances[count:].mean()) if count < len(variances) else 0.0

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The coordinates of rows in the components; of the rows given here, which are not protected by it.

        Args:
            X: rows of features.
        """
        check_is_fitted(self)
        return products(features(self, X) - self.mean_, self.components_)

    def inverse_transform(self, X: Any) -> NDArray[np.float64]:
        """Rows with these coordinates in the components.

        Args:
            X: coordinates.
        """
        check_is_fitted(self)
        coordinates = matrix(X)
        if coordinates.shape[1] != self.n_components_:
            raise dp.DataError(f"X must have {self.n_components_} columns, one coordinate for each component.")
        return np.asarray(products(coordinates, self.components_.T) + self.mean_)

    def get_covariance(self) -> NDArray[np.float64]:
        """The covariance of the model: that of the components, and the mean of the other variances everywhere."""
        check_is_fitted(self)
        above = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        rest = self.noise_variance_ * np.eye(self.components_.shape[1])
        return np.asarray((self.components_.T * above) @ self.components_ + rest)

    def get_precision(self) -> NDArray[np.float64]:
        """The pseudo-inverse of that covariance. Small variances are mostly noise, and so is their inverse."""
        return np.asarray(np.linalg.pinv(self.get_covariance(), hermitian=True))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The log-likelihood of each row; of the rows given here, which are not protected by it.

        Args:
            X: rows of features.
        """
        check_is_fitted(self)
        away = features(self, X) - self.mean_
        values = np.linalg.eigvalsh(self.get_covariance())
        volume = float(np.log(2 * np.pi * values[values > SMALLEST * values[-1]]).sum())
        return -(quadratic_forms(away, self.get_precision()) + volume) / 2

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-likelihood of rows; of the rows given here, which are not protected by it.

        Args:
            X: rows of features.
            y: ignored.
        """
        return float(self.score_samples(X).mean())

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def component_steps(count: int) -> Steps:
    """A covariance, and all components and their variances in the units of so many features."""
    return [
        dp.release("covariance", "adaptive", goal="components"),
        dp.derive("mean_in_units", "to-units", of="covariance.mean"),
        dp.derive("covariance_in_units", "to-units", of="covariance"),
        dp.derive("components", "top-subspace", of="covariance_in_units", k=count),
        dp.derive("variances", "eigenvalues", of="covariance_in_units"),
    ]


class PrivatePCA(ComponentsEstimator):
    """Principal components of a private covariance, in the units of the features, as scikit-learn's PCA has them.

    Args:
        n_components: their number; None for as many as features; a share below 1 for as many as explain it, by the
            released covariance.
        epsilon: the most that one fit may spend; mandatory.
        delta: the same; with 0 the guarantee is pure.
        bounds: public ranges of the features: (low, high), two lists, or ranges by name; mandatory unless rows= is.
        rows: a `dp.Rows` instead of bounds= and neighbors=.
        neighbors: "add-remove" or "replace"; mandatory.
        contributions: the largest number of rows of any one person.
        ledger: the path or URL of a ledger, which every fit charges before anything is read.
        dataset: the name of the data set in the ledger.
        insecure_seed: makes every draw repeatable, for tests; the result is then NOT PRIVATE.

    Attributes:
        components_: one in each row; the largest entry of each is positive.
        explained_variance_: the variance of each, in the released covariance.
        explained_variance_ratio_: its share of all.
        mean_: the mean of the rows.
        n_components_: the number of components.
        noise_variance_: the mean of the variances of all other components.
        result_: the `dp.Result` of the run, with everything that was released.
        spent_: what the fit spent.
    """

    def __init__(
        self,
        n_components: float | None = None,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        bounds: Any = None,
        rows: dp.Rows | None = None,
        neighbors: str | None = None,
        contributions: int = 1,
        ledger: str | Path | None = None,
        dataset: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.rows = rows
        self.neighbors = neighbors
        self.contributions = contributions
        self.ledger = ledger
        self.dataset = dataset
        self.insecure_seed = insecure_seed

    def _steps(self, features: list[str], targets: list[str]) -> Steps:
        wanted, count = self.n_components, len(features)
        whole = isinstance(wanted, Integral) and not isinstance(wanted, bool) and 1 <= int(wanted) <= count
        share = isinstance(wanted, Real) and not isinstance(wanted, Integral) and 0.0 < float(wanted) < 1.0
        if not (wanted is None or whole or share):
            raise dp.PlanError(
                f"n_components must be None, an integer from 1 to the {count} features, or a share between 0 and 1; "
                f"got {wanted!r}. Nothing was charged, read or drawn."
            )
        return component_steps(count)

    def _wanted(self, result: dp.Result) -> float | None:
        return self.n_components
