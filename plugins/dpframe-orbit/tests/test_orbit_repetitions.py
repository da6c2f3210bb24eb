"""How rarely a draw is repeated: the bound on close entries of a pattern, and what was seen at lower precision."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_orbit import direct
from dpframe_orbit.direct import Target, Work, draw_integers, draw_rows
from dpframe_orbit.lazy import LazyUniforms
from dpframe_orbit.theory import closeness_rate, repetition_bound

FALSE_ALARM = 1e-6


@pytest.mark.parametrize("rate", [1e-3, 1.0, 40.0, 1e4])
def test_close_entries_at_two_dimensions_are_as_rare_as_the_bound_and_no_rarer_than_a_third(rate: float) -> None:
    """There the one entry has a truncated exponential law."""
    bound = closeness_rate([rate, 0.0], [1.0, 0.0])
    for distance in (1e-9, 1e-6):
        share = -math.expm1(-rate * distance) / -math.expm1(-rate)
        assert bound * distance / 3 < share <= bound * distance


@pytest.mark.parametrize("spectrum", [[1.0, 0.5, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]], ids=str)
def test_differences_of_entries_are_rarely_smaller_than_the_bound_says(spectrum: list[float]) -> None:
    nodes, count, distance = [12.0, 7.0, 3.0, 0.0], 300, 0.002
    target = Target.of([Fraction(node) for node in nodes], np.array(spectrum))
    random, smallest = seeded(1), []
    for _ in range(count):
        rows = draw_rows(target, LazyUniforms(random, target.dim * target.rank, words=2), 40, Work())
        smallest.append([float(x - y) for above, below in pairwise(rows) for x, y in zip(above, below, strict=False)])
    found = np.array(smallest)
    moving = found.max(axis=0) > 0.0
    limit = closeness_rate(nodes, spectrum) * distance
    assert moving.any()
    assert limit < 0.5
    most = stats.binom.isf(FALSE_ALARM / found.shape[1], count, limit)
    assert (found[:, moving] < distance).sum(axis=0).max() <= most
    assert (found[:, moving] < 0.2).sum(axis=0).max() > most  # so that the comparison can fail


def test_the_bound_halves_with_each_bit_and_covers_the_figures_of_the_page() -> None:
    dim, rank = 200, 5
    nodes = np.concatenate([np.linspace(600, 200, rank), np.linspace(60, 40, dim - rank)])
    spectrum = np.where(np.arange(dim) < rank, 1.0, 0.0)
    bounds = [repetition_bound(nodes, spectrum, accuracy=bits) for bits in (96, 97, 128)]
    assert bounds[0] / bounds[1] == pytest.approx(2.0, rel=0.02)
    assert bounds[0] / bounds[2] == pytest.approx(2.0**32, rel=0.6)
    assert 1.0 == repetition_bound(nodes, spectrum, accuracy=40)


def repeated(dim: int, rank: int, draws: int, *, accuracy: int, spare: int) -> tuple[int, int]:
    """Of so many draws, those with rows drawn again, and those repeated as a whole; P + 4k + spare bits."""
    nodes = [Fraction(x) for x in np.linspace(600.0, 0.0, dim).tolist()]
    target = Target.of(nodes, np.array([*np.linspace(1.0, 0.5, rank), *[0.0] * (dim - rank)]))
    rows = whole = 0
    for seed in range(draws):
        work, precision = Work(), accuracy + 4 * rank + spare
        draw_integers(
            target, np.eye(dim), 1e-15, 16, seeded(seed), real=True, accuracy=accuracy, precision=precision, work=work
        )
        rows, whole = rows + (work.rows > 0), whole + (work.draws > 0)
    return rows, whole


def test_draws_are_repeated_at_fewer_bits_only() -> None:
    """Of P = 96 and 44 spare bits, 40 and 24 can go before any repetition is seen; with fewer still, all draws are."""
    assert repeated(10, 3, 6, accuracy=96, spare=-16)[0] == 6
    assert repeated(10, 3, 6, accuracy=36, spare=44)[1] == 6
    assert repeated(10, 3, 15, accuracy=96, spare=20) == (0, 0)
    assert repeated(10, 3, 15, accuracy=56, spare=44) == (0, 0)


def test_work_is_padded_to_public_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of looks, and of the terms in which all work for them is measured: the same for unlike spectra."""
    dim, rank, size = 16, 3, 384 * (3 + 5)
    kinds = ([0.0] * dim, np.linspace(60.0, 0.0, dim).tolist(), [600.0, 400.0, 200.0, *np.linspace(60.0, 40.0, 13)])

    def spent() -> list[Work]:
        found = []
        for nodes in kinds:
            target = Target.of([Fraction(x) for x in nodes], np.array([1.0] * rank + [0.0] * (dim - rank)))
            found.append(Work())
            draw_rows(target, LazyUniforms(seeded(1), dim * rank, words=3), 96, found[-1])
        return found

    entries = rank * (dim - rank)
    padded = spent()
    assert [4 * entries + 16] * 3 == [work.looks for work in padded]
    wanted = 384 * (37 + 4 * rank) * entries
    assert all(wanted <= work.terms < wanted + size for work in padded)
    monkeypatch.setattr(direct, "_pad", lambda *arguments: None)
    plain = spent()
    assert max(work.terms for work in plain) > 1.2 * min(work.terms for work in plain)
    assert len({work.looks for work in plain}) > 1


class Extreme(LazyUniforms):
    """Uniforms within 2⁻⁶⁴ of 0 or of 1, but for every third."""

    def __init__(self, random: dp.Random, count: int, *, words: int) -> None:
        super().__init__(random, count, words=words)
        self.first = self.first.copy()
        self.first[0::3, 0], self.first[1::3, 0] = 0, 2**64 - 1


@pytest.mark.parametrize("nodes", [[0.0] * 5, [40.0, 40.0, 9.0, 3.0, 0.0], [3000.0, 2000.0, 60.0, 50.0, 0.0]], ids=str)
@pytest.mark.parametrize("spectrum", [[1.0, 1.0, 0.0, 0.0, 0.0], [1.0, 0.6, 0.0, 0.0, 0.0]], ids=str)
def test_the_rarest_uniforms_give_the_integers_of_a_higher_precision(
    nodes: list[float], spectrum: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What random bits are most likely to get wrong: entries at the ends of their intervals, and close to others."""
    monkeypatch.setattr(direct, "LazyUniforms", Extreme)
    target = Target.of([Fraction(node) for node in nodes], np.array(spectrum))
    found = []
    for accuracy in (96, 384):
        work = Work()
        found.append(draw_integers(target, np.eye(5), 1e-15, 16, seeded(2), real=False, accuracy=accuracy, work=work))
        assert work.rows + work.draws > 0 or accuracy > 96
    for one, other in zip(*found, strict=True):
        assert one is not None
        assert np.array_equal(one, other)
