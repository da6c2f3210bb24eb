"""Coupling from the past against closed forms; its coupling, its last sweep and its keyed randomness."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from scipy import stats

from dpframe.testing import seeded
from dpframe_orbit.past import before_the_last_sweep, draw_pattern, last_sweep, next_horizon
from dpframe_orbit.pattern import Floats, Pattern

FALSE_ALARM = 1e-6


def rates_of(gammas: Floats | list[float]) -> Floats:
    rates = np.zeros(len(gammas) + 1)
    rates[1:-1] = -np.diff(gammas)
    return rates


def score(pattern: Pattern, depths: Floats, gammas: Floats) -> float:
    """⟨diag(gammas), H⟩: the diagonal of H is the differences of the sums of rows."""
    rank = pattern.rank
    sums = [pattern.spectrum[: min(j, rank)].sum() - depths[j, 1 : min(j, rank) + 1].sum() for j in range(pattern.dim)]
    return float(np.diff([*sums, pattern.spectrum.sum()]) @ gammas)


# -- closed forms ----------------------------------------------------------------------------------------------------


def log_partition(gammas: Floats, spectrum: list[float], kappa: Any) -> Any:
    """The logarithm of the Harish-Chandra–Itzykson–Zuber integral, up to a constant, tied eigenvalues included."""
    dim = len(gammas)
    powers = [spectrum[:j].count(value) for j, value in enumerate(spectrum)]
    unequal = sum(a != b for i, a in enumerate(spectrum) for b in spectrum[:i])
    entries = [
        [
            mp.mpf(g) ** power * mp.exp(kappa * mp.mpf(g) * mp.mpf(value))
            for value, power in zip(spectrum, powers, strict=True)
        ]
        for g in gammas.tolist()
    ]
    return mp.log(abs(mp.det(mp.matrix(dim, dim) + mp.matrix(entries)))) - unequal * mp.log(kappa)


def cumulants(gammas: Floats, spectrum: list[float], kappa: float) -> list[float]:
    """Mean, variance and the next two cumulants of ⟨M, H⟩ for the density exp(κ⟨M, H⟩)."""
    with mp.workdps(60):
        return [
            float(mp.diff(lambda k: log_partition(gammas, spectrum, k), mp.mpf(kappa), order)) for order in range(1, 5)
        ]


# Draws: a shift of κ by 3 % moves the mean by 0.03·κ·sd of itself in units of sd; 8/(0.03·κ·sd) squared draws show it
# with a probability above 0.99 at this false-alarm rate.
SETTINGS: dict[str, tuple[list[float], list[float], float]] = {
    "distinct, d=3": ([4.0, 2.0, 0.0], [1.0, 0.4, 0.0], 6.0),
    "distinct, d=4": ([4.0, 2.5, 1.0, 0.0], [1.0, 0.7, 0.3, 0.0], 7.0),
    "projector, d=4": ([3.0, 2.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0], 5.0),
    "rank two, d=5": ([4.0, 3.0, 1.5, 0.5, 0.0], [1.0, 0.5, 0.0, 0.0, 0.0], 8.0),
    "tied and deficient, d=5": ([4.0, 3.0, 1.0, 0.5, 0.0], [1.0, 1.0, 0.4, 0.0, 0.0], 6.0),
    "rank three, d=6": ([5.0, 4.0, 2.5, 1.0, 0.5, 0.0], [1.0, 0.7, 0.3, 0.0, 0.0, 0.0], 5.0),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_mean_and_variance_of_the_score_are_those_of_the_closed_form(name: str) -> None:
    gammas, spectrum, kappa = np.array(SETTINGS[name][0]), SETTINGS[name][1], SETTINGS[name][2]
    mean, variance, _, fourth = cumulants(gammas, spectrum, kappa)
    draws = math.ceil((8.0 / (0.03 * kappa * math.sqrt(variance))) ** 2)
    pattern = Pattern.below(np.array(spectrum))
    root = seeded(1)
    rates = rates_of(kappa * gammas)
    scores = np.array(
        [score(pattern, draw_pattern(pattern, rates, root.child(str(i))).depths, gammas) for i in range(draws)]
    )
    limit = stats.norm.isf(FALSE_ALARM / (4 * len(SETTINGS)))  # of mean and variance in all settings, two-sided

    def surprise(expected: float, spread: float) -> float:
        return float(abs(scores.mean() - expected) / math.sqrt(spread / draws))

    assert surprise(mean, variance) < limit
    centered = (scores - mean) ** 2
    assert abs(centered.mean() - variance) / math.sqrt((fourth + 2 * variance**2) / draws) < limit
    for wrong in (0.97 * kappa, 1.03 * kappa):
        assert surprise(*cumulants(gammas, spectrum, wrong)[:2]) > limit


def test_the_closed_form_of_a_single_eigenvalue() -> None:
    gammas, kappa = np.array([3.0, 1.0, 0.0]), 2.0

    def direct(k: Any) -> Any:
        return mp.log(
            sum(mp.exp(k * g) / mp.fprod(k * (g - h) for h in gammas.tolist() if h != g) for g in gammas.tolist())
        )

    with mp.workdps(40):
        expected = float(mp.diff(direct, kappa))
    assert expected == pytest.approx(cumulants(gammas, [1.0, 0.0, 0.0], kappa)[0], rel=1e-12)


# -- patterns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spectrum", "free"),
    [
        ([1.0, 0.0], 1),
        ([1.0, 0.6, 0.0], 3),
        ([1.0, 1.0, 0.0, 0.0], 4),
        ([1.0, 1.0, 1.0, 1.0, 0.0], 4),
        ([1.0, 0.5, 0.5, 0.5, 0.0], 7),
        ([1.0, 0.8, 0.6, 0.4, 0.2, 0.0], 15),
    ],
)
def test_as_many_entries_are_free_as_the_orbit_has_complex_dimensions(spectrum: list[float], free: int) -> None:
    unequal = sum(a != b for i, a in enumerate(spectrum) for b in spectrum[:i])
    assert free == Pattern.below(np.array(spectrum)).size == unequal


def interlaces(pattern: Pattern, depths: Floats) -> bool:
    padded = np.append(pattern.spectrum[: pattern.rank], 0.0)
    for j in range(1, pattern.dim):
        row, above = (padded - depths[i, 1:] for i in (j, j + 1))
        count = min(j, pattern.rank)
        if (row[:count] > above[:count] + 1e-15).any() or (row[:count] < above[1 : count + 1] - 1e-15).any():
            return False
    return True


@pytest.mark.parametrize("spectrum", [[1.0, 0.6, 0.3, 0.0, 0.0], [1.0, 1.0, 0.5, 0.5, 0.0]])
def test_every_start_stays_between_the_extremes_and_interlaces(spectrum: list[float]) -> None:
    from dpframe_orbit.sweeps import monotone

    pattern = Pattern.below(np.array(spectrum))
    rates = rates_of([6.0, 3.0, 2.0, 1.0, 0.0])
    root = seeded(3)
    low, high = pattern.shallowest(), pattern.deepest()
    middle = draw_pattern(pattern, rates, root.child("start")).depths
    for _ in range(100):
        words = root.words(pattern.size).reshape(1, -1)
        for depths in (low, middle, high):
            monotone(depths, pattern.chain(rates), words)
            assert interlaces(pattern, depths)
        assert (low <= middle + 1e-15).all()
        assert (middle <= high + 1e-15).all()


# -- one coordinate --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.0, 1e-9, 0.7, 30.0, 1e5])
def test_the_update_of_one_entry_has_the_truncated_exponential_law(rate: float) -> None:
    from dpframe_orbit.sweeps import depth

    words = seeded(5).words(20_000)
    low, width = 0.25, 0.5
    found = np.array([depth(low, low + width, rate, word) for word in words])

    def law(tilt: float) -> Any:
        return lambda y: np.expm1(-tilt * (y - low)) / math.expm1(-tilt * width) if tilt else (y - low) / width

    assert stats.kstest(found, law(rate)).pvalue > FALSE_ALARM
    assert stats.kstest(found, law(rate * 1.2 + 0.5)).pvalue < FALSE_ALARM


@pytest.mark.parametrize("tilt", [0.0, 1e-12, 1e-4, 0.0039, 0.00391, 0.5, 0.99, 1.01, 20.0, 700.0])
def test_the_update_of_one_entry_is_computed_to_the_last_digits(tilt: float) -> None:
    from dpframe_orbit.sweeps import depth

    words = [0, 1, 2**40, 2**60, 2**63, 2**63 + 2**61, 2**64 - 2**50, 2**64 - 1]
    words += seeded(8).words(200).tolist()
    width = 0.25
    with mp.workdps(50):
        for word in words:
            u, rate = (mp.mpf(word) + 0.5) / 2**64, mp.mpf(tilt / width)
            exact = -mp.log(1 - u * (1 - mp.exp(-rate * width))) / rate if tilt else u * width
            assert float(exact) == pytest.approx(depth(0.0, width, tilt / width, np.uint64(word)), rel=6e-16, abs=0.0)


def test_uniforms_reach_both_ends_with_relative_precision() -> None:
    from dpframe_orbit.sweeps import depth

    first, last = np.uint64(0), np.uint64(2**64 - 1)
    assert depth(0.0, 1.0, 0.0, first) == 2.0**-65
    assert depth(0.0, math.inf, 1.0, first) == pytest.approx(2.0**-65)
    assert depth(0.0, 1e9, 1.0, last) == pytest.approx(65 * math.log(2))
    assert depth(0.3, 0.3, 1.0, last) == 0.3
    assert depth(0.0, 1.0, 5.0, last) <= 1.0


# -- the last sweep --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.0, 4.0, 60.0])
def test_the_last_sweep_disagrees_as_often_as_overlap_and_hull_say(rate: float) -> None:
    """Two patterns 1e-3 apart; entry (1, 1) is the first of the sweep, and once it agrees everything does."""
    from dpframe_orbit.sweeps import AGREED, MORE, coalescing

    pattern = Pattern.below(np.array([1.0, 0.6, 0.0]))
    first = pattern.shallowest()
    first[2, 1:3] = 0.10, 0.05  # x_{1,1} lies between x_{2,2} = 0.55 and x_{2,1} = 0.90
    second = first.copy()
    second[2, 1:3] += 1e-3
    rates = np.array([0.0, rate, 0.0, 0.0])
    lows, highs = (0.10, 0.101), (0.45, 0.451)  # depths 1 − x of entry (1, 1)

    def mass(low: float, high: float) -> float:
        return high - low if rate == 0.0 else (math.exp(-rate * low) - math.exp(-rate * high)) / rate

    predicted = 1.0 - mass(max(lows), min(highs)) / mass(min(lows), max(highs))
    chain = pattern.chain(rates)
    trials, levels = 150_000, 128
    stream = seeded(11)
    outcomes = []
    for _ in range(trials // 1000):
        for words in stream.words(1000 * levels * 3).reshape(1000, levels, 3):
            one, other = first.copy(), second.copy()
            outcomes.append(coalescing(one, other, chain, words))
            assert outcomes[-1] != AGREED or np.array_equal(one, other)
    assert MORE not in outcomes
    disagreed = sum(outcome != AGREED for outcome in outcomes)

    def accepts(probability: float) -> bool:
        return bool(stats.binomtest(disagreed, len(outcomes), probability).pvalue > FALSE_ALARM / 3)

    assert accepts(predicted)
    assert not accepts(predicted * 1.5)
    assert not accepts(predicted / 1.5)


@pytest.mark.parametrize("rate", [0.0, 9.0])
def test_the_coalescing_update_has_the_law_of_the_monotone_one(rate: float) -> None:
    from dpframe_orbit.sweeps import coalescing

    pattern = Pattern.below(np.array([1.0, 0.6, 0.0]))
    start = pattern.shallowest()
    start[2, 1:3] = 0.10, 0.05
    chain = pattern.chain(np.array([0.0, rate, 0.0, 0.0]))
    stream, found = seeded(12), []
    for words in stream.words(20_000 * 64 * 3).reshape(20_000, 64, 3):
        depths, copy = start.copy(), start.copy()
        coalescing(depths, copy, chain, words)
        found.append(depths[1, 1])

    def law(tilt: float) -> Any:
        return lambda y: np.expm1(-tilt * (y - 0.1)) / math.expm1(-tilt * 0.35) if tilt else (y - 0.1) / 0.35

    assert stats.kstest(found, law(rate)).pvalue > FALSE_ALARM
    assert stats.kstest(found, law(rate + 0.7)).pvalue < FALSE_ALARM


def test_a_sweep_that_runs_out_of_uniforms_reads_more_of_the_same() -> None:
    pattern = Pattern.below(np.array([1.0, 0.0, 0.0]))
    rates = np.array([0.0, 5000.0, 0.0, 0.0])
    deep = pattern.shallowest()
    deep[2, 1] = 0.2  # 1000 scales from the end of the range: a thousand points fall outside before one does not
    assert last_sweep(pattern, rates, seeded(1), deep, deep.copy()) is not None


# -- keyed randomness ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spectrum", [[1.0, 0.6, 0.3, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0, 0.0]])
def test_the_draw_is_the_same_for_every_horizon(spectrum: list[float]) -> None:
    pattern = Pattern.below(np.array(spectrum))
    rates = rates_of([6.0, 3.0, 2.0, 1.0, 0.0])
    for seed in range(20):
        random = seeded(seed)
        draws = [draw_pattern(pattern, rates, random, horizon=first) for first in (4, 32, 333, 5000)]
        assert 5000 == draws[-1].horizon > draws[0].horizon
        for draw in draws[1:]:
            assert np.array_equal(draws[0].depths, draw.depths)


def test_sweeps_at_the_same_time_use_the_same_uniforms_whatever_the_horizon() -> None:
    from dpframe_orbit.sweeps import monotone

    pattern, rates = Pattern.below(np.array([1.0, 0.5, 0.0, 0.0])), rates_of([2.0, 1.5, 1.0, 0.0])
    random = seeded(2)
    longer, _ = before_the_last_sweep(pattern, rates, random, 40)
    uniforms = random.child("sweeps")
    uniforms.seek(0)
    words = uniforms.words(39 * pattern.size).reshape(39, pattern.size)  # row t − 2 belongs to time −t
    by_hand = pattern.shallowest()
    for part in (words[20:], words[:20]):
        monotone(by_hand, pattern.chain(rates), part)
    assert np.array_equal(by_hand, longer)


def test_draws_of_different_streams_differ_and_of_the_same_stream_do_not() -> None:
    pattern, rates = Pattern.below(np.array([1.0, 0.5, 0.0, 0.0])), rates_of([2.0, 1.5, 1.0, 0.0])
    first, again, other = (draw_pattern(pattern, rates, seeded(s)).depths for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_next_horizon_grows_with_what_is_left_of_the_distance() -> None:
    pattern = Pattern.below(np.array([1.0, 0.5, 0.0, 0.0]))
    shallow = pattern.shallowest()
    near, far = shallow + 1e-6, pattern.deepest()
    chain = pattern.chain(np.zeros(5))
    assert 100 < next_horizon(chain, 100, shallow, near) < next_horizon(chain, 100, shallow, far) <= 801


# -- installation ----------------------------------------------------------------------------------------------------

SCRIPT = """
import numpy as np, dpframe as dp
from dpframe.testing import seeded
from dpframe_orbit.hermitian import draw_hermitian
draw = draw_hermitian(*np.linalg.eigh(np.diag([3.0, 2.0, 1.0])), np.array([1.0, 0.5, 0.0]), seeded(1))
print(draw.shape)
"""


def test_it_works_where_nothing_can_be_written(tmp_path: Path) -> None:
    """No cache directory that can be made: the code is compiled anew and nothing fails."""
    taken = tmp_path / "taken"
    taken.write_text("")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(taken / "cache"), "HOME": str(taken)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert ("(3, 3)\n", 0) == (done.stdout, done.returncode), done.stderr


def test_looking_up_the_plugin_compiles_nothing() -> None:
    code = "import dpframe, sys; dpframe.release('x', 'orbit', spectrum=[1.0]); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "False\n" == done.stdout
