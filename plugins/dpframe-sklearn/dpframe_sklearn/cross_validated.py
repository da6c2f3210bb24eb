"""Estimators that choose by cross-validation on moments of folds, released once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import dpframe.plugin as dp
from dpframe_sklearn.base import Steps
from dpframe_sklearn.folds import component_losses, fold_step, penalty_losses, scaled_fold_step
from dpframe_sklearn.pca import ComponentsEstimator, component_steps
from dpframe_sklearn.ridge import LinearEstimator

LARGEST_MULTIPLE = 1e12
"""Beyond it all slopes are zero to any digit that is shown; without a bound, products with it may overflow."""
MULTIPLES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


def _check_delta(estimator: Any) -> None:
    if not estimator.delta > 0.0:
        raise dp.PlanError(
            f"{type(estimator).__name__} releases moments of folds with Gaussian noise, which needs delta above 0. "
            "Nothing was charged, read or drawn."
        )


class PrivateRidgeCV(LinearEstimator):
    """Ridge regression whose penalty is chosen by cross-validation, in one run.

    The moments of disjoint folds are released together, at the price of one moment: each row is in one of them. The
    moment of all folds but one is their sum, so every penalty is tried on every fold at no further cost. Penalties are
    multiples of the noise, as the covariance of the model has less noise than the training folds.

    `PrivateRidge` chooses its penalty from the law of the noise and spends nothing on folds; it is usually the better
    choice. This one checks the same on held-out rows.

    Args:
        penalties: the multiples of the usual noise τ√p of p features that are tried, up to 1e12.
        cv: the number of folds.
        epsilon: the most that one fit may spend; mandatory.
        delta: the same; above 0.
        bounds: public ranges of the features: (low, high), two lists, or ranges by name; mandatory unless rows= is.
        target_bounds: the public range of the target, (low, high); mandatory unless rows= is.
        rows: a `dp.Rows` instead of bounds=, target_bounds= and neighbors=; its last column is the target.
        neighbors: "add-remove" or "replace"; mandatory.
        contributions: the largest number of rows of any one person.
        ledger: the path or URL of a ledger, which every fit charges before anything is read.
        dataset: the name of the data set in the ledger.
        insecure_seed: makes every draw repeatable, for tests; the result is then NOT PRIVATE.

    Attributes:
        best_penalty_: the chosen multiple.
        cv_losses_: the loss of each multiple, averaged over held-out folds, in units of the variance of the target.
    """

    def __init__(
        self,
        penalties: Sequence[float] = MULTIPLES,
        *,
        cv: int = 5,
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
        self.penalties = penalties
        self.cv = cv

    def _steps(self, features: list[str], targets: list[str]) -> Steps:
        _check_delta(self)
        multiples = np.asarray(self.penalties, dtype=np.float64)
        if multiples.ndim != 1 or not len(multiples) or not ((multiples > 0) & (multiples <= LARGEST_MULTIPLE)).all():
            raise dp.PlanError(
                f"penalties must be positive multiples of the noise, at least one, and at most {LARGEST_MULTIPLE:g}. "
                "Nothing was charged, read or drawn."
            )
        return [*super()._steps(features, targets), scaled_fold_step(self.cv)]

    def _model(self, result: dp.Result, step: str) -> dp.LinearModel:
        multiples = np.asarray(self.penalties, dtype=np.float64)
        losses = penalty_losses(result, multiples).mean(axis=0)
        chosen = int(np.argmin(losses))
        covariance, mean = (result.record(name).value for name in ("covariance", "covariance.mean"))
        count = float(result["covariance.count"])
        noise = {name: each / count for name, each in result.record("covariance.moment").line.noise.items()}
        usual = noise["off-diagonal"] * math.sqrt(len(covariance.array) - 1)
        variance = float(covariance.array[-1, -1])
        self.cv_losses_ = losses / variance if variance > 0.0 else losses
        self.best_penalty_ = float(multiples[chosen])
        return dp.postprocess.Regression(
            of=covariance,
            mean=mean,
            target=super()._model(result, step).target,
            penalty=float(multiples[chosen] * usual),
            of_noise=noise,
        ).apply()


class PrivatePCACV(ComponentsEstimator):
    """Principal components whose number is chosen by cross-validation, in one run.

    The moments of disjoint folds are released together, at the price of one moment: each row is in one of them. The
    number of components is the one whose model (probabilistic PCA) of all folds but one fits the held-out rows best, in
    coordinates from -1 to 1.

    Args:
        cv: the number of folds.
        epsilon: the most that one fit may spend; mandatory.
        delta: the same; above 0.
        bounds: public ranges of the features: (low, high), two lists, or ranges by name; mandatory unless rows= is.
        rows: a `dp.Rows` instead of bounds= and neighbors=.
        neighbors: "add-remove" or "replace"; mandatory.
        contributions: the largest number of rows of any one person.
        ledger: the path or URL of a ledger, which every fit charges before anything is read.
        dataset: the name of the data set in the ledger.
        insecure_seed: makes every draw repeatable, for tests; the result is then NOT PRIVATE.

    Attributes:
        cv_losses_: the loss of each number of components, averaged over held-out folds.
    """

    def __init__(
        self,
        *,
        cv: int = 5,
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
        self.cv = cv

    def _steps(self, features: list[str], targets: list[str]) -> Steps:
        _check_delta(self)
        return [*component_steps(len(features)), fold_step(self.cv)]

    def _wanted(self, result: dp.Result) -> int:
        self.cv_losses_ = component_losses(result).mean(axis=0)
        return int(np.argmin(self.cv_losses_)) + 1
