"""Coupling from the past, which benchmarks compare with: it has the law of the direct draw."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp
from scipy import stats

import dpframe.plugin as dp
from benchmarks import coupling
from dpframe.noise import Keystream

FALSE_ALARM = 1e-6
GAMMAS, SPECTRUM, KAPPA = [4.0, 3.0, 1.5, 0.5, 0.0], [1.0, 0.5, 0.0, 0.0, 0.0], 8.0


def mean_and_variance(kappa: float) -> tuple[float, float]:
    """Of ⟨M, H⟩, by the integral of Harish-Chandra."""

    def log_partition(k: mp.mpf) -> mp.mpf:
        columns = [[mp.exp(k * g * x) for g in GAMMAS] for x in SPECTRUM[:2]]
        powers = [[mp.mpf(g) ** p for g in GAMMAS] for p in range(3)]
        return mp.log(abs(mp.det(mp.matrix(columns + powers)))) - 7 * mp.log(k)

    with mp.workdps(40):
        return float(mp.diff(log_partition, kappa)), float(mp.diff(log_partition, kappa, 2))


def test_the_score_has_the_mean_of_the_closed_form() -> None:
    rates, count = np.array([0.0, *(-np.diff(GAMMAS) * KAPPA).tolist(), 0.0]), 2000
    streams = (dp.Random(Keystream.insecure(seed)) for seed in range(count))
    sums = np.array([coupling.draw(np.array(SPECTRUM), rates, stream)[0].sum(axis=1) for stream in streams])
    found = float((np.diff(sums, axis=1) @ np.array(GAMMAS)).mean())
    limit = stats.norm.isf(FALSE_ALARM / 2)
    for kappa, right in ((KAPPA, True), (1.1 * KAPPA, False), (0.9 * KAPPA, False)):
        mean, variance = mean_and_variance(kappa)
        assert (abs(found - mean) / math.sqrt(variance / count) < limit) == right


def test_the_draw_does_not_depend_on_the_horizon() -> None:
    rates = np.array([0.0, 3.0, 2.0, 1.0, 0.0])
    first, horizon = coupling.draw(np.array([1.0, 1.0, 0.0, 0.0]), rates, dp.Random(Keystream.insecure(1)))
    for longer in (horizon + 7, 3 * horizon):
        again, _ = coupling.draw(np.array([1.0, 1.0, 0.0, 0.0]), rates, dp.Random(Keystream.insecure(1)), longer)
        assert first == pytest.approx(again, abs=1e-12)
