"""Cross-validation on moments of folds: one run, one price, and the choices that rows without noise would give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe as dp
from dpframe_sklearn import PrivatePCACV, PrivateRidgeCV
from dpframe_sklearn.folds import penalty_losses, splits

PROMISE: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-6, "bounds": (-1, 1), "neighbors": "add-remove"}
RIDGE: dict[str, Any] = {**PROMISE, "target_bounds": (-1, 1)}


def factors(count: int = 20_000) -> tuple[NDArray[Any], NDArray[Any]]:
    """Three factors in ten features, and a target that follows them."""
    random = np.random.default_rng(6)
    hidden = random.standard_normal((count, 3))
    X = 0.1 * hidden @ random.standard_normal((3, 10)) + 0.04 * random.standard_normal((count, 10))
    return X, 0.15 * hidden @ [1.0, -1.0, 0.5] + 0.1 * random.standard_normal(count)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("make", [PrivatePCACV, PrivateRidgeCV])
def test_folds_and_all_are_one_run_at_the_stated_price(make: Any, neighbors: str, tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    ledger = dp.Ledger.create(path)
    ledger.add("clinic", budget=dp.Budget(epsilon=3.0, delta=1e-5), neighbors=neighbors)
    given = RIDGE if make is PrivateRidgeCV else PROMISE
    estimator = make(**{**given, "neighbors": neighbors}, cv=4)
    plan = estimator.make_plan(10)
    assert 1.98 < dp.accountant("auto").epsilon(plan.pricing.all_losses, 1e-6) <= plan.spent.epsilon <= 2.0
    X, y = factors(300)
    assert plan.spent == estimator.fit(X, y).spent_
    estimator.set_params(ledger=str(path), dataset="clinic").fit(X, y)
    assert 1 == ledger.dataset("clinic").runs
    assert 4 == estimator.result_.record("folds").value.folds


def test_training_moments_are_those_of_all_other_folds() -> None:
    X, y = factors(4000)
    found = PrivateRidgeCV(**{**RIDGE, "epsilon": 1e5}, cv=3, insecure_seed=1).fit(X, y)
    parts = splits(found.result_)
    assert 4000 == pytest.approx(sum(part.count for part in parts), rel=0.01)
    truth = np.cov(np.column_stack([X, y]).T)
    scale = found.result_["covariance.scale"]
    for part in parts:
        for matrix in (part.train, part.test):
            in_units = matrix * np.outer(scale, scale)
            assert np.linalg.norm(in_units - truth) < 0.35 * np.linalg.norm(truth)  # rows are scaled down, and fewer
    losses = penalty_losses(found.result_, np.array([1e-9, 1.0, 1e12]))
    assert (losses[:, 0] < 0.0).all()
    assert np.allclose(losses[:, 2], 0.0, atol=1e-6)


def test_the_penalty_is_chosen_on_held_out_rows() -> None:
    X, y = factors()
    best = 1 - np.var(
        y
        - np.column_stack([X, np.ones(len(X))])
        @ np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    ) / np.var(y)
    found = PrivateRidgeCV(**RIDGE, insecure_seed=1).fit(X, y)
    assert found.score(X, y) > 0.95 * best
    assert (8,) == found.cv_losses_.shape
    assert found.cv_losses_.min() == found.cv_losses_[list(found.penalties).index(found.best_penalty_)]
    assert -found.cv_losses_.min() == pytest.approx(best, abs=0.1)
    heavy = PrivateRidgeCV(penalties=[1e6], **RIDGE, insecure_seed=1).fit(X, y)
    assert np.abs(heavy.coef_).max() < 1e-3


def test_the_number_of_components_is_chosen_on_held_out_rows() -> None:
    X, _ = factors()
    found = PrivatePCACV(**PROMISE, insecure_seed=1).fit(X)
    assert found.n_components_ in (3, 4)
    assert found.n_components_ == len(found.components_) == 1 + int(np.argmin(found.cv_losses_))
    assert (10,) == found.cv_losses_.shape
    alone = 0.2 * np.random.default_rng(1).standard_normal((20_000, 6))
    assert PrivatePCACV(**PROMISE, insecure_seed=1).fit(alone).n_components_ <= 2


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"delta": 0.0}, "needs delta above 0"),
        ({"cv": 1}, "FoldMoments.folds must be"),
        ({"penalties": []}, "positive multiples"),
        ({"penalties": [1.0, -1.0]}, "positive multiples"),
        ({"penalties": [1.0, 1e13]}, r"at most 1e\+12"),
    ],
)
def test_refusals(changed: dict[str, Any], words: str) -> None:
    X, y = factors(50)
    with pytest.raises(dp.PlanError, match=words):
        PrivateRidgeCV(**{**RIDGE, **changed}).fit(X, y)
    if "penalties" not in changed:
        with pytest.raises(dp.PlanError, match=words):
            PrivatePCACV(**{**PROMISE, **changed}).fit(X)
