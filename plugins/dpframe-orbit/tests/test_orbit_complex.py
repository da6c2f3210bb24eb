"""The draw on a unitary orbit for complex rows: its law against a closed form, its basis, numerics and forecasts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from numpy.typing import NDArray
from scipy import stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_orbit import Orbit
from dpframe_orbit.decided import GridDraw
from dpframe_orbit.direct import Target, draw_integers

Complex = NDArray[np.complex128]
FALSE_ALARM = 1e-6
SIZE = 2**34  # the spread of one row is 2³²


def unitary(dim: int, seed: int = 1) -> Complex:
    random = np.random.default_rng(seed)
    found: Complex = np.linalg.qr(random.standard_normal((dim, dim)) + 1j * random.standard_normal((dim, dim)))[0]
    return found


def moment_of(gammas: list[float], seed: int = 1) -> NDArray[np.int64]:
    """A Hermitian matrix of integers with nearly these eigenvalues, in units of SIZE, in a complex basis."""
    basis = unitary(len(gammas), seed)
    matrix = (basis * (np.array(gammas) * SIZE)) @ basis.conj().T
    matrix = np.rint(matrix.real) + 1j * np.rint(matrix.imag)
    matrix = np.triu(matrix, 1) + np.triu(matrix, 1).conj().T + np.diag(np.diag(matrix).real)
    return np.stack([matrix.real, matrix.imag]).astype(np.int64)


def promise(dim: int, relation: str = "add-remove") -> dp.Rows:
    return dp.Rows(norm=1.0, neighbors=relation, dim=dim, complex=True)


def data_of(parts: NDArray[np.int64], relation: str = "add-remove") -> dp.PrivateData:
    return dp.PrivateData(promise(parts.shape[-1], relation), statistics={dp.Moment(): {"moment": parts}})


# -- the law -----------------------------------------------------------------------------------------------------------


def cumulants(gammas: list[float], spectrum: list[float], kappa: float) -> list[float]:
    """Mean, variance and two more cumulants of ⟨M, H⟩, from log det[e^{κγλ}] − (d(d − 1)/2) log κ.

    Harish-Chandra, Itzykson and Zuber; equal λ have columns γ^a e^{κγλ}, and such pairs do not count in the power.
    """

    def log_partition(k: Any) -> Any:
        powers = [spectrum[:j].count(value) for j, value in enumerate(spectrum)]
        unequal = sum(a != b for i, a in enumerate(spectrum) for b in spectrum[:i])
        columns = list(zip(spectrum, powers, strict=True))
        rows = [[mp.mpf(g) ** p * mp.exp(k * mp.mpf(g) * mp.mpf(v)) for v, p in columns] for g in gammas]
        return mp.log(abs(mp.det(mp.matrix(rows)))) - unequal * mp.log(k)

    with mp.workdps(60):
        return [float(mp.diff(log_partition, mp.mpf(kappa), order)) for order in range(1, 5)]


@pytest.mark.parametrize(
    ("gammas", "spectrum", "level", "relation"),
    [
        ([2.0, 0.5, 0.0], [1.0], 1.0, "add-remove"),
        ([2.0, 1.0, 0.0], [1.0, 0.4], 2.0, "replace"),
        ([1.5, 1.0, 0.5, 0.0], [1.0, 1.0], 2.0, "add-remove"),
        ([2.0, 1.0, 0.0], [0.8, 0.5, 0.2], 2.0, "replace"),
        pytest.param([2.0, 0.5, 0.0], [1.0], 1.0, "replace", marks=pytest.mark.long),
        pytest.param([2.0, 1.0, 0.0], [1.0, 0.4], 2.0, "add-remove", marks=pytest.mark.long),
        pytest.param([1.5, 1.0, 0.5, 0.0], [1.0, 1.0], 2.0, "replace", marks=pytest.mark.long),
        pytest.param([2.0, 1.0, 0.0], [0.8, 0.5, 0.2], 2.0, "add-remove", marks=pytest.mark.long),
    ],
)
def test_scores_have_the_mean_and_variance_of_the_closed_form(
    gammas: list[float], spectrum: list[float], level: float, relation: str
) -> None:
    """A κ that is 25 % off is rejected, and so is one that counts the relation twice or not at all."""
    dim, draws = len(gammas), 1000
    parts = moment_of(gammas)
    matrix = dp.hermitian.as_complex(parts) / SIZE
    exact = np.linalg.eigvalsh(matrix)[::-1].tolist()
    mechanism = Orbit(spectrum=spectrum)
    released = [mechanism.release(data_of(parts, relation), level, seeded(seed)).array for seed in range(draws)]
    scores = np.array([float(np.vdot(each, matrix).real) for each in released])
    full = spectrum + [0.0] * (dim - len(spectrum))
    spread = (1 if relation == "add-remove" else 2) * (full[0] - full[-1])  # of one row, in units of norm²
    kappa = level / spread * SIZE / 2**32
    limit = stats.norm.isf(FALSE_ALARM / 4)
    mean, variance, _, fourth = cumulants(exact, full, kappa)
    assert abs(scores.mean() - mean) / math.sqrt(variance / draws) < limit
    squares = (scores - mean) ** 2
    assert abs(squares.mean() - variance) / math.sqrt((fourth + 2 * variance**2) / draws) < limit
    for wrong in (0.5 * kappa, 0.75 * kappa, 1.3 * kappa, 2 * kappa):
        wrong_mean, wrong_variance = cumulants(exact, full, wrong)[:2]
        assert abs(scores.mean() - wrong_mean) / math.sqrt(wrong_variance / draws) > limit


def test_the_imaginary_part_of_the_moment_is_used() -> None:
    """Of M and its conjugate, draws follow the one that was given."""
    parts = moment_of([40.0, 0.0, 0.0])
    (leading,) = np.linalg.eigh(dp.hermitian.as_complex(parts))[1][:, -1:].T
    drawn = Orbit(spectrum=[1.0]).release(data_of(parts), 1.0, seeded(1)).array
    assert float((leading.conj() @ drawn @ leading).real) > 0.95
    assert float((leading @ drawn @ leading.conj()).real) < 0.9
    assert abs(np.vdot(leading, leading.conj())) < 0.9  # they differ


def test_the_spectrum_is_exact_up_to_the_grid() -> None:
    spectrum = [1.0, 0.6, 0.25, 0.0, 0.0]
    value = Orbit(spectrum=spectrum[:3], bits=24).release(data_of(moment_of([3.0, 2.0, 1.0, 0.5, 0.0])), 3.0, seeded(2))
    assert isinstance(value, dp.HermitianMatrix)
    assert not isinstance(value, dp.SymmetricMatrix)
    assert np.abs(np.linalg.eigvalsh(value.array)[::-1] - spectrum).max() < 5 * 2.0**-23
    assert np.abs(value.array.imag).max() > 0.01
    constant = Orbit(spectrum=[0.5, 0.5]).release(data_of(moment_of([1.0, 0.0])), 1.0, seeded(1)).array
    assert np.array_equal(0.5 * np.eye(2), constant)


def test_one_coordinate_and_no_rows() -> None:
    value = Orbit(spectrum=[0.7]).release(data_of(np.array([[[SIZE]], [[0]]])), 1.0, seeded(1)).array
    assert np.array_equal([[0.7]], value)
    nothing = Orbit(spectrum=[1.0]).release(data_of(np.zeros((2, 3, 3), dtype=np.int64)), 1.0, seeded(1)).array
    assert float(np.trace(nothing).real) == pytest.approx(1.0, abs=1e-3)


# -- the basis, and the grid -------------------------------------------------------------------------------------------

NODES = [600.0, 400.0, 200.0, 60.0, 57.0, 40.0]


def target() -> Target:
    return Target.of([Fraction(x) for x in NODES], np.array([1.0, 0.6, 0.2, 0.0, 0.0, 0.0]))


def integers(basis: NDArray[Any], bits: int, seed: int = 3) -> Any:
    doubled = dp.hermitian.doubled(basis.astype(np.complex128))
    return draw_integers(target(), basis, dp.eigensolver.overlap(doubled), bits, seeded(seed), real=False)


def exact_entries(bits: int = 100) -> Any:
    """The entries of the draw in its own eigenvectors, in 60 digits: on a fine grid, offsets do not matter."""
    real, imaginary = integers(np.eye(6), bits)
    return mp.matrix(
        [
            [mp.mpc(int(a), int(b)) / 2**bits for a, b in zip(*rows, strict=True)]
            for rows in zip(real, imaginary, strict=True)
        ]
    )


def test_a_complex_basis_turns_the_draw_and_changes_nothing_else() -> None:
    """In the integers of a fine grid: QHQᴴ for the unitary factor Q of the vectors."""
    bits, off = 60, 2.0**-41
    for basis in (unitary(6), np.eye(6) * 1j ** np.arange(6), unitary(6) @ (np.eye(6) + off * unitary(6, 2))):
        real, imaginary = integers(basis, bits)
        with mp.workdps(60):
            Q = mp.matrix(basis.tolist())
            for _ in range(6):  # Newton's method for the polar factor
                Q = Q * (3 * mp.eye(6) - Q.H * Q) / 2
            H = Q * exact_entries() * Q.H
            for i in range(6):
                for j in range(6):
                    wanted = (H[i, j].real * 2**bits, H[i, j].imag * 2**bits)
                    assert abs(int(real[i, j]) - wanted[0]) <= 1.0001  # floor(x + U) is at most 1 from x
                    assert abs(int(imaginary[i, j]) - wanted[1]) <= 1.0001


def test_floats_and_balls_decide_the_same_integers_in_a_complex_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    by_floats = [integers(unitary(6), 16, seed) for seed in range(4)]
    monkeypatch.setattr("dpframe_orbit.decided.FINEST", 0)
    for seed, expected in enumerate(by_floats):
        for one, other in zip(expected, integers(unitary(6), 16, seed), strict=True):
            assert np.array_equal(one, other.astype(np.int64))


def test_entries_are_hermitian_and_the_diagonal_is_real() -> None:
    real, imaginary = integers(unitary(6), 16)
    assert np.array_equal(real, real.T)
    assert np.array_equal(imaginary, -imaginary.T)


def test_floats_err_by_less_than_their_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of B in floats against those in balls: the bound holds, and is not far above the error."""
    seen: list[tuple[float, float]] = []
    whole = GridDraw._compute_rows

    def compared(self: GridDraw, rows: list[int], precision: int) -> None:
        whole(self, list(range(self.dim)), precision)
        exact = np.array([[float(entry.mid()) for entry in self._exact[row]] for row in range(self.dim)])
        seen.append((float(np.linalg.norm(exact - self._rows, axis=1).max()), self._row_error))

    monkeypatch.setattr(GridDraw, "_compute_rows", compared)
    monkeypatch.setattr("dpframe_orbit.decided.FINEST", 0)
    for basis in (unitary(6), unitary(6) @ (np.eye(6) + 2.0**-41 * unitary(6, 2))):
        integers(basis, 16)
    assert seen
    assert all(0.0 < error <= bound < 1e4 * error for error, bound in seen)


