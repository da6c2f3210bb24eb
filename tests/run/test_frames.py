"""Results as data frames of each library, with labels and intervals."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas  # type: ignore[import-untyped]
import polars
import pyarrow  # type: ignore[import-untyped]
import pytest

import dpframe as dp
from dpframe.run import frames

ROWS = dp.Rows(columns=[dp.Column("age", 17, 90, unit="years"), dp.Column("row", 1, 99)], neighbors="add-remove")
PLAN = dp.Plan(
    rows=ROWS,
    budget=dp.Budget(epsilon=1.0, delta=1e-6),
    steps=[dp.release("moment", "gaussian"), dp.derive("components", "top-subspace", of="moment", k=1)],
)


@pytest.fixture(scope="module")
def result() -> dp.Result:
    return PLAN.run({"age": np.arange(20.0, 80.0), "row": np.arange(30.0, 90.0)}, insecure_seed=1)


def only(*libraries: str) -> Callable[[str], Any]:
    real = importlib.util.find_spec
    return lambda name: real(name) if name in libraries or name not in frames.LIBRARIES else None


@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        (("pandas", "polars", "pyarrow"), pandas.DataFrame),
        (("polars", "pyarrow"), polars.DataFrame),
        (("pyarrow",), pyarrow.Table),
    ],
)
def test_the_library_is_one_that_is_installed(
    installed: tuple[str, ...], expected: type, result: dp.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "find_spec", only(*installed))
    for wide in (False, True):
        assert isinstance(result.frame("moment", wide=wide), expected)


def test_without_any_library_it_is_said_what_to_install(result: dp.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "find_spec", only())
    with pytest.raises(dp.DataError, match="a frame needs pandas or polars or pyarrow: pip install pandas"):
        result.frame("moment")
    with pytest.raises(dp.DataError, match="a frame needs polars: pip install polars"):
        result.to_polars("moment")


def test_values_and_intervals_are_those_of_the_result(result: dp.Result) -> None:
    one, other = result.to_pandas("moment"), result.to_polars("moment")
    assert ["row", "column", "value", "low", "high"] == list(one.columns) == other.columns
    assert one.to_dict("list") == other.to_dict(as_series=False)
    interval = result.interval("moment")
    for name, expected in {"value": result["moment"], "low": interval.low, "high": interval.high}.items():
        assert np.array_equal(expected.ravel(), one[name])
    narrow = result.frame("moment", confidence=0.5)
    assert (narrow["high"] - narrow["low"] < one["high"] - one["low"]).all()
    with pytest.raises(dp.PlanError, match="confidence must be a number between 0 and 1"):
        result.frame("moment", confidence=95)


def test_a_matrix_as_it_is(result: dp.Result) -> None:
    frame = result.to_pandas("moment", wide=True)
    assert frame.loc["age", "row"] == result["moment"][0, 1]
    assert ["age", "row"] == list(frame.index) == list(frame.columns)
    assert ["row_", "age", "row"] == result.to_polars("moment", wide=True).columns  # a column is named "row" itself


def test_an_unknown_name_is_answered_with_those_that_exist(result: dp.Result) -> None:
    with pytest.raises(KeyError, match="there is no result 'correlation'; there is: moment, components"):
        result.frame("correlation")
