"""Matrix Laplace noise: the guarantee by quadrature, scale, statement, comparison with Gaussian noise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, special, stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_laplace import MatrixLaplace

RELATIONS = ("add-remove", "replace")


# The density of N = ½(G₁ᵀG₁ − G₂ᵀG₂) for D = 2, up to a factor: p(N) = ∫ e^(tr N − 2 tr C) dC over C ⪰ 0, C ⪰ N.
# With C = [[s + x, y], [y, s − x]] and N of eigenvalues a ≥ b, the integral over s leaves
#     e^(a+b) ∫ exp(−4·max(|u|, (a+b)/2 + |u − f|)) du      over the plane of u = (x, y), f = ((a−b)/2, 0).
# For b < 0 < a, elliptic coordinates with foci 0 and f turn it into one integral over an angle and Bessel functions.


def log_density(matrix: NDArray[Any]) -> float:
    low, high = np.linalg.eigvalsh(matrix).tolist()
    if low >= 0 or high <= 0:
        return float(math.log(math.pi / 8) - abs(low + high))
    middle, focus = (high + low) / 2, (high - low) / 2
    beta = 2 * focus
    k0, k2 = special.kve(0, beta), special.kve(2, beta)  # times e^β

    def of_angle(angle: float) -> float:
        cosine = math.cos(angle)
        farthest = beta * cosine if cosine >= middle / focus else 4 * middle - beta * cosine
        return float(math.exp(2 * middle - farthest) * ((k0 + k2) / 2 - cosine**2 * k0))

    turn = math.acos(middle / focus)
    near_the_turn = [
        turn + side * step / beta for side in (-1, 1) for step in (1, 5, 25) if 0 < turn + side * step / beta < math.pi
    ]
    ends = sorted([0.0, *near_the_turn, turn, math.pi])
    total = sum(integrate.quad(of_angle, a, b, epsabs=0, epsrel=1e-11)[0] for a, b in itertools.pairwise(ends))
    return float(math.log(total * focus**2 / 2) - beta)


def brute_force(matrix: NDArray[Any]) -> float:
    low, high = np.linalg.eigvalsh(matrix)
    middle, focus = (high + low) / 2, (high - low) / 2
    x, y = np.meshgrid(np.linspace(-6, 6 + focus, 3001), np.linspace(-6, 6, 2001), indexing="ij")
    height = np.maximum(np.hypot(x, y), middle + np.hypot(x - focus, y))
    cell = (x[1, 0] - x[0, 0]) * (y[0, 1] - y[0, 0])
    return float(np.log(np.exp(2 * middle - 4 * height).sum() * cell))


def test_the_density_is_that_of_its_definition() -> None:
    for high, low in [(1.0, -1.0), (2.0, -0.3), (0.2, -1.5), (1.0, 0.5), (-0.4, -0.7), (0.01, -0.01)]:
        assert brute_force(np.diag([high, low])) == pytest.approx(log_density(np.diag([high, low])), abs=2e-4)
    for edge in (1e-9, -1e-9):  # continuous at the cone
        assert log_density(np.diag([1.3, edge])) == pytest.approx(math.log(math.pi / 8) - 1.3, abs=1e-6)


def turned(values: tuple[float, float], angle: float) -> NDArray[Any]:
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    matrix: NDArray[Any] = turn @ np.diag(values) @ turn.T
    return matrix


SHIFTS = {
    "a row added": (1.0, 0.0),
    "a row removed": (-1.0, 0.0),
    "a row replaced": (0.5, -0.5),
    "two added": (0.7, 0.3),
}


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_shift_of_trace_norm_delta_costs_more_than_epsilon_and_some_cost_nearly_that(
    shift: str, epsilon: float
) -> None:
    """In units of the noise, Δ is epsilon."""
    rng = np.random.default_rng(5)
    losses = []
    for trial in range(120):
        spread = 10.0 ** rng.uniform(-1, 3)
        place = turned(tuple(rng.uniform(-spread, spread, 2)), rng.uniform(0, math.pi))
        step = turned(SHIFTS[shift], rng.uniform(0, math.pi)) * epsilon
        if trial == 0:  # along the shift, far out
            place, step = (
                turned((400.0, -400.0 if shift == "a row replaced" else 400.0), 0.4),
                turned(SHIFTS[shift], 0.4),
            )
            step = step * epsilon
        losses.append(log_density(place + step) - log_density(place))
    assert np.abs(losses).max() <= epsilon * (1 + 1e-7)
    assert np.abs(losses).max() >= 0.99 * epsilon


def test_wider_noise_and_narrower_noise_would_be_noticed() -> None:
    place, step = turned((30.0, 20.0), 0.2), turned((1.0, 0.0), 0.2)
    assert 0.95 == pytest.approx(log_density(0.95 * place) - log_density(0.95 * (place + step)), rel=1e-6)
    assert log_density(1.05 * place) - log_density(1.05 * (place + step)) > 1.04


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("level", [2.0**-10, 1 / 3, 7.0])
def test_the_scale_is_half_the_trace_norm_over_the_level(
    relation: str, contributions: int, center: bool, dim: int, level: float
) -> None:
    rows = dp.Rows(norm=1.0, neighbors=relation, contributions=contributions, center=center, dim=dim)
    row = dp.lattice.RADIUS**2 + (rows.constant**2 if center else 0)
    moved = contributions * row * (2 if relation == "replace" and (dim > 1 or center) else 1)
    wanted = Fraction(moved) / (2 * Fraction(level))
    scale = Fraction(MatrixLaplace()._lattice_scale(rows, level))
    assert wanted <= scale <= wanted * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize("center", [False, True])
def test_stated_deviations_are_those_of_releases(center: bool) -> None:
    rows = dp.Rows(norm=3.0, neighbors="replace", center=center, dim=2)
    width = rows.width
    moment = np.arange(width**2, dtype=np.int64).reshape(width, width) * 2**33
    moment += moment.T
    data = dp.PrivateData(rows, statistics={dp.Moment(): {"moment": moment}})
    mechanism, random = MatrixLaplace(), seeded(1)
    released = np.stack([mechanism.release(data, 0.5, random).array for _ in range(6000)])
    off = released - mechanism.noiseless(data).array
    stated = mechanism.noise(rows, 0.5)
    largest = stats.norm.isf(1e-6 / 100)
    for i, j in zip(*np.triu_indices(width), strict=True):
        entries = off[:, i, j] / stated["diagonal" if i == j else "off-diagonal"]
        assert abs(entries.mean()) * math.sqrt(len(entries)) < largest
        assert abs(np.mean(entries**2) - 1) < largest * np.std(entries**2) / math.sqrt(len(entries))
    assert (released == released.transpose(0, 2, 1)).all()


@pytest.mark.parametrize("relation", RELATIONS)
def test_releases_of_neighbors_differ_by_the_factor_that_is_stated(relation: str) -> None:
    """On the cone above both moments the densities of neighbors have the ratio e^ε exactly, for a row added or removed.

    Released matrices are above the larger moment with probability 1/8 if it is theirs, and e^(−‖X‖₁ε/Δ)/8 if not.
    """
    rows, level, trials = dp.Rows(norm=1.0, neighbors=relation, dim=2), 1.0, 4000
    row = np.array([39322, -52429])  # of length 2¹⁶, nearly
    moments = [np.eye(2, dtype=np.int64) * 2**35 + added * np.outer(row, row) for added in (0, 1)]
    share = 0.5 if relation == "replace" else 1.0  # of what a replaced row may do
    for moment, expected in zip(moments, (math.exp(-share * level) / 8, 1 / 8), strict=True):
        data, random = dp.PrivateData(rows, statistics={dp.Moment(): {"moment": moment}}), seeded(3)
        above = 0
        for _ in range(trials):
            off = MatrixLaplace().release(data, level, random).array / rows.step**2 - moments[1]
            above += bool(np.linalg.eigvalsh(off)[0] > 0)
        assert stats.binomtest(above, trials, expected).pvalue > 1e-6 / 4
        assert stats.binomtest(above, trials, expected * math.e**0.5).pvalue < 1e-6


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("center", [False, True])
def test_stated_epsilon_is_the_accountants_and_pure(relation: str, center: bool) -> None:
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors=relation, center=center, dim=3, contributions=2),
        budget=dp.Budget(epsilon=1.5),
        steps=[dp.release("moment", "matrix-laplace")],
    )
    losses = [dp.losses.Pure(epsilon=plan.pricing.levels["moment"])]
    assert losses == list(plan.pricing.all_losses)
    assert plan.spent.epsilon == dp.accountant("pure").epsilon(losses, 0.0)
    assert 1.5 * (1 - 1e-12) < plan.spent.epsilon <= 1.5
    assert 0.0 == plan.spent.delta


def test_a_pure_release_gives_mean_covariance_and_components() -> None:
    values = np.random.default_rng(0).standard_normal((50_000, 4)) * [0.3, 0.2, 0.1, 0.05] + [0.2, 0.0, 0.1, 0.0]
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="replace", center=True),
        budget=dp.Budget(epsilon=1.0),
        steps=[
            dp.release("moment", "matrix-laplace"),
            dp.derive("covariance", "covariance", of="moment"),
            dp.derive("components", "top-subspace", of="covariance", k=2),
        ],
    )
    result = plan.run(values, insecure_seed=2)
    clipped = values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1.0)
    assert np.abs(result["covariance"] - np.cov(clipped.T)).max() < 5e-3
    assert (4, 2) == result["components"].shape
    assert "exact" == result.record("moment").numerics
    assert (dp.AugmentedMoment, (5, 5)) == (result.record("moment").kind, result["moment"].shape)


def test_rows_about_a_released_center() -> None:
    values = np.random.default_rng(0).standard_normal((20_000, 3)) * 0.05 + [0.5, -0.4, 0.3]
    near = {"about": dp.ref("center"), "norm": 0.3}
    plan = dp.Plan(
        rows=dp.Rows(columns=[dp.Column(name, -1, 1) for name in "abc"], neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[
            dp.release("sums", "gaussian-sum", weight=0.2),
            dp.derive("center", "mean", of="sums"),
            dp.release("moment", "matrix-laplace", rows=near),
        ],
    )
    result = plan.run(values, insecure_seed=2)
    assert np.diag(result["moment"]) / 20_000 == pytest.approx([0.0025] * 3, rel=0.1)


@pytest.mark.parametrize(
    ("relation", "epsilon", "last"),
    [
        ("add-remove", 1.0, 16),
        ("replace", 1.0, 7),
        ("add-remove", 0.1, 12),
        ("add-remove", 4.0, 21),
        ("replace", 0.1, 5),
        ("replace", 4.0, 10),
    ],
)
def test_up_to_which_width_it_has_less_noise_than_gaussian(relation: str, epsilon: float, last: int) -> None:
    """At delta = 1e-6; the figures in docs/explanation/laplace.md."""
    budget = dp.Budget(epsilon=epsilon, delta=1e-6)

    def deviation(mechanism: str, dim: int) -> float:
        rows = dp.Rows(norm=1.0, neighbors=relation, dim=dim)
        step: Any = dp.release("moment", mechanism)
        plan = dp.Plan(rows=rows, budget=budget, steps=[step])
        both = step.action.noise(rows, plan.pricing.levels["moment"])
        assert math.sqrt(2) == pytest.approx(both["diagonal"] / both["off-diagonal"], rel=1e-9)
        return float(both["diagonal"])

    less = [dim for dim in range(2, 30) if deviation("matrix-laplace", dim) < deviation("gaussian", dim)]
    assert list(range(2, last + 1)) == less


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("task", ["moment", "subspace", "low-rank", "eigenvalues"])
def test_compare_ranks_it(task: str, delta: float) -> None:
    scenario = dp.Scenario(dim=5, n=4000, spectrum=[900.0, 500.0, 200.0, 50.0, 10.0])
    found = dp.compare(
        task,
        rows=dp.Rows(norm=1.0, neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=delta),
        scenario=scenario,
        k=None if task == "moment" else 2,
        draws=40,
    )
    errors = {candidate.name: candidate.error for candidate in found.candidates}
    assert 0 < errors["matrix-laplace"] < math.inf
    if delta:
        assert errors["matrix-laplace"] < errors["gaussian"]
    elif task == "subspace":
        assert errors["matrix-laplace"] < errors["orbit"]


def test_what_it_cannot_do_is_refused_before_the_charge() -> None:
    rows = dp.Rows(norm=1.0, neighbors="replace", contributions=3)
    step = dp.release("m", "matrix-laplace", level=2.0**-17)
    with pytest.raises(dp.PlanError, match=r"'matrix-laplace' needs a level of at least 1\.14441e-05; got 7\.6293"):
        dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0), steps=[step])
    assert (
        2.0**51
        < MatrixLaplace()._lattice_scale(
            dp.Rows(norm=1.0, neighbors="replace", center=True, dim=1), MatrixLaplace.smallest_level
        )
        < 2.0**51 * (1 + 1e-15)
    )