def test_a_solver_that_fails_costs_time_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(matrix: Any) -> Any:
        raise np.linalg.LinAlgError("did not converge")

    monkeypatch.setattr(np.linalg, "eigh", fails)
    parts = moment_of([40.0, 1.0, 0.0])
    drawn = Orbit(spectrum=[1.0]).release(data_of(parts), 1.0, seeded(1)).array
    assert float(np.vdot(drawn, dp.hermitian.as_complex(parts)).real) > 0.9 * 40.0 * SIZE


# -- plans -------------------------------------------------------------------------------------------------------------


def complex_rows(count: int, scales: list[float]) -> Complex:
    random = np.random.default_rng(0)
    found: Complex = random.standard_normal((count, 2 * len(scales))).view(np.complex128) * scales
    return found @ unitary(len(scales), 9)


def test_algorithm_2_gives_a_hermitian_matrix_of_the_released_rank_and_spectrum() -> None:
    values = complex_rows(20_000, [0.3, 0.2, 0.05, 0.05, 0.05])
    rows = dp.Rows(norm=1.0, neighbors="replace", complex=True)
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=2.0), steps=[dp.release("e", "orbit-low-rank", k=2)])
    assert dp.HermitianMatrix is plan.kinds["e"] is plan.kinds["e.draw"]
    result = plan.run(values, insecure_seed=4)
    found = np.linalg.eigvalsh(result["e"])[::-1]
    assert found[:2] == pytest.approx(result["e.spectrum"])
    assert np.abs(found[2:]).max() < 1e-9 * found[0]
    moment = np.einsum("ni,nj->ij", values, values.conj())
    assert np.linalg.norm(result["e"] - moment) < 0.2 * np.linalg.norm(moment)
    assert "first-order" in str(plan.explain(dim=5, spectrum=[3600.0, 1600.0, 100.0, 100.0, 100.0]))


