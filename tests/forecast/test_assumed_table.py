"""Tables made up from assumptions: the figures that were assumed, and thinned rows that stand for all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

import dpframe as dp
from dpframe.forecast import assumed_table as made_up
from dpframe.forecast.assumed_table import CORRELATION, assumed_table, before_clipping

COLUMNS: list[dp.Column | dp.Category] = [
    dp.Column("age", 17, 90),
    dp.Column("income", 0, 500_000, mean=45_000, sd=40_000),
    dp.Column("coded", 0, 1, mean=0.3, sd=0.45),
    dp.Category("kind", ["a", "b", "c"]),
    dp.Column("narrow", -1, 1, sd=1e-6),
]


def test_columns_have_the_assumed_figures() -> None:
    """Of 60,000 rows, thinned: means within six of their deviations, and standard deviations within 5 percent."""
    table = assumed_table(COLUMNS, 60_000)
    assert 60_000 == pytest.approx(table.count, rel=1e-3)
    assert len(table.values) < 10_000
    deviations = np.sqrt(np.diag(table.covariance))
    for place, column in ((0, COLUMNS[0]), (1, COLUMNS[1]), (2, COLUMNS[2]), (6, COLUMNS[4])):
        assert isinstance(column, dp.Column)
        mean, sd = column.assumed
        assert mean == pytest.approx(column.middle + column.half_width * table.mean[place], abs=6 * sd / 60_000**0.5)
        assert sd == pytest.approx(column.half_width * deviations[place], rel=0.05)
    np.testing.assert_allclose(table.mean[3:6], 1 / 3, atol=6 * 0.48 / 60_000**0.5)
    np.testing.assert_array_equal(table.values[:, 3:6].sum(axis=1), 1.0)
    assert np.abs(table.values).max() <= 1.0


def test_the_stated_size_of_correlations() -> None:
    table = assumed_table([dp.Column(f"x{i}", 0, 1) for i in range(40)], 20_000)
    deviations = np.sqrt(np.diag(table.covariance))
    correlations = (table.covariance / np.outer(deviations, deviations))[np.triu_indices(40, 1)]
    assert CORRELATION == pytest.approx(float(np.sqrt(np.mean(correlations**2))), abs=0.03)


def test_thinned_rows_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moments and the tail of lengths are those of the whole table, whose longest rows are kept one by one."""
    columns = [dp.Column(f"x{i}", 0, 1) for i in range(5)]
    thinned = assumed_table(columns, 50_000)
    monkeypatch.setattr(made_up, "LONGEST", 10**6)
    whole = assumed_table(columns, 50_000)
    assert 50_000 == len(whole.values)
    np.testing.assert_allclose(thinned.mean, whole.mean, atol=0.04)  # six deviations of a mean of 2,900 rows
    np.testing.assert_allclose(thinned.covariance, whole.covariance, atol=0.018)
    long = [int(each.times[np.linalg.norm(each.values, axis=1) > 1.3].sum()) for each in (thinned, whole)]
    assert 20 < long[1] < 4096 / 2
    assert long[1] == long[0]


@pytest.mark.parametrize("count", [2, 50, 4096, 4097, 10**6, 10**12])
def test_any_number_of_rows(count: int) -> None:
    table = assumed_table(COLUMNS, count)
    assert count == pytest.approx(table.count, rel=1e-3)
    assert len(table.values) < 20_000
    assert np.isfinite(table.values).all()


@pytest.mark.parametrize("given", [{"sd": 0.5 - 1e-9}, {"sd": 1e-300}, {"mean": 1e-9}, {"mean": 1 - 1e-9, "sd": 1e-12}])
def test_extreme_assumptions(given: dict[str, Any]) -> None:
    values = assumed_table([dp.Column("x", 0, 1, **given)], 1000).values
    assert np.isfinite(values).all()
    assert np.abs(values).max() <= 1.0


@pytest.mark.parametrize(
    ("mean", "sd"), [(0.5, 0.3), (0.05, 0.1), (0.9, 0.25), (0.01, 0.07), (1e-9, 2e-9), (0.4, 0.05)]
)
def test_normal_values_have_the_wanted_figures_after_clipping(mean: float, sd: float) -> None:
    """By the quantiles of the normal law, each standing for as many values: the rule is accurate to four digits."""
    middle, spread = before_clipping(mean, sd)
    steps = (np.arange(400_000) + 0.5) / 400_000
    values = np.clip(middle + spread * ndtri(steps), 0.0, 1.0)
    assert mean == pytest.approx(values.mean(), rel=1e-3)
    assert sd == pytest.approx(values.std(), rel=1e-3)


def test_columns_with_two_values_are_the_limit() -> None:
    values = assumed_table([dp.Column("x", 0, 1, mean=0.3, sd=0.4582)], 4000).values
    assert np.mean(np.abs(values) > 1 - 1e-6) > 0.999
    assert 0.3 == pytest.approx(np.mean(values > 0.0), abs=6 * math.sqrt(0.21 / 4000))


def test_it_is_always_the_same() -> None:
    np.testing.assert_array_equal(assumed_table(COLUMNS, 300).values, assumed_table(COLUMNS, 300).values)
