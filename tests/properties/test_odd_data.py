"""Odd data that must not raise: cells that are not finite, missing ones, no rows, the smallest level."""

from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe_gaussian import SymmetricGaussian
from tests.support.refusals import BUDGET, COLUMNS, INFINITY, NAN, PLAIN, SECRET, WORD, WORDS, Watch, plan, rows


def values(data: Any, promise: dp.Rows = PLAIN) -> bytes:
    return plan(rows=promise).run(data, insecure_seed=7)["moment"].tobytes()


KEPT = np.array([[0.5, 0.25], [0.125, -0.75]])


@pytest.mark.parametrize("cell", [NAN, INFINITY, -INFINITY])
def test_a_row_with_a_cell_that_is_not_finite_counts_as_left_out(watch: Watch, cell: float) -> None:
    assert values(KEPT) == values(np.vstack([KEPT, [[cell, SECRET]]]))
    assert values(np.zeros((0, 2))) == values(np.full((5, 2), cell))
    assert values(KEPT, rows(center=True)) == values(
        np.vstack([KEPT[:1], [[SECRET, cell]], KEPT[1:]]), rows(center=True)
    )
    assert 6 == watch.charges


@pytest.mark.parametrize("cell", [NAN, INFINITY, -INFINITY])
def test_a_missing_cell_takes_its_public_value(cell: float) -> None:
    columns = [dp.Column("age", 17, 90), dp.Column("hours", 1, 99, missing=40)]
    promise = dp.Rows(columns=columns, neighbors="replace")
    assert values(np.array([[30.0, 40.0]]), promise) == values(np.array([[30.0, cell]]), promise)
    assert values(np.zeros((0, 2)), promise) == values(np.array([[cell, 40.0]]), promise)


def test_an_unknown_level_is_a_missing_cell() -> None:
    ages, sexes = np.array([30.0, 40.0]), np.array(["F", WORD])
    filled = dp.Rows(columns=[WORDS.columns[0], dp.Category("sex", ["F", "M"], missing="M")], neighbors="replace")  # type: ignore[index]
    assert values({"age": ages[:1], "sex": sexes[:1]}, WORDS) == values({"age": ages, "sex": sexes}, WORDS)
    assert values({"age": ages, "sex": np.array(["F", "M"])}, filled) == values({"age": ages, "sex": sexes}, filled)


def test_cells_beyond_double_precision() -> None:
    """A cell that is finite only in a wider type is as good as infinite, and nothing is said about it."""
    wide = np.array([[np.longdouble("1e400"), 0.5]], dtype=np.longdouble)
    if np.isfinite(wide).all():  # where the platform has a wider type at all
        assert values(np.array([[INFINITY, 0.5]])) == values(wide)
        assert values(np.array([[INFINITY, 40.0]]), COLUMNS) == values(wide * [[1, 80]], COLUMNS)


@pytest.mark.parametrize(
    ("promise", "data"),
    [
        (PLAIN, np.zeros((0, 2))),
        (rows(dim=2), []),
        (rows(dim=2), iter([])),
        (rows(dim=2), [np.zeros((0, 2)), np.zeros((0, 2))]),
        (rows(dim=2, center=True), np.zeros((0, 2))),
        (COLUMNS, {"age": np.zeros(0), "hours": np.zeros(0)}),
        (COLUMNS, np.zeros(0, dtype=[("age", float), ("hours", float)])),
        (WORDS, {"age": np.zeros(0), "sex": np.zeros(0, dtype=str)}),
    ],
    ids=["array", "no chunks", "empty generator", "empty chunks", "centered", "mapping", "structured", "words"],
)
def test_no_rows_give_a_noisy_zero(promise: dp.Rows, data: Any) -> None:
    width = (promise.dim or 2) + promise.center
    moment = plan(rows=promise).run(data, insecure_seed=7)["moment"]
    assert (width, width) == moment.shape
    assert width**2 == np.count_nonzero(moment)
    nothing = np.full((4, promise.dim or 2), NAN)
    assert values(nothing, attrs.evolve(promise, columns=None, norm=promise.length)) == moment.tobytes()


@pytest.mark.parametrize("noise", ["goe", "triangular", "paper"])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("promise", [{"dim": 1}, {"dim": 2}, {"contributions": 3}], ids=str)
@pytest.mark.parametrize("center", [False, True])
def test_the_smallest_level_can_be_drawn(noise: str, neighbors: str, promise: dict[str, int], center: bool) -> None:
    """Whatever the plan lets through, the sampler can draw: no failure after the charge."""
    promised = rows(**{"dim": 2, **promise}, neighbors=neighbors, center=center)
    level = SymmetricGaussian.smallest_level * promised.contributions
    step = dp.release("moment", "gaussian", noise=noise, level=level)
    result = dp.Plan(rows=promised, budget=BUDGET, steps=[step]).run([], insecure_seed=7)
    assert 2.0**15 < np.abs(result["moment"]).max() / (promised.length**2)
