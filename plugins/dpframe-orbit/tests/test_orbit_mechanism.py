"""The mechanisms orbit and bingham: stated loss, density ratios, what is released, bad input."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_orbit import Bingham, Orbit
from dpframe_orbit.direct import Target, draw_integers
from dpframe_orbit.orbit import SOLVER_ERROR, _eigensystem, solver_error

RELATIONS = ("add-remove", "replace")
FALSE_ALARM = 1e-6
Floats = NDArray[np.float64]


def promise(dim: int, relation: str = "add-remove", contributions: int = 1) -> dp.Rows:
    return dp.Rows(norm=1.0, neighbors=relation, contributions=contributions, dim=dim)


def private(moment: Floats, relation: str = "add-remove") -> dp.PrivateData:
    """Data with this second moment, in units of the squared norm of a row."""
    integers = np.rint(moment * dp.lattice.RADIUS**2).astype(np.int64)
    return dp.PrivateData(promise(len(moment), relation), statistics={dp.Moment(): {"moment": integers}})


def rows_of(count: int, dim: int, seed: int = 0) -> Floats:
    values = np.random.default_rng(seed).standard_normal((count, dim)) * np.linspace(1.0, 0.2, dim)
    scaled: Floats = values / np.linalg.norm(values, axis=1, keepdims=True)
    return scaled


def plan(*steps: dp.Step, relation: str = "add-remove", epsilon: float = 1.0, **rows: Any) -> dp.Plan:
    promised = dp.Rows(**{"norm": 1.0, "neighbors": relation, **rows})
    return dp.Plan(rows=promised, budget=dp.Budget(epsilon=epsilon), steps=list(steps))


# -- loss and strength -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("contributions", [1, 3])
def test_strength_is_the_level_over_the_spread_of_scores(relation: str, contributions: int) -> None:
    rows = promise(4, relation, contributions)
    spread = contributions * (2 if relation == "replace" else 1) * dp.lattice.RADIUS**2
    orbit = Orbit(spectrum=[3.0, 2.0, 1.0, 1.0])
    assert 0.7 / (spread + 2 * SOLVER_ERROR) == pytest.approx(orbit._strength(rows, 0.7), rel=1e-15)
    # As printed: κ = level/(4λ_1), whatever the relation; here times λ_1 − λ_d = 2.
    printed = Orbit(spectrum=[3.0, 2.0, 1.0, 1.0], as_printed=True)
    assert 0.7 / 12 * 2 / (contributions * dp.lattice.RADIUS**2) == pytest.approx(
        printed._strength(rows, 0.7), rel=1e-15
    )


@pytest.mark.parametrize("dim", [10, 900, 2000])
@pytest.mark.parametrize("complex_", [False, True])
def test_strength_and_noise_cover_the_error_of_the_solver(dim: int, complex_: bool) -> None:
    """Of a matrix that was computed elsewhere, it grows with the dimension, to more than what the paper pays for."""
    rows = dp.Matrix(trace_norm=1.0, neighbors="replace", dim=dim, complex=complex_)
    spread = dp.sensitivity.score(rows) + 2 * solver_error(rows)
    assert Orbit(spectrum=[1.0], as_printed=True)._strength(rows, 0.7) * spread <= 0.7 * (1 + 1e-15)
    unknown = Orbit(spectrum=dp.ref("s"), as_printed=True).noise(rows, 0.7)
    known = Orbit(spectrum=[1.0], as_printed=True).noise(rows, 0.7)
    assert unknown["score, per λ₁"] == pytest.approx(known["score"], rel=1e-12)
    unknown, known = (Orbit(spectrum=each).noise(rows, 0.7) for each in (dp.ref("s"), [1.0]))
    assert unknown["score, per λ₁ − λ_d"] == pytest.approx(known["score"], rel=1e-12)


@pytest.mark.parametrize("relation", RELATIONS)
def test_stated_losses(relation: str) -> None:
    rows = promise(4, relation)
    for mechanism in (Orbit(spectrum=[1.0]), Orbit(spectrum=dp.ref("s")), Orbit(spectrum=[1.0], as_printed=True)):
        assert dp.losses.BoundedRange(epsilon=0.7) == mechanism.loss(rows, 0.7)


def log_partition(moment: Floats, strength: float) -> float:
    """At d = 2 and Λ = (1, 0): (e^{κγ_1} − e^{κγ_2})/(κ(γ_1 − γ_2))."""
    low, high = np.linalg.eigvalsh(moment) * strength
    return float(high + (math.log(-math.expm1(low - high) / (high - low)) if high > low else 0.0))


def log_ratios(mechanism: Orbit, one: Floats, other: Floats, relation: str, level: float) -> Floats:
    """Exact log-likelihood ratios of neighbors over a grid of the orbit, at d = 2."""
    strength = mechanism._strength(promise(2, relation), level) * dp.lattice.RADIUS**2
    partition = [log_partition(moment, strength) for moment in (one, other)]
    found = []
    for angle in np.linspace(0.0, math.pi, 21):
        for phase in np.linspace(0.0, 2 * math.pi, 9):
            vector = np.array([math.cos(angle / 2), math.sin(angle / 2) * np.exp(1j * phase)])
            value = dp.HermitianMatrix(
                np.outer(vector, vector.conj()) / 2 + np.outer(vector, vector.conj()).conj().T / 2
            )
            logs = [
                mechanism.log_density(value, private(moment, relation), level) - log
                for moment, log in zip((one, other), partition, strict=True)
            ]
            found.append(logs[0] - logs[1])
    return np.array(found)


def unit(angle: float) -> Floats:
    vector = np.array([math.cos(angle), math.sin(angle)])
    return np.outer(vector, vector)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("level", [0.5, 2.0])
@pytest.mark.parametrize("as_printed", [False, True])
def test_density_ratios_of_the_worst_neighbors(relation: str, level: float, as_printed: bool) -> None:
    mechanism = Orbit(spectrum=[1.0, 0.0], real=False, as_printed=as_printed)
    backgrounds = [np.zeros((2, 2)), *(size * unit(angle) for size in (1.0, 30.0, 1e5) for angle in (0.0, 0.7, 1.5))]
    largest, longest = 0.0, 0.0
    for background in backgrounds:
        for angle in (0.0, 0.8, math.pi / 2):
            changed = background + (unit(angle + math.pi / 2) if relation == "replace" else 0.0)
            ratios = log_ratios(mechanism, background + unit(angle), changed, relation, level)
            largest = max(largest, float(np.abs(ratios).max()))
            longest = max(longest, float(ratios.max() - ratios.min()))
    assert largest <= longest + 1e-9
    claimed = level * ({"replace": 0.5, "add-remove": 0.25}[relation] if as_printed else 1.0)
    assert longest <= claimed + 1e-9
    assert 0.999 * claimed <= largest


@pytest.mark.long
def test_an_audit_finds_half_of_the_claim() -> None:
    """Neighbors around a background on the second axis, at ε = 2: the first entry is large ε-fold more often."""
    level, trials = 2.0, 100_000
    background = np.diag([0.0, 3.0])
    counts = []
    for seed, moment in enumerate((background + np.diag([1.0, 0.0]), background)):
        data, random = private(moment), seeded(seed)
        values = (Orbit(spectrum=[1.0]).release(data, level, random.child(str(i))) for i in range(trials))
        counts.append(sum(value.array[0, 0] > 0.75 for value in values))
    low = stats.beta.ppf(FALSE_ALARM / 2, counts[0], trials - counts[0] + 1)
    high = stats.beta.isf(FALSE_ALARM / 2, counts[1] + 1, trials - counts[1])
    assert 0.5 * level <= math.log(low / high) <= level


def test_log_densities_are_the_scores_times_kappa() -> None:
    moment = np.diag([5.0, 2.0, 0.0])
    data = private(moment)
    h = dp.SymmetricMatrix(np.diag([2.0, 1.0, 0.0]))
    assert 1.0 * 12.0 / 2.0 == pytest.approx(Orbit(spectrum=[2.0, 1.0]).log_density(h, data, 1.0), rel=1e-3)
    assert 0.0 == Orbit(spectrum=[1.0, 1.0, 1.0]).log_density(h, data, 1.0)


# -- what is released ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spectrum", [[1.0], [5.0, 3.0], [2.0, 2.0, 1.0, 1.0], [7.0, 6.0, 5.0, 4.0, 3.0, 2.0]])
@pytest.mark.parametrize("bits", [10, 16, 20])
def test_a_hermitian_release_has_the_given_spectrum_to_within_the_grid(spectrum: list[float], bits: int) -> None:
    step = dp.release("h", "orbit", spectrum=spectrum, real=False, bits=bits)
    released = plan(step).run(rows_of(500, 6), insecure_seed=1)["h"]
    full = np.array(spectrum + [0.0] * (6 - len(spectrum)))
    width = full[0] - full[-1]
    assert np.complex128 == released.dtype
    assert np.abs(np.linalg.eigvalsh(released)[::-1] - full).max() <= 6 * 2.0**-bits * width + 1e-10
    on_grid = (released - full[-1] * np.eye(6)) / width * 2.0**bits
    assert np.abs(on_grid - np.rint(on_grid.real) - 1j * np.rint(on_grid.imag)).max() < 1e-3


def test_the_real_part_is_released_unless_said_otherwise() -> None:
    kinds = plan(
        dp.release("a", "orbit", spectrum=[1.0]),
        dp.release("b", "orbit", spectrum=[1.0], real=False),
        dim=3,
    ).kinds
    assert {"a": dp.SymmetricMatrix, "b": dp.HermitianMatrix} == kinds
    released = plan(dp.release("a", "orbit", spectrum=[1.0, 0.5])).run(rows_of(500, 3), insecure_seed=1)["a"]
    assert np.float64 == released.dtype
    assert 1.5 == pytest.approx(np.trace(released), abs=3 * 2.0**-16)


@pytest.mark.parametrize(("spectrum", "value"), [([0.0], 0.0), ([0.0, 0.0], 0.0), ([2.0, 2.0, 2.0], 2.0)])
@pytest.mark.parametrize("real", [True, False])
def test_a_spectrum_of_equal_values_gives_a_multiple_of_the_identity(
    spectrum: list[float], value: float, real: bool
) -> None:
    released = plan(dp.release("h", "orbit", spectrum=spectrum, real=real)).run(rows_of(50, 3), insecure_seed=1)["h"]
    assert np.array_equal(value * np.eye(3), released)
    one = plan(dp.release("h", "orbit", spectrum=[1.5], real=real)).run(rows_of(50, 1), insecure_seed=1)["h"]
    assert 1.5 == one[0, 0]


def test_algorithm_two_in_a_pure_plan(tmp_path: Path) -> None:
    built = plan(
        dp.release("spectrum", "laplace-eigenvalues", k=2),
        dp.release("estimate", "orbit", spectrum=dp.ref("spectrum")),
        dp.derive("components", "top-subspace", of="estimate", k=2),
        epsilon=2.0,
    )
    built.dump(tmp_path / "plan.toml")
    assert built == dp.Plan.load(tmp_path / "plan.toml")
    values = rows_of(20_000, 5)
    result = built.run(values, insecure_seed=3)
    assert dp.Budget(epsilon=2.0) == result.spent
    truth = np.linalg.eigh(values.T @ values)[1][:, ::-1][:, :2]
    found = result["components"]
    assert np.linalg.norm(found @ found.T - truth @ truth.T) < 0.2
    assert 0.0 == result.record("estimate").line.slack


def test_a_release_is_exact_and_has_no_slack() -> None:
    built = plan(dp.release("h", "orbit", spectrum=[1.0, 0.5], bits=28))
    assert 0.0 == built.explain().statement.line("h").slack
    result = built.run(rows_of(100, 4), insecure_seed=1)
    assert "exact" == result.record("h").numerics
    assert "slack" not in str(result) + result.to_json().replace('"slack": 0.0', "")


def test_what_is_released_is_the_draw_for_the_solver_s_own_matrix() -> None:
    """Integers of the mechanism are those of the sampler for Γ·κ, the basis and the spectrum that it uses."""
    data, mechanism = private(rows_of(300, 5).T @ rows_of(300, 5)), Orbit(spectrum=[3.0, 2.0, 1.0, 1.0, 1.0])
    released = mechanism.release(data, 1.0, seeded(4)).array
    gamma, basis, overlap = _eigensystem(data.moment)
    strength = Fraction(mechanism._strength(data.rows, 1.0))
    target = Target.of([strength * Fraction(g) for g in gamma[::-1].tolist()], np.array([1.0, 0.5, 0.0, 0.0, 0.0]))
    integers, _ = draw_integers(target, basis[:, ::-1], overlap, 16, seeded(4), real=True)
    assert np.array_equal(released, np.eye(5) + 2.0 * (integers * 2.0**-16))


def test_neighbors_read_the_same_words() -> None:
    """Words have fixed places: what is read at first depends on the dimension and the rank alone."""
    logs = []
    for moment in (np.diag([500.0, 30.0, 1.0, 0.0]), np.diag([500.0, 30.0, 1.0, 1.0]), np.zeros((4, 4))):
        taken: list[int] = []
        stream = type(seeded(3).keystream)
        whole = stream.take

        def noted(self: Any, count: int, taken: list[int] = taken, whole: Any = whole) -> Any:
            taken.append(count)
            return whole(self, count)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stream, "take", noted)
            Orbit(spectrum=[1.0, 0.5]).release(private(moment), 1.0, seeded(3))
        logs.append(taken)
    assert [24, 24, 10] == logs[0] == logs[1] == logs[2]


def test_a_draw_that_may_take_long_says_so_and_nothing_of_how_long_it_took() -> None:
    phases: list[str] = []
    built = plan(dp.release("h", "orbit", spectrum=[1.0, 0.5]), dp.derive("c", "top-subspace", of="h", k=1))
    result = built.run(rows_of(100, 4), insecure_seed=1, progress=phases.append)
    assert {"working on 'h', which may take long" + end for end in ("", ": 1 of 3 parts", ": 3 of 3 parts")} <= {
        *phases
    }
    assert "working on 'c'" in phases
    assert "precision" not in result.to_json() + str(result) + " ".join(phases)


def test_no_rows_give_a_draw_of_the_invariant_law() -> None:
    nothing = np.zeros((0, 3))
    result = plan(
        dp.release("h", "orbit", spectrum=[1.0, 0.5]), dp.release("v", "bingham"), dp.release("w", "bingham", k=3)
    ).run(nothing)
    assert [(3, 3), (3, 1), (3, 3)] == [result[name].shape for name in ("h", "v", "w")]


# -- recipes and bad input -------------------------------------------------------------------------------------------


def test_recipes_say_which_is_better() -> None:
    assert Orbit(spectrum=[1.0]).recipe("subspace", k=1) is None
    assert ["components"] == [step.name for step in Bingham().recipe("subspace", k=1) or []]
    assert Bingham().recipe("subspace", k=2) is None
    steps = Orbit(spectrum=[1.0]).recipe("subspace", k=3) or []
    result = plan(*steps).run(rows_of(100, 5), insecure_seed=1)
    assert (5, 3) == result["components"].shape
    assert Orbit(spectrum=[1.0]).recipe("moment", k=3) is None


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda: dp.release("h", "orbit"), "'orbit' needs the parameter 'spectrum'"),
        (lambda: dp.release("h", "orbit", spectrum=[1.0, 2.0]), "no negative values, sorted from the largest"),
        (lambda: dp.release("h", "orbit", spectrum=[1.0, -2.0]), "no negative values"),
        (lambda: dp.release("h", "orbit", spectrum=[]), "one row of numbers"),
        (lambda: dp.release("h", "orbit", spectrum=[math.nan]), "finite numbers"),
        (lambda: dp.release("h", "orbit", spectrum=None), "needs a spectrum in spectrum=; got None"),
        (lambda: dp.release("h", "orbit", spectrum=[1.0] * 4), "the spectrum has 4 values, but the rows have 3"),
        (lambda: dp.release("h", "orbit", spectrum=[1.0], real=1), "Orbit.real must be True or False; got 1"),
        (lambda: dp.release("h", "orbit", spectrum=[1.0], as_printed="yes"), "Orbit.as_printed must be True or False"),
        (lambda: dp.release("h", "orbit", spectrum=[1.0], bits=4), "Orbit.bits must be an integer from 8 to 28; got 4"),
        (lambda: dp.release("h", "orbit", spectrum=dp.ref("x")), "no earlier step has that name"),
        (lambda: dp.release("v", "bingham", k=4), "k=4 is more than the 3 coordinates"),
        (lambda: dp.release("v", "bingham", k=0), "Bingham.k must be an integer from 1 to 256; got 0"),
        (lambda: dp.release("v", "bingham", k=10**6), "Bingham.k must be an integer from 1 to 256; got 1000000"),
        (lambda: dp.release("v", "bingham", bits=2.5), "Bingham.bits must be an integer from 8 to 28; got 2.5"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_charge(step: Any, message: str) -> None:
    with pytest.raises(dp.PlanError, match=message):
        plan(step(), dim=3)


def test_centered_rows_and_other_kinds_are_refused() -> None:
    for step in (dp.release("x", "orbit", spectrum=[1.0]), dp.release("x", "bingham")):
        with pytest.raises(
            dp.PlanError, match=f"step 'x': {step.action.name} needs rows without a constant coordinate"
        ):
            plan(step, center=True)
    with pytest.raises(dp.PlanError, match="needs a spectrum in spectrum=, but 'v' gives a subspace"):
        plan(dp.release("v", "bingham"), dp.release("h", "orbit", spectrum=dp.ref("v")))
