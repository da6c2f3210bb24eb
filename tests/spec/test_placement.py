"""Rows about a center, divided by scales: what may be given, and what follows from it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.run.wording import row_map

COLUMNS = (dp.Column("age", 17, 90, unit="years"), dp.Column("hours", 1, 99), dp.Category("sex", ["F", "M"]))


def promise(**said: Any) -> dp.Rows:
    return dp.Rows(columns=COLUMNS, neighbors="replace", **said)


ABOUT, SCALE = (0.25, -1.0, 0.5, 0.25), (0.5, 1.0, 2.0, 4.0)


def test_the_placed_coordinate_of_a_row() -> None:
    rows = promise(about=ABOUT, scale=SCALE)
    shift, rate = rows.affine
    mapped = np.array([0.75, 0.5, 1.0, 0.0])
    assert [1.0, 1.5, 0.25, -0.0625] == ((mapped - shift) * rate).tolist()


def test_no_mapped_row_is_longer_than_the_ranges_allow() -> None:
    rows = promise(about=ABOUT, scale=SCALE)
    shift, rate = rows.affine
    corners = [
        (np.array([age, hours, *sex]) - shift) * rate
        for age in (-1.0, 1.0)
        for hours in (-1.0, 1.0)
        for sex in ((1.0, 0.0), (0.0, 1.0))
    ]
    assert rows.length == pytest.approx(max(map(np.linalg.norm, corners)), rel=1e-12)
    assert 0.125 == promise(about=ABOUT, norm=0.125).length


def test_a_row_that_is_always_at_the_center_has_a_length_to_divide_by() -> None:
    rows = dp.Rows(columns=[dp.Category("only", ["one"])], neighbors="replace", about=(1.0,))
    assert 0.0 < rows.length < 1e-100


def test_axes_lead_back_to_the_units_of_the_columns() -> None:
    axes = promise(about=ABOUT, scale=SCALE).axes
    assert axes is not None
    placed = np.array([1.0, 1.5, 0.25, -0.0625])
    cells = np.array(axes.offset) + np.array(axes.scale) * placed
    assert cells == pytest.approx([53.5 + 0.75 * 36.5, 50 + 0.5 * 49, 1.0, 0.0])
    assert ("years", "", "", "") == axes.unit


def test_released_parts_are_moved_into_their_ranges() -> None:
    rows = promise(about=dp.ref("c"), scale=dp.ref("s"), norm=dp.ref("r"))
    assert {"about": "c", "scale": "s", "norm": "r"} == rows.awaited
    values: dict[str, dp.Kind] = {
        "c": dp.Mean([3.0, -3.0, 0.5, 0.0]),
        "s": dp.Scales([1e-9, 1e-300, 1e9, 2.0]),
        "r": dp.Scalar(0.5),
    }
    found = rows.with_released(values)
    assert (1.0, -1.0, 0.5, 0.0) == found.about
    assert (1e-6, 1e-6, 1e6, 2.0) == found.scale
    assert (0.5, {}) == (found.norm, found.awaited)
    assert {"norm": "r", "scale": "s"} == rows.with_released({"c": values["c"]}).awaited


def test_a_mean_in_other_coordinates_is_mapped_to_those_of_the_rows() -> None:
    rows = promise(about=dp.ref("c"))
    axes = rows.unplaced.axes
    assert axes is not None
    mapped = [0.25, -0.5, 0.75, 0.25]
    in_units = np.array(axes.offset) + np.array(axes.scale) * mapped
    elsewhere = promise(about=ABOUT, scale=SCALE)
    shift, rate = elsewhere.affine
    for mean in (
        dp.Mean(mapped),
        dp.Mean(mapped, axes=axes),
        dp.Mean(in_units, axes=axes.in_units),
        dp.Mean((np.array(mapped) - shift) * rate, axes=elsewhere.axes),
    ):
        assert rows.with_released({"c": mean}).about == pytest.approx(mapped, abs=1e-12)
    other = dp.Axes(("w", "x", "y", "z"), (1.0,) * 4, (0.0,) * 4)
    with pytest.raises(dp.PlanError, match="the about of rows must be of their own columns, but 'c' is of others"):
        rows.with_released({"c": dp.Mean(mapped, axes=other)})


@pytest.mark.parametrize(("norm", "found"), [(0.0, 1e-140), (-3.0, 1e-140), (1e300, 1e140), (0.5, 0.5)])
def test_a_released_norm_is_moved_into_its_range(norm: float, found: float) -> None:
    assert found == promise(norm=dp.ref("r")).with_released({"r": dp.Scalar(norm)}).norm


def test_without_a_center_nothing_changes() -> None:
    rows = promise(norm=1.5)
    assert rows is rows.with_released({})
    assert promise() == rows.unplaced == rows.unplaced.unplaced
    array = dp.Rows(norm=1.5, neighbors="replace")
    assert array is array.unplaced
    assert rows is rows.seen_by(None)
    assert promise() == promise(about=ABOUT, norm=dp.ref("r")).unplaced
    assert "about" not in repr(rows)
    assert "about=(0.25" in repr(promise(about=ABOUT))
    assert "scale=(0.5" in repr(promise(scale=SCALE))
    assert promise(about=(0.0,) * 4) == promise(about=(-0.0,) * 4)
    assert repr(promise(about=(0.0,) * 4)) == repr(promise(about=(-0.0,) * 4))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"about": (0.0, 0.0)}, "Rows.about has 2 numbers, but the columns make 4 coordinates"),
        ({"about": (0.0, 2.0, 0.0, 0.0)}, "Rows.about must be .* a number from -1 to 1"),
        ({"about": "center"}, "Rows.about must be the result of a step"),
        ({"about": (0.0, math.nan, 0.0, 0.0)}, "Rows.about must be"),
        ({"scale": (1.0, 1.0, 0.0, 1.0)}, "Rows.scale must be .* from 1e-06 to 1e"),
        ({"scale": (1.0, True, 1.0, 1.0)}, "Rows.scale must be"),
    ],
)
def test_what_is_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(dp.PlanError, match=message):
        promise(**said)


def test_rows_without_columns_have_no_box_to_lie_in() -> None:
    with pytest.raises(dp.PlanError, match=r"Rows\.about is in coordinates from -1 to 1.*columns=\[\.\.\.\]"):
        dp.Rows(norm=1.0, neighbors="replace", about=dp.ref("center"))


def test_what_is_not_known_yet_is_named() -> None:
    with pytest.raises(dp.PlanError, match=r"Rows\.about is the result of step 'c'"):
        _ = promise(about=dp.ref("c")).affine


def test_scales_in_other_coordinates_are_mapped_to_those_of_the_rows() -> None:
    rows = promise(scale=dp.ref("s"))
    axes, elsewhere = rows.unplaced.axes, promise(about=ABOUT, scale=SCALE).axes
    assert axes is not None
    assert elsewhere is not None
    mapped = np.array([0.25, 0.5, 0.75, 2.0])
    for found in (
        dp.Scales(mapped),
        dp.Scales(mapped, axes=axes),
        dp.Scales(mapped * axes.scale, axes=axes.in_units),
        dp.Scales(mapped / SCALE, axes=elsewhere),
    ):
        assert rows.with_released({"s": found}).scale == pytest.approx(mapped, rel=1e-12)
    with pytest.raises(dp.PlanError, match="the scale of rows must be of their own columns, but 's' is of others"):
        rows.with_released({"s": dp.Scales(mapped, axes=dp.Axes(tuple("abcd"), (1.0,) * 4, (0.0,) * 4))})


def test_a_released_linear_map_is_moved_into_its_range() -> None:
    rows = promise(about=ABOUT, linear=dp.ref("t"), norm=0.5)
    assert {"linear": "t"} == rows.awaited
    with pytest.raises(dp.PlanError, match="known only during a run"):
        _ = rows.multiplied
    found = rows.with_released({"t": dp.LinearMap(np.diag([1e9, 2.0, -1e9, 0.5]))})
    np.testing.assert_array_equal(np.diag([1e6, 2.0, -1e6, 0.5]), found.multiplied)
    assert found.is_moved
    assert found.axes is None
    assert found.unplaced == promise()


def test_no_multiplied_row_is_longer_than_the_bound() -> None:
    matrix = np.array([[1.0, 2.0, 0.0, 0.0], [0.0, 1.0, -1.0, 0.0], [0.5, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 3.0]])
    rows = promise(about=ABOUT, linear=matrix)
    for age in (-1.0, 1.0):
        for hours in (-1.0, 1.0):
            for sex in ((1.0, 0.0), (0.0, 1.0)):
                assert np.linalg.norm((np.array([age, hours, *sex]) - ABOUT) @ matrix) <= rows.length


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"linear": [[1.0, 0.0], [0.0, 1.0]]}, "has 2 rows, but the columns make 4"),
        ({"linear": [[1.0] * 3] * 4}, "square matrix"),
        ({"linear": [1.0, 2.0, 3.0, 4.0]}, "square matrix"),
        ({"linear": np.eye(4) * 1e7}, "square matrix"),
        ({"linear": np.eye(4) * math.nan}, "square matrix"),
        ({"linear": np.eye(4), "scale": SCALE}, "not both"),
    ],
)
def test_linear_maps_that_are_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(dp.PlanError, match=words):
        promise(**said)


def test_a_linear_map_needs_columns_and_a_step_of_its_kind() -> None:
    with pytest.raises(dp.PlanError, match="needs public ranges"):
        dp.Rows(norm=1.0, dim=2, neighbors="replace", linear=np.eye(2))
    budget = dp.Budget(epsilon=1.0, delta=1e-6)
    steps = [dp.release("sum", "gaussian-sum"), dp.derive("mean", "mean", of="sum")]
    with pytest.raises(dp.PlanError, match="must be a linear map, but 'mean' gives a mean"):
        dp.Plan(rows=promise(linear=dp.ref("mean")), budget=budget, steps=[*steps, dp.release("m", "gaussian")])


def test_a_plan_file_keeps_a_linear_map() -> None:
    rows = promise(about=ABOUT, linear=np.diag([1.0, 0.5, 0.25, 2.0]), norm=1.0)
    budget = dp.Budget(epsilon=1.0, delta=1e-6)
    plan = dp.Plan(rows=rows, budget=budget, steps=[dp.release("moment", "gaussian")])
    assert plan == dp.Plan.loads(plan.dumps())
    assert "multiplied by a public matrix; " in row_map(rows)
