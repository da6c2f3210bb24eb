"""The smallest budget and the fewest rows that meet a target: checked by simulations of their own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import dpframe as dp
from dpframe.forecast.target import smallest
from dpframe.lattice import FloatArray

SPECTRUM = np.array([1195.0, 996.0, 507.0, 282.0, 178.0, 168.0])
SCENARIO = dp.Scenario(dim=6, spectrum=SPECTRUM, n=48842)
K, DRAWS, FALSE_ALARM = 3, 20_000, 1e-7


def plan(**changes: Any) -> dp.Plan:
    given: dict[str, Any] = {
        "rows": dp.Rows(norm=1.0, neighbors="add-remove"),
        "budget": dp.Budget(epsilon=1.0, delta=1e-6),
        "steps": [dp.release("moment", "gaussian"), dp.derive("components", "top-subspace", of="moment", k=K)],
        **changes,
    }
    return dp.Plan(**given)


def angles(built: dp.Plan, spectrum: FloatArray) -> FloatArray:
    """Largest principal angles over many releases, by numpy alone."""
    built = built.bind(len(spectrum))
    scale = built.releases[0][1].noise(built.rows, built.pricing.levels["moment"])["diagonal"]
    noise = np.random.default_rng(11).standard_normal((DRAWS, len(spectrum), len(spectrum))) * scale
    _, vectors = np.linalg.eigh(np.diag(spectrum) + (noise + noise.swapaxes(1, 2)) / 2)
    sines = np.linalg.norm(vectors[:, K:, -K:], 2, axis=(1, 2))
    found: FloatArray = np.degrees(np.arcsin(np.minimum(sines, 1.0)))
    return found


def check(met: NDArray[np.bool_], confidence: float, *, holds: bool) -> None:
    """The share of releases is at least the confidence, or surely below it, but for a false alarm."""
    count = int(np.count_nonzero(met))
    if holds:
        assert count >= binom.ppf(FALSE_ALARM, DRAWS, confidence)
    else:
        assert count < binom.ppf(FALSE_ALARM, DRAWS, confidence)


def test_require_meets_the_target_and_not_much_more() -> None:
    found = plan().require(angle_degrees=5, confidence=0.95, scenario=SCENARIO)
    assert 1e-6 == found.budget.delta
    assert 0.1 < found.budget.epsilon < 1.0
    check(angles(found, SPECTRUM) <= 5, 0.95, holds=True)
    poorer = plan(budget=dp.Budget(epsilon=found.budget.epsilon / 1.25, delta=1e-6))
    check(angles(poorer, SPECTRUM) <= 5, 0.95, holds=False)


def test_required_rows_meet_the_target_and_not_many_more() -> None:
    rows = plan().required_rows(angle_degrees=5, confidence=0.9, scenario=SCENARIO)
    check(angles(plan(), SPECTRUM * rows / 48842) <= 5, 0.9, holds=True)
    check(angles(plan(), SPECTRUM * rows / 48842 / 1.25) <= 5, 0.9, holds=False)


def test_other_targets_and_named_steps() -> None:
    built = plan(scenario=SCENARIO)
    by_norm = built.require(frobenius=40.0, step="moment", confidence=0.9)
    told = by_norm.explain(simulations=400).bounds("moment")
    (upper,) = [b for b in told if b.name == "monte-carlo" and b.confidence == 0.95 and b.norm.startswith("Frobenius")]
    assert upper.value == pytest.approx(40.0, rel=0.15)
    by_variance = built.require(captured_variance=0.9999, confidence=0.9).explain(simulations=400).bounds("components")
    (median,) = [b for b in by_variance if b.name == "monte-carlo" and b.confidence == 0.5 and "variance" in b.norm]
    assert 0.9999 < (median.value or 0.0) < 0.99999


def test_a_fixed_level_sets_the_least_epsilon_and_progress_is_told() -> None:
    steps = [
        dp.release("total", "laplace-eigenvalues", k=1, level=0.5),
        dp.release("moment", "gaussian"),
        dp.derive("components", "top-subspace", of="moment", k=K),
    ]
    tried: list[str] = []
    few = dp.Plan(rows=plan().rows, budget=dp.Budget(epsilon=0.6, delta=1e-6), steps=steps)
    found = few.require(angle_degrees=60, confidence=0.5, scenario=SCENARIO, progress=tried.append)
    assert 0.5 < found.budget.epsilon < 0.6
    assert "trying epsilon = 0.6" == tried[0]


def test_the_search_goes_on_down_to_where_a_mechanism_ends() -> None:
    many = dp.Rows(norm=1.0, neighbors="replace", contributions=1 << 18)
    built = plan(rows=many, budget=dp.Budget(epsilon=0.6, delta=1e-6), steps=plan().steps[:1])
    found = built.require(frobenius=1e9, step="moment", scenario=SCENARIO)
    with pytest.raises(dp.PlanError, match="needs a level of at least"):
        plan(rows=many, budget=dp.Budget(epsilon=found.budget.epsilon / 1.05, delta=1e-6))
    pure = plan(budget=dp.Budget(epsilon=1 / 16), steps=[dp.release("spectrum", "laplace-eigenvalues", k=1)])
    assert 0.005 < pure.require(frobenius=500.0, scenario=SCENARIO).budget.epsilon < 0.01


def test_the_search_ends_close_above_where_a_condition_begins() -> None:
    for start in (0.01, 1.0, 900.0):
        found = smallest(lambda x, _: x >= 3.7, start, 1e-4, 1e3)
        assert found is not None
        assert 3.7 <= found <= 3.7 * 1.02
    assert smallest(lambda x, _: x >= 3.7, 1.0, 1e-4, 3.0) is None
    last = smallest(lambda x, _: x >= 950.0, 1.0, 1e-4, 1e3)  # beyond the last power of the stride
    assert last is not None
    assert 950.0 <= last <= 1e3
    stricter = smallest(lambda x, seed: x >= 3.7 * (1 if seed == 1 else 1.5), 1.0, 1e-4, 1e3)
    assert stricter is not None
    assert 3.7 * 1.5 <= stricter <= 3.7 * 1.5 * 1.02
    assert smallest(lambda x, seed: seed == 1, 1.0, 1e-4, 1e3) is None
    always = smallest(lambda *_: True, 1.0, 1e-1, 1e3)
    assert always is not None
    assert always <= 0.4


REFUSED = [
    ({}, "say one target"),
    ({"angle_degrees": 5, "spectral": 0.1}, "say one target"),
    ({"angle": 5}, "say one target"),
    ({"angle_degrees": 0}, "angle_degrees must be a number between 0 and 90; got 0"),
    ({"angle_degrees": 90}, "between 0 and 90"),
    ({"captured_variance": 1.0}, "between 0 and 1"),
    ({"frobenius": math.inf}, "must be a number above 0"),
    ({"angle_degrees": 5, "confidence": 1.0}, "confidence must be a number above 0 and at most 0.999; got 1.0"),
    ({"angle_degrees": 5, "confidence": 1 - 1e-9}, "at most 0.999"),
    (
        {"angle_degrees": 5, "step": "moment"},
        "step 'moment' has no error in angle_degrees. Steps that have: components",
    ),
    ({"angle_degrees": 5, "scenario": None}, "needs assumed data"),
    ({"angle_degrees": 5, "scenario": dp.Scenario(dim=6)}, "a simulation needs a scenario with spectrum="),
]


@pytest.mark.parametrize(("given", "says"), REFUSED)
def test_refusals(given: dict[str, object], says: str) -> None:
    with pytest.raises(dp.PlanError, match=says):
        plan().require(**{"scenario": SCENARIO, **given})  # type: ignore[arg-type]
    with pytest.raises(dp.PlanError, match=says):
        plan().required_rows(**{"scenario": SCENARIO, **given})  # type: ignore[arg-type]


def test_what_cannot_be_met_is_refused() -> None:
    tied = dp.Scenario(dim=6, spectrum=[5e10] * 6, n=10**11)
    rich = plan(budget=dp.Budget(epsilon=900.0, delta=1e-6))
    with pytest.raises(
        dp.PlanError, match=r"no epsilon up to 1000 meets 5 .largest principal angle, in degrees. for 'comp"
    ):
        rich.require(angle_degrees=5, confidence=0.5, scenario=tied)
    with pytest.raises(dp.PlanError, match=r"not even 1e\+12 rows meet"):
        plan().required_rows(angle_degrees=5, confidence=0.5, scenario=tied)
    with pytest.raises(dp.PlanError, match="needs a scenario with n="):
        plan().required_rows(angle_degrees=5, scenario=dp.Scenario(dim=6, spectrum=SPECTRUM))


@pytest.mark.parametrize("action", ["top-subspace", "rank-k"])
def test_nothing_is_forecast_of_all_eigenvectors(action: str) -> None:
    """The leading d of d eigenvectors have no error to speak of; plans may use them, scenarios say nothing of them."""
    whole = plan(steps=[dp.release("moment", "gaussian"), dp.derive("all", action, of="moment", k=6)])
    says = r"step 'all': k=6 takes all 6 eigenvectors, so.*Say k below 6"
    for asked in (
        lambda: whole.explain(scenario=SCENARIO),
        lambda: whole.explain(spectrum=SPECTRUM.tolist(), simulations=200),
        lambda: whole.require(frobenius=1.0, scenario=SCENARIO),
        lambda: whole.required_rows(frobenius=1.0, scenario=SCENARIO),
    ):
        with pytest.raises(dp.PlanError, match=says):
            asked()
    assert () == whole.explain(dim=6).bounds("all")
