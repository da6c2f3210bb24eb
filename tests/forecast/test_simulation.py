"""Simulated releases: against closed forms, on rows and on matrices, for any mechanism."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from scipy.stats import chi2

import dpframe.plugin as dp
from dpframe.forecast import error_norms
from dpframe.forecast.monte_carlo import MonteCarlo
from dpframe.forecast.simulation import simulate
from dpframe.run.progress import ProgressReporter
from dpframe_gaussian import SymmetricGaussian
from tests.support.mechanisms import FirstAxes, registered

DIM = 5
SPECTRUM = [4000.0, 3000.0, 900.0, 600.0, 300.0]
SCENARIO = dp.Scenario(dim=DIM, spectrum=SPECTRUM)
ROWS = dp.Rows(norm=1.0, neighbors="add-remove")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)


def plan(*steps: dp.Step, rows: dp.Rows = ROWS, budget: dp.Budget = BUDGET) -> dp.Plan:
    return dp.Plan(rows=rows, budget=budget, steps=list(steps))


def usual(k: int = 2) -> dp.Plan:
    return plan(dp.release("moment", "gaussian"), dp.derive("components", "top-subspace", of="moment", k=k))


def test_the_median_of_gaussian_noise_is_that_of_its_closed_form() -> None:
    """‖N‖²/s² is chi-square; an interval of confidence 1 − 1e-7 holds its median, and not one of a scale 10 % off."""
    built = usual().bind(DIM)
    errors = simulate(built, SCENARIO, draws=2000, seed=5).of("moment")[error_norms.FROBENIUS]
    low, high = error_norms.interval(errors, 0.5, error_norms.FROBENIUS, 1 - 1e-7)
    (_, mechanism), level = built.releases[0], built.pricing.levels["moment"]
    scale = mechanism.noise(built.rows, level)["diagonal"]
    exact = scale * math.sqrt(chi2.median(DIM * (DIM + 1) / 2))
    assert low <= exact <= high
    assert not low <= 0.9 * exact <= high
    assert not low <= 1.1 * exact <= high


def test_the_stated_interval_holds_what_many_more_draws_of_another_program_find() -> None:
    """Each interval is taken at a confidence of 1 − 1e-7."""
    built = usual().bind(DIM)
    found = simulate(built, SCENARIO, draws=1000, seed=6).of("components")
    (_, mechanism), level = built.releases[0], built.pricing.levels["moment"]
    scale = mechanism.noise(built.rows, level)["diagonal"]
    generator = np.random.default_rng(8)
    noise = generator.standard_normal((40_000, DIM, DIM)) * scale
    _, vectors = np.linalg.eigh(np.diag(SPECTRUM) + (noise + noise.swapaxes(1, 2)) / 2)
    outside = vectors[:, 2:, -2:]
    sines = np.linalg.norm(outside, 2, axis=(1, 2))
    exact = {
        error_norms.PROJECTORS: math.sqrt(2) * np.linalg.norm(outside, axis=(1, 2)),
        error_norms.SPECTRAL_PROJECTORS: sines,
        error_norms.ANGLE: np.degrees(np.arcsin(sines)),
    }
    for norm, errors in exact.items():
        for share in (0.5, 0.95):
            low, high = error_norms.interval(found[norm], share, norm, 1 - 1e-7)
            assert low <= np.quantile(errors, share) <= high


def test_bounds_of_the_oracle() -> None:
    told = usual().explain(scenario=SCENARIO, simulations=400)
    bounds = [bound for bound in told.bounds("components") if bound.name == "monte-carlo"]
    assert {0.5, 0.95} == {bound.confidence for bound in bounds}
    words = {"Frobenius", "spectral", "largest principal angle", "captured variance"}
    assert words == {bound.norm.partition(",")[0] for bound in bounds}
    for bound in bounds:
        assert bound.interval is not None
        assert bound.value is not None
        assert bound.interval[0] <= bound.value <= bound.interval[1]
    assert all("monte-carlo" != bound.name for bound in usual().explain(scenario=SCENARIO).bounds("components"))
    assert [] == MonteCarlo().bounds(usual(), "components", dp.Scenario(dim=DIM))


def test_the_same_call_gives_the_same_figures_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int | None] = []
    monkeypatch.setattr("dpframe.run.progress.INTERVAL", 0.0)
    arguments: dict[str, Any] = {
        "draws": 7,
        "seed": 123,
        "reporter": ProgressReporter(lambda event: calls.append(event.releases)),
    }
    first = simulate(usual(), SCENARIO, **arguments)
    assert list(range(1, 8)) == calls
    assert first is simulate(usual(), dp.Scenario(dim=DIM, spectrum=SPECTRUM), **arguments)
    assert list(range(1, 8)) == calls
    assert not first.of("moment")[error_norms.FROBENIUS].flags.writeable
    other = simulate(usual(), SCENARIO, draws=7, seed=124)
    assert not np.array_equal(first.of("moment")[error_norms.FROBENIUS], other.of("moment")[error_norms.FROBENIUS])


def test_plans_that_differ_in_a_class_or_in_the_middle_of_an_array_are_simulated_apart() -> None:
    @attrs.frozen(kw_only=True)
    class Anew(SymmetricGaussian):
        def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
            return self.noiseless(data)

    steps = (attrs.evolve(usual().steps[0], action=Anew()), *usual().steps[1:])
    assert simulate(usual(), SCENARIO, draws=2, seed=5).of("moment")[error_norms.FROBENIUS].min() > 0.0
    anew = simulate(attrs.evolve(usual(), steps=steps), SCENARIO, draws=2, seed=5).of("moment")
    assert 0.0 == anew[error_norms.FROBENIUS].max()
    basis = np.eye(40, dtype=np.complex128)  # complex numbers cannot be written to a file
    turned = basis.copy()
    turned[20, 20] = 1j
    one, other = (
        plan(*usual().steps, dp.derive("same", "top-subspace", of=dp.HermitianMatrix(np.outer(b, b.conj())), k=1))
        for b in (basis[:, 20] + basis[:, 0], turned[:, 20] + turned[:, 0])
    )
    assert one.content_hash != other.content_hash


def test_what_is_too_large_to_simulate_is_refused() -> None:
    scenario = dp.Scenario(dim=DIM, n=10**12, spectrum=SPECTRUM, model="gaussian")
    with pytest.raises(dp.PlanError, match=r"up to [0-9]+ rows can be simulated"):
        simulate(usual(), scenario, draws=1, seed=1)
    huge = dp.Scenario(dim=DIM, spectrum=[1e300] * DIM)
    with pytest.raises(dp.PlanError, match="too large to be simulated"):
        simulate(usual(), huge, draws=1, seed=1)


def test_rows_of_a_model_are_scaled_down_as_in_a_run() -> None:
    scenario = dp.Scenario(dim=3, n=4000, spectrum=[4000.0, 2000.0, 1000.0], model="gaussian")
    generous, tight = (
        simulate(plan(dp.release("moment", "gaussian"), rows=attrs.evolve(ROWS, norm=norm)), scenario, draws=9, seed=1)
        for norm in (5.0, 0.5)
    )
    assert np.median(generous.of("moment")[error_norms.FROBENIUS]) < 500
    trace_left = 4000 * 0.5**2
    lost = (7000 - trace_left) / math.sqrt(3)  # no less than if spread evenly
    assert np.median(tight.of("moment")[error_norms.FROBENIUS]) > lost


def test_a_released_norm_needs_rows() -> None:
    steps = [dp.release("radius", "private-quantile", quantile=0.9, high=10.0), dp.release("moment", "gaussian")]
    built = plan(*steps, rows=dp.Rows(norm=dp.ref("radius"), neighbors="add-remove"))
    with pytest.raises(dp.PlanError, match="is released, so a simulation needs rows"):
        built.explain(scenario=SCENARIO, simulations=200)
    scenario = dp.Scenario(dim=3, n=500, spectrum=[500.0, 100.0, 50.0], model="gaussian")
    told = built.explain(scenario=scenario, simulations=200)
    assert "clipping included" in str(told)
    assert {"monte-carlo"} == {bound.name for bound in told.bounds("moment")}
    assert () == told.bounds("radius")


def test_a_centered_plan_needs_rows() -> None:
    steps = [dp.release("moment", "gaussian"), dp.derive("covariance", "covariance", of="moment")]
    built = plan(*steps, rows=dp.Rows(norm=5.0, neighbors="replace", center=True))
    with pytest.raises(dp.PlanError, match="is centered, so a simulation needs rows"):
        simulate(built, SCENARIO, draws=1, seed=1)
    scenario = dp.Scenario(dim=2, n=20_000, spectrum=[40_000.0, 20_000.0], model="gaussian")
    errors = simulate(built, scenario, draws=20, seed=1).of("covariance")[error_norms.FROBENIUS]
    assert np.median(errors) < 0.05  # of a covariance of 2 and 1


def test_low_rank_by_algorithm_2_is_compared_with_the_best_low_rank_part() -> None:
    steps = [
        dp.release("spectrum", "laplace-eigenvalues", k=2),
        dp.release("estimate", "orbit", spectrum=dp.ref("spectrum")),
    ]
    built = plan(*steps, budget=dp.Budget(epsilon=4.0))
    errors = simulate(built, dp.Scenario(dim=3, spectrum=[9e5, 4e5, 1e5]), draws=5, seed=1)
    assert errors.of("estimate")[error_norms.FROBENIUS].max() < 1e4  # the moment itself is 1e5 away
    assert errors.of("spectrum")[error_norms.FROBENIUS].max() < 10.0


def test_a_subspace_of_a_third_party_is_compared_with_the_leading_eigenvectors() -> None:
    with registered(FirstAxes):
        errors = simulate(plan(dp.release("axes", "test-first-axes")), SCENARIO, draws=3, seed=2).of("axes")
    assert 1 == len(set(errors[error_norms.PROJECTORS].tolist()))
    assert 0.1 < errors[error_norms.PROJECTORS][0] <= 2.0


@pytest.mark.parametrize(("given", "says"), [({"draws": 0, "seed": 1}, "draws"), ({"draws": 1, "seed": -1}, "seed")])
def test_refusals(given: dict[str, Any], says: str) -> None:
    with pytest.raises(dp.PlanError, match=f"{says} must be"):
        simulate(usual(), SCENARIO, **given)


def test_simulations_without_a_scenario_or_with_too_few_draws() -> None:
    with pytest.raises(dp.PlanError, match="a simulation needs assumed data"):
        usual().explain(dim=3, simulations=200)
    with pytest.raises(dp.PlanError, match="a simulation needs a scenario with spectrum="):
        usual().explain(scenario=dp.Scenario(dim=3), simulations=200)
    with pytest.raises(dp.PlanError, match="draws must be an integer of at least 200; got 10"):
        usual().explain(scenario=SCENARIO, simulations=10)
    with pytest.raises(dp.PlanError, match="spectrum= or scenario=, not both"):
        usual().explain(scenario=SCENARIO, spectrum=SPECTRUM)
