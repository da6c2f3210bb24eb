"""Forecasts against simulation, and rates against the printed formulas worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe as dp
from dpframe_spiked import SpikedForecast, SpikedRates
from dpframe_spiked.rates import Setting

SCENARIO = dp.Scenario(model="spiked", dim=40, n=20_000, rank=2, spike=500.0, noise=1.0)
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
BY_HAND = Setting(dim=100, rows=10_000, rank=4, spike=25.0, noise=1.0, epsilon=0.5, delta=0.025)
LOG = math.log(10_000)
TAIL = math.sqrt(math.log(100))


def plan(relation: str = "replace", **parameters: Any) -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(norm=60.0, neighbors=relation, dim=40),
        budget=BUDGET,
        scenario=SCENARIO,
        steps=[
            dp.release("cov", "spiked-block", rank=2, **parameters),
            dp.derive("top", "top-subspace", of="cov", k=2),
            dp.derive("other", "top-subspace", of="cov", k=3),
            dp.derive("sigma", "spiked-covariance", of="cov", rank=2, n=20_000),
        ],
    )


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_the_forecast_of_rounds_against_releases(relation: str) -> None:
    """The mean of 12 errors, which scatter by 12 per cent each, and what first order leaves out: within 20 per cent."""
    found = plan(relation)
    (forecast,) = SpikedForecast().bounds(found, "top", SCENARIO)
    assert forecast.valid
    assert ("forecast", True) == (forecast.kind, forecast.explicit)
    rng = np.random.default_rng(5)
    basis = np.linalg.qr(rng.standard_normal((40, 2)))[0]
    values = math.sqrt(500.0) * rng.standard_normal((20_000, 2)) @ basis.T + rng.standard_normal((20_000, 40))
    truth = np.linalg.eigh(values.T @ values)[1][:, -2:]
    errors = []
    for seed in range(12):
        top = found.run(values, insecure_seed=seed)["top"]
        errors.append(np.linalg.norm(top @ top.T - truth @ truth.T))
    assert forecast.value == pytest.approx(float(np.sqrt(np.mean(np.square(errors)))), rel=0.2)
    assert forecast.value in [bound.value for bound in found.explain().bounds("top")]


def test_where_there_is_nothing_to_forecast() -> None:
    for step in ("cov", "other", "sigma"):
        assert [] == SpikedForecast().bounds(plan(), step, SCENARIO)
    assert [] == SpikedForecast().bounds(plan(), "top", dp.Scenario(dim=40, spectrum=[2.0] + [1.0] * 39))
    assert [] == SpikedForecast().bounds(plan(shares=(1.0,)), "top", SCENARIO)
    assert [] == SpikedForecast().bounds(plan(release_radii=True), "top", SCENARIO)


def test_a_forecast_beyond_first_order_says_so() -> None:
    (forecast,) = SpikedForecast().bounds(plan(), "top", attrs.evolve(SCENARIO, n=200))
    assert not forecast.valid


def test_printed_rates_by_hand() -> None:
    """p = 100, n = 10⁴, r = 4, λ = 25, σ² = 1, ε = 1/2, δ = 1/40: ln(2.5/δ) = ln 100."""
    turning, turn_cost = 0.04 + 0.2, 100 * math.sqrt(4 + LOG) / 5000 * TAIL
    assert turning * (0.1 + turn_cost) == pytest.approx(BY_HAND.projector(math.inf))
    values = 25 * (0.02 + 2 * (4 + LOG) / 5000 * TAIL)
    assert values + math.sqrt(26) * (0.1 + turn_cost) == pytest.approx(BY_HAND.covariance(math.inf))
    assert turning * (0.1 + 200 / 5000) == pytest.approx(BY_HAND.projector_minimax(math.inf))
    lower = 25 * (0.02 + 8 / 5000) + math.sqrt(26) * (0.1 + 200 / 5000)
    assert lower == pytest.approx(BY_HAND.covariance_minimax(math.inf))
    assert 1.04 * (0.1 + 100 * math.sqrt(math.log(40)) / 5000) == pytest.approx(BY_HAND.oja())
    assert 200 * 1.04 * 20 / 5000 * math.sqrt(math.log(40)) == pytest.approx(BY_HAND.gauss())


def test_condition_number_and_sub_gaussian_rows() -> None:
    spread = attrs.evolve(BY_HAND, condition=4.0)
    cost = 100 * math.sqrt(4 + LOG) / 5000 * TAIL
    assert (0.04 + 0.4) * (0.1 + cost) == pytest.approx(spread.projector(math.inf))
    values = 100 * (0.02 + 2 * (4 + LOG) / 5000 * TAIL)
    assert values + math.sqrt(101) * (0.1 + cost) == pytest.approx(spread.covariance(math.inf))
    rough = 0.24 * (math.sqrt(0.01 * math.log(100)) + cost)
    assert rough == pytest.approx(BY_HAND.projector(math.inf, sub_gaussian=True))
    assert BY_HAND.covariance(2.0) < BY_HAND.covariance(2.0, sub_gaussian=True)


@pytest.mark.parametrize("rate", ["projector", "covariance", "projector_minimax", "covariance_minimax"])
def test_schatten_norms(rate: str) -> None:
    """r^{1/q} for every q."""
    found = getattr(BY_HAND, rate)
    for q in (1.0, 2.0, 3.5):
        assert 4 ** (1 / q) * found(math.inf) == pytest.approx(found(q))


def test_lower_rates_stop_where_nothing_is_known() -> None:
    hopeless = attrs.evolve(BY_HAND, rows=2)
    assert 1.0 == hopeless.projector_minimax(math.inf)
    assert 25.0 == hopeless.covariance_minimax(math.inf)


def test_conditions_are_checked() -> None:
    assert all(each.holds for each in BY_HAND.conditions())
    assert not all(each.holds for each in attrs.evolve(BY_HAND, rows=20).conditions())
    assert not all(each.holds for each in attrs.evolve(BY_HAND, rank=51).conditions())
    assert not all(each.holds for each in attrs.evolve(BY_HAND, spike=0.05).conditions())
    assert not all(each.holds for each in attrs.evolve(BY_HAND, condition=100.0).conditions())
    assert not all(each.holds for each in BY_HAND.lower_conditions())
    assert all(each.holds for each in attrs.evolve(BY_HAND, delta=0.0).lower_conditions())


def test_rates_are_told_as_rates() -> None:
    bounds = SpikedRates().bounds(plan(), "top", SCENARIO)
    assert {("rate", False)} == {(bound.kind, bound.explicit) for bound in bounds}
    assert {"nuclear", "Frobenius", "spectral"} == {bound.norm.partition(",")[0] for bound in bounds}
    names = {bound.name for bound in bounds}
    assert {"spiked upper rate", "sub-Gaussian rate", "minimax lower rate"} == names
    covariance = {bound.name for bound in SpikedRates().bounds(plan(), "sigma", SCENARIO)}
    assert names | {"DP-Gauss rate"} == covariance
    one = attrs.evolve(SCENARIO, rank=1)
    single = dp.Plan(
        rows=plan().rows,
        budget=BUDGET,
        steps=[dp.release("m", "gaussian"), dp.derive("top", "top-subspace", of="m", k=1)],
    )
    assert names | {"DP-Oja rate"} == {bound.name for bound in SpikedRates().bounds(single, "top", one)}
    assert [] == SpikedRates().bounds(single, "top", SCENARIO)
    assert [] == SpikedRates().bounds(single, "m", one)
    parameters: dict[str, Any] = {"rank": 1, "n": 20_000, "spike": 500.0, "noise": 1.0}
    for output, more in (("components", "DP-Oja rate"), ("covariance", "DP-Gauss rate")):
        modelled = dp.Plan(
            rows=plan().rows,
            budget=BUDGET,
            steps=[dp.release("c", "spiked", output=output, **parameters)],
            accept=[dp.model("spiked-covariance")],
        )
        assert names | {more} == {bound.name for bound in SpikedRates().bounds(modelled, "c", one)}
