"""Promises about rows: columns, categories, missing cells, norms, units."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.lattice import RADIUS, inner_radius
from dpframe.reading.mapper import coordinates

TABLE = {
    "age": np.array([17.0, 53.5, 90.0, 200.0, -5.0, np.nan]),
    "hours": np.array([1.0, 50.0, 99.0, np.inf, 40.0, 40.0]),
    "sex": np.array(["F", "M", "F", "M", "X", "F"]),
}
AGE, HOURS, SEX = dp.Column("age", 17, 90), dp.Column("hours", 1, 99, missing=40), dp.Category("sex", ["F", "M"])


def test_columns_are_clipped_and_mapped_to_minus_one_to_one() -> None:
    assert [-1.0, 0.0, 1.0, 1.0, -1.0] == AGE.map(TABLE["age"])[:5, 0].tolist()
    assert math.isnan(AGE.map(TABLE["age"])[5, 0])


def test_missing_cells_take_the_public_value() -> None:
    mapped = HOURS.map(TABLE["hours"])[:, 0]
    assert (40 - 50) * (1 / 49) == mapped[3]  # multiplied by the inverse: a last bit from (40 - 50) / 49
    assert np.isfinite(mapped).all()


def test_categories_are_one_hot_and_unknown_levels_lose_the_row_unless_a_public_level_is_given() -> None:
    mapped = SEX.map(TABLE["sex"])
    assert [[1, 0], [0, 1], [1, 0], [0, 1]] == mapped[:4].tolist()
    assert np.isnan(mapped[4]).all()
    assert [0.0, 1.0] == dp.Category("sex", ["F", "M"], missing="M").map(TABLE["sex"])[4].tolist()
    assert [[0, 1], [1, 0]] == dp.Category("code", [1, 2]).map(np.array([2.0, 1.0])).tolist()


def test_a_table_maps_by_name_and_a_row_with_a_lost_cell_contributes_nothing() -> None:
    rows = dp.Rows(columns=[SEX, AGE, HOURS], neighbors="add-remove")
    mapped = coordinates(rows, TABLE)
    assert (6, 4) == mapped.shape == (6, rows.known_dim)
    integers = dp.Chunk(rows, mapped).integers()
    assert [True, True, True, True, False, False] == integers.any(axis=1).tolist()


def test_the_norm_of_columns_is_the_root_of_their_number_and_no_mapped_row_exceeds_it() -> None:
    rows = dp.Rows(columns=[AGE, HOURS, SEX], neighbors="replace")
    assert math.sqrt(3) == rows.length
    longest = coordinates(rows, {"age": np.array([90.0]), "hours": np.array([99.0]), "sex": np.array(["M"])})
    assert np.linalg.norm(longest) <= rows.length * (1 + 1e-15)
    assert dp.Rows(columns=[AGE], norm=0.5, neighbors="replace").length == 0.5


def test_axes_carry_names_and_units() -> None:
    axes = dp.Rows(columns=[AGE, SEX], neighbors="replace").axes
    assert dp.Axes(("age", "sex=F", "sex=M"), (36.5, 1.0, 1.0), (53.5, 0.0, 0.0), ("", "", "")) == axes
    assert dp.Rows(norm=1.0, neighbors="replace").axes is None


@pytest.mark.parametrize("dim", [1, 2, 6, 50, 1000, 100_000])
def test_the_constant_is_a_power_of_two_no_longer_than_a_row(dim: int) -> None:
    rows = dp.Rows(norm=3.0, neighbors="replace", center=True, dim=dim)
    assert 0 < rows.constant <= RADIUS
    assert rows.constant & (rows.constant - 1) == 0
    assert 2**-0.5 <= (rows.constant / RADIUS) * (4 * dim) ** 0.25 <= 2**0.5
    assert 3.0 / inner_radius(dim) == rows.step


def test_the_constant_is_near_the_best_one_for_the_covariance() -> None:
    # Variance of a covariance entry is (R² + c²)² (1 + 2 m²/c²) for a mean of size m per coordinate, here R/√(3d).
    for dim in (2, 6, 50, 400):
        constants = np.exp(np.linspace(np.log(0.01), 0.0, 2000))
        variance = (1 + constants**2) ** 2 * (1 + 2 / (3 * dim) / constants**2)
        chosen = dp.Rows(norm=1.0, neighbors="replace", dim=dim).constant / RADIUS
        ours = (1 + chosen**2) ** 2 * (1 + 2 / (3 * dim) / chosen**2)
        assert ours <= 1.25 * variance.min()


def test_rows_compare_by_value_and_bind_a_dimension() -> None:
    rows = dp.Rows(norm=1, neighbors="add-remove")
    assert rows == dp.Rows(norm=1.0, neighbors="add-remove")
    assert rows.bind(4).known_dim == 4
    with pytest.raises(dp.PlanError, match="dimension of the rows is not known"):
        _ = rows.known_dim
