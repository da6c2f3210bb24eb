"""The law of the direct draw against closed forms, quadrature and weighted invariant draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from numpy.typing import NDArray
from scipy import integrate, stats

from dpframe.testing import seeded
from dpframe_orbit.balls import Undecided
from dpframe_orbit.direct import Target, Work, draw_rows
from dpframe_orbit.frame import lift
from dpframe_orbit.lazy import LazyUniforms
from dpframe_orbit.row_law import RowLaw, strip_order

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]
FALSE_ALARM = 1e-6
ACCURACY = 40  # bits: nothing that these tests can see


def target_of(nodes: list[float], spectrum: list[float]) -> Target:
    return Target.of([Fraction(node) for node in nodes], np.array(spectrum))


def patterns(target: Target, count: int, seed: int) -> list[list[list[Any]]]:
    """Rows of so many patterns."""
    random = seeded(seed)
    places = target.dim * target.rank
    return [draw_rows(target, LazyUniforms(random, places, words=2), ACCURACY, Work()) for _ in range(count)]


def scores(target: Target, drawn: list[list[list[Any]]]) -> Floats:
    """⟨A, H⟩ for the nodes of the target: the diagonal of H is the differences of the sums of rows."""
    order = strip_order(target.dim, target.rank)
    nodes = np.array([float(target.nodes[i]) for i in order])
    sums = np.array([[float(sum(map(float, row))) for row in rows] + [0.0] for rows in drawn])
    found: Floats = -np.diff(sums, axis=1) @ nodes
    return found


# -- mean and variance of the score ------------------------------------------------------------------------------------


def log_partition(gammas: list[float], spectrum: list[float], kappa: Any) -> Any:
    """The logarithm of the Harish-Chandra–Itzykson–Zuber integral, up to a constant; tied eigenvalues included."""
    powers = [spectrum[:j].count(value) for j, value in enumerate(spectrum)]
    unequal = sum(a != b for i, a in enumerate(spectrum) for b in spectrum[:i])
    rows = [
        [mp.mpf(g) ** p * mp.exp(kappa * mp.mpf(g) * mp.mpf(v)) for v, p in zip(spectrum, powers, strict=True)]
        for g in gammas
    ]
    return mp.log(abs(mp.det(mp.matrix(rows)))) - unequal * mp.log(kappa)


def cumulants(gammas: list[float], spectrum: list[float], kappa: float) -> list[float]:
    """Mean, variance and the next two cumulants of ⟨M, H⟩ for the density exp(κ⟨M, H⟩)."""
    with mp.workdps(60):
        return [
            float(mp.diff(lambda k: log_partition(gammas, spectrum, k), mp.mpf(kappa), order)) for order in range(1, 5)
        ]


SETTINGS: dict[str, tuple[list[float], list[float], float]] = {
    "distinct, d=3": ([4.0, 2.0, 0.0], [1.0, 0.4, 0.0], 6.0),
    "all but one, d=3": ([4.0, 2.0, 0.0], [1.0, 1.0, 0.0], 5.0),
    "distinct, d=4": ([4.0, 2.5, 1.0, 0.0], [1.0, 0.7, 0.3, 0.0], 7.0),
    "projector, d=4": ([3.0, 2.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0], 5.0),
    "rank two, d=5": ([4.0, 3.0, 1.5, 0.5, 0.0], [1.0, 0.5, 0.0, 0.0, 0.0], 8.0),
    "tied and deficient, d=5": ([4.0, 3.0, 1.0, 0.5, 0.0], [1.0, 1.0, 0.4, 0.0, 0.0], 6.0),
    "full rank, d=5": ([4.0, 3.0, 1.0, 0.5, 0.0], [1.0, 0.8, 0.5, 0.2, 0.0], 6.0),
    "rank three, d=6": ([5.0, 4.0, 2.5, 1.0, 0.5, 0.0], [1.0, 0.7, 0.3, 0.0, 0.0, 0.0], 5.0),
    "tied in the middle, d=6": ([5.0, 4.0, 2.5, 1.0, 0.5, 0.0], [1.0, 0.5, 0.5, 0.5, 0.0, 0.0], 6.0),
    "through the complement, d=6": ([5.0, 4.0, 2.5, 1.0, 0.5, 0.0], [1.0, 1.0, 1.0, 1.0, 0.0, 0.0], 4.0),
    "two ties, d=7": ([6.0, 5.0, 3.0, 2.0, 1.0, 0.5, 0.0], [1.0, 1.0, 0.6, 0.6, 0.0, 0.0, 0.0], 4.0),
    "rank one, d=8": ([6.0, 5.0, 3.0, 2.5, 2.0, 1.0, 0.5, 0.0], [1.0] + [0.0] * 7, 4.0),
    "projector, d=8": ([6.0, 5.0, 3.0, 2.5, 2.0, 1.0, 0.5, 0.0], [1.0] * 3 + [0.0] * 5, 3.0),
}


def agrees(name: str, draws: int, off: float, seed: int) -> None:
    """Mean and variance are those of the closed form, and not those of a κ that is off by this share."""
    gammas, spectrum, kappa = SETTINGS[name]
    target = target_of([kappa * g for g in gammas], spectrum)
    drawn = scores(target, patterns(target, draws, seed)) / kappa
    trace = sum(spectrum)
    if target.flipped:  # ⟨γ_1 − M, I − H⟩ was computed
        drawn = drawn + trace * gammas[0] - len(gammas) * gammas[0] + sum(gammas)
    mean, variance, _, fourth = cumulants(gammas, spectrum, kappa)
    limit = stats.norm.isf(FALSE_ALARM / 4 / len(SETTINGS))

    def surprise(mean: float, variance: float) -> float:
        return abs(float(drawn.mean()) - mean) / math.sqrt(variance / draws)

    assert surprise(mean, variance) < limit
    squares = (drawn - mean) ** 2
    assert abs(float(squares.mean()) - variance) / math.sqrt((fourth + 2 * variance**2) / draws) < limit
    for wrong in (kappa * (1 - off), kappa * (1 + off)):
        assert surprise(*cumulants(gammas, spectrum, wrong)[:2]) > limit


def draws_needed(name: str, off: float) -> int:
    """Draws with which a κ that is off by this share is rejected, with a probability above 0.999 in all settings.

    It moves the mean by off·κ·variance, hence by off·κ·sd in units of the deviation, which the mean of n draws makes √n
    times as sharp; 8.2 deviations are the limit, 5.6, and more than 2.4 beyond it.
    """
    gammas, spectrum, kappa = SETTINGS[name]
    deviation = math.sqrt(min(cumulants(gammas, spectrum, kappa * (1 + side * off))[1] for side in (-1, 0, 1)))
    return math.ceil((9.9 / (off * kappa * deviation)) ** 2)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_score_has_its_mean_and_variance(name: str) -> None:
    agrees(name, draws_needed(name, 0.3), 0.3, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("name", SETTINGS)
def test_the_score_has_its_mean_and_variance_to_three_per_cent_of_kappa(name: str) -> None:
    agrees(name, draws_needed(name, 0.03), 0.03, seed=2)


def test_a_planted_inverted_exponent_is_found() -> None:
    """Draws of density exp(−κ⟨M, H⟩) have another mean than the closed form's, by far."""
    gammas, spectrum, kappa = SETTINGS["distinct, d=4"]
    wrong = target_of([-kappa * g for g in reversed(gammas)], spectrum)
    drawn = gammas[0] * sum(spectrum) - scores(wrong, patterns(wrong, 60, seed=1)) / kappa
    mean, variance = cumulants(gammas, spectrum, kappa)[:2]
    assert abs(float(drawn.mean()) - mean) / math.sqrt(variance / len(drawn)) > stats.norm.isf(FALSE_ALARM)


