"""The one-pass algorithm as published: its parameters, its clip, its noise, and what it finds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import dpframe as dp
from dpframe_oja import OnePass
from dpframe_oja.statistic import start

FALSE_ALARM = 1e-6


def test_printed_parameters_by_hand() -> None:
    """n = 10,000, d = 25, λ = 2: ln(nd/0.01) = 17.034386, ln(n/δ) = 11.512925."""
    found = OnePass.published(rows=10_000, dim=25, largest=2.0, epsilon=0.5, delta=0.1, constant=0.2, step=1e-3)
    assert 0.2 * 2 * 5 * 18.034386 == pytest.approx(found.clip)
    assert 11.512925 / 50 == pytest.approx(found.multiplier)
    assert 50 / 11.512925 == pytest.approx(found.mu)


def test_what_a_row_adds_is_clipped_and_nothing_else() -> None:
    """Along w a row of length 3 adds 9 without a clip, and 2 with it; noise is 1e-12 of that."""
    w = start(4, seed=7)
    across = np.linalg.svd(w[None])[2][1]
    row = 3.0 * (w + across) / math.sqrt(2)
    for clip, length in ((100.0, 9 / math.sqrt(2)), (2.0, 2.0)):
        found = OnePass(clip=clip, multiplier=1e-13, step=0.5).direction(row[None], seed=7)
        expected = w + 0.5 * length * row / 3.0
        assert (expected / np.linalg.norm(expected)).tolist() == pytest.approx(found.tolist(), abs=1e-9)


def test_noise_has_the_stated_deviation_and_no_other() -> None:
    """One row of zeros: the direction is the start plus noise, whose part across the start is seen after scaling."""
    once = OnePass(clip=3.0, multiplier=0.25, step=1e-6)
    dim = 4000
    w, found = start(dim, seed=1), once.direction(np.zeros((1, dim)), seed=1)
    across = found / (found @ w) - w  # the length along the start is 1 to first order

    def accepts(deviation: float) -> bool:
        law, squares = stats.chi2(dim - 1), float(across @ across) / deviation**2
        return bool(2 * min(law.cdf(squares), law.sf(squares)) > FALSE_ALARM)

    stated = 1e-6 * 2 * 3.0 * 0.25
    assert accepts(stated)
    assert not accepts(1.2 * stated)
    assert not accepts(stated / 1.2)


def test_without_noise_one_pass_finds_the_direction() -> None:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((20_000, 5)) * [1.0, 4.0, 1.0, 1.0, 1.0]
    found = OnePass(clip=1e6, multiplier=1e-12, step=1e-4).direction(rows, seed=0)
    assert abs(found[1]) > 0.99


def test_every_row_is_used_once_in_a_random_order() -> None:
    """Large steps forget: the direction is that of the last row, which is not the last one given."""
    rows = 1e3 * np.eye(50)
    once = OnePass(clip=1e12, multiplier=1e-20, step=1.0)
    last = {int(np.abs(once.direction(rows, seed)).argmax()) for seed in range(30)}
    assert len(last) > 5  # of 50, thirty draws: fewer than six have a probability far below 1e-20


@pytest.mark.parametrize("name", ["clip", "multiplier", "step"])
def test_refusals(name: str) -> None:
    given = {"clip": 1.0, "multiplier": 1.0, "step": 1.0, name: 0.0}
    with pytest.raises(dp.PlanError, match=f"OnePass.{name} must be a finite number above 0"):
        OnePass(**given)
