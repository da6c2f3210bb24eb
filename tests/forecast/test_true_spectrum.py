"""Where a spectrum comes from: what follows from the true one is private and stays a diagnostic."""

from __future__ import annotations

import json

import numpy as np
import pytest
from rich.pretty import pretty_repr

import dpframe as dp

SPECTRUM = [1195.25, 996.5, 507.125, 282.0, 178.0, 168.0]
TRUE = dp.Scenario(dim=6, spectrum=SPECTRUM, n=48842, source="true")
ROWS = dp.Rows(norm=1.0, neighbors="add-remove")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)


def plan(scenario: dp.Scenario | None = None) -> dp.Plan:
    steps = [dp.release("moment", "gaussian"), dp.derive("components", "top-subspace", of="moment", k=3)]
    return dp.Plan(rows=ROWS, budget=BUDGET, steps=steps, scenario=scenario)


def test_bounds_from_the_true_spectrum_are_diagnostics() -> None:
    told = plan().explain(scenario=TRUE)
    assumed = plan().explain(spectrum=SPECTRUM)
    with pytest.raises(dp.PlanError, match=r"as private as the data.*diagnostics\('components'\)"):
        told.bounds("components")
    assert assumed.bounds("components") == told.diagnostics("components")
    assert {} == told.forecasts
    assert not told.shareable


def test_reports_and_json_leave_them_out_unless_asked_by_name() -> None:
    told = plan().explain(scenario=TRUE, simulations=200)
    (first, *_) = told.diagnostics("components")
    for text in (str(told), repr(told), told.to_json(), told._repr_html_()):
        assert f"{first.value:.4g}" not in text
        assert "1195" not in text
    assert "are as private as the data and not shown" in " ".join(str(told).split())
    assert "NOT PRIVATE" in repr(told)
    content = json.loads(told.to_json())
    assert (None, {}, "diagnostics withheld") == (content["scenario"], content["forecasts"], content["note"])
    asked = json.loads(told.to_json(diagnostics=True))
    assert first.value == asked["forecasts"]["components"][0]["value"]
    assert SPECTRUM == asked["scenario"]["spectrum"]
    assert "NOT PRIVATE" in asked["note"]


def test_pretty_printers_that_walk_fields_find_none_of_them() -> None:
    told = plan().explain(scenario=TRUE)
    for text in (pretty_repr(told), pretty_repr([told]), pretty_repr({"told": told}, expand_all=True)):
        assert "1195" not in text
        assert "Bound(" not in text


def test_no_plan_is_chosen_by_the_true_spectrum() -> None:
    with pytest.raises(dp.PlanError, match=r"plan\.require cannot use a scenario with source='true'"):
        plan().require(angle_degrees=5, scenario=TRUE)
    with pytest.raises(dp.PlanError, match=r"plan\.required_rows cannot use"):
        plan().required_rows(angle_degrees=5, scenario=TRUE)
    with pytest.raises(dp.PlanError, match=r"dp\.compare cannot use"):
        dp.compare("subspace", k=3, rows=ROWS, budget=BUDGET, scenario=TRUE)
    with pytest.raises(dp.PlanError, match="a plan, which is written down and shown, cannot use"):
        plan(TRUE)


def test_a_released_spectrum_says_so() -> None:
    released = dp.Scenario(dim=6, spectrum=SPECTRUM, source="released")
    told = plan().explain(scenario=released)
    assert "for the released spectrum" in str(told)
    assert "released" == json.loads(told.to_json())["scenario"]["source"]


def test_scenarios() -> None:
    spiked = dp.Scenario(dim=4, n=100, model="spiked", rank=2, spike=9.0, noise=1.0)
    assert spiked.eigenvalues is not None
    assert [1000.0, 1000.0, 100.0, 100.0] == spiked.eigenvalues.tolist()
    more = spiked.with_rows(200).eigenvalues
    assert more is not None
    assert [2000.0, 2000.0, 200.0, 200.0] == more.tolist()
    assert np.allclose(np.array(SPECTRUM) / 2, TRUE.with_rows(24421).spectrum.array)  # type: ignore[union-attr]
    assert dp.Scenario(dim=3).eigenvalues is None


REFUSED = [
    ({"model": "gaussian"}, "needs the number of rows"),
    ({"model": "cauchy", "n": 10}, "Scenario.model must be one of 'gaussian', 'spiked'"),
    ({"source": "guessed"}, "Scenario.source must be one of"),
    ({"n": 0}, "Scenario.n must be an integer from 1 to"),
    ({"rank": 1}, "rank= belongs to the spiked model"),
    ({"model": "spiked", "n": 10, "rank": 1, "spike": 1.0}, "the spiked model needs rank=, spike=, noise="),
    ({"model": "spiked", "n": 10, "rank": 3, "spike": 1.0, "noise": 1.0}, "a rank below its 3 coordinates; got rank=3"),
    (
        {"model": "spiked", "n": 10, "rank": 1, "spike": -1.0, "noise": 1.0},
        "Scenario.spike must be a finite number above 0",
    ),
    (
        {"model": "spiked", "n": 10, "rank": 1, "spike": 1.0, "noise": 1.0, "spectrum": [3, 2, 1]},
        "leave spectrum= out",
    ),
]


@pytest.mark.parametrize(("given", "says"), REFUSED)
def test_refusals(given: dict[str, object], says: str) -> None:
    with pytest.raises(dp.PlanError, match=says):
        dp.Scenario(dim=3, **given)  # type: ignore[arg-type]
    if "n" not in given:
        with pytest.raises(dp.PlanError, match="without n= cannot be scaled"):
            dp.Scenario(dim=3).with_rows(5)


def test_true_figures_are_not_printed() -> None:
    assert "Scenario(dim=6, spectrum=..., n=..., source='true')" == repr(TRUE)
    guessed = dp.Scenario(dim=2, n=10, model="spiked", rank=1, spike=2.0, noise=1.0)
    assert (
        "Scenario(dim=2, n=10, source='assumed', model='spiked', rank=1, spike=2.0, noise=1.0)"
        == repr(guessed)
        == str(guessed)
    )
    assert "spectrum=" in repr(dp.Scenario(dim=2, spectrum=[2.0, 1.0]))
