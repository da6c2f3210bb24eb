"""How large the noise is, against simulation; comparisons of a mean allow for six standard errors, 2e-9 each."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from dpframe_gaussian.noise import Noise
from dpframe_gaussian.target import Floats

SHAPES = {"goe": Noise(1.0, math.sqrt(0.5)), "triangular": Noise(1.0, 1.0), "diagonal": Noise(1.0, 0.1)}
DRAWS, BETAS, FALSE_ALARM = 4000, (0.5, 0.05, 0.005), 1e-9


@cache
def drawn(shape: str, dim: int) -> dict[str, Floats]:
    rng, noise = np.random.default_rng(dim), SHAPES[shape]
    upper = np.triu(rng.standard_normal((DRAWS, dim, dim)), 1) * noise.off_diagonal
    matrices = upper + upper.transpose(0, 2, 1) + np.eye(dim) * rng.standard_normal((DRAWS, 1, dim)) * noise.diagonal
    values = np.linalg.eigvalsh(matrices)
    return {
        "frobenius": np.sqrt(np.square(values).sum(axis=1)),
        "spectral": np.abs(values).max(axis=1),
        "spread": values[:, -1] - values[:, 0],
    }


@pytest.mark.parametrize("dim", [1, 2, 5, 20])
@pytest.mark.parametrize("shape", SHAPES)
def test_mean_squares_and_quantiles(shape: str, dim: int) -> None:
    noise = SHAPES[shape]
    for size, found in drawn(shape, dim).items():
        squares = np.square(found)
        doubt = 6 * float(squares.std()) / math.sqrt(DRAWS)
        bound = getattr(noise, size)(dim) ** 2
        assert bound >= squares.mean() - doubt
        assert size != "frobenius" or bound <= squares.mean() + doubt
        for beta in BETAS:
            beyond = int(np.count_nonzero(found > getattr(noise, f"{size}_quantile")(dim, beta)))
            assert binom.sf(beyond - 1, DRAWS, beta) > FALSE_ALARM


@pytest.mark.parametrize("dim", [5, 20])
def test_too_little_is_noticed(dim: int) -> None:
    """With half of its size, every bound is below the simulation."""
    half = Noise(0.5, math.sqrt(0.125))
    for size, found in drawn("goe", dim).items():
        assert getattr(half, size)(dim) ** 2 < np.square(found).mean()


@pytest.mark.parametrize("dim", [2, 20])
def test_a_motion_leaves_a_width_no_more_often(dim: int) -> None:
    """A walk of 50 steps that ends in the noise: its spread is above a width at some time."""
    rng, noise, walks = np.random.default_rng(dim), SHAPES["goe"], 400
    steps = rng.standard_normal((walks, 50, dim, dim)) / math.sqrt(50)
    values = np.linalg.eigvalsh(np.cumsum((steps + steps.transpose(0, 1, 3, 2)) / 2, axis=1))
    farthest = (values[:, :, -1] - values[:, :, 0]).max(axis=1)
    for beta in BETAS:
        width = noise.spread_quantile(dim, beta)
        assert beta == pytest.approx(noise.leaves(dim, width))
        assert binom.sf(int(np.count_nonzero(farthest > width)) - 1, walks, beta) > FALSE_ALARM


def test_the_share_of_an_unlikely_event() -> None:
    """E[‖N‖²; A] is largest for the event that ‖N‖ is large."""
    squares = np.sort(np.square(drawn("goe", 5)["spectral"]))[::-1]
    for probability in (1.0, 0.1, 0.01):
        share = squares[: int(probability * DRAWS)].sum() / DRAWS
        assert SHAPES["goe"].spectral_on(5, probability) ** 2 >= share
    assert 0.0 == SHAPES["goe"].spectral_on(5, 0.0)


def test_the_norm_along_the_motion_is_larger_than_printed() -> None:
    """[Re-Analyze Gauss: Lemma 4.3] at T = 1 and d = 100: B(1) = W + Wᵀ is GOE of scale 2, near 2√2√d in norm.

    60 draws are above 2√d + 7 more often than not, for which 0.0078 is printed; fewer than half has a chance of 1e-40.
    """
    rng, dim, beyond = np.random.default_rng(43), 100, 7.0
    draws = rng.standard_normal((60, dim, dim))
    norms = np.linalg.norm(draws + draws.transpose(0, 2, 1), 2, axis=(1, 2))
    printed = 2 * math.sqrt(math.pi) * math.exp(-(beyond**2) / 8)
    assert np.mean(norms > 2 * math.sqrt(dim) + beyond) > 0.5 > 60 * printed
    noise = Noise(2.0, math.sqrt(2))
    assert 2 * math.sqrt(2 * dim) == pytest.approx(noise.scale * noise.edge(dim))
    assert np.mean(norms) < 2 * math.sqrt(2 * dim) + 2 * math.sqrt(2 / math.pi)
    assert np.mean(norms > noise.spectral_quantile(dim, 1e-9)) == 0.0
