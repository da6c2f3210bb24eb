"""The proved error of rounds of blocks under the spiked model, against draws of rows and noise.

[Spiked covariance: Theorem 3.2 (components), Remark 1]. With η = 1e-9 the bounds fail with probability 8e-9 for
the rows of a data set and 3e-9 for the noise of a release, so that in 20 data sets and 60 releases none may: the false
alarm is 3.4e-7.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from dpframe_spiked.block_rate import Model


def rounds(model: Model, levels: tuple[float, ...], seed: int) -> list[float]:
    """The sines of the first release and of every round, for rows and noise drawn at random."""
    rng = np.random.default_rng(seed)
    p, r = model.dim, model.rank
    spikes = np.linspace(model.largest, model.smallest, r)
    scales = np.sqrt(np.append(spikes, np.zeros(p - r)) + model.noise)
    rows = rng.standard_normal((model.rows, p)) * scales
    moment = rows.T @ rows
    inside, outside = model.lengths
    assert np.linalg.norm(rows[:, :r], axis=1).max() <= inside
    assert np.linalg.norm(rows[:, r:], axis=1).max() <= outside
    found, basis = [], np.eye(p)
    noisy = moment + symmetric(rng, p, math.sqrt(2) * (inside**2 + outside**2) / levels[0])
    for mu in (*levels[1:], None):
        vectors = np.linalg.eigh(noisy)[1][:, ::-1]
        found.append(float(np.linalg.norm(vectors[r:, :r], 2)))
        if mu is None:
            break
        alpha, beta = model.radii(found[-1])
        basis = vectors  # the first r columns are the released basis
        seen = basis.T @ moment @ basis
        assert np.linalg.norm(rows @ basis[:, :r], axis=1).max() <= alpha
        assert np.linalg.norm(rows @ basis[:, r:], axis=1).max() <= beta
        seen[:r, :r] += symmetric(rng, r, 2 * math.sqrt(2) * alpha**2 / mu)
        seen[:r, r:] += rng.standard_normal((r, p - r)) * 2 * alpha * beta / mu
        residual = np.trace(seen[r:, r:]) + rng.standard_normal() * math.sqrt(2) * beta**2 / mu
        seen[r:, :r], seen[r:, r:] = seen[:r, r:].T, np.eye(p - r) * residual / (p - r)
        noisy = basis @ seen @ basis.T
    return found


def symmetric(rng: np.random.Generator, dim: int, scale: float) -> np.ndarray:
    draw = rng.standard_normal((dim, dim)) * scale
    return (draw + draw.T) / 2


@pytest.mark.parametrize(("largest", "stated"), [(100.0, 3.9), (300.0, 10.3)])
def test_no_round_is_farther_than_proved(largest: float, stated: float) -> None:
    """The least slack is what docs/explanation/spiked-block-rate.md states."""
    model = Model(dim=25, rows=8000, rank=2, smallest=100.0, largest=largest, noise=1.0, failure=1e-9)
    levels, slack = (2.0, 2.0, 2.0), []
    for seed in range(10):
        sines = rounds(model, levels, seed)
        slack.append(model.first(levels[0]) / sines[0])
        for before, after in itertools.pairwise(sines):
            slack.append(model.round(before, levels[1]) / after)
    assert min(slack) >= 1.0
    assert min(slack) == pytest.approx(stated, abs=0.05)


def test_rounds_lead_to_the_rate_of_the_paper_when_there_are_enough_rows() -> None:
    """Within a factor 4 of the rate, whose noise is that of √(σ²(λ+σ²)) p√(r + ln n) instead of λr + σ²p."""
    for dim, spike in ((200, 1000.0), (200, 50.0), (1000, 100.0)):
        for rows in (10**7, 10**8):
            model = Model(dim=dim, rows=rows, rank=5, smallest=spike, largest=spike, noise=1.0)
            sines = model.rounds((0.1, 0.1, 0.1, 0.1))
            assert sines[-1] <= 4 * model.rate(0.1)
            assert sines == sorted(sines, reverse=True)


def settings(enough: float) -> Iterator[tuple[Model, float, float]]:
    """Models with η = n⁻² that meet the conditions of docs/explanation/spiked-block-rate.md, with μ and the rate."""
    grid = itertools.product(
        (30, 200, 2000, 20_000), (1, 3, 10), (0.1, 1.0, 10.0, 1e4), (1e4, 1e6, 1e8, 1e10), (1.0, 100.0)
    )
    for p, r, spike, n, more in grid:
        log = r + math.log(n)
        within, beside = (spike + 1) * log, p
        if p >= max(log, 2 * r) and n >= enough * log and spike >= enough * (math.sqrt(p / n) + p / n):
            mu = more * enough * (within + beside) * math.sqrt(p) / (n * spike)
            model = Model(dim=p, rows=int(n), rank=r, smallest=spike, largest=spike, noise=1.0, failure=n**-2.0)
            yield model, mu, math.sqrt(spike + 1) / spike * (math.sqrt(p / n) + p * math.sqrt(log) / (n * mu))


def test_the_conditions_of_the_rate_suffice_with_explicit_constants() -> None:
    """C = 1000 and 60 times the rate; with C = 10 they do not."""
    checked = 0
    for model, mu, rate in settings(1000.0):
        assert model.first(mu) <= 0.25
        for sine in (0.25, 0.1, 0.01, 1e-3, 0.0):
            assert model.round(sine, mu) <= 60 * rate + sine / 2
            checked += 1
    assert checked > 300
    assert any(model.round(0.25, mu) > 60 * rate + 0.125 for model, mu, rate in settings(10.0))


def test_without_enough_rows_nothing_is_claimed() -> None:
    few = Model(dim=200, rows=2000, rank=5, smallest=1000.0, largest=1000.0, noise=1.0)
    assert [1.0, 1.0] == few.rounds((0.1, 0.1))
