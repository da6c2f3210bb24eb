"""Private estimators: what they release is what their plans release, near the truth, and charged each time."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

import dpframe as dp
from dpframe_sklearn import (
    PrivateCovariance,
    PrivatePCA,
    PrivatePCACV,
    PrivateRidge,
    PrivateRidgeCV,
    PrivateStandardScaler,
    RowHashFold,
)

EVERY = (PrivatePCA, PrivatePCACV, PrivateCovariance, PrivateStandardScaler, PrivateRidge, PrivateRidgeCV)

MADE: dict[str, Callable[..., Any]] = {
    "pca": PrivatePCA,
    "covariance": PrivateCovariance,
    "scaler": PrivateStandardScaler,
    "ridge": lambda **given: PrivateRidge(target_bounds=(-100, 300), **given),
}
PROMISE: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-6, "bounds": (0, 100), "neighbors": "add-remove"}
PURE = {**PROMISE, "delta": 0.0}
each_estimator = pytest.mark.parametrize("name", MADE)


def rows(count: int = 20_000) -> tuple[NDArray[Any], NDArray[Any]]:
    random = np.random.default_rng(4)
    mixed = random.standard_normal((count, 4)) @ np.array([[9, 4, 0, 1], [0, 5, 1, 0], [0, 0, 3, 1], [0, 0, 0, 2.0]])
    X = 45 + mixed
    return X, X @ [1.0, -0.5, 2.0, 0.0] + 3 * random.standard_normal(count) - 40


@pytest.fixture
def ledger(tmp_path: Path) -> dict[str, Any]:
    """A ledger by its path, for five fits of epsilon 2 and a little more."""
    path = tmp_path / "budget.db"
    dp.Ledger.create(path).add("clinic", budget=dp.Budget(epsilon=10.5), neighbors="add-remove")
    return {"ledger": str(path), "dataset": "clinic"}


@each_estimator
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_stated_epsilon_is_what_the_accountant_computes(name: str, delta: float, neighbors: str) -> None:
    estimator = MADE[name](**{**PROMISE, "delta": delta, "neighbors": neighbors})
    plan = estimator.make_plan(4)
    X, y = rows(50)
    estimator.fit(X, y)
    assert plan.spent == estimator.spent_ == estimator.result_.spent
    assert estimator.result_.private
    computed = dp.accountant("auto").epsilon(plan.pricing.all_losses, delta)
    assert 1.98 < computed <= estimator.spent_.epsilon <= 2.0
    assert delta == estimator.spent_.delta
    assert neighbors == estimator.result_.statement.neighbors


def test_components_variances_and_mean_are_near_the_truth() -> None:
    X, _ = rows()
    pca = PrivatePCA(2, **PROMISE, insecure_seed=1).fit(X)
    values, vectors = np.linalg.eigh(np.cov(X.T))
    overlap = np.linalg.svd(vectors[:, -2:].T @ pca.components_.T)[1]
    assert overlap.min() > 0.99
    assert values[:-3:-1] == pytest.approx(pca.explained_variance_, rel=0.1)
    assert X.mean(axis=0) == pytest.approx(pca.mean_, abs=0.5)
    moved = pca.transform(X)
    assert (20_000, 2) == moved.shape
    assert np.abs(pca.inverse_transform(moved) - X).std() < X.std()
    assert ["privatepca0", "privatepca1"] == list(pca.get_feature_names_out())
    assert 4 == PrivatePCA(**PROMISE).fit(X).n_components_
    assert PrivatePCA(0.9, **PROMISE, insecure_seed=1).fit(X).n_components_ in (2, 3)


def test_likelihoods_are_those_of_the_model_and_near_those_of_scikit_learn() -> None:
    X, _ = rows()
    for count in (1, 2, 4):
        private = PrivatePCA(count, **PROMISE, insecure_seed=1).fit(X)
        exact = PCA(count).fit(X)
        assert exact.score(X) == pytest.approx(private.score(X), rel=0.02)
        assert exact.get_covariance() == pytest.approx(private.get_covariance(), rel=0.2, abs=4.0)
        assert np.eye(4) == pytest.approx(private.get_covariance() @ private.get_precision(), abs=1e-6)
        assert exact.noise_variance_ == pytest.approx(private.noise_variance_, rel=0.2, abs=1e-9)
        assert exact.singular_values_ == pytest.approx(private.singular_values_, rel=0.1)


def test_runs_differ_without_a_seed_and_agree_with_one() -> None:
    X, y = rows(200)
    free = [PrivateRidge(target_bounds=(-100, 300), **PROMISE).fit(X, y).coef_ for _ in range(2)]
    assert not np.any(free[0] == free[1])
    one, same, other = (PrivatePCA(**PROMISE, insecure_seed=seed).fit(X).explained_variance_ for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_covariance_and_a_scaler_are_near_the_truth() -> None:
    X, _ = rows()
    found = PrivateCovariance(**PROMISE, insecure_seed=1).fit(X)
    truth = np.cov(X.T)
    assert np.linalg.norm(found.covariance_ - truth) < 0.05 * np.linalg.norm(truth)
    assert X.mean(axis=0) == pytest.approx(found.location_, abs=0.5)
    assert found.mahalanobis(X).mean() == pytest.approx(4.0, rel=0.2)
    scaler = PrivateStandardScaler(**PROMISE, insecure_seed=1).fit(X)
    assert X.std(axis=0) == pytest.approx(scaler.scale_, rel=0.15)
    assert scaler.scale_**2 == pytest.approx(scaler.var_)
    moved = scaler.transform(X)
    assert np.abs(moved.mean(axis=0)).max() < 0.1
    assert X == pytest.approx(scaler.inverse_transform(moved))


def test_a_ridge_is_near_least_squares() -> None:
    X, y = rows()
    ridge = PrivateRidge(target_bounds=(-100, 300), **PROMISE, insecure_seed=1).fit(X, y)
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    best = 1 - np.var(y - X @ exact[:4]) / np.var(y)
    assert ridge.score(X, y) > 0.97 * best
    assert ridge.r_squared_ == pytest.approx(best, abs=0.05)
    assert ridge.result_.interval("model").low.shape == (5,)


def test_several_targets_are_one_run_and_a_model_each() -> None:
    X, y = rows()
    Y = np.column_stack([y, X[:, 0] - 2 * X[:, 2] + np.random.default_rng(5).standard_normal(len(X))])
    ridge = PrivateRidge(target_bounds=([-100, -200], [300, 100]), **PROMISE, insecure_seed=1)
    ridge.fit(X, pd.DataFrame(Y, columns=["a", "b"]))
    assert ridge.make_plan(4, targets=2).spent == ridge.spent_
    assert ((2, 4), (2,), (2,)) == (ridge.coef_.shape, ridge.intercept_.shape, ridge.r_squared_.shape)
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), Y, rcond=None)[0].T
    for found, true in zip(ridge.coef_, exact, strict=True):
        assert np.corrcoef(X @ found, X @ true[:4])[0, 1] > 0.99  # features are not the other target
    assert ridge.predict(X) == pytest.approx(X @ ridge.coef_.T + ridge.intercept_)
    column = PrivateRidge(target_bounds=(-100, 300), **PROMISE, insecure_seed=1).fit(X, y[:, None])
    flat = PrivateRidge(target_bounds=(-100, 300), **PROMISE, insecure_seed=1).fit(X, y)
    assert np.array_equal(column.coef_, flat.coef_[None])
    assert np.array_equal(column.predict(X), flat.predict(X)[:, None])
    with pytest.raises(dp.PlanError, match="2 numbers for 3"):
        PrivateRidge(target_bounds=([0, 0], [1, 1]), **PROMISE).fit(X, X[:, :3])


def test_the_order_and_names_of_a_data_frame_are_used() -> None:
    X, _ = rows(2000)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "person"])
    ranges = {"person": (0, 100), "b": (0, 100), "a": (0, 100), "c": (0, 100)}
    given = {**PROMISE, "bounds": ranges, "insecure_seed": 3}
    named = PrivateCovariance(**given).fit(frame, person=np.arange(2000))
    assert np.array_equal(named.covariance_, PrivateCovariance(**{**given, "bounds": (0, 100)}).fit(X).covariance_)
    assert ["a", "b", "c", "person"] == list(named.feature_names_in_)
    assert ("a", "b", "c", "person") == named.result_.record("covariance_in_units").columns
    out = PrivatePCA(2, **given).set_output(transform="pandas").fit_transform(frame)
    assert ["privatepca0", "privatepca1"] == list(out.columns)


def test_rows_instead_of_bounds() -> None:
    X, y = rows(500)
    made = [dp.Column(name, 0, 100) for name in "abcd"]
    promise = dp.Rows(columns=made, neighbors="replace", contributions=2)
    one = PrivateCovariance(epsilon=1.0, rows=promise, insecure_seed=1).fit(X)
    other = PrivateCovariance(epsilon=1.0, bounds=(0, 100), neighbors="replace", contributions=2, insecure_seed=1).fit(
        X
    )
    assert np.array_equal(one.covariance_, other.covariance_)
    with_target = dp.Rows(columns=[*made, dp.Column("y", -100, 300)], neighbors="replace")
    assert "y" == PrivateRidge(epsilon=1.0, rows=with_target).fit(X, y).result_.record("model").value.target  # type: ignore[attr-defined]
    ignored: tuple[dict[str, Any], ...] = ({"bounds": (0, 1)}, {"neighbors": "replace"}, {"contributions": 2})
    for given in ignored:
        with pytest.raises(dp.PlanError, match="which must be left out"):
            PrivateCovariance(epsilon=1.0, rows=promise, **given).fit(X)
    with pytest.raises(dp.PlanError, match="which must be left out"):
        PrivateRidge(epsilon=1.0, rows=with_target, target_bounds=(0, 1e9)).fit(X, y)
    with pytest.raises(dp.PlanError, match=r"rows= must have 5 numeric columns, .* and then the target; it has 4"):
        PrivateRidge(epsilon=1.0, rows=promise).fit(X, y)


@each_estimator
def test_missing_cells_count_for_nothing_and_stop_nothing(name: str) -> None:
    X, y = rows(300)
    holes, targets = X.copy(), y.copy()
    holes[:5, 0], holes[5:8, 2], targets[8:10] = np.nan, np.inf, np.nan
    complete = slice(10 if name == "ridge" else 8, None)
    less = MADE[name](**PROMISE, insecure_seed=2).fit(X[complete], y[complete])
    found = MADE[name](**PROMISE, insecure_seed=2).fit(holes, targets)
    for step in found.result_:
        assert np.array_equal(less.result_[step], found.result_[step]), step


def test_ids_bound_what_a_person_contributes() -> None:
    X, _ = rows(400)
    ids = np.arange(400) // 4
    found = PrivateCovariance(**PROMISE, contributions=2, insecure_seed=1).fit(X, person=ids)
    first = np.arange(400) % 4 < 2
    assert np.array_equal(
        PrivateCovariance(**PROMISE, contributions=2, insecure_seed=1).fit(X[first]).covariance_, found.covariance_
    )


def test_ids_are_routed_as_metadata() -> None:
    X, y = rows(400)
    with sklearn.config_context(enable_metadata_routing=True):
        ridge = PrivateRidge(target_bounds=(-100, 300), **PROMISE, insecure_seed=1).set_fit_request(person=True)
        pipeline = make_pipeline(PrivateStandardScaler(**PROMISE, insecure_seed=1).set_fit_request(person=True), ridge)
        pipeline.fit(X, y, person=np.zeros(400, dtype=int))  # all rows are of one person: one counts
        scores = cross_val_score(ridge, X, y, cv=RowHashFold(2), params={"person": np.arange(400)})
    assert 1.0 == pytest.approx(float(pipeline[0].result_["covariance.count"]), abs=60)
    assert np.isfinite(scores).all()


@each_estimator
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"bounds": None}, "bounds are missing"),
        ({"bounds": (0, 1, 2)}, "must be a pair"),
        ({"bounds": "ab"}, "must be a pair"),
        ({"bounds": ([0, 0], [1, 1])}, "2 numbers for 4 columns"),
        ({"bounds": {"x0": (0, 1)}}, "no range for 'x1'"),
        ({"epsilon": None}, "epsilon is missing"),
        ({"neighbors": None}, "none was given"),
        ({"rows": "all"}, "rows= takes a dp.Rows"),
    ],
)
def test_what_is_missing_is_refused_before_the_charge(
    name: str, changed: dict[str, Any], words: str, ledger: dict[str, Any]
) -> None:
    X, y = rows(30)
    before = dp.Ledger.open(ledger["ledger"]).dataset("clinic").spent
    with pytest.raises(dp.PlanError, match=words):
        MADE[name](**{**PURE, **changed}, **ledger).fit(X, y)
    assert before == dp.Ledger.open(ledger["ledger"]).dataset("clinic").spent


@each_estimator
def test_a_refused_fit_leaves_the_estimator_as_it_was(name: str, tmp_path: Path) -> None:
    X, y = rows(30)
    frame, path = pd.DataFrame(X, columns=list("abcd")), tmp_path / "budget.db"
    dp.Ledger.create(path).add("clinic", budget=dp.Budget(epsilon=3.0), neighbors="add-remove")
    estimator = MADE[name](**PURE, ledger=path, dataset="clinic").fit(frame, y)
    before = dict(vars(estimator))
    for other in (frame[list("dcba")], frame[["a"]]):
        with pytest.raises(dp.BudgetExceeded):
            estimator.fit(other, y)
        assert before == vars(estimator)
    never = clone(estimator)
    with pytest.raises(dp.BudgetExceeded):
        never.fit(frame, y)
    with pytest.raises(NotFittedError):
        check_is_fitted(never)


def test_further_refusals() -> None:
    X, y = rows(30)
    with pytest.raises(dp.PlanError, match="target_bounds is missing"):
        PrivateRidge(**PROMISE).fit(X, y)
    refused: tuple[Any, ...] = (0, 5, 1.5, "mle", True)
    for wanted in refused:
        with pytest.raises(dp.PlanError, match="n_components must be"):
            PrivatePCA(wanted, **PROMISE).fit(X)


@pytest.mark.parametrize("make", EVERY, ids=lambda make: make.__name__)
def test_a_fitted_estimator_is_shown_copied_and_kept(make: Any) -> None:
    X, y = rows(300)
    target = {"target_bounds": (-100, 300)} if make in (PrivateRidge, PrivateRidgeCV) else {}
    fitted = make(**PROMISE, **target, insecure_seed=1).fit(X, y)
    page = fitted._repr_html_()
    assert make.__name__ in page
    assert "href" not in page  # scikit-learn has no page about it
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.spent_, repr(again)) == (fitted.spent_, repr(fitted))
    for name in ("transform", "predict"):
        if hasattr(fitted, name):
            assert np.array_equal(getattr(fitted, name)(X), getattr(again, name)(X))
    copied = clone(fitted)
    assert not hasattr(copied, "result_")
    assert np.array_equal(copied.fit(X, y).result_["covariance"], fitted.result_["covariance"])
    if hasattr(fitted, "transform"):
        frame = fitted.set_output(transform="polars").transform(X)
        assert list(fitted.get_feature_names_out()) == frame.columns


def test_the_core_does_not_import_scikit_learn() -> None:
    code = "import dpframe, sys; dpframe.plugins(); sys.exit('sklearn' in sys.modules)"
    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode
