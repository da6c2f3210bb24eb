"""What a round asks of the rows: exact, additive, and moved by one person no more than declared."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe_oja import OjaSum
from dpframe_oja.statistic import start

RELATIONS = ("add-remove", "replace")
CELLS = st.floats(width=64) | st.sampled_from([0.0, 1.0, -1.0, 1e-300, 1e151, 1e308, math.inf, math.nan])


def direction(dim: int, seed: int) -> dp.Subspace:
    return dp.Subspace(start(dim, seed)[:, None])


def total(statistic: OjaSum, rows: dp.Rows, values: NDArray[Any]) -> list[int]:
    return [int(entry) for entry in statistic.partial(dp.Chunk(rows, values))["sum"]]


def squared_distance(one: list[int], other: list[int]) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("relation", RELATIONS)
@settings(max_examples=150, deadline=None, derandomize=True)
@given(choice=st.data())
def test_one_person_moves_the_sum_by_no_more_than_declared(relation: str, choice: st.DataObject) -> None:
    dim = choice.draw(st.integers(1, 5))
    people = choice.draw(st.integers(1, 3))
    norm = choice.draw(st.sampled_from([1.0, 1e-140, 3.7e100]))
    rows = dp.Rows(norm=norm, neighbors=relation, dim=dim, contributions=people)
    clip = choice.draw(st.sampled_from([1.0, 0.3, 2.0**-20]))
    statistic = OjaSum(direction=direction(dim, choice.draw(st.integers(0, 9))), clip=clip)
    sheets = st.lists(st.lists(CELLS, min_size=dim, max_size=dim), min_size=people, max_size=people)
    with np.errstate(over="ignore"):
        mine, others, rest = (np.array(choice.draw(sheets)) * norm for _ in range(3))
    neighbor = [rest] if relation == "add-remove" else [others, rest]
    moved = squared_distance(
        total(statistic, rows, np.concatenate([mine, rest])), total(statistic, rows, np.concatenate(neighbor))
    )
    assert moved <= statistic.sensitivity(rows)["sum"].l2_squared


@pytest.mark.parametrize(("relation", "reached"), [("add-remove", 0.999), ("replace", 0.97)])
@pytest.mark.parametrize("people", [1, 3])
def test_the_declared_value_is_nearly_reached(relation: str, reached: float, people: int) -> None:
    rows = dp.Rows(norm=2.0, neighbors=relation, dim=4, contributions=people)
    statistic = OjaSum(direction=[[1.0], [0.0], [0.0], [0.0]], clip=0.2)
    mine, others = (np.tile([[0.4, side, 0.0, 0.0]], (people, 1)) for side in (1.96, -1.96))  # shares of opposite sides
    nothing = np.zeros((0, 4))
    other = nothing if relation == "add-remove" else others
    moved = squared_distance(total(statistic, rows, mine), total(statistic, rows, other))
    declared = statistic.sensitivity(rows)["sum"].l2_squared
    assert (people * dp.lattice.RADIUS * (2 if relation == "replace" else 1)) ** 2 == declared
    assert reached**2 * declared <= moved <= declared


def test_a_share_depends_on_its_row_alone() -> None:
    """The sum is the sum of the rows' own sums, bit by bit, in any order, layout and split."""
    rng = np.random.default_rng(3)
    rows = dp.Rows(norm=1.0, neighbors="replace", dim=7)
    values = rng.standard_normal((257, 7)) * 10.0 ** rng.integers(-5, 6, (257, 1))
    values[::50] = np.nan
    statistic = OjaSum(direction=direction(7, 1), clip=0.1)
    alone = [total(statistic, rows, values[i : i + 1]) for i in range(len(values))]
    expected = [sum(entries) for entries in zip(*alone, strict=True)]
    assert expected == total(statistic, rows, values)
    assert expected == total(statistic, rows, values[::-1])
    assert expected == total(statistic, rows, np.asfortranarray(values))
    assert [0] * 7 == total(statistic, rows, values[::50])


@pytest.mark.parametrize("clip", [1.0, 0.05])
def test_the_sum_is_the_formula_up_to_the_lattice(clip: float) -> None:
    rng = np.random.default_rng(4)
    values = rng.standard_normal((500, 6)) * 0.3
    rows = dp.Rows(norm=1.0, neighbors="replace", dim=6)
    statistic = OjaSum(direction=direction(6, 2), clip=clip)
    within = values / np.maximum(1.0, np.linalg.norm(values, axis=1, keepdims=True))
    shares = within * (within @ start(6, 2))[:, None]
    lengths = np.linalg.norm(shares, axis=1, keepdims=True)
    expected = (shares * np.minimum(1.0, clip / lengths)).sum(axis=0)
    found = np.array(total(statistic, rows, values)) * statistic.unit(rows)
    step = rows.step + statistic.unit(rows)
    assert np.abs(found - expected).max() <= len(values) * math.sqrt(6) * step


def test_without_a_direction_it_looks_at_the_public_start() -> None:
    values = np.random.default_rng(5).standard_normal((20, 3))
    rows = dp.Rows(norm=1.0, neighbors="replace", dim=3)
    assert total(OjaSum(seed=4), rows, values) == total(OjaSum(direction=direction(3, 4)), rows, values)
    assert total(OjaSum(seed=4), rows, values) != total(OjaSum(seed=5), rows, values)


def test_shares_that_are_not_clipped_stay_as_they_are() -> None:
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=2)
    longest = total(OjaSum(direction=[[1.0], [0.0]]), rows, np.array([[1.0, 0.0]]))
    assert [dp.lattice.inner_radius(2), 0] == longest


def test_what_does_not_suit_is_refused() -> None:
    with pytest.raises(dp.PlanError, match=r"OjaSum\.clip must be a number from 9\.54e-07 to 1; got 2\.0"):
        OjaSum(clip=2)
    with pytest.raises(dp.PlanError, match=r"OjaSum\.seed must be an integer of at least 0; got -1"):
        OjaSum(seed=-1)
    with pytest.raises(dp.PlanError, match="oja-sum needs rows without a constant coordinate"):
        OjaSum().check(dp.Rows(norm=1.0, neighbors="replace", center=True))
    with pytest.raises(dp.PlanError, match="direction= has 2 coordinates, but the rows have 3"):
        OjaSum(direction=[[1.0], [0.0]]).check(dp.Rows(norm=1.0, neighbors="replace", dim=3))
