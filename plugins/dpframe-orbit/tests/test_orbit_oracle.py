"""Forecasts and bounds of the mechanisms on orbits against simulation and against the papers' examples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_orbit import Bingham, Orbit, theory

GAMMAS = [9000.0, 7000.0, 5000.0, 800.0, 600.0, 400.0, 200.0, 0.0]


def plan(*steps: dp.Step, relation: str = "add-remove", norm: float = 1.0) -> dp.Plan:
    rows = dp.Rows(norm=norm, neighbors=relation)
    return dp.Plan(rows=rows, budget=dp.Budget(epsilon=0.5), steps=list(steps))


def simulated(built: dp.Plan, draws: int) -> dict[str, Any]:
    """Errors over draws for data whose second moment is the scenario."""
    bound = built.bind(len(GAMMAS))
    integers = np.diag(np.rint(np.array(GAMMAS) / bound.rows.step**2)).astype(np.int64)
    data = dp.PrivateData(bound.rows, statistics={dp.Moment(): {"moment": integers}})
    step, mechanism = bound.releases[0]
    random = seeded(1)
    level = bound.pricing.levels[step.name]
    return {
        "values": [mechanism.release(data, level, random.child(str(i))).array for i in range(draws)],
        "action": mechanism,
    }


def projector_error(basis: Any, k: int) -> float:
    return float(np.linalg.norm(basis @ basis.T - np.diag(np.arange(len(basis)) < k)) ** 2)


@pytest.mark.parametrize(
    ("relation", "norm", "spectrum"),
    [
        ("add-remove", 3.0, [1.0, 1.0, 1.0]),
        ("replace", 3.0, [3.0, 2.0, 1.0]),
        pytest.param("replace", 3.0, [1.0, 1.0, 1.0], marks=pytest.mark.long),
        pytest.param("add-remove", 3.0, [3.0, 2.0, 1.0], marks=pytest.mark.long),
        *(
            pytest.param(relation, 1.0, spectrum, marks=pytest.mark.long)
            for relation in ("add-remove", "replace")
            for spectrum in ([1.0, 1.0, 1.0], [3.0, 2.0, 1.0])
        ),
    ],
)
def test_forecasts_of_the_orbit_agree_with_simulation(relation: str, norm: float, spectrum: list[float]) -> None:
    built = plan(
        dp.release("h", "orbit", spectrum=spectrum),
        dp.derive("c", "top-subspace", of="h", k=3),
        relation=relation,
        norm=norm,
    )
    told = built.explain(spectrum=GAMMAS)
    (components,) = told.bounds("c")
    score, covering, lower = told.bounds("h")
    values = simulated(built, 400)["values"]
    best = sum(g * s for g, s in zip(GAMMAS, spectrum, strict=False))
    shortfalls = [best - float(np.diagonal(value) @ GAMMAS) for value in values]
    assert np.mean(shortfalls) == pytest.approx(score.value, rel=0.1)
    assert score.assumptions[0].holds
    assert np.mean(np.array(shortfalls) > covering.value) <= 0.05
    errors = [projector_error(np.linalg.eigh(value)[1][:, -3:], 3) for value in values]
    assert math.sqrt(np.mean(errors)) == pytest.approx(components.value, rel=0.1)
    assert components.assumptions[0].holds
    assert ("lower rate", "rate", False) == (lower.name, lower.kind, lower.explicit)


def test_forecasts_of_directions_agree_with_simulation_and_say_when_to_use_which() -> None:
    built = plan(dp.release("v", "bingham", k=3))
    (forecast,) = built.explain(spectrum=GAMMAS).bounds("v")
    errors = [projector_error(value, 3) for value in simulated(built, 400)["values"]]
    assert math.sqrt(np.mean(errors)) == pytest.approx(forecast.value, rel=0.1)
    joint = plan(dp.release("h", "orbit", spectrum=[1.0] * 3), dp.derive("c", "top-subspace", of="h", k=3))
    (other,) = joint.explain(spectrum=GAMMAS).bounds("c")
    assert forecast.value == pytest.approx(math.sqrt(3) * (other.value or 0.0), rel=1e-3)  # an allowance of orbit


def test_algorithm_two_is_forecast_with_the_assumed_eigenvalues() -> None:
    built = plan(
        dp.release("s", "laplace-eigenvalues", k=2),
        dp.release("h", "orbit", spectrum=dp.ref("s")),
        dp.derive("c", "top-subspace", of="h", k=2),
    )
    told = built.explain(spectrum=GAMMAS)
    proved = "Theorem 2.3 with constants, 95% sure"
    assert ["first-order", "covering", proved, "upper rate, Theorem 2.3", "lower rate"] == [
        bound.name for bound in told.bounds("h")
    ]
    assert ["first-order"] == [bound.name for bound in told.bounds("c")]
    assert ["sum of variances", "largest of 2, 95% sure"] == [bound.name for bound in told.bounds("s")]
    assert "covering), with probability 0.95" in " ".join(str(told).split())
    rate = next(bound for bound in told.bounds("h") if bound.kind == "rate")
    whole = sum(built.pricing.levels.values())  # the theorem's epsilon is that of both steps
    assert math.sqrt(theory.rank_k_rate(GAMMAS, 2, whole)) == pytest.approx(rate.value)
    other = plan(
        dp.release("m", "orbit", spectrum=[1.0, 1.0]),
        dp.derive("s", "eigenvalues", of="m", k=2),
        dp.release("h", "orbit", spectrum=dp.ref("s")),
    )
    assert ["first-order", "covering"] == [bound.name for bound in other.explain(spectrum=GAMMAS).bounds("h")]


def test_nothing_is_said_where_nothing_is_known_and_near_ties_are_flagged() -> None:
    constant = plan(dp.release("h", "orbit", spectrum=[0.0]), dp.derive("c", "top-subspace", of="h", k=2))
    assert () == constant.explain(spectrum=GAMMAS).bounds("h") == constant.explain(spectrum=GAMMAS).bounds("c")
    tied = plan(dp.release("h", "orbit", spectrum=[1.0, 1.0]), dp.derive("c", "top-subspace", of="h", k=2))
    (bound,) = tied.explain(spectrum=[5.0] * 6).bounds("c")
    assert 2.0 == bound.value
    assert not bound.assumptions[0].holds
    assert not tied.explain(spectrum=[5.0] * 6).bounds("h")[0].assumptions[0].holds
    beyond = plan(dp.release("h", "orbit", spectrum=[1.0, 1.0]), dp.derive("c", "top-subspace", of="h", k=3))
    assert math.sqrt(6.0) == pytest.approx(beyond.explain(spectrum=GAMMAS).bounds("c")[0].value)


def test_kappa_in_the_units_of_the_data() -> None:
    rows = dp.Rows(norm=3.0, neighbors="replace", dim=8)
    kappa = 0.5 / (2 * 9.0)
    assert kappa == pytest.approx(Orbit(spectrum=[1.0])._strength(rows, 0.5) / rows.step**2, rel=1e-3)
    assert kappa / 2 == pytest.approx(Bingham(k=2)._rate(rows, 0.5) / rows.step**2, rel=1e-3)
    assert dp.lattice.RADIUS == pytest.approx(rows.length / rows.step, rel=1e-4)


# -- theory ----------------------------------------------------------------------------------------------------------


def test_dimensions_of_orbits() -> None:
    assert 2 * 3 * (10 - 3) == theory.dimension([1.0] * 3 + [0.0] * 7)
    assert 6 * 5 == theory.dimension([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
    assert 0 == theory.dimension([2.0, 2.0])


def test_the_explicit_bound_solves_its_equation() -> None:
    gammas, spectrum, kappa, beta = [500.0, 300.0, 10.0], [1.0, 1.0, 0.0], 0.5, 0.05
    tau = theory.explicit_shortfall(gammas, spectrum, kappa, beta)
    probability = (1 + 16 * 810.0 / tau) ** (2 * 3 * 2) * math.exp(-kappa * tau / 2)
    assert beta == pytest.approx(probability, rel=1e-6)
    assert probability <= beta
    assert tau > theory.explicit_shortfall(gammas, spectrum, kappa, 0.5)
    assert 0.0 == theory.explicit_shortfall([0.0] * 3, spectrum, kappa, beta)
    for shortfall in (theory.explicit_shortfall, theory.closed_shortfall):  # zeros may be left out
        assert shortfall(gammas, spectrum, kappa, beta) == shortfall(gammas, [1.0, 1.0], kappa, beta)


@pytest.mark.parametrize(("dim", "k", "times"), [(4, 2, 44), (20, 3, 20), (100, 5, 15)])
def test_the_slack_of_the_explicit_bound_is_the_stated_one(dim: int, k: int, times: int) -> None:
    gammas = [1000.0] * k + [100.0] * (dim - k)
    bound, mean = theory.explicit_shortfall(gammas, [1.0] * k, 1.0, 0.05), k * (dim - k)
    assert times == round(bound / mean)


def test_bounds_keep_their_order_in_the_worked_examples() -> None:
    """Section 3 of the paper: projectors, condition number O(1), Wishart matrices; upper ≥ lower, ours ≤ Amin et al."""
    dim, epsilon = 40, 1.0
    wishart = np.linalg.eigvalsh(np.cov(np.random.default_rng(0).standard_normal((dim, 200))))[::-1] * 100
    for k, gammas in {
        10: np.where(np.arange(dim) < 10, 100.0, 0.0),
        20: np.where(np.arange(dim) < 20, np.linspace(100, 50, dim), 0.0),
        40: wishart,
    }.items():
        upper, lower = theory.rank_k_rate(gammas, k, epsilon), theory.lower_rate(gammas, k, epsilon)
        assert lower <= upper <= theory.amin_rate(gammas, epsilon)
    # A projector of rank k: the lower bound is min(dk/ε, kλ²), the upper one dk(λ + 1/ε)/ε + k/ε².
    projector = np.where(np.arange(dim) < 10, 100.0, 0.0)
    assert 40 * 10 == pytest.approx(theory.lower_rate(projector, 10, 1.0))
    assert 10 * 100.0**2 == pytest.approx(theory.lower_rate(projector, 10, 1e-4))
    assert 40 * 10 * 101 + 10 == pytest.approx(theory.rank_k_rate(projector, 10, 1.0))
    large = projector * 1e6  # where the eigenvalues' own error is nothing: k times less
    assert 10.0 == pytest.approx(theory.amin_rate(large, 1.0) / theory.rank_k_rate(large, 10, 1.0), rel=1e-2)
    assert math.sqrt(40 / 2) == pytest.approx(theory.spectral_lower_rate(projector, 10, 1.0))
    # The best split against a fine grid of splits.
    shares = np.linspace(1e-4, 0.5, 20_000)
    by_grid = 40 * np.min(1 / shares**2 + np.sum(np.sqrt(projector)) ** 2 / (1 - shares))
    assert by_grid == pytest.approx(theory.amin_rate(projector, 1.0), rel=1e-4)
    assert 0.0 == theory.kapralov_talwar_lower(100.0, 40, 40, 1.0)
    assert theory.kapralov_talwar_lower(1e4, 40, 10, 1.0) < theory.spectral_lower_rate(projector * 100, 10, 1.0)


def test_the_packing_number_of_a_projector_is_that_of_the_grassmannian() -> None:
    spectrum = [1.0] * 3 + [0.0] * 5
    assert 2 * 3 * 5 * math.log(math.sqrt(3) / 0.1) == pytest.approx(theory.log_packing(spectrum, 0.1))
    assert 0.0 == theory.log_packing(spectrum, 10.0)
    assert theory.log_packing(spectrum, 0.1) < theory.log_covering(spectrum, 0.05)
