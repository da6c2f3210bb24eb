"""Algorithm 1 as printed: its noise, its estimates, and that nobody can take it for a worst-case guarantee."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_spiked import Spiked, printed_level
from dpframe_spiked.estimator import _SHAPES
from dpframe_spiked.grid_noise import GRID, GridNoise
from dpframe_spiked.marchenko_pastur import noise_variance, quantiles
from dpframe_spiked.shifts import Model

N, DIM, RANK, SPIKE = 4000, 12, 2, 25.0
PARAMETERS: dict[str, Any] = {"rank": RANK, "n": N, "spike": SPIKE, "noise": 1.0}
ROWS = dp.Rows(norm=1000.0, neighbors="replace", dim=DIM)
BUDGET = dp.Budget(epsilon=1.0, delta=0.1)
ACCEPT = [dp.model("spiked-covariance")]
Floats = NDArray[np.float64]


def plan(rows: dp.Rows = ROWS, **changes: Any) -> dp.Plan:
    step = dp.release("cov", "spiked", **{**PARAMETERS, **changes})
    return dp.Plan(rows=rows, budget=BUDGET, steps=[step], accept=ACCEPT)


def spiked_rows(n: int = N, dim: int = DIM, rank: int = RANK, spike: float = SPIKE) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((dim, rank)))[0]
    return math.sqrt(spike) * rng.standard_normal((n, rank)) @ basis.T + rng.standard_normal((n, dim)), basis


def test_without_opting_in_it_is_refused() -> None:
    with pytest.raises(dp.PlanError) as refused:
        dp.Plan(rows=ROWS, budget=BUDGET, steps=[dp.release("cov", "spiked", **PARAMETERS)])
    for words in ("'spiked-covariance'", "4n^-99", "not a worst-case guarantee", "accept=["):
        assert words in str(refused.value)
    with pytest.raises(dp.PlanError, match="spiked-covariance"):
        dp.audit(Spiked(**PARAMETERS), rows=ROWS, trials=1000)


def test_its_report_begins_with_what_it_is_not() -> None:
    result = plan().run(spiked_rows()[0])
    first = " ".join(str(result).splitlines()[:3])
    for words in ("Not a worst-case guarantee", "spiked-covariance", "4n^-99"):
        assert words in first
    assert isinstance(result.spent, dp.ModelBudget)
    assert "not a worst-case guarantee" in result.record("cov").guarantee


def test_the_printed_sensitivities() -> None:
    """By hand for n = 1000, p = 50, r = 2, λ = 4, σ² = 1, C = 4: ln n = 6.907755."""
    model = Model(dim=50, rows=1000, rank=2, spike=4.0, variance=1.0, constant=4.0)
    assert 4 * (0.25 + 0.5) * math.sqrt(50 * 8.907755279) / 1000 == pytest.approx(model.projector_shift)
    assert 4 * (4 * 8.907755279 + 56.907755279) / 1000 == pytest.approx(model.eigenvalue_shift)


@pytest.mark.parametrize(
    ("parts", "square"), [(1, 2 * math.log(12.5)), (2, 8 * math.log(25)), (3, 18 * math.log(37.5))]
)
def test_printed_levels_give_the_printed_variances(parts: int, square: float) -> None:
    """Whole, halves and thirds of (1, 0.1)."""
    level = printed_level(epsilon=1.0, delta=0.1, parts=parts)
    assert square == pytest.approx(parts / level**2)
    composed = dp.accountant("gdp").epsilon([dp.losses.Gaussian(mu=level)], 0.1)
    assert composed < 1.0


@pytest.mark.parametrize(("parts", "delta", "most"), [(1, 0.1, 5.7), (1, 1e-6, 8.7), (2, 0.1, 17.8)])
def test_printed_noise_is_private_up_to_some_epsilon_and_not_for_every_one(
    parts: int, delta: float, most: float
) -> None:
    """[Spiked covariance: Lemma 1] for one part; and both parts of Algorithm 1 together."""
    for epsilon, private in ((0.5, True), (most, True), (most + 0.1, False)):
        losses = [dp.losses.Gaussian(mu=printed_level(epsilon=epsilon, delta=delta, parts=parts))]
        assert private == (dp.accountant("gdp").delta(losses, epsilon=epsilon) <= delta)


def noise_of(values: Floats, draws: int, level: float, **changes: Any) -> tuple[Floats, Spiked]:
    """What the noise on the projector does to the leading direction of exact rank-one data, many times."""
    mechanism = Spiked(**{**PARAMETERS, "rank": 1, "output": "components", **changes})
    data = dp.PrivateData(ROWS, statistics={dp.Moment(): dp.Moment().partial(dp.Chunk(ROWS, values))})
    stream = seeded(5)
    found = [mechanism.release(data, level, stream.child(str(i))).array[:, 0] for i in range(draws)]
    return np.array(found), mechanism


@pytest.mark.parametrize(("shape", "factor"), [("triangular", 1.0), ("goe", math.sqrt(0.5))])
def test_components_scatter_by_the_stated_noise(shape: str, factor: float) -> None:
    """To first order the direction e₁ turns by the noise beside the diagonal; 1e-7 for each, 10 per cent are told."""
    from scipy.stats import chi2

    values = np.zeros((10, DIM))
    values[:, 0] = 10.0
    level = 1.0
    found, mechanism = noise_of(values, 400, level, shape=shape, spike=1e6)
    model = Model(dim=DIM, rows=N, rank=1, spike=1e6, variance=1.0, constant=4.0)
    assert 1 == mechanism.parts
    turned = (found[:, 1:] / found[:, :1]).ravel() / (factor * model.projector_shift / level)

    def fits(scale: float) -> bool:
        return bool(5e-8 < chi2.cdf(float(np.square(turned / scale).sum()), turned.size) < 1 - 5e-8)

    assert fits(1.0)
    assert not fits(1.12)
    assert not fits(0.89)


class Recorded:
    """A source of noise that is always zero, and remembers its deviations."""

    def __init__(self) -> None:
        self.scales: list[float] = []

    def gaussian(self, scale: float, size: Any) -> NDArray[np.int64]:
        self.scales.append(scale)
        return np.zeros(size, dtype=np.int64)


@pytest.mark.parametrize("level", [2.0, 1e-2, 2.0**-15])
@pytest.mark.parametrize("shape", ["triangular", "goe"])
def test_noise_covers_what_is_rounded_before_it_is_added(shape: str, level: float) -> None:
    """Neighbors at the distance of the shift, placed so that rounding moves them apart: within the level."""
    rng, dim, shift, worst = np.random.default_rng(0), 6, 0.37, 0.0
    steps = GRID * level  # the shift in steps of the grid
    for _ in range(200):
        direction = np.abs(rng.standard_normal((dim, dim)))
        apart = direction + direction.T
        apart *= shift / np.linalg.norm(apart)
        # In units of the grid one of the two lies just below a boundary, so that the other is rounded up from there on.
        below = (np.floor(rng.uniform(0, 9, (dim, dim))) + 0.5 - 1e-6) * shift / steps
        below = np.triu(below) + np.triu(below, 1).T
        recorded = Recorded()
        draws: Any = GridNoise(recorded, 1 / level)  # type: ignore[arg-type]
        moved = (
            draws.symmetric(below + apart, shift, _SHAPES[shape]) - draws.symmetric(below, shift, _SHAPES[shape])
        ) / (shift / steps)
        beside, diagonal = recorded.scales[:2]
        deviations = np.sum((np.diag(moved) / diagonal) ** 2) + np.sum((moved[np.triu_indices(dim, 1)] / beside) ** 2)
        worst = max(worst, math.sqrt(deviations) / level)
        numbers: Any = GridNoise(recorded, 1 / level)  # type: ignore[arg-type]
        moved_numbers = (numbers.numbers(below + apart, shift) - numbers.numbers(below, shift)) / (shift / steps)
        worst = max(worst, float(np.linalg.norm(moved_numbers)) / recorded.scales[-1] / level)
    assert worst <= 1.0 + 1e-12
    assert worst > 0.7


def test_reports_tell_what_floats_may_cost() -> None:
    told = plan().explain(dim=DIM).statement
    slack = told.line("cov").slack
    assert slack is not None
    assert 0.0 < slack < 1e-9
    assert "numerical slack" in told.strength
    assert told.strength.startswith("not a worst-case guarantee")


def test_it_finds_the_model_in_data_from_it() -> None:
    values, basis = spiked_rows(20_000)
    found = plan(n=20_000, level=None).run(values, insecure_seed=1)["cov"]
    top = np.linalg.eigh(found)[1][:, -RANK:]
    assert np.linalg.norm(top @ top.T - basis @ basis.T) < 0.2
    assert [26.0, 26.0] == pytest.approx(np.linalg.eigvalsh(found)[-RANK:].tolist(), rel=0.2)
    assert 1.0 == pytest.approx(float(np.linalg.eigvalsh(found)[0]))


def test_noise_rank_and_spike_are_estimated_at_equal_shares() -> None:
    values, basis = spiked_rows(200_000)
    asked: dict[str, Any] = {
        "n": 200_000,
        "private": ("noise", "rank", "spike"),
        "rank": 4,
        "spike": 30.0,
        "noise": 1.5,
    }
    built = plan(**asked)
    mechanism = built.releases[0][1]
    assert isinstance(mechanism, Spiked)
    assert 5 == mechanism.parts
    found = built.run(values, insecure_seed=2)["cov"]
    spectrum = np.linalg.eigvalsh(found)[::-1]
    assert 1.0 == pytest.approx(float(spectrum[-1]), rel=0.1)
    assert 2 == int((spectrum > 2.0).sum())
    top = np.linalg.eigh(found)[1][:, -RANK:]
    assert np.linalg.norm(top @ top.T - basis @ basis.T) < 0.2
    components = plan(**asked, output="components").run(values, insecure_seed=2)["cov"]
    assert (DIM, 2) == components.shape


def test_estimates_never_make_the_noise_smaller_than_the_given_bounds() -> None:
    """σ² is estimated with noise far above itself here: estimates near zero must not take the noise away."""
    mechanism = Spiked(**{**PARAMETERS, "private": ("noise", "rank", "spike")})
    known = mechanism._model(DIM)
    for variance, rank, spike in ((1e-9, 1, 1e9), (50.0, RANK, 1e9)):
        found = mechanism._bounds(attrs.evolve(known, variance=variance, rank=rank, spike=spike))
        assert known.projector_shift == found.projector_shift
    assert known.projector_shift < mechanism._bounds(attrs.evolve(known, spike=known.spike / 2)).projector_shift


def test_the_failure_tells_what_is_not_known() -> None:
    mechanism = Spiked(**{**PARAMETERS, "constant": 3.0, "private": ("spike",)})
    loss = mechanism.loss(ROWS, 1.0)
    assert isinstance(loss, dp.losses.ModelBased)
    assert "C = 3, n and λ/σ² are large enough, which is not known either, and no spike is above 25" in loss.failure


@pytest.mark.parametrize(("dim", "rows"), [(50, 1000), (200, 200), (300, 100)])
def test_bulk_quantiles_and_the_noise_variance_of_pure_noise(dim: int, rows: int) -> None:
    values = 3.0 * np.random.default_rng(4).standard_normal((rows, dim))
    spectrum: Floats = np.linalg.eigvalsh(values.T @ values / rows)[::-1].astype(np.float64)
    bulk = np.array(quantiles(dim, rows))
    middle = slice(len(bulk) // 4, 3 * len(bulk) // 4)
    np.testing.assert_allclose(spectrum[: len(bulk)][middle] / 9, bulk[middle], rtol=0.15)
    assert 9.0 == pytest.approx(noise_variance(spectrum, rows), rel=0.05)


def test_the_bulk_law_has_mass_one_and_mean_one() -> None:
    """For p ≤ n the mean of the Marchenko–Pastur law is the variance."""
    assert 1.0 == pytest.approx(float(np.mean(quantiles(2000, 8000))), rel=1e-2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rank": 0}, "Spiked.rank must be a positive integer"),
        ({"rank": 6}, "a rank below half of the 12 coordinates; got rank=6"),
        ({"noise": 0.0}, "Spiked.noise must be a finite number above 0"),
        ({"noise": -1.0}, "Spiked.noise must be a finite number above 0"),
        ({"spike": 0.0}, "Spiked.spike must be a finite number above 0"),
        ({"constant": 0.0}, "Spiked.constant must be a finite number above 0"),
        ({"n": None}, "Spiked.n must be a positive integer"),
        ({"private": ("rank", "rank")}, "each once"),
        ({"private": ("mean",)}, "some of 'noise', 'rank', 'spike'"),
        ({"output": "spectrum"}, "one of 'covariance', 'components'"),
        ({"rows": dp.Rows(norm=1.0, neighbors="add-remove")}, "rows that are replaced"),
        ({"rows": dp.Rows(norm=1.0, neighbors="replace", contributions=2)}, "one for each person"),
        ({"rows": dp.Rows(norm=1.0, neighbors="replace", center=True)}, "mean zero"),
        ({"n": 3, "rank": 4, "private": ("spike",)}, "cannot estimate from 3 rows"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(dp.PlanError, match=words):
        plan(**changes)


def test_the_number_of_rows_has_to_be_said() -> None:
    with pytest.raises(dp.PlanError, match="needs the parameter 'n'"):
        dp.release("cov", "spiked", rank=1, spike=1.0, noise=1.0)


def test_more_coordinates_than_rows_are_served() -> None:
    values, _ = spiked_rows(30, 60, 2, 1e4)
    rows = dp.Rows(norm=1e5, neighbors="replace")
    found = plan(rows=rows, n=30, spike=1e4, private=("noise",)).run(values)
    assert (60, 60) == found["cov"].shape


@pytest.mark.parametrize("bad", [{"epsilon": 0.0, "delta": 0.1}, {"epsilon": 1.0, "delta": 0.0}])
def test_printed_levels_need_a_budget(bad: dict[str, float]) -> None:
    with pytest.raises(dp.PlanError, match="the printed noise needs"):
        printed_level(**bad)  # type: ignore[arg-type]