@pytest.mark.parametrize(("changes", "times"), [({"complex": True}, 2.0), ({}, 1.0)])
def test_the_forecast_of_components_is_that_of_the_draw_that_is_released(changes: dict[str, Any], times: float) -> None:
    """The real part of a draw has half of the squared error of the Hermitian draw; 15 %, where they differ by 100 %."""
    gammas, level, draws = [60.0, 30.0, 3.0, 0.0], 1.0, 200
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=4, **changes)
    steps = [dp.release("h", "orbit", spectrum=[1.0, 1.0]), dp.derive("c", "top-subspace", of="h", k=2)]
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=level), steps=steps)
    complex_moment = moment_of(gammas) * 4
    parts = complex_moment if changes else complex_moment[0] * 0 + np.diag((np.array(gammas) * 4 * SIZE).astype(int))
    data = dp.PrivateData(rows, statistics={dp.Moment(): {"moment": parts}})
    matrix = dp.hermitian.as_complex(parts) if changes else parts.astype(float)
    leading = np.linalg.eigh(matrix)[1][:, -2:]
    truth = leading @ leading.conj().T
    squares = []
    for seed in range(draws):
        drawn = Orbit(spectrum=[1.0, 1.0]).release(data, plan.pricing.levels["h"], seeded(seed))
        basis = dp.postprocess.TopSubspace(of=drawn, k=2).apply().array
        squares.append(np.linalg.norm(basis @ basis.conj().T - truth) ** 2)
    eigenvalues = np.maximum(np.linalg.eigvalsh(matrix)[::-1] * rows.step**2, 0.0).tolist()
    (bound,) = plan.explain(dim=4, spectrum=eigenvalues).bounds("c")
    assert bound.value is not None
    assert math.sqrt(np.mean(squares)) == pytest.approx(bound.value, rel=0.15)
    kappa = level / 1.0
    wanted = times * sum(1 / (kappa * (eigenvalues[i] - eigenvalues[j])) for i in (0, 1) for j in (2, 3))
    assert bound.value == pytest.approx(math.sqrt(wanted), rel=1e-2)


def test_the_density_is_that_of_the_score() -> None:
    parts, mechanism = moment_of([2.0, 1.0, 0.0]), Orbit(spectrum=[1.0, 0.5])
    one, other = (mechanism.release(data_of(parts), 1.0, seeded(seed)) for seed in (1, 2))
    first, second = (mechanism.log_density(each, data_of(parts), 1.0) for each in (one, other))
    matrix = dp.hermitian.as_complex(parts)
    wanted = float(np.vdot(one.array - other.array, matrix).real) / 2**32
    assert abs(wanted) > 0.1
    assert first - second == pytest.approx(wanted, rel=2.0**-10)
