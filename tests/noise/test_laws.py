"""The law of the samples, by tests with a false-alarm rate of at most 1e-6 each that also reject a scale 5 % off."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special

from dpframe.noise.keystream import Keystream
from tests.support.exact import CASES, FALSE_ALARM, Case, cdf_alarm, multinomial_alarm, size_alarm

each_law = pytest.mark.parametrize("case", CASES, ids=lambda case: case.law.draws)
WRONG = 1.05
SIZE = 400_000


def draw(case: Case, scale: float, seed: int = 7, size: int = SIZE) -> npt.NDArray[np.int64]:
    return case.draw(Keystream.insecure(seed), scale, size)


def binned_alarm(case: Case, scale: float, results: npt.NDArray[np.int64], edges: list[int]) -> float:
    counts = np.bincount(np.searchsorted(edges, results, side="right"), minlength=len(edges) + 1)
    return multinomial_alarm(counts, case.probabilities(scale, edges))


@each_law
@pytest.mark.parametrize("scale", [0.3, 1.0, 5.5])
def test_every_integer_has_its_probability(case: Case, scale: float) -> None:
    edges = list(range(-round(4 * scale) - 1, round(4 * scale) + 3))
    assert binned_alarm(case, scale, draw(case, scale), edges) > FALSE_ALARM
    assert binned_alarm(case, scale, draw(case, WRONG * scale), edges) < FALSE_ALARM
    assert binned_alarm(case, scale, draw(case, scale / WRONG), edges) < FALSE_ALARM
    rounded_up = draw(case, scale) + (draw(case, scale, 8) > 0)
    assert binned_alarm(case, scale, rounded_up, edges) < FALSE_ALARM


@each_law
@pytest.mark.parametrize("scale", [2.0**34, 2.0**41])
def test_wide_samples_follow_the_law(case: Case, scale: float) -> None:
    def alarms(results: npt.NDArray[np.int64]) -> list[float]:
        relative = results / scale  # the lattice, 2^-34 of the scale, is finer than any of the tests can see
        laplace = np.abs((relative > 0) - np.exp(-np.abs(relative)) / 2)
        uniform = special.ndtr(relative) if case is CASES[0] else laplace
        edges = [round(scale * step / 4) for step in range(-16, 17)]
        return [cdf_alarm(uniform), binned_alarm(case, scale, results, edges), size_alarm(case, relative)]

    assert min(alarms(draw(case, scale))) > FALSE_ALARM
    assert max(alarms(draw(case, WRONG * scale))) < FALSE_ALARM
    assert max(alarms(draw(case, scale / WRONG))) < FALSE_ALARM


@each_law
@pytest.mark.parametrize("scale", [2.0**34, 2.0**41])
def test_low_bits_and_sign_are_uniform(case: Case, scale: float) -> None:
    # At these scales every residue modulo 256 has probability 1/256 up to 2^-52, and zero has 2^-34.
    results = draw(case, scale, seed=9)
    low, sign = results & 255, (results > 0).astype(np.int64)
    half = np.full(2, 0.5)
    assert multinomial_alarm(np.bincount(low, minlength=256), np.full(256, 1 / 256)) > FALSE_ALARM
    assert multinomial_alarm(np.bincount(low & 1, minlength=2), half) > FALSE_ALARM
    assert multinomial_alarm(np.bincount(sign, minlength=2), half) > FALSE_ALARM
    assert multinomial_alarm(np.bincount(sign ^ (low & 1), minlength=2), half) > FALSE_ALARM
    rounded = results & ~1
    assert multinomial_alarm(np.bincount(rounded & 255, minlength=256), np.full(256, 1 / 256)) < FALSE_ALARM


def test_mean_of_the_gaussian() -> None:
    # The sum of n samples is normal, up to rounding: 5.0 standard deviations have a two-sided rate of 5.8e-7.
    relative = draw(CASES[0], 2.0**34, seed=10) / 2.0**34
    assert abs(relative.sum()) < 5.0 * SIZE**0.5
    assert abs((relative + 0.01).sum()) > 5.0 * SIZE**0.5


def test_neighboring_samples_are_unrelated() -> None:
    # Signs of products of neighbors: fair coins if the samples are independent. Rate at most 1e-6.
    for case in CASES:
        results = draw(case, 2.0**34, seed=12)
        sign = (results[::2] > 0) ^ (results[1::2] > 0)
        assert multinomial_alarm(np.bincount(sign, minlength=2), np.full(2, 0.5)) > FALSE_ALARM


def test_alarms_are_bounds() -> None:
    # Over 2000 uniform samples, no more than a tenth may raise an alarm of 0.1.
    rng = np.random.default_rng(1)
    counts = rng.multinomial(1000, [0.2, 0.3, 0.5], 2000)
    assert np.mean([multinomial_alarm(row, np.array([0.2, 0.3, 0.5])) < 0.1 for row in counts]) < 0.1
    assert np.mean([cdf_alarm(rng.random(200)) < 0.1 for _ in range(2000)]) < 0.13
