"""Hermitian draws: their spectrum, their law against weighted invariant draws, and their floats against 50 digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from numpy.typing import NDArray
from scipy import stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_orbit import grid
from dpframe_orbit.hermitian import draw_hermitian
from dpframe_orbit.lift import eigenvectors
from dpframe_orbit.past import draw_pattern
from dpframe_orbit.pattern import Floats, Pattern

FALSE_ALARM = 1e-6
Complex = NDArray[np.complex128]


def random_of(seed: int) -> dp.Random:
    return seeded(seed)


def turned(gammas: Floats, seed: int = 0) -> tuple[Floats, Floats]:
    """A symmetric matrix with these eigenvalues, and its eigenvectors."""
    dim = len(gammas)
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim)))[0]
    return (basis * gammas) @ basis.T, basis


SPECTRA = {
    "one": [1.0, 0.0, 0.0, 0.0],
    "distinct": [1.0, 0.7, 0.2, 0.0],
    "projector": [1.0, 1.0, 0.0, 0.0],
    "all but one": [1.0, 1.0, 1.0, 0.0],
    "tied in the middle": [1.0, 0.5, 0.5, 0.5, 0.0, 0.0],
    "nearly tied": [1.0, 1.0 - 1e-9, 0.5, 0.5 - 1e-11, 0.0],
    "tiny": [1.0, 1e-11, 0.0, 0.0],
    "two": [1.0, 0.0],
    "large": [1.0] * 5 + [0.5] * 5 + [0.0] * 10,
}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("size", [0.0, 1.0, 1e3, 1e9])
def test_every_draw_is_hermitian_with_the_given_spectrum(name: str, size: float) -> None:
    spectrum = np.array(SPECTRA[name])
    target, _ = turned(size * np.linspace(1.0, 0.0, len(spectrum)))
    for seed in range(5):
        drawn = draw_hermitian(*np.linalg.eigh(target), spectrum, random_of(seed))
        assert np.abs(drawn - drawn.conj().T).max() < 1e-14
        assert np.abs(np.linalg.eigvalsh(drawn)[::-1] - spectrum).max() < 1e-10


def test_a_large_target_gives_its_own_eigenvectors() -> None:
    target, basis = turned(1e12 * np.array([4.0, 3.0, 2.0, 1.0]))
    spectrum = np.array([1.0, 0.7, 0.2, 0.0])
    drawn = draw_hermitian(*np.linalg.eigh(target), spectrum, random_of(1))
    assert np.abs(drawn - (basis * spectrum) @ basis.T).max() < 1e-5


# -- the whole law ---------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("spectrum", [[1.0, 0.6, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.4, 0.0], [1.0, 0, 0, 0]])
def test_moments_agree_with_weighted_invariant_draws(spectrum: list[float]) -> None:
    gammas, values = np.array([3.0, 1.5, 1.0, 0.0]), np.array(spectrum)
    target, basis = turned(gammas)
    root = random_of(4)
    count = 3000
    drawn = np.array(
        [basis.T @ draw_hermitian(*np.linalg.eigh(target), values, root.child(str(i))) @ basis for i in range(count)]
    )
    seen = features(drawn)
    unitary = invariant(4, 60_000, seed=1)
    reference = features(np.einsum("nij,j,nkj->nik", unitary, values, unitary.conj()))
    diagonal = reference[:4].T
    limit = stats.norm.isf(FALSE_ALARM / 2 / 4 / len(seen))

    def largest_surprise(strength: float) -> float:
        weights = np.exp(strength * (diagonal @ gammas))
        weights /= weights.sum()
        means = reference @ weights
        variance = ((reference - means[:, None]) ** 2) @ weights**2
        return float(np.max(np.abs(seen.mean(axis=1) - means) / np.sqrt(seen.var(axis=1) / count + variance)))

    assert len(seen) > 30
    assert largest_surprise(1.0) < limit
    assert largest_surprise(1.5) > limit


# -- floats against 50 digits ----------------------------------------------------------------------------------------


class Precise:
    """The same sampler on the same words, written from the formulas, with 50 digits."""

    def __init__(self, pattern: Pattern, rates: Floats, random: dp.Random, horizon: int) -> None:
        self.pattern, self.random = pattern, random
        self.dim, self.rank, size = pattern.dim, pattern.rank, pattern.size
        self.spectrum = [mpf(value) for value in pattern.spectrum.tolist()] + [mpf(0)] * self.rank
        self.rates = [mpf(rate) for rate in rates.tolist()]
        # x[j][m] for m ≤ min(j, rank), zero beyond; row d is the spectrum.
        self.x = [[mpf(0)] + self.spectrum[: min(j, self.rank)] + [mpf(0)] * 2 for j in range(self.dim + 1)]
        places = list(zip(pattern.rows.tolist(), pattern.columns.tolist(), strict=True))
        words = self._words("sweeps", (horizon - 1) * size).reshape(-1, size)
        for sweep in words[::-1]:
            for (j, m), word in zip(places, sweep.tolist(), strict=True):
                self.x[j][m] = self._drawn(*self._bounds(j, m), self.rates[j], word)
        words = self._words("last sweep", 512 * size).reshape(-1, size)
        for i, (j, m) in enumerate(places):
            low, high = self._bounds(j, m)
            least, most = self.spectrum[m - 1 + self.dim - j], self.spectrum[m - 1]
            for word in words[:, i].tolist():
                point = self._drawn(least, most, self.rates[j], word)
                if low <= point <= high:
                    self.x[j][m] = point
                    break
                least, most = (least, point) if point > high else (point, most)

    def _words(self, name: str, count: int) -> Any:
        return self.random.child(name).words(count)

    def _bounds(self, j: int, m: int) -> tuple[Any, Any]:
        low, high = self.x[j + 1][m + 1] if m < self.rank else mpf(0), self.x[j + 1][m]
        if m < j:
            low = max(low, self.x[j - 1][m])
        if m > 1:
            high = min(high, self.x[j - 1][m - 1])
        return low, high

    def _drawn(self, low: Any, high: Any, rate: Any, word: int) -> Any:
        """The x of density e^{rate·x} on [low, high] above which lies the share U of the mass."""
        u = (mpf(word) + mpf(1) / 2) / 2**64
        if rate == 0:
            return high - u * (high - low)
        return high + mp.log(1 - u * (1 - mp.exp(-rate * (high - low)))) / rate

    def hermitian(self) -> list[list[Any]]:
        """H by borders, with every product written out."""
        words = self._words("phases", self.dim * self.rank).reshape(self.dim, self.rank)
        vectors = [[mp.mpc(1)]]
        for j in range(2, self.dim + 1):
            before, after = min(j - 1, self.rank), min(j, self.rank)
            old = self.x[j - 1][1 : before + 1]
            new = [*self.x[j][1 : after + 1], *([mpf(0)] if after == before else [])]
            fixed = [self.spectrum[m] == self.spectrum[m + self.dim - j + 1] for m in range(before)]
            moving = [i for i in range(before) if not fixed[i]]
            others = [i for i in range(len(new)) if i >= before or not fixed[i]]
            weights = {}
            for i in moving:
                square = -mp.fprod(old[i] - new[m] for m in others)
                square /= mp.fprod(old[i] - old[m] for m in moving if m != i)
                signed = int(words[j - 1, i]) - (2**64 if int(words[j - 1, i]) >= 2**63 else 0)
                weights[i] = mp.sqrt(square) * mp.expjpi(2 * (mpf(signed) + mpf(1) / 2) / 2**64)
            grown = [[mp.mpc(0)] * after for _ in range(j)]
            for m in range(after):
                shares = {i: weights[i] / (new[m] - old[i]) for i in moving} if m in others else {m: mpf(1)}
                last = mpf(1) if m in others else mpf(0)
                norm = mp.sqrt(last + mp.fsum(abs(share) ** 2 for share in shares.values()))
                for row in range(j - 1):
                    grown[row][m] = mp.fsum(vectors[row][i] * share for i, share in shares.items()) / norm
                grown[j - 1][m] = last / norm
            vectors = grown
        return [
            [mp.fsum(a[m] * self.spectrum[m] * mp.conj(b[m]) for m in range(self.rank)) for b in vectors]
            for a in vectors
        ]


PRECISE: dict[str, tuple[list[float], list[float]]] = {
    "flat": ([0.0] * 6, [1.0, 0.8, 0.5, 0.2, 0.0, 0.0]),
    "moderate": ([30.0, 25.0, 20.0, 10.0, 5.0, 0.0], [1.0, 0.8, 0.5, 0.0, 0.0, 0.0]),
    "tied": ([3.0, 1.0, 0.5, 0.2, 0.0], [1.0, 1.0, 0.4, 0.4, 0.0]),
    "nearly tied": ([3.0, 1.0, 0.5, 0.2, 0.0], [1.0, 1.0 - 2.0**-30, 0.0, 0.0, 0.0]),
    "strong": ([3e6, 1e6, 5e5, 20.0, 10.0], [1.0, 0.6, 0.6, 0.0, 0.0]),
}


@pytest.mark.parametrize("name", PRECISE)
def test_floats_are_as_near_to_the_exact_draw_as_the_slack_assumes(name: str) -> None:
    gammas, spectrum = np.array(PRECISE[name][0]), np.array(PRECISE[name][1])
    pattern = Pattern.below(spectrum)
    rates = np.zeros(len(gammas) + 1)
    rates[1:-1] = -np.diff(gammas)
    errors = []
    with mp.workdps(50):
        for seed in range(6):
            random = random_of(seed)
            draw = draw_pattern(pattern, rates, random)
            vectors = eigenvectors(pattern, draw.depths, random)
            drawn = (vectors * spectrum[: pattern.rank]) @ vectors.conj().T
            exact = Precise(pattern, rates, random, draw.horizon).hermitian()
            for i, row in enumerate(exact):
                for j, entry in enumerate(row):
                    error = entry - mp.mpc(complex(drawn[i, j]))
                    errors.append((abs(float(error.real)) + abs(float(error.imag))) / 2)
    assert math.fsum(errors) / len(errors) < grid.error(len(gammas)) / 2
    assert max(errors) < 1e-14
