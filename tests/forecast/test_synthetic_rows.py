"""Synthetic rows: the second moment that was asked for, and tables within their ranges, of the shape that was said."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe as dp
from dpframe.forecast.synthetic_rows import factors, table

COLUMNS: list[dp.Column | dp.Category] = [
    *(dp.Column(f"x{i}", 0, 10**i) for i in range(8)),
    dp.Category("kind", ["a", "b", "c"]),
    dp.Column("last", -5, 5),
]
SHAPES = ("off-center", "skewed", "heavy-tailed")
TABLES = (*SHAPES, "coded")


@pytest.mark.parametrize("shape", [None, *SHAPES])
def test_the_second_moment_of_factors_is_the_identity(shape: str | None) -> None:
    """Of 400,000 rows; entries have a deviation of at most 3/√400,000, and the limit is above six of them."""
    rows = factors(np.random.default_rng(1), 400_000, 3, shape)
    assert np.abs(rows.T @ rows / len(rows) - np.eye(3)).max() < 0.03
    assert (np.abs(rows.mean(axis=0)).max() > 0.8) == (shape == "off-center")
    skew = float(np.mean(rows[:, 1] ** 3))
    assert (skew > 1.5) == (shape == "skewed")
    far = float(np.mean(np.linalg.norm(rows, axis=1) > 6.0))
    assert (far > 1e-3) == (shape in ("heavy-tailed", "skewed"))


@pytest.mark.parametrize("shape", TABLES)
def test_a_table_is_within_its_ranges_and_has_one_level_of_each_category(shape: str) -> None:
    rows = table(np.random.default_rng(2), COLUMNS, 3000, shape)
    assert (3000, 12) == rows.shape
    assert np.abs(rows).max() <= 1.0
    np.testing.assert_array_equal(rows[:, 8:11].sum(axis=1), 1.0)
    assert {0.0, 1.0} == set(rows[:, 8:11].ravel().tolist())
    numbers = np.delete(rows, [8, 9, 10], axis=1)
    middles, spreads = np.median(numbers, axis=0), numbers.std(axis=0)
    assert np.abs(middles).min() > 0.1  # hardly anybody is at the middle of a range
    assert 0.0 < spreads.min() < spreads.max() / 3
    correlations = np.corrcoef(numbers.T)
    assert np.abs(correlations - np.eye(9)).max() > 0.3


def test_the_shapes_are_what_they_are_called() -> None:
    found = {shape: table(np.random.default_rng(3), COLUMNS[:8], 20_000, shape) for shape in TABLES}

    def standard(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((rows - rows.mean(axis=0)) / rows.std(axis=0))

    skews = {shape: np.abs(np.mean(standard(rows) ** 3, axis=0)).min() for shape, rows in found.items()}
    tails = {shape: np.mean(standard(rows) ** 4, axis=0).max() for shape, rows in found.items()}
    assert skews["skewed"] > 1.0 > skews["off-center"]
    assert tails["heavy-tailed"] > 10.0 > tails["off-center"]
    flags = [sum(len(np.unique(column)) == 2 for column in found[shape].T) for shape in TABLES]
    assert [0, 0, 0] == flags[:3]
    assert 0 < flags[3] < 8


def test_nothing_but_the_columns_and_the_number_of_rows_is_used() -> None:
    one = table(np.random.default_rng(4), COLUMNS, 100, "skewed")
    wider: list[dp.Column | dp.Category] = [
        attrs.evolve(c, high=c.high * 3) if isinstance(c, dp.Column) else c for c in COLUMNS
    ]
    np.testing.assert_array_equal(one, table(np.random.default_rng(4), wider, 100, "skewed"))
    assert not np.array_equal(one, table(np.random.default_rng(5), COLUMNS, 100, "skewed"))
