"""What forecasts assume about a column: figures that are possible within its range, and nothing else depends on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dpframe as dp


def plan(*columns: dp.Column) -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(columns=list(columns), neighbors="add-remove", center=True),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("moment", "gaussian"), dp.derive("mean", "mean", of="moment")],
    )


@pytest.mark.parametrize(
    ("given", "assumed"),
    [
        ({}, (50.0, 100 / 6)),
        ({"sd": 7}, (50.0, 7.0)),
        ({"mean": 40}, (40.0, 100 / 6)),
        ({"mean": 5}, (5.0, 5.0)),  # a sixth of the range would be too much for a mean near its end
        ({"mean": 95, "sd": 20}, (95.0, 20.0)),
    ],
)
def test_what_is_assumed(given: dict[str, Any], assumed: tuple[float, float]) -> None:
    assert assumed == pytest.approx(dp.Column("x", 0, 100, **given).assumed)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sd": 0}, "Column.sd must be"),
        ({"sd": -1.0}, "Column.sd must be"),
        ({"sd": math.nan}, "Column.sd must be"),
        ({"sd": math.inf}, "Column.sd must be"),
        ({"sd": "10"}, "Column.sd must be"),
        ({"sd": True}, "Column.sd must be"),
        ({"mean": math.inf}, "Column.mean must be"),
        ({"mean": 101}, "mean=101 must lie within its range [0, 100]"),
        ({"mean": 0}, "mean=0 must lie within its range"),
        ({"sd": 50}, "sd=50 must be below 50: no column with the range [0, 100] varies more"),
        ({"sd": 31, "mean": 10}, "sd=31 must be below 30: no column with the range [0, 100] and a mean of 10"),
    ],
)
def test_impossible_figures_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(dp.PlanError) as caught:
        dp.Column("x", 0, 100, **given)
    assert words in str(caught.value)


def test_nothing_but_forecasts_depends_on_them() -> None:
    """Representation, hash, price, noise and every bit of a release are the same; a file keeps the figures."""
    bare, assuming = plan(dp.Column("x", 0, 100)), plan(dp.Column("x", 0, 100, sd=3, mean=20))
    assert repr(bare) == repr(assuming)
    assert bare.content_hash == assuming.content_hash
    assert bare.pricing == assuming.pricing
    assert bare.explain().statement == assuming.explain().statement
    rows = np.linspace(-20, 120, 300)[:, None]
    one, other = (each.run(rows, insecure_seed=3) for each in (bare, assuming))
    np.testing.assert_array_equal(one["moment"], other["moment"])
    read = dp.Plan.loads(assuming.dumps())
    assert read == assuming != bare
    assert (20.0, 3.0) == read.rows.columns[0].assumed  # type: ignore[index, union-attr]
    assert plan(dp.Column("x", 0, 100.5)).content_hash != bare.content_hash
