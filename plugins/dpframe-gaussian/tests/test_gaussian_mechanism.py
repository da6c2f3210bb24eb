"""The Gaussian mechanism: scales, law, guarantee, numerics."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_gaussian import SymmetricGaussian, classical_level

RELATIONS = ("add-remove", "replace")
FALSE_ALARM = 1e-6


def released(noise: str, dim: int, seed: int, *, level: float = 0.25, rows: dp.Rows | None = None) -> NDArray[Any]:
    """Noise alone, in units of Δ/level: a release on no rows."""
    rows = rows or dp.Rows(norm=1.0, neighbors="add-remove", dim=dim)
    nothing = np.zeros((dim, dim), dtype=np.int64)
    data = dp.PrivateData(rows, statistics={dp.Moment(): {"moment": nothing}})
    noisy = SymmetricGaussian(noise=noise).release(data, level, seeded(seed))
    sensitivity = math.sqrt(dp.Moment().sensitivity(rows)["moment"].l2_squared) * rows.step**2
    found: NDArray[Any] = noisy.array * level / sensitivity
    return found


def accepts(samples: NDArray[np.float64], deviation: float) -> bool:
    """A two-sided test of the variance of centered normals at false-alarm rate 1e-6 (exact chi-square law)."""
    statistic, count = float((samples**2).sum()) / deviation**2, samples.size
    tail = min(stats.chi2.cdf(statistic, count), stats.chi2.sf(statistic, count))
    return bool(2 * tail > FALSE_ALARM)


@pytest.mark.parametrize(
    ("noise", "diagonal", "off_diagonal"),
    [("goe", 1.0, math.sqrt(0.5)), ("triangular", 1.0, 1.0), ("paper", 2.0, math.sqrt(2.0))],
)
@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_has_the_stated_scale_and_no_other(
    noise: str, diagonal: float, off_diagonal: float, relation: str
) -> None:
    # 40 matrices of 120 × 120: 4,800 diagonal and 285,600 other entries, enough to reject 15 % and 5 % off.
    rows = dp.Rows(norm=3.0, neighbors=relation, dim=120)
    draws = [released(noise, 120, seed, rows=rows) for seed in range(40)]
    on = np.concatenate([np.diag(draw) for draw in draws])
    off = np.concatenate([draw[np.triu_indices(120, 1)] for draw in draws])
    assert accepts(on, diagonal)
    assert accepts(off, off_diagonal)
    for wrong in (0.95, 1.05):
        assert not accepts(off, wrong * off_diagonal)
    for wrong in (0.85, 1.15):
        assert not accepts(on, wrong * diagonal)
    assert stats.kstest(off / off_diagonal, "norm").pvalue > FALSE_ALARM
    assert stats.kstest(1.05 * off / off_diagonal, "norm").pvalue < FALSE_ALARM
    assert all(np.array_equal(draw, draw.T) for draw in draws)


def test_goe_noise_looks_the_same_in_every_basis() -> None:
    # Along any unit symmetric direction the noise is N(0, s²): that is the whole privacy argument.
    rng = np.random.default_rng(0)
    directions = [np.outer(x, x) for x in rng.standard_normal((3, 20))]
    directions.append(np.outer(*np.eye(20)[:2]) + np.outer(*np.eye(20)[1::-1]))
    draws = np.stack([released("goe", 20, seed) for seed in range(1500)])
    for direction in directions:
        samples = np.tensordot(draws, direction / np.linalg.norm(direction), axes=2)
        assert accepts(samples, 1.0)
        assert not accepts(samples, 1.15)


def test_upper_triangle_entries_are_independent() -> None:
    draws = np.stack([released("goe", 6, seed)[np.triu_indices(6)] for seed in range(4000)])
    correlations = np.corrcoef(draws, rowvar=False)[np.triu_indices(21, 1)]
    # 210 correlations of independent normals: |r| √n is nearly standard normal; Bonferroni at 1e-6.
    assert np.abs(correlations).max() * math.sqrt(4000) < stats.norm.isf(FALSE_ALARM / 420)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize("noise", ["goe", "triangular", "paper"])
@pytest.mark.parametrize("level", [0.3, 1 / 3, 2.0**-20, 17.123])
def test_scales_are_never_below_their_formula(relation: str, contributions: int, noise: str, level: float) -> None:
    rows = dp.Rows(norm=1.0, neighbors=relation, contributions=contributions, dim=5)
    diagonal, off = (Fraction(s) for s in SymmetricGaussian(noise=noise)._lattice_scales(rows, level))
    wanted_squared = dp.Moment().sensitivity(rows)["moment"].l2_squared / Fraction(level) ** 2
    on_factor, off_factor = {"goe": (2, 1), "triangular": (2, 2), "paper": (8, 4)}[noise]  # in halves of s²
    assert wanted_squared * on_factor / 2 <= diagonal**2 <= wanted_squared * on_factor / 2 * (1 + Fraction(1, 10**14))
    assert wanted_squared * off_factor / 2 <= off**2 <= wanted_squared * off_factor / 2 * (1 + Fraction(1, 10**14))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("center", [False, True])
def test_worst_neighbors_are_exactly_mu_apart(relation: str, center: bool) -> None:
    """With noise scale s on the lattice, the shift between worst-case neighbors measured in s is the stated mu."""
    dim, level = 6, 0.4
    rows = dp.Rows(norm=65534.0, neighbors=relation, center=center, dim=dim)  # lattice step one
    one = np.zeros((1, dim))
    one[0, 0] = 65536.0
    other = np.zeros((1, dim))
    if center:
        other[0, :5] = np.array([-1, 3, 2, 1, 1]) * 16384.0
    else:
        other[0, 1] = 65536.0
    changed = np.zeros((0, dim)) if relation == "add-remove" else other
    moments = [dp.Moment().partial(dp.Chunk(rows, data))["moment"].astype(float) for data in (one, changed)]
    diagonal, off = SymmetricGaussian()._lattice_scales(rows, level)
    scales = np.where(np.eye(len(moments[0])) == 1, diagonal, off)
    shift = np.triu(moments[0] - moments[1]) / scales
    assert level == pytest.approx(np.linalg.norm(shift), rel=1e-12)


def test_the_release_is_the_moment_plus_noise_in_the_units_of_the_rows() -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((5000, 4))
    values *= 10.0 / np.linalg.norm(values, axis=1, keepdims=True) * rng.uniform(0, 1, (5000, 1))
    plan = dp.Plan(
        rows=dp.Rows(norm=10.0, neighbors="replace"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("moment", "gaussian")],
    )
    noise = plan.explain(dim=4).statement.line("moment").noise
    assert math.sqrt(2) * 100 * 4.224679 == pytest.approx(noise["diagonal"], rel=1e-4)
    error = plan.run(values, insecure_seed=0)["moment"] - values.T @ values
    assert 0.5 * noise["off-diagonal"] < np.abs(error).max() < 6 * noise["diagonal"]


def test_one_dimension_and_centered_rows() -> None:
    rows = dp.Rows(norm=1.0, neighbors="add-remove", center=True)
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])
    result = plan.run(np.full((100, 1), 0.5))
    assert (2, 2) == result["moment"].shape
    assert dp.AugmentedMoment is result.record("moment").kind


def test_unknown_noise_is_refused_in_words() -> None:
    with pytest.raises(dp.PlanError, match=r"noise.* must be one of 'goe', 'triangular', 'paper'; got 'gaussian'"):
        dp.release("moment", "gaussian", noise="gaussian")


def test_tiny_levels_are_refused_before_the_charge() -> None:
    with pytest.raises(dp.PlanError, match="step 'm': 'gaussian' needs a level of at least"):
        dp.Plan(
            rows=dp.Rows(norm=1.0, neighbors="replace"),
            budget=dp.Budget(epsilon=1e-9, delta=1e-12),
            steps=[dp.release("m", "gaussian")],
        )


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("dim", [1, 2])
def test_the_smallest_level_still_runs(relation: str, dim: int) -> None:
    rows = dp.Rows(norm=1.0, neighbors=relation, contributions=3, center=True)
    step = dp.release("m", "gaussian", noise="paper", level=3 * 2.0**-21)
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[step])
    assert np.isfinite(plan.run(np.ones((5, dim)), insecure_seed=1)["m"]).all()


def test_classical_calibration_is_offered_only_where_it_is_proved() -> None:
    assert 0.5 / math.sqrt(2 * math.log(1.25e6)) == classical_level(epsilon=0.5, delta=1e-6)
    for epsilon, delta in ((1.0, 1e-6), (10.0, 1e-6), (0.5, 0.0), (0.0, 1e-6), (math.nan, 1e-6)):
        with pytest.raises(dp.PlanError, match="classical calibration is proved for"):
            classical_level(epsilon=epsilon, delta=delta)


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 0.99])
def test_the_classical_level_costs_no_more_than_it_promises(epsilon: float) -> None:
    losses = [dp.losses.Gaussian(mu=classical_level(epsilon=epsilon, delta=1e-6))]
    assert dp.accountant("gdp").epsilon(losses, 1e-6) < epsilon


@pytest.mark.parametrize(("shift", "most"), [(1.0, 49.6), (math.sqrt(2), 19.7)], ids=["add-remove", "replace"])
def test_printed_noise_is_private_up_to_some_epsilon_and_not_for_every_one(shift: float, most: float) -> None:
    """[Re-Analyze Gauss: Theorem 2.2]: σ(G + Gᵀ) is isotropic of scale 2σ, σ = √(2 ln(1.25/δ))/ε, at δ = 0.01."""
    for epsilon, private in ((0.5, True), (most, True), (most + 0.1, False)):
        mu = shift * epsilon / (2 * math.sqrt(2 * math.log(125)))
        assert private == (dp.accountant("gdp").delta([dp.losses.Gaussian(mu=mu)], epsilon=epsilon) <= 0.01)


@pytest.mark.parametrize("noise", ["goe", "triangular", "paper"])
def test_the_density_is_that_of_the_noise(noise: str) -> None:
    """Its logarithm falls by half the sum of squares of the noise, each in its own deviations."""
    rows = dp.Rows(norm=2.0, neighbors="replace", dim=2)
    mechanism = SymmetricGaussian(noise=noise)
    data = dp.PrivateData(rows, statistics={dp.Moment(): {"moment": np.array([[2**33, 2**31], [2**31, 2**30]])}})
    center = dp.Moment.value(data.moment, rows).array
    scale = mechanism.noise(rows, 0.7)
    step, off = 3 * scale["diagonal"], 2 * scale["off-diagonal"]
    moved = center + np.array([[step, off], [off, 0.0]])
    at_center, away = (mechanism.log_density(dp.SymmetricMatrix(value), data, 0.7) for value in (center, moved))
    assert -(3**2 + 2**2) / 2 == pytest.approx(away - at_center)


@pytest.mark.parametrize("drawn", [1, 7, 40])
def test_noise_is_the_same_however_many_entries_are_drawn_at_a_time(
    drawn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = released("goe", 9, seed=4)
    monkeypatch.setattr("dpframe_gaussian.mechanism.DRAWN", drawn)
    assert expected.tolist() == released("goe", 9, seed=4).tolist()


def test_the_exact_moment_is_left_as_it_is() -> None:
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=3)
    exact = np.arange(9).reshape(3, 3) + np.arange(9).reshape(3, 3).T
    data = dp.PrivateData(rows, statistics={dp.Moment(): {"moment": exact}})
    before = exact.tolist()
    SymmetricGaussian().release(data, 0.5, seeded(1))
    assert before == exact.tolist()
