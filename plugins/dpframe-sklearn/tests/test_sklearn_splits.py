"""Fits on splits: training sets that the charges cover, one charge for each, and the price of a search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dpframe as dp
from dpframe_sklearn import PrivateRidge, PrivateStandardScaler, RowHashFold, released_r_squared, search_price

PROMISE: dict[str, Any] = {"epsilon": 2.0, "bounds": (0, 1), "neighbors": "add-remove"}
TARGET: dict[str, Any] = {"target_bounds": (0, 1)}


def rows(count: int = 400) -> tuple[NDArray[Any], NDArray[Any]]:
    X = np.random.default_rng(4).uniform(0, 1, (count, 3))
    return X, X.mean(axis=1)


def ridge(**changed: Any) -> PrivateRidge:
    return PrivateRidge(**{**PROMISE, **TARGET, **changed})


def training_sets(splitter: Any, names: NDArray[Any], *data: Any) -> list[set[int]]:
    return [set(names[train].tolist()) for train, _ in splitter.split(*data)]


@pytest.mark.parametrize("by", ["features", "row", "ids"])
def test_removing_a_row_removes_it_from_training_sets_and_changes_nothing_else(by: str) -> None:
    X, y = rows()
    names, ids = np.arange(400), np.arange(400) // 2
    data = {"features": (X,), "row": (X, y), "ids": (X, y, ids)}[by]
    for splitter in (RowHashFold(5), RowHashFold(5, key=3)):
        whole = training_sets(splitter, names, *data)
        for gone in (0, 17, 399):
            less = training_sets(splitter, np.delete(names, gone), *(np.delete(each, gone, axis=0) for each in data))
            assert [each - {gone} for each in whole] == less
            assert 1 == sum(gone not in each for each in whole)


def test_folds_are_disjoint_of_about_one_size_and_of_the_key() -> None:
    X, y = rows(5000)
    held = [test for _, test in RowHashFold(5).split(X, y)]
    assert list(range(5000)) == sorted(np.concatenate(held).tolist())
    assert all(800 < len(each) < 1200 for each in held)  # 7 deviations of a binomial
    assert not np.array_equal(held[0], next(RowHashFold(5, key=1).split(X, y))[1])
    assert np.array_equal(held[0], next(RowHashFold(5).split(X.tolist(), y.tolist()))[1])
    signs = [np.array([[0.0]]), np.array([[-0.0]])]
    assert len({len(next(RowHashFold(2).split(each))[1]) for each in signs}) == 1
    people = np.arange(5000) // 10
    for train, test in RowHashFold(5).split(X, y, people):
        assert not set(people[train]) & set(people[test])
    texts = people.astype(str).astype(object)
    pairs = zip(RowHashFold(5).split(X, y, people), RowHashFold(5).split(X, y, texts), strict=True)
    assert all(np.array_equal(one[1], other[1]) for one, other in pairs)
    assert 5 == RowHashFold(5).get_n_splits()
    assert "RowHashFold(key=0, n_splits=5)" == repr(RowHashFold(5))
    for wrong in (1, 101, 2.5):
        with pytest.raises(dp.PlanError, match="folds must be"):
            RowHashFold(wrong)  # type: ignore[arg-type]


def test_ids_reach_the_splitter_as_metadata() -> None:
    X, y = rows()
    with sklearn.config_context(enable_metadata_routing=True):
        given = {"groups": np.arange(400) // 4, "person": np.arange(400) // 4}
        asked = ridge(contributions=4).set_fit_request(person=True)
        assert np.isfinite(cross_val_score(asked, X, y, cv=RowHashFold(2), params=given)).all()


@pytest.mark.parametrize(("neighbors", "cv"), [("add-remove", RowHashFold(5)), ("replace", KFold(5))])
def test_five_folds_are_five_charges_and_a_sixth_is_refused(neighbors: str, cv: Any, tmp_path: Path) -> None:
    X, y = rows()
    path = str(tmp_path / "budget.db")
    account = dp.Ledger.create(path)
    account.add("clinic", budget=dp.Budget(epsilon=10.5), neighbors=neighbors)
    estimator = ridge(neighbors=neighbors, ledger=path, dataset="clinic")
    assert path == clone(estimator).ledger
    assert np.isfinite(cross_val_score(estimator, X, y, cv=cv)).all()
    assert 5 == account.dataset("clinic").runs
    before = account.dataset("clinic").spent
    with pytest.raises(dp.BudgetExceeded):
        estimator.fit(X, y)
    with pytest.raises(dp.BudgetExceeded):
        cross_val_score(estimator, X, y, cv=cv, error_score="raise")
    with pytest.raises(ValueError, match="fits failed"):
        cross_val_score(estimator, X, y, cv=cv)
    assert before == account.dataset("clinic").spent


def test_a_search_has_a_price_before_its_first_fit() -> None:
    private = {**PROMISE, "delta": 1e-6}
    pipeline = make_pipeline(PrivateStandardScaler(**private), "passthrough", ridge(delta=1e-6))
    grid, cv = {"privateridge__epsilon": [1.0, 2.0]}, RowHashFold(3)
    price = search_price(GridSearchCV(pipeline, grid, cv=cv, scoring=released_r_squared))
    assert (3 * (3.0 + 4.0) + 4.0, 7 * 2e-6) == pytest.approx((price.epsilon, price.delta))
    assert 3 * 7.0 == pytest.approx(search_price(GridSearchCV(pipeline, grid, cv=cv, refit=False)).epsilon)
    with pytest.raises(dp.PlanError, match="epsilon of PrivateRidge is missing"):
        search_price(GridSearchCV(pipeline, {"privateridge__epsilon": [None]}, cv=cv, refit=False))


def test_a_search_stops_at_the_budget_after_what_its_price_said(tmp_path: Path) -> None:
    """Priced at 3 · 2 + 3 · 2 + 2 = 14; a budget of 7 is for three fits, and the fourth raises."""
    X, y = rows()
    path = str(tmp_path / "budget.db")
    account = dp.Ledger.create(path)
    account.add("clinic", budget=dp.Budget(epsilon=7.0), neighbors="add-remove")
    given: dict[str, Any] = {"cv": RowHashFold(3), "error_score": "raise", "scoring": released_r_squared}
    search = GridSearchCV(ridge(ledger=path, dataset="clinic"), {"penalty": [0.1, 1.0]}, **given)
    assert 14.0 == pytest.approx(search_price(search).epsilon)
    assert 0 == account.dataset("clinic").runs
    with pytest.raises(dp.BudgetExceeded):
        search.fit(X, y)
    assert 3 == account.dataset("clinic").runs
    assert 6.0 == pytest.approx(account.dataset("clinic").spent.epsilon, rel=0.01)


@pytest.mark.parametrize("cv", [None, 5, KFold(3, shuffle=True, random_state=0), ShuffleSplit(3), GroupKFold(2)])
def test_under_add_remove_a_search_by_place_has_no_price(cv: Any) -> None:
    grid = {"penalty": [0.1, 1.0]}
    with pytest.raises(dp.PlanError, match=r"does not cover. Use cv=RowHashFold\(5\)"):
        search_price(GridSearchCV(ridge(), grid, cv=cv, refit=False))
    promise = dp.Rows(columns=[dp.Column(name, 0, 1) for name in "abcy"], neighbors="add-remove")
    with pytest.raises(dp.PlanError, match="Use cv=RowHashFold"):
        search_price(GridSearchCV(PrivateRidge(epsilon=1.0, rows=promise), grid, cv=cv, refit=False))


def test_under_replace_a_search_by_anything_but_place_has_no_price() -> None:
    grid, estimator = {"penalty": [0.1, 1.0]}, ridge(neighbors="replace")
    search = GridSearchCV(estimator, grid, cv=3, scoring=released_r_squared)
    assert 2 * 3 * 2.0 + 2.0 == pytest.approx(search_price(search).epsilon)
    for cv in (RowHashFold(3), StratifiedKFold(3), GroupKFold(3)):
        with pytest.raises(dp.PlanError, match="must go by place and look at no cell"):
            search_price(GridSearchCV(estimator, grid, cv=cv, refit=False))


def test_what_may_fit_more_often_or_draw_rows_again_has_no_price() -> None:
    cv = RowHashFold(2)
    for wrapper in (BaggingRegressor(ridge(), n_estimators=4), make_pipeline(StandardScaler(), ridge())):
        with pytest.raises(dp.PlanError, match="in a search has no price"):
            search_price(GridSearchCV(wrapper, {}, cv=cv, refit=False))
    with pytest.raises(dp.PlanError, match="RandomizedSearchCV has none"):
        search_price(RandomizedSearchCV(ridge(), {"penalty": [0.1]}, cv=cv))


@pytest.mark.parametrize("refit", [True, "r2", "best"])
def test_a_choice_by_private_targets_has_no_price(refit: Any) -> None:
    for scoring in (None, "r2", lambda *_: 0.0):
        search = GridSearchCV(ridge(), {"penalty": [0.1]}, cv=RowHashFold(2), scoring=scoring, refit=refit)
        with pytest.raises(dp.PlanError, match="chooses by a score that is computed from private targets"):
            search_price(search)


def test_a_search_by_released_scores_looks_at_no_held_out_row() -> None:
    """Held-out targets that predictions cannot be compared with change no score and no choice."""
    X, y = rows(2000)
    made = make_pipeline(PrivateStandardScaler(**PROMISE, insecure_seed=1), ridge(bounds=(-9, 9), insecure_seed=1))
    given: dict[str, Any] = {"scoring": released_r_squared, "cv": RowHashFold(3)}
    search = GridSearchCV(made, {"privateridge__penalty": ["auto", 1e6]}, **given).fit(X, y)
    assert {"privateridge__penalty": "auto"} == search.best_params_
    fitted = search.best_estimator_
    assert fitted[-1].r_squared_ == released_r_squared(fitted) == released_r_squared(fitted, X[:3], np.full(3, np.nan))
    two = ridge(insecure_seed=1).fit(X, np.column_stack([y, X[:, 0]]))
    assert two.r_squared_.mean() == released_r_squared(two)
