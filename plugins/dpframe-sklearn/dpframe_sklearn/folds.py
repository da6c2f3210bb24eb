"""Cross-validation from released moments of folds: training moments by subtraction, and any search for free."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp

FOLDS_WEIGHT = 0.6
"""The weight of the folds beside that of the covariance: they decide one number, and have a quarter of mu² or so."""

Matrix = NDArray[np.float64]


@attrs.frozen(kw_only=True, eq=False)
class Split:
    """A fold that is held out, and all others together.

    Args:
        train: the covariance of the other folds.
        train_deviation: that of its noise, off the diagonal.
        test: the moment of the held-out fold about the mean of the others, divided by its count.
        count: the count of the held-out fold.
    """

    train: Matrix
    train_deviation: float
    test: Matrix
    count: float


def fold_step(folds: int) -> dp.Step:
    """The release of the folds, of rows about the center of "covariance", scaled down to its first radius."""
    return _released(folds, about="covariance.center", norm="covariance.radius")


def scaled_fold_step(folds: int) -> dp.Step:
    """The same where "covariance" divides columns by scales: of rows as its moment sees them."""
    return _released(folds, about="covariance.about", scale="covariance.scale", norm="covariance.norm")


def _released(folds: int, **names: str) -> dp.Step:
    rows: dict[str, Any] = {part: dp.ref(name) for part, name in names.items()}
    return dp.release("folds", "gaussian-folds", folds=folds, weight=FOLDS_WEIGHT, rows={**rows, "center": True})


def splits(result: dp.Result) -> list[Split]:
    """One split for each released fold.

    Args:
        result: a run with the step "folds".
    """
    value = result.record("folds").value
    assert isinstance(value, dp.FoldedMoment)
    assert value.constant is not None
    deviation = result.record("folds").line.noise["off-diagonal"]
    total, constant = value.moments.sum(axis=0), value.constant
    found = []
    for held in value.moments:
        others = total - held
        count, mean, train = _centered(others, constant)
        size = max(float(held[-1, -1]) / constant**2, 1.0)
        sums = held[:-1, -1] / constant
        # Σ(u − m)(u − m)ᵀ of the held-out rows about the mean of the others.
        about = held[:-1, :-1] - np.outer(sums, mean) - np.outer(mean, sums) + size * np.outer(mean, mean)
        noise = deviation * math.sqrt(value.folds - 1) / count
        found.append(Split(train=train, train_deviation=noise, test=about / size, count=size))
    return found


def _centered(moment: Matrix, constant: float) -> tuple[float, Matrix, Matrix]:
    """The count, mean and covariance of an augmented moment."""
    count = max(float(moment[-1, -1]) / constant**2, 1.0)
    mean = moment[:-1, -1] / (constant * count)
    return count, mean, np.asarray(moment[:-1, :-1] / count - np.outer(mean, mean))


def penalty_losses(result: dp.Result, multiples: NDArray[np.float64]) -> Matrix:
    """The loss of each multiple of the usual noise on each held-out fold, up to the variance of the target.

    The target is the last coordinate. Noise of the held-out fold is independent of that of the others, so each loss is
    that of the held-out rows without bias.

    Args:
        result: a run with the step "folds".
        multiples: penalties, in units of τ√p for the noise of the covariance that a model is made from.
    """
    losses = []
    for split in splits(result):
        values, vectors = np.linalg.eigh(split.train[:-1, :-1])
        products = vectors.T @ split.train[:-1, -1]
        row = []
        for multiple in multiples:
            raised = values + multiple * split.train_deviation * math.sqrt(len(values))
            usable = raised > 0.0
            slopes = vectors @ np.where(usable, products / np.where(usable, raised, 1.0), 0.0)
            row.append(slopes @ split.test[:-1, :-1] @ slopes - 2 * slopes @ split.test[:-1, -1])
        losses.append(row)
    return np.array(losses)


def component_losses(result: dp.Result) -> Matrix:
    """The loss of each number of components on each held-out fold: minus the log-likelihood of probabilistic PCA.

    The model of k components has the leading k eigenvalues of the training covariance and the mean of the others,
    which is not below the noise. Rows are in the coordinates of the release.

    Args:
        result: a run with the step "folds".
    """
    losses = []
    for split in splits(result):
        values, vectors = np.linalg.eigh(split.train)
        values, vectors = values[::-1], vectors[:, ::-1]
        own = np.einsum("ij,ik,kj->j", vectors, split.test, vectors)
        dim, row = len(values), []
        for k in range(1, dim + 1):
            least = max(split.train_deviation, 1e-12)
            rest = max(float(values[k:].mean()) if k < dim else 0.0, least)
            kept = np.maximum(values[:k], rest)
            model = np.append(kept, np.full(dim - k, rest))
            row.append(float((np.log(model) + own / model).sum()) / 2)
        losses.append(row)
    return np.array(losses)
