"""Long runs of the samplers against their laws: too slow for every change, sharp enough for small errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpframe.noise import Keystream, Random

FALSE_ALARM = 1e-6
SAMPLES, BLOCK, BINS = 40_000_000, 2_000_000, 200
SCALE = 2.0**34

LAWS: dict[str, tuple[Callable[[Random], Callable[..., Any]], Any]] = {
    "gaussian": (lambda random: random.gaussian, stats.norm),
    "laplace": (lambda random: random.laplace, stats.laplace),
}


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
def test_forty_million_samples_follow_the_law_and_reject_a_scale_off_by_three_in_a_thousand(law: str) -> None:
    draw, reference = LAWS[law]
    random = Random(Keystream.insecure(2026))
    inner = np.linspace(0.0, 1.0, BINS + 1)[1:-1]
    edges = {factor: reference.ppf(inner) * SCALE * factor for factor in (1.0, 0.997, 1.003)}
    counts = {factor: np.zeros(BINS, dtype=np.int64) for factor in edges}
    low_bits = np.zeros(256, dtype=np.int64)
    for _ in range(SAMPLES // BLOCK):
        samples = draw(random)(SCALE, BLOCK)
        low_bits += np.bincount(samples & 255, minlength=256)
        for factor, bounds in edges.items():
            counts[factor] += np.bincount(np.searchsorted(bounds, samples), minlength=BINS)
    # Chi-square on equiprobable cells of 200,000 expected samples each: its law is exact to many digits.
    pvalues = {factor: float(stats.chisquare(found).pvalue) for factor, found in counts.items()}
    assert pvalues[1.0] > FALSE_ALARM
    assert pvalues[0.997] < FALSE_ALARM
    assert pvalues[1.003] < FALSE_ALARM
    assert float(stats.chisquare(low_bits).pvalue) > FALSE_ALARM
