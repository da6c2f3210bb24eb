"""What is fitted is decided by types and shapes: no cell refuses a fit, and no error shows a cell or a count."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars
import pyarrow  # type: ignore[import-untyped]
import pytest

import dpframe as dp
from dpframe_sklearn import PrivateCovariance, PrivatePCA, PrivateRidge, PrivateRidgeCV, PrivateStandardScaler

PROMISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bounds": (0, 100), "neighbors": "add-remove"}
RIDGE: dict[str, Any] = {**PROMISE, "target_bounds": (0, 100)}
COUNT = 7
X = 10 + 80 * np.random.default_rng(0).random((COUNT, 2))
Y = X.mean(axis=1)
SECRETS = ("4711", "HIV", str(COUNT), *(f"{cell:.3f}" for cell in X.ravel()), *(f"{cell:.3f}" for cell in Y))


def covariance(X: Any, **given: Any) -> Any:
    return PrivateCovariance(**PROMISE, insecure_seed=1).fit(X, **given).covariance_


def slopes(X: Any, y: Any) -> Any:
    return PrivateRidge(**RIDGE, insecure_seed=1).fit(X, y).coef_


def with_cell(cells: Any, cell: Any) -> Any:
    changed = cells.astype(object)
    changed[(2,) * cells.ndim if cells.ndim == 1 else (2, 1)] = cell
    return changed


REFUSED: dict[str, Any] = {
    "features in one dimension": lambda: covariance(X[:, 0]),
    "complex features": lambda: covariance(X + 4711j),
    "dates": lambda: covariance(X.astype("datetime64[s]")),
    "no features": lambda: covariance(X[:, :0]),
    "masked features": lambda: covariance(np.ma.masked_greater(X, 50)),
    "ragged lists": lambda: covariance([*X.tolist(), [4711.0]]),
    "two targets": lambda: PrivateRidgeCV(**RIDGE).fit(X, np.column_stack([Y, Y])),
    "targets in three dimensions": lambda: slopes(X, Y[:, None, None]),
    "no targets": lambda: slopes(X, X[:, :0]),
    "targets of other rows in columns": lambda: slopes(X, X[:-1]),
    "complex targets": lambda: slopes(X, Y + 4711j),
    "targets of other rows": lambda: slopes(X, Y[:-1]),
    "ids of other rows": lambda: covariance(X, person=np.arange(COUNT - 1)),
    "ids of floats": lambda: covariance(X, person=np.arange(float(COUNT))),
    "ids in two dimensions": lambda: covariance(X, person=np.arange(2 * COUNT).reshape(COUNT, 2)),
    "an id for all": lambda: covariance(X, person="4711"),
    "a row to predict": lambda: PrivateRidge(**RIDGE).fit(X, Y).predict(X[0]),
    "a row to transform": lambda: PrivatePCA(**PROMISE).fit(X).transform(X[0]),
    "a row to scale": lambda: PrivateStandardScaler(**PROMISE).fit(X).transform(X[0]),
    "a row of coordinates": lambda: PrivatePCA(**PROMISE).fit(X).inverse_transform(X[0]),
    "coordinates of others": lambda: PrivatePCA(1, **PROMISE).fit(X).inverse_transform(X),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_show_no_cell_and_no_count(name: str) -> None:
    with pytest.raises(dp.DataError) as caught:
        REFUSED[name]()
    assert not [secret for secret in SECRETS if secret in str(caught.value)]
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


class Stubborn(float):
    """A number that refuses to be one."""

    def __float__(self) -> float:
        raise RuntimeError("4711")


CELLS = {
    "a word": "HIV+ 4711",
    "none": None,
    "missing": pd.NA,
    "a dictionary": {"diagnosis": "HIV+"},
    "a list": [1, 2],
    "a complex number": 2j,
    "a large integer": 10**400,
    "a stubborn number": Stubborn(3),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_that_is_no_number_is_missing(name: str) -> None:
    gaps, gap = with_cell(X, np.nan).astype(float), with_cell(Y, np.nan).astype(float)
    other = with_cell(X, CELLS[name])
    assert np.array_equal(covariance(gaps), covariance(other))
    assert np.array_equal(covariance(gaps), covariance(pd.DataFrame(other)))
    assert np.array_equal(covariance(gaps), covariance([list(row) for row in other]))
    target = with_cell(Y, CELLS[name])
    for y in (target, pd.Series(target), list(target)):
        assert np.array_equal(slopes(X, gap), slopes(X, y))


def test_numbers_of_any_type_are_the_same_numbers() -> None:
    whole = X.round()
    same = [
        whole.astype(object),
        whole.astype(int).astype(str),
        whole.astype(int).tolist(),
        pd.DataFrame(whole, dtype="Int64"),
        pd.DataFrame(whole, dtype="float64[pyarrow]"),
        pd.DataFrame(whole).astype("category"),
        polars.DataFrame(whole),
    ]
    for each in same:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            names = [str(name) for name in getattr(each, "columns", [])]
            if isinstance(each, pd.DataFrame):
                each.columns = names
            assert np.array_equal(covariance(whole), covariance(each))
    holes = pd.DataFrame({"a": pd.Series([1, None, 3], dtype="Int64"), "b": pd.Categorical(["1", "HIV", None])})
    assert np.array_equal(covariance(np.array([[1, 1], [np.nan, np.nan], [3, np.nan]])), covariance(holes))


def test_a_number_that_overflows_raises_no_warning() -> None:
    wide = X.astype(np.longdouble)
    wide[0, 0] = np.longdouble("1e4000")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(covariance(X[1:]), covariance(wide))
        assert np.array_equal(slopes(X[1:], Y[1:]), slopes(X, np.append(wide[0, 0], Y[1:])))


@pytest.mark.parametrize(
    "ids",
    [
        [1, 2, 3, 4, 5, 6, 6],
        [1, 2, 3, 4, 5, 2**70, 2**70],
        [1, 2, 3, 4, "x", "y", "y"],
        np.array(list("abcdeff"), dtype=object),
        pd.Series(list("abcdeff")),
        pd.Series(list("abcdeff"), dtype=object),
        pd.Series([1, 2, 3, 4, 5, 6, 6], dtype="Int64"),
        pd.Series(list("abcdeff"), dtype="category"),
        polars.Series(list("abcdeff")),
        pyarrow.array(list("abcdeff")),
    ],
    ids=str,
)
def test_ids_of_any_library_are_read_and_a_missing_one_stops_nothing(ids: Any) -> None:
    assert np.array_equal(covariance(X[:-1]), covariance(X, person=ids))  # the last row is a second one of a person
    cells = ids.to_pylist() if isinstance(ids, pyarrow.Array) else list(ids)
    for missing in (None, [1], 10**5000, "\ud800" if isinstance(cells[0], str) else True):
        changed = [*cells[:3], missing, *cells[4:]]
        counted = [0, 1, 2, 4, 5] if missing != "\ud800" else [0, 1, 2, 3, 4, 5]
        assert np.array_equal(covariance(X[counted]), covariance(X, person=changed))
    if isinstance(ids, pd.Series):
        gap = ids.copy()
        gap[3] = None
        assert np.array_equal(covariance(X[[0, 1, 2, 4, 5]]), covariance(X, person=gap))


def test_what_is_made_of_a_row_depends_on_no_other_row() -> None:
    random = np.random.default_rng(3)
    for features in (3, 8, 30):
        fitted = random.random((200, features))
        promise = {**PROMISE, "bounds": (0, 1), "insecure_seed": 1}
        pca = PrivatePCA(2, **promise).fit(fitted)
        others = PrivateCovariance(**promise).fit(fitted), PrivateStandardScaler(**promise).fit(fitted)
        ridge = PrivateRidge(**promise, target_bounds=(0, 1)).fit(fitted, fitted.mean(axis=1))
        maps: tuple[Any, ...] = (
            pca.transform,
            pca.score_samples,
            others[0].mahalanobis,
            others[1].transform,
            others[1].inverse_transform,
            ridge.predict,
            lambda rows, pca=pca: pca.inverse_transform(rows[:, :2]),
        )
        for count in (2, 101, 5001):
            rows = random.random((count, features))
            for each in maps:
                assert np.array_equal(each(rows)[1:], each(rows[1:]))
                assert np.array_equal(each(rows)[-1:], each(rows[-1:]))
    assert pca.transform(fitted) == pytest.approx((fitted - pca.mean_) @ pca.components_.T)
    assert ridge.predict(fitted) == pytest.approx(fitted @ ridge.coef_ + ridge.intercept_)
    away = fitted - others[0].location_
    expected = np.einsum("ij,jk,ik->i", away, others[0].get_precision(), away)
    assert others[0].mahalanobis(fitted) == pytest.approx(expected)
