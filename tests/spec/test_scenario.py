"""Assumed data: models of rows, their shapes, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpframe as dp

SPIKED: dict[str, Any] = {"model": "spiked", "dim": 8, "n": 100, "rank": 3, "spike": 9.0, "noise": 1.0}


def test_the_uneven_spiked_model_keeps_both_sums_and_has_hardly_a_gap() -> None:
    even, uneven = (dp.Scenario(**SPIKED, shape=shape).eigenvalues for shape in (None, "uneven"))
    assert even is not None
    assert uneven is not None
    assert even[:3].sum() == pytest.approx(uneven[:3].sum())
    assert even[3:].sum() == pytest.approx(uneven[3:].sum())
    assert np.all(np.diff(uneven) < 0.0)
    assert uneven[2] == pytest.approx(1.25 * uneven[3])
    assert even[2] == pytest.approx(10 * even[3])


@pytest.mark.parametrize("spike", [0.01, 1.0, 1e9])
@pytest.mark.parametrize("rank", [1, 7])
def test_uneven_spectra_are_positive_and_in_order_for_any_spike(spike: float, rank: int) -> None:
    found = dp.Scenario(**{**SPIKED, "rank": rank, "spike": spike}, shape="uneven").eigenvalues
    assert found is not None
    assert np.all(np.diff(found) <= 0.0)
    assert found.min() > 0.0
    assert found.sum() == pytest.approx(100 * (8 + rank * spike))


def test_variations() -> None:
    shapes = {
        model: [each.shape for each in scenario.variations]
        for model, scenario in {
            None: dp.Scenario(dim=2, spectrum=[2, 1]),
            "gaussian": dp.Scenario(dim=2, n=9, spectrum=[2, 1], model="gaussian"),
            "spiked": dp.Scenario(**SPIKED),
            "table": dp.Scenario(dim=2, n=9, model="table"),
        }.items()
    }
    usual = ["off-center", "skewed", "heavy-tailed"]
    assert {
        None: [None],
        "gaussian": [None, *usual],
        "spiked": [None, *usual, "uneven"],
        "table": [*usual, "coded"],
    } == shapes
    chosen = dp.Scenario(dim=2, n=9, model="table", shape="skewed")
    assert (chosen,) == chosen.variations


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"dim": 2, "model": "table"}, "needs the number of rows"),
        ({"dim": 2, "n": 9, "model": "table", "spectrum": [2, 1]}, "leave spectrum= out"),
        (
            {"dim": 2, "n": 9, "model": "table", "shape": "uneven"},
            "one of 'off-center', 'skewed', 'heavy-tailed', 'coded'",
        ),
        ({"dim": 2, "shape": "skewed"}, "left out without a model of rows; got 'skewed'"),
        ({**SPIKED, "shape": 3}, "got 3"),
    ],
)
def test_refusals(given: dict[str, Any], says: str) -> None:
    with pytest.raises(dp.PlanError, match=says):
        dp.Scenario(**given)


def test_a_plan_file_keeps_the_shape() -> None:
    scenario = dp.Scenario(dim=1, n=500, model="table", shape="skewed")
    rows = dp.Rows(columns=[dp.Column("age", 0, 100)], neighbors="replace")
    steps = [dp.release("moment", "gaussian")]
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps, scenario=scenario)
    assert scenario == dp.Plan.loads(plan.dumps()).scenario
    assert 'shape = "skewed"' in plan.dumps()
    assert "Scenario(dim=1, n=500, source='assumed', model='table', shape='skewed')" == repr(scenario)