def test_a_planted_weight_of_stripping_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rate that is not that of the node: distribution functions no longer end at 1, and nothing is proved."""
    whole = RowLaw.__init__

    def planted(self: RowLaw, *arguments: Any) -> None:
        whole(self, *arguments)
        self.rate = self.rate * 0.9

    monkeypatch.setattr(RowLaw, "__init__", planted)
    with pytest.raises(Undecided):
        patterns(target_of([24.0, 12.0, 0.0], [1.0, 0.4, 0.0]), 1, seed=1)


def test_the_closed_form_of_a_single_eigenvalue() -> None:
    gammas, kappa = [3.0, 1.0, 0.0], 2.0

    def direct(k: Any) -> Any:
        return mp.log(sum(mp.exp(k * g) / mp.fprod(k * (g - h) for h in gammas if h != g) for g in gammas))

    with mp.workdps(40):
        expected = float(mp.diff(direct, kappa))
    assert expected == pytest.approx(cumulants(gammas, [1.0, 0.0, 0.0], kappa)[0], rel=1e-12)


# -- one eigenvalue ----------------------------------------------------------------------------------------------------


def cdf_of(density: Callable[[Floats], Floats]) -> Any:
    """The distribution function of an unnormalized density on [0, 1]."""
    points = np.linspace(0.0, 1.0, 20_001)
    mass = integrate.cumulative_simpson(density(points), x=points, initial=0.0)
    return lambda x: np.interp(x, points, mass / mass[-1])


@pytest.mark.parametrize("nodes", [[3.0, 0.0], [40.0, 0.0], [0.0, 0.0], [5.0, 2.0, 0.0], [9.0, 9.0, 0.0]], ids=str)
def test_the_first_row_of_a_single_eigenvalue(nodes: list[float]) -> None:
    """1 − |x_1|² for a complex Bingham direction x; without a tilt, the squares are uniform on the simplex."""
    spectrum = [1.0] + [0.0] * (len(nodes) - 1)
    target = target_of(nodes, spectrum)
    assert not target.flipped
    seen = np.array([float(rows[1][0]) for rows in patterns(target, 600, seed=3)])

    def law(scale: float) -> Any:
        first, others = nodes[0] * scale, [node * scale for node in nodes[1:]]

        def density(rest: Floats) -> Floats:
            tilt = others[0] - others[-1]
            inner = np.exp(others[-1] * rest)
            if len(others) == 2:
                inner = inner * (np.expm1(tilt * rest) / tilt if tilt else rest)
            return np.asarray(np.exp(first * (1.0 - rest)) * inner)

        return cdf_of(density)

    assert stats.kstest(seen, law(1.0)).pvalue > FALSE_ALARM
    wrong = law(3.0) if nodes[0] > nodes[1] else lambda x: x**0.6
    assert stats.kstest(seen, wrong).pvalue < FALSE_ALARM


# -- every entry of the pattern, by quadrature -------------------------------------------------------------------------


def below(nodes: list[float], spectrum: list[float], place: tuple[int, int], limit: float) -> float:
    """The integral over all patterns whose entry at this place, a row and a column, is at most ``limit``.

    From the density on the polytope alone, without a determinant: exp(w_s·(sum of row s)), w_s being the node that is
    stripped after row s less the one stripped before it. Gauss–Legendre rules on both sides of the limit.
    """
    dim, rank = len(nodes), sum(value > 0 for value in spectrum)
    order = strip_order(dim, rank)
    points, shares = np.polynomial.legendre.leggauss(6)
    upper = [np.array([value]) for value in spectrum[:rank]]
    weight = np.ones(1)
    for row in range(1, dim):
        tilt = nodes[order[row]] - nodes[order[row - 1]]
        above, upper = upper, []
        for column in range(min(rank, dim - row)):
            high = above[column]
            low = above[column + 1] if column + 1 < len(above) else np.zeros_like(high)
            middle = np.clip(limit, low, high)
            ends = [(low, middle)] if (row, column) == place else [(low, middle), (middle, high)]
            if row > place[0]:
                ends = [(low, high)]
            entry = np.concatenate([a[:, None] + (b - a)[:, None] * (points + 1) / 2 for a, b in ends], axis=1)
            size = np.concatenate([(b - a)[:, None] * shares / 2 for a, b in ends], axis=1)
            count = entry.shape[1]
            weight = (weight[:, None] * size * np.exp(tilt * entry)).ravel()
            above = [np.repeat(values, count) for values in above]
            upper = [np.repeat(values, count) for values in upper] + [entry.ravel()]
    return float(weight.sum())


@pytest.mark.parametrize(
    ("nodes", "spectrum"),
    [
        ([3.0, 1.2, 0.0], [1.0, 0.5, 0.0]),
        ([6.0, 3.5, 1.0, 0.0], [1.0, 0.4, 0.0, 0.0]),
        ([4.0, 4.0, 1.5, 0.0], [1.0, 0.75, 0.25, 0.0]),
    ],
    ids=str,
)
def test_every_entry_of_the_pattern_has_its_marginal_law(nodes: list[float], spectrum: list[float]) -> None:
    target = target_of(nodes, spectrum)
    drawn = patterns(target, 800, seed=4)
    places = [(row, column) for row in range(1, target.dim) for column in range(len(drawn[0][row]))]
    edges = [0.15, 0.3, 0.45, 0.6, 0.75, 0.9]
    worst = 1.0
    for row, column in places:
        seen = np.array([float(rows[row][column]) for rows in drawn])
        counts = np.histogram(seen, [-1.0, *edges, 2.0])[0]
        for scale, right in ((1.0, True), (3.0, False)):
            tilted = [scale * node for node in nodes]
            total = below(tilted, spectrum, (row, column), 1.0)
            shares = np.diff([0.0, *(below(tilted, spectrum, (row, column), edge) / total for edge in edges), 1.0])
            expected = shares * len(drawn)
            cells = expected > 5.0
            if cells.sum() < 2:
                continue
            statistic = float(((counts - expected)[cells] ** 2 / expected[cells]).sum())
            found = float(stats.chi2.sf(statistic, int(cells.sum()) - 1))
            if right:
                assert counts[~cells].sum() <= stats.poisson.isf(FALSE_ALARM, expected[~cells].sum() + 1e-9)
                assert found > FALSE_ALARM / len(places)
            else:
                worst = min(worst, found)
    assert worst < FALSE_ALARM / len(places)


# -- the whole matrix --------------------------------------------------------------------------------------------------


def invariant(dim: int, count: int, seed: int) -> Complex:
    """Unitary matrices of the invariant measure, by a library of its own."""
    rng = np.random.default_rng(seed)
    gauss = rng.standard_normal((count, dim, dim)) + 1j * rng.standard_normal((count, dim, dim))
    basis, triangle = np.linalg.qr(gauss)
    diagonal = np.einsum("nii->ni", triangle)
    unitary: Complex = basis * (diagonal / np.abs(diagonal))[:, None, :]
    return unitary


def features(drawn: Complex) -> Floats:
    """Thirty and more functions of a matrix that between them see its entries, phases and their products."""
    dim = drawn.shape[1]
    pairs = [(i, j) for i in range(dim) for j in range(i + 1, dim)]
    diagonal = np.einsum("nii->ni", drawn).real
    cycle = drawn[:, 0, 1] * drawn[:, 1, 2] * drawn[:, 2, 0]
    found = [diagonal[:, i] for i in range(dim)]
    found += [diagonal[:, i] * diagonal[:, j] for i, j in pairs]
    found += [diagonal[:, i] ** 2 for i in range(dim)]
    found += [np.abs(drawn[:, i, j]) ** 2 for i, j in pairs]
    found += [drawn[:, i, j].real for i, j in pairs] + [drawn[:, i, j].imag for i, j in pairs]
    found += [cycle.real, cycle.imag, np.abs(cycle) ** 2]
    return np.array(found)


def matrices(target: Target, count: int, seed: int) -> Complex:
    """H = YYᴴ in the basis of the nodes."""
    places, order = target.dim * target.rank, strip_order(target.dim, target.rank)
    random = seeded(seed)
    found: list[Complex] = []
    for rows in patterns(target, count, seed):
        frame = lift(
            rows,
            order,
            LazyUniforms(random.child(str(len(found))), places, words=2),
            error=places * 2.0**-ACCURACY,
            bits=ACCURACY + 64,
            precision=160,
        )
        parts = [np.array([[float(x) for x in row] for row in part]) for part in (frame.real, frame.imaginary)]
        Y = parts[0] + 1j * parts[1]
        found.append(Y @ Y.conj().T)
    return np.array(found)


@pytest.mark.parametrize("spectrum", [[1.0, 0.6, 0, 0], [1.0, 1.0, 0, 0], [1.0, 1.0, 0.4, 0], [1.0, 0, 0, 0]], ids=str)
def test_moments_agree_with_weighted_invariant_draws(spectrum: list[float]) -> None:
    nodes, count = [3.0, 1.5, 1.0, 0.0], 400
    target = target_of(nodes, spectrum)
    drawn = matrices(target, count, seed=5)
    if target.flipped:
        drawn = np.eye(4) - drawn[:, ::-1, ::-1]
    seen = features(drawn)
    unitary = invariant(4, 60_000, seed=1)
    reference = features(np.einsum("nij,j,nkj->nik", unitary, np.array(spectrum), unitary.conj()))
    limit = stats.norm.isf(FALSE_ALARM / 2 / 4 / len(seen))

    def largest_surprise(strength: float) -> float:
        weights = np.exp(strength * (reference[:4].T @ np.array(nodes)))
        weights /= weights.sum()
        means = reference @ weights
        variance = ((reference - means[:, None]) ** 2) @ weights**2
        return float(np.max(np.abs(seen.mean(axis=1) - means) / np.sqrt(seen.var(axis=1) / count + variance)))

    assert len(seen) > 30
    assert largest_surprise(1.0) < limit
    assert largest_surprise(3.0) > limit


@pytest.mark.parametrize(
    "spectrum", [[1.0, 0.6, 0.3, 0, 0, 0], [1.0, 1.0, 0.5, 0.5, 0.5, 0], [1.0, 0.5, 0, 0, 0, 0]], ids=str
)
def test_errors_do_not_grow_from_row_to_row(spectrum: list[float]) -> None:
    """For the same uniforms, two spectra 2⁻²⁰ apart give patterns no farther apart than that."""
    rng, apart = np.random.default_rng(3), 2.0**-20
    nodes = sorted(rng.uniform(0.0, 30.0, 6).tolist(), reverse=True)
    moves = []
    for seed in range(5):
        positive = sorted({value for value in spectrum if 0 < value < 1})
        moved = {value: value + apart * float(rng.integers(-8, 9)) / 8 for value in positive}
        others = [moved.get(value, value) for value in spectrum]
        one, other = (patterns(target_of(nodes, values), 1, seed)[0] for values in (spectrum, others))
        distances = [abs(float(x - y)) for a, b in zip(one, other, strict=True) for x, y in zip(a, b, strict=True)]
        assert max(distances) <= apart * (1 + 1e-6)
        moves.append(max(distances[len(one[0]) :]))
    assert max(moves) > 0.0
