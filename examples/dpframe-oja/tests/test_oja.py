"""DP-Oja: the law of its noise, what it costs, and what it finds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import dpframe.plugin as dp
from dpframe.testing import conformance, seeded
from dpframe_oja import NoisyOjaSum, Oja, OjaStep, OjaSum

RELATIONS = ("add-remove", "replace")
FALSE_ALARM = 1e-6
DIRECTION = [[0.6], [0.8], [0.0]]

test_conformance = conformance(
    OjaSum(clip=0.2), NoisyOjaSum(direction=DIRECTION, clip=0.2), OjaStep(of=[1.0, -2.0, 3.0], direction=DIRECTION)
)


def plan(relation: str = "add-remove", epsilon: float = 1.0, **parameters: Any) -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(norm=12.0, neighbors=relation),
        budget=dp.Budget(epsilon=epsilon, delta=1e-6),
        steps=[dp.release("top", "oja", **parameters)],
    )


def spiked(count: int, dim: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows of covariance 10 u uᵀ + I, and u."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(dim)
    u /= np.linalg.norm(u)
    return rng.standard_normal((count, dim)) + math.sqrt(10) * np.outer(rng.standard_normal(count), u), u


# -- the noisy sum -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_is_gaussian_of_the_stated_scale_and_no_other(relation: str) -> None:
    rows = dp.Rows(norm=3.0, neighbors=relation, dim=20_000)
    mechanism = NoisyOjaSum(clip=0.5)
    data = dp.PrivateData(rows, statistics={mechanism.reads()[0]: {"sum": np.zeros(20_000, dtype=np.int64)}})
    noise = mechanism.release(data, 0.3, seeded(1)).array
    told = mechanism.noise(rows, 0.3)["each coordinate"]
    assert 0.5 * 9.0 * (2 if relation == "replace" else 1) / 0.3 == pytest.approx(told, rel=2e-3)
    squares = float((noise**2).sum())

    def accepts(deviation: float) -> bool:  # the sum of squares has a chi-square law: an exact two-sided test
        law = stats.chi2(noise.size)
        return bool(2 * min(law.cdf(squares / deviation**2), law.sf(squares / deviation**2)) > FALSE_ALARM)

    assert accepts(told)
    assert not accepts(0.95 * told)
    assert not accepts(1.05 * told)
    assert stats.kstest(noise / told, "norm").pvalue > FALSE_ALARM


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("people", [1, 3])
@pytest.mark.parametrize("level", [0.1, 1 / 3, 2.0**-30, 17.123])
def test_the_scale_is_never_below_the_formula(relation: str, people: int, level: float) -> None:
    rows = dp.Rows(norm=1.0, neighbors=relation, contributions=people, dim=5)
    wanted = people * (2 if relation == "replace" else 1) * dp.lattice.RADIUS / Fraction(level)
    scale = Fraction(NoisyOjaSum(clip=0.1)._lattice_scale(rows, level))
    assert wanted <= scale <= wanted * (1 + Fraction(1, 10**15))


def test_the_density_is_that_of_the_noise() -> None:
    rows = dp.Rows(norm=2.0, neighbors="replace", dim=3)
    mechanism = NoisyOjaSum(clip=0.5)
    exact = np.array([5, -7, 0], dtype=np.int64)
    data = dp.PrivateData(rows, statistics={mechanism.reads()[0]: {"sum": exact}})
    unit, scale = OjaSum(clip=0.5).unit(rows), mechanism._lattice_scale(rows, 0.4)
    one, other = (stats.norm.logpdf(np.array(noise), scale=scale).sum() for noise in ([1e5, 0, 2e5], [0, 3e5, 0]))
    first, second = (
        mechanism.log_density(dp.Vector((exact + noise) * unit), data, 0.4)
        for noise in (np.array([1e5, 0, 2e5]), np.array([0, 3e5, 0]))
    )
    assert one - other == pytest.approx(first - second, rel=1e-9)


def test_a_level_beyond_the_sampler_is_refused_before_the_charge() -> None:
    rows = dp.Rows(norm=1.0, neighbors="replace", contributions=2**20, dim=2)
    with pytest.raises(dp.PlanError, match=r"'noisy-oja-sum' needs a level of at least 3\.8147e-06; got 1e-07"):
        NoisyOjaSum().check_level(rows, 1e-7)
    smallest = 2.0**-38 * 2**20
    NoisyOjaSum().check_level(rows, smallest)
    assert NoisyOjaSum()._lattice_scale(rows, smallest) <= 2.0**56  # the largest scale of the sampler


# -- the step ----------------------------------------------------------------------------------------------------------


def test_a_step_moves_towards_the_sum_and_keeps_names() -> None:
    axes = dp.Rows(columns=[dp.Column("a", 0, 1), dp.Column("b", 0, 1)], neighbors="replace").axes
    moved = OjaStep(of=dp.Vector([0.0, 5.0], axes=axes), direction=[[1.0], [0.0]], step=1.0).apply()
    assert [[math.sqrt(0.5)], [math.sqrt(0.5)]] == pytest.approx(moved.array)
    assert axes == moved.axes


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_a_step_has_no_units(size: float) -> None:
    moved = OjaStep(of=[3.0 * size, -4.0 * size], direction=[[0.0], [1.0]], step=1e9).apply()
    assert [[-0.6], [0.8]] == pytest.approx(moved.array, abs=1e-8)


def test_a_step_that_leads_nowhere_stays() -> None:
    assert [[1.0]] == OjaStep(of=[-5.0], direction=[[1.0]]).apply().array.tolist()
    assert [[0.0], [1.0]] == OjaStep(of=[0.0, 0.0], direction=[[0.0], [1.0]]).apply().array.tolist()


def test_without_a_direction_the_step_leaves_from_the_public_start() -> None:
    still = OjaStep(of=[0.0, 0.0, 0.0], seed=3).apply()
    rows = dp.Rows(norm=1.0, neighbors="replace", dim=3)
    values = np.random.default_rng(0).standard_normal((9, 3))
    at_start, at_still = (
        statistic.partial(dp.Chunk(rows, values))["sum"] for statistic in (OjaSum(seed=3), OjaSum(direction=still))
    )
    assert at_start.tolist() in (at_still.tolist(), (-at_still).tolist())  # the sign is a convention


# -- the recipe --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rounds", [1, 10])
def test_all_rounds_together_cost_what_one_release_would(relation: str, rounds: int) -> None:
    built = plan(relation, epsilon=0.7, rounds=rounds)
    losses = built.pricing.all_losses
    assert rounds == len(losses)
    assert all(isinstance(loss, dp.losses.Gaussian) for loss in losses)
    assert built.spent.epsilon == dp.accountant("auto").epsilon(losses, 1e-6)
    mu = math.sqrt(sum(loss.mu**2 for loss in losses if isinstance(loss, dp.losses.Gaussian)))
    assert 0.7 == pytest.approx(dp.accountant("gdp").epsilon([dp.losses.Gaussian(mu=mu)], 1e-6), rel=1e-9)
    assert built.spent.epsilon <= 0.7


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_strong_direction_is_found(relation: str) -> None:
    values, u = spiked(20_000, 20, seed=1)
    result = plan(relation, clip=0.2).run(values, insecure_seed=1)
    assert (20, 1) == result["top"].shape
    assert abs(float(result["top"][:, 0] @ u)) > 0.995
    assert "exact" == result.record("top.sum-1").numerics


def test_rows_that_say_nothing_and_no_rows_at_all() -> None:
    for values in (np.full((5, 3), np.nan), np.zeros((0, 3))):
        assert 1.0 == pytest.approx(np.linalg.norm(plan(rounds=2).run(values, insecure_seed=1)["top"]))


def test_rows_scaled_down_to_a_released_norm() -> None:
    values, u = spiked(20_000, 20, seed=2)
    built = dp.Plan(
        rows=dp.Rows(norm=dp.ref("radius"), neighbors="add-remove"),
        budget=dp.Budget(epsilon=2.0, delta=1e-6),
        steps=[
            dp.release("radius", "private-quantile", quantile=0.99, high=100.0),
            dp.release("top", "oja", clip=0.2),
        ],
    )
    assert abs(float(built.run(values, insecure_seed=1)["top"][:, 0] @ u)) > 0.99


def test_a_plan_file_keeps_the_recipe() -> None:

    built = plan(rounds=3, clip=0.25, step=2.0, seed=7)
    assert built == dp.Plan.loads(built.dumps())
    assert "dpframe-oja" in built.dumps()


def test_what_it_cannot_do_is_refused_before_the_charge() -> None:
    with pytest.raises(dp.PlanError, match=r"Oja\.rounds must be an integer from 1 to 1000; got 0"):
        plan(rounds=0)
    with pytest.raises(dp.PlanError, match=r"Oja\.step must be a finite number above 0 and below 1e\+12; got -1"):
        plan(step=-1.0)
    with pytest.raises(dp.PlanError, match=r"Oja\.clip must be a number from 9\.54e-07 to 1; got 0"):
        plan(clip=0)
    with pytest.raises(dp.PlanError, match=r"step 'top\.sum-1': oja-sum needs rows without a constant coordinate"):
        dp.Plan(
            rows=dp.Rows(norm=1.0, neighbors="replace", center=True),
            budget=dp.Budget(epsilon=1.0, delta=1e-6),
            steps=[dp.release("top", "oja")],
        )
    with pytest.raises(dp.PlanError, match="takes weight=, not level="):
        dp.Plan(
            rows=dp.Rows(norm=1.0, neighbors="replace"),
            budget=dp.Budget(epsilon=1.0, delta=1e-6),
            steps=[dp.Step(name="top", action=Oja(), level=1.0)],
        )


def test_it_takes_part_in_comparisons() -> None:
    scenario = dp.Scenario(dim=4, n=2000, model="spiked", rank=1, spike=1.0, noise=0.05)
    rows, budget = dp.Rows(norm=2.0, neighbors="add-remove"), dp.Budget(epsilon=1.0, delta=1e-6)
    found = dp.compare("subspace", k=1, rows=rows, budget=budget, scenario=scenario, draws=20)
    assert "oja" in [candidate.name for candidate in found.candidates]
    two = dp.compare("subspace", k=2, rows=rows, budget=budget, scenario=scenario, draws=20)
    assert "oja" not in [candidate.name for candidate in two.candidates]
