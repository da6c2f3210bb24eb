"""A private covariance."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

import dpframe as dp
from dpframe_sklearn.base import PrivateEstimator, Steps
from dpframe_sklearn.inputs import features
from dpframe_sklearn.row_maps import quadratic_forms


class PrivateCovariance(PrivateEstimator):
    """The covariance and the mean of rows, with noise: the recipe "adaptive", in the units of the features.

    Args:
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
        covariance_: the covariance, in the units of the features.
        location_: the mean.
        result_: the `dp.Result` of the run, with everything that was released.
        spent_: what the fit spent.
    """

    def __init__(
        self,
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
        return [
            dp.release("covariance", "adaptive"),
            dp.derive("covariance_in_units", "to-units", of="covariance"),
            dp.derive("mean_in_units", "to-units", of="covariance.mean"),
        ]

    def fit(self, X: Any, y: Any = None, *, person: Any = None) -> Self:
        """Charge the plan, read the rows once or a few times, and draw.

        Under "add-remove" the rows must not have been chosen by place, as scikit-learn's splitters do: the charge does
        not cover that, and a fit cannot notice. See `RowHashFold`.

        Args:
            X: rows of features.
            y: ignored.
            person: the person of each row, integers or text, of whom `contributions` rows count.
        """
        result, _ = self._released(X, person=person)
        self.covariance_ = np.array(result["covariance_in_units"])
        self.location_ = np.array(result["mean_in_units"])
        return self

    def get_precision(self) -> NDArray[np.float64]:
        """The pseudo-inverse of the covariance. Small eigenvalues are mostly noise, and so is their inverse."""
        check_is_fitted(self)
        return np.asarray(np.linalg.pinv(self.covariance_, hermitian=True))

    def mahalanobis(self, X: Any) -> NDArray[np.float64]:
        """The squared Mahalanobis distance of each row; of the rows given here, which are not protected by it.

        Args:
            X: rows of features.
        """
        check_is_fitted(self)
        return quadratic_forms(features(self, X) - self.location_, self.get_precision())
