"""The rounded difference of two Wishart matrices: exact integers, by every path, and the right law."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpframe.testing import seeded
from dpframe_laplace import wishart
from dpframe_laplace.wishart import rounded_wishart_difference

FALSE_ALARM = 1e-6
SCALES = [2.0**31, 2.0**51, 1.3 * 2.0**47, 1e4 / 3, 7.0, 1 / 3, 2.0**-60, 1e-300, 5e-324]
REFERENCE = 700  # bits


def reference(seed: int, scale: float, dim: int) -> list[list[int]]:
    """The same matrix from the same normals, in rational numbers."""
    z = seeded(seed).normals(2 * (dim + 1) * dim).scaled(REFERENCE).reshape(2, dim + 1, dim)
    unit = Fraction(scale) / 2 ** (2 * REFERENCE)

    def entry(i: int, j: int) -> int:
        total = sum(int(a) * int(b) for a, b in zip(z[0, :, i], z[0, :, j], strict=True))
        total -= sum(int(a) * int(b) for a, b in zip(z[1, :, i], z[1, :, j], strict=True))
        nearest: int = math.floor(total * unit + Fraction(1, 2))
        return nearest

    return [[entry(i, j) for j in range(dim)] for i in range(dim)]


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
@pytest.mark.parametrize("scale", SCALES)
def test_the_integers_are_those_of_rational_arithmetic(scale: float, dim: int) -> None:
    for seed in range(1 if dim == 7 else 6):
        assert reference(seed, scale, dim) == rounded_wishart_difference(seeded(seed), scale, dim).tolist()


def refinements(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    entries: list[tuple[int, int]] = []
    exact = wishart._refined

    def counted(normals: Any, scale: float, bits: int, dim: int, entry: tuple[int, int]) -> int:
        entries.append(entry)
        return exact(normals, scale, bits, dim, entry)

    monkeypatch.setattr(wishart, "_refined", counted)
    return entries


@pytest.mark.parametrize("guard", [-100, -20, 0, 5])
@pytest.mark.parametrize("more", [1, 7, 36])
def test_few_bits_at_first_give_the_same_integers(guard: int, more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [(2.0**31, 4), (2.0**31, 12), (2.0**47, 3), (9.7, 5), (1 / 7, 2)]
    expected = [rounded_wishart_difference(seeded(9), scale, dim).tolist() for scale, dim in cases]
    entries = refinements(monkeypatch)
    monkeypatch.setattr(wishart, "GUARD", guard)
    monkeypatch.setattr(wishart, "MORE", more)
    assert expected == [rounded_wishart_difference(seeded(9), scale, dim).tolist() for scale, dim in cases]
    assert len(entries) > (100 if guard <= 0 else 10)
    assert all(i <= j for i, j in entries)


def test_how_many_entries_need_more_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """About one in ten thousand; with eight bits less, 256 times as many."""
    entries = refinements(monkeypatch)
    rounded_wishart_difference(seeded(1), 2.0**31, 100)
    assert len(entries) <= 5050 / 1000
    entries.clear()
    monkeypatch.setattr(wishart, "GUARD", wishart.GUARD - 8)
    rounded_wishart_difference(seeded(1), 2.0**31, 100)
    assert 0.01 < len(entries) / 5050 < 0.1


def test_the_interval_holds_the_real_entry() -> None:
    for seed, bits in [(1, 6), (2, 20), (3, 45)]:
        normals = seeded(seed).normals(24)
        exact, rough = (normals.scaled(b).astype(object).reshape(8, 3) for b in (400, bits))
        ball = 8 * (2 * int(np.abs(rough).max()) + 1)
        signs = np.repeat([1, -1], 4)[:, None]
        real, sums = ((signs * each).T.dot(each) for each in (exact, rough))
        limbs, width = wishart._split(rough)
        assert sums.tolist() == wishart._sums(limbs, width, 0, 3).tolist()
        assert (np.abs(real - sums * 4 ** (400 - bits)) <= ball * 4 ** (400 - bits)).all()
        low, high = wishart._ends(sums, ball, 1e9, bits)
        nearest = [math.floor(Fraction(10**9 * int(value), 4**400) + Fraction(1, 2)) for value in real.ravel()]
        assert (low.ravel() <= nearest).all()
        assert (nearest <= high.ravel()).all()


@pytest.mark.parametrize("dim", [1, 5, 300])
def test_sums_of_limbs_are_exact_at_their_largest(dim: int) -> None:
    """Every limb at its largest size, and all terms of one sign."""
    width = (55 - (2 * (dim + 1)).bit_length()) // 2
    worst = sum(-(1 << width - 1) << width * place for place in range(3))
    values = np.full((2 * (dim + 1), 2), worst, dtype=object)
    limbs, found = wishart._split(values)
    assert width == found
    assert len(values) * 4 ** (width - 1) <= 2**53
    assert [-(2.0 ** (width - 1))] * 3 == [limb[0, 0] for limb in limbs]
    for i, half in enumerate((slice(0, dim + 1), slice(dim + 1, None))):
        one_sign = values.copy()
        one_sign[half] = 0
        expected = (dim + 1) * worst**2 * (-1 if i == 0 else 1)
        assert [[expected] * 2] * 2 == wishart._sums(*wishart._split(one_sign), 0, 2).tolist()


def test_blocks_of_rows_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rounded_wishart_difference(seeded(3), 2.0**40, 23)
    for entries in (1, 50, 160):
        monkeypatch.setattr(wishart, "ENTRIES", entries)
        assert whole.tolist() == rounded_wishart_difference(seeded(3), 2.0**40, 23).tolist()
    assert (whole == whole.T).all()


def test_matrices_beyond_64_bits_and_normals_that_all_round_to_zero() -> None:
    for scale in (2.0**58, 2.0**62, 2.0**200):
        wide = rounded_wishart_difference(seeded(1), scale, 4)
        assert reference(1, scale, 4) == wide.tolist()
    assert object == wide.dtype
    zeros = np.zeros((4, 1), np.int64)
    assert [[0]] == wishart._sums(*wishart._split(zeros), 0, 1).tolist()


def test_words_have_fixed_places() -> None:
    random = seeded(4)
    random.words(5)
    first = rounded_wishart_difference(random, 2.0**31, 6)
    assert 5 + 4 * 6 * 7 == random.tell()
    random.seek(5)
    assert first.tolist() == rounded_wishart_difference(random, 2.0**31, 6).tolist()


# The law. Tests are at a false-alarm rate of 1e-6, with seeds that are always the same.


def draws(scale: float, dim: int, trials: int, seed: int) -> NDArray[Any]:
    random = seeded(seed)
    return np.stack([rounded_wishart_difference(random, scale, dim) for _ in range(trials)])


def test_in_one_dimension_it_is_the_rounded_laplace_law() -> None:
    """A chi-squared variable of two degrees is twice an exponential one: a Laplace variable of twice the scale."""
    trials, scale = 12_000, 0.75
    samples = draws(scale, 1, trials, seed=1).ravel()
    edges = np.arange(-6, 7) + 0.5

    def p_value(assumed: float) -> float:
        below = np.concatenate([[0.0], stats.laplace.cdf(edges, scale=2 * assumed), [1.0]])
        counts = np.histogram(samples, bins=[-np.inf, *edges, np.inf])[0]
        return float(stats.chisquare(counts, trials * np.diff(below)).pvalue)

    assert p_value(scale) > FALSE_ALARM
    assert p_value(0.9 * scale) < FALSE_ALARM
    assert p_value(1.1 * scale) < FALSE_ALARM


def difference_p_value(samples: NDArray[Any], law: Any) -> float:
    """Whether samples are differences of two independent variables of a law, by the test of Kolmogorov and Smirnov."""
    second = law.ppf((np.arange(2000) + 0.5) / 2000)  # given the second one, the probability is that of the first
    grid = np.linspace(samples.min(), samples.max(), 1001)
    cdf = law.cdf(grid[:, None] + second).mean(axis=1)
    return float(stats.kstest(samples, lambda x: np.interp(x, grid, cdf)).pvalue)


def test_three_columns() -> None:
    """The laws of the trace, of entries, of their covariances, and of the cone; the rounding is far too fine to see."""
    threes = draws(2.0**31, 3, 10_000, seed=2) / 2.0**32
    check_trace(threes)
    check_covariances(threes)
    check_cone_and_directions(threes)


def check_trace(threes: NDArray[Any]) -> None:
    """The trace of ½GᵀG is a Gamma variable of D(D + 1)/2, and the noise is the difference of two."""
    shape = 6
    traces = np.trace(threes, axis1=1, axis2=2)
    assert difference_p_value(traces, stats.gamma(shape)) > FALSE_ALARM
    # The sum of the squares over many matrices, whose mean and variance follow from the cumulants of a Gamma variable.
    variance, fourth = 2 * shape, 2 * shape * 6
    for factor, accepted in [(1.0, True), (0.95, False), (1.05, False)]:
        z = (np.mean((factor * traces) ** 2) / variance - 1) / math.sqrt((2 + fourth / variance**2) / len(traces))
        assert accepted == (abs(z) < stats.norm.isf(FALSE_ALARM / 2)), (factor, z)


def check_covariances(threes: NDArray[Any]) -> None:
    i, j = np.triu_indices(3)
    entries = threes[:, i, j] / np.where(i == j, math.sqrt(4.0), math.sqrt(2.0))  # ½·√(4(D+1)), ½·√(2(D+1))
    largest = stats.norm.isf(FALSE_ALARM / 100)
    assert np.abs(entries.mean(axis=0)).max() * math.sqrt(len(entries)) < largest
    products = entries[:, :, None] * entries[:, None, :]
    off = (products.mean(axis=0) - np.eye(6)) / (products.std(axis=0) / math.sqrt(len(entries)))
    assert np.abs(off).max() < largest


def check_cone_and_directions(threes: NDArray[Any]) -> None:
    """N ⪰ 0 with probability 2^(−D(D+1)/2), since its density there is that of ½GᵀG times this number."""
    for matrices in (threes, -threes):
        positive = int((np.linalg.eigvalsh(matrices)[:, 0] > 0).sum())
        assert stats.binomtest(positive, len(matrices), 2.0**-6).pvalue > FALSE_ALARM
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    turned = np.einsum("ai,nij,bj->nab", turn, threes, turn)
    half = len(threes) // 2
    for a, b in [(0, 0), (1, 2), (2, 2)]:
        assert stats.ks_2samp(turned[:half, a, b], threes[half:, a, b]).pvalue > FALSE_ALARM


def test_diagonal_entries_of_large_matrices() -> None:
    """Differences of two chi-squared variables of D + 1 degrees, independent of each other: each has its own column."""
    dim, degrees = 60, 61
    samples = np.einsum("nii->ni", draws(2.0**31, dim, 320, seed=3) / 2.0**31).ravel()
    for factor, accepted in [(1.0, True), (0.95, False), (1.05, False)]:
        z = (np.mean((factor * samples) ** 2) / (4 * degrees) - 1) / math.sqrt((2 + 6 / degrees) / len(samples))
        assert accepted == (abs(z) < stats.norm.isf(FALSE_ALARM / 2)), (factor, z)
    assert difference_p_value(samples, stats.chi2(degrees)) > FALSE_ALARM
