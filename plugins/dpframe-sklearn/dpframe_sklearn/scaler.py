"""Private standardization of features."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

import dpframe as dp
from dpframe_sklearn.base import PrivateEstimator, Steps
from dpframe_sklearn.inputs import features


class PrivateStandardScaler(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Features less their private mean, divided by their private deviation.

    Args:
        with_mean: whether the mean is subtracted.
        with_std: whether features are divided by their deviation.
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
        mean_: the mean of each feature.
        var_: its variance; never below what noise alone would show.
        scale_: its deviation.
        result_: the `dp.Result` of the run, with everything that was released.
        spent_: what the fit spent.
    """

    def __init__(
        self,
        *,
        with_mean: bool = True,
        with_std: bool = True,
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
        self.with_mean = with_mean
        self.with_std = with_std
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
            dp.release("covariance", "adaptive", goal="correlation"),
            dp.derive("mean_in_units", "to-units", of="covariance.mean"),
            dp.derive("covariance_in_units", "to-units", of="covariance"),
            dp.derive("deviations", "scales", of="covariance_in_units"),
        ]

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
        self.mean_ = np.array(result["mean_in_units"])
        self.scale_ = np.array(result["deviations"])
        self.var_ = self.scale_**2
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Rows less the mean, divided by the deviations; the rows given here are not protected by it.

        Args:
            X: rows of features.
        """
        check_is_fitted(self)
        rows = features(self, X)
        return np.asarray((rows - (self.mean_ if self.with_mean else 0.0)) / (self.scale_ if self.with_std else 1.0))

    def inverse_transform(self, X: Any) -> NDArray[np.float64]:
        """Rows in their own units again.

        Args:
            X: standardized rows.
        """
        check_is_fitted(self)
        rows = features(self, X) * (self.scale_ if self.with_std else 1.0)
        return np.asarray(rows + (self.mean_ if self.with_mean else 0.0))
