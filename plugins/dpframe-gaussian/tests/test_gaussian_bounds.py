"""Forecasts and bounds against simulation: random spectra, with noise of scale 1 in the basis of eigenvectors.

A mean of squares is estimated by what it is to first order, known exactly, plus the mean of the difference on the same
draws, which is small where gaps are large. Comparisons allow for DEVIATIONS standard errors; with some 1000 of them,
the false-alarm rate is below 1e-6 for the whole file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import attrs
import numpy as np
import pytest
from scipy.stats import binom

from dpframe_gaussian import dyson, first_order, gap_free
from dpframe_gaussian.noise import Noise
from dpframe_gaussian.target import Floats, Target

GOE = Noise(1.0, math.sqrt(0.5))
DEVIATIONS = 6.2
FALSE_ALARM = 1e-9  # of each comparison of a count
BETA = 0.05
KINDS = ("subspace", "rank-k", "spectrum")
WIDE = 15.0  # gaps of this many s√d, from which on bounds must be close
SPECTRA = 30  # of each kind


@attrs.frozen(eq=False)
class Case:
    """A target, how large its smallest gap is in units of s√d, and simulated squared errors."""

    target: Target
    factor: float
    squares: Floats
    first: Floats

    @property
    def mean(self) -> float:
        exact = self.target.sensitivity().squares
        return exact + float(np.mean(self.squares - self.first))

    @property
    def doubt(self) -> float:
        return DEVIATIONS * float(np.std(self.squares - self.first)) / math.sqrt(len(self.squares))


def made_up(kind: str, rng: np.random.Generator) -> tuple[Target, float]:
    """A target of a random spectrum whose smallest gap that matters is known."""
    dim = int(rng.choice([5, 6, 8, 12, 20, 40, 80]))
    k = int(rng.integers(1, min(10, dim - 1) + 1))
    factor = float(np.exp(rng.uniform(math.log(2), math.log(100))))
    least = factor * math.sqrt(dim)
    if kind == "spectrum":
        wanted = np.sort(rng.choice([1.0, 2.0, 3.0, 5.0, 8.0], k))[::-1]
        matters = np.append(wanted[:-1] > wanted[1:], True)
        matters = np.pad(matters, (0, dim - 1 - k))
    else:
        matters = np.arange(1, dim) == k
    others = least * rng.exponential(size=dim - 1) * rng.integers(0, 2, dim - 1)  # some are zero
    wide = least * (1 + rng.exponential(size=dim - 1) * rng.integers(0, 2))
    gaps = np.where(matters, wide, others)
    gaps[rng.choice(np.flatnonzero(matters))] = least
    last = least * rng.exponential() * rng.integers(0, 2)
    sigma = last + np.append(np.cumsum(gaps[::-1])[::-1], 0.0)
    if kind == "subspace":
        return Target.subspace(sigma, k), factor
    if kind == "rank-k":
        return Target.rank_k(sigma, k), factor
    return Target.with_spectrum(sigma, wanted), factor


def simulated(target: Target, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Squared errors, and the same to first order."""
    k, sigma = target.k, target.eigenvalues
    noise = rng.standard_normal((draws, target.dim, target.dim))
    noise = (noise + noise.transpose(0, 2, 1)) / 2
    found, vectors = np.linalg.eigh(np.diag(sigma) + noise)
    overlaps = np.square(vectors[:, :k, ::-1][:, :, :k])  # of true eigenvector i with noisy eigenvector j
    true = target.values[:k]
    noisy = np.maximum(found[:, ::-1][:, :k], 0.0) if target.kept else np.tile(true, (draws, 1))
    products = np.einsum("i,nij,nj->n", true, overlaps, noisy)
    squares = np.square(true).sum() + np.square(noisy).sum(axis=1) - 2 * products
    with np.errstate(divide="ignore", invalid="ignore"):
        falls = sigma if target.kept else target.values
        slopes = (falls[:k, None] - np.where(np.arange(target.dim) < k, falls, 0.0)) / (sigma[:k, None] - sigma)
    if target.kept:
        slopes[:, :k] = 1.0
    slopes = np.nan_to_num(slopes, nan=0.0)
    weights = np.ones((k, target.dim))
    weights[:, k:] = 2.0
    first = np.einsum("ij,nij->n", weights * slopes**2, np.square(noise[:, :k, :]))
    return squares, first


@cache
def cases(kind: str) -> tuple[Case, ...]:
    rng = np.random.default_rng([17, KINDS.index(kind)])
    found = []
    for _ in range(SPECTRA):
        target, factor = made_up(kind, rng)
        draws = int(np.clip(2e6 / target.dim**2.5, 60, 3000))
        found.append(Case(target, factor, *simulated(target, draws, rng)))
    return tuple(found)


def too_small(kind: str, bound: Callable[[Target], float | None]) -> int:
    """How many root mean squares are above a bound, beyond doubt."""
    values = [(case, bound(case.target)) for case in cases(kind)]
    return sum(value is not None and value**2 < case.mean - case.doubt for case, value in values)


def motion(target: Target, noise: Noise = GOE) -> float | None:
    stays = dyson.stays(target, noise)
    return min(dyson.mean(stays), gap_free.largest(target, noise)) if stays else None


def concentrated(target: Target) -> float | None:
    found = dyson.concentrated(dyson.stays(target, GOE), GOE, BETA)
    return None if found is None else min(found, gap_free.largest_quantile(target, GOE, BETA))


def markov(target: Target) -> float | None:
    mean = motion(target)
    return None if mean is None else min(dyson.markov(mean, BETA), gap_free.largest_quantile(target, GOE, BETA))


def davis_kahan(target: Target) -> float | None:
    return gap_free.davis_kahan_quantile(target, GOE, BETA)


PROVED: dict[str, Callable[[Target], float | None]] = {
    "dyson": motion,
    "Davis–Kahan": lambda target: gap_free.davis_kahan(target, GOE),
    "Hoffman–Wielandt": lambda target: gap_free.hoffman_wielandt(target, GOE),
    "largest": lambda target: gap_free.largest(target, GOE),
}


@pytest.mark.parametrize("kind", KINDS)
def test_proved_bounds_are_never_below_simulation(kind: str) -> None:
    assert dict.fromkeys(PROVED, 0) == {name: too_small(kind, bound) for name, bound in PROVED.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_where_gaps_are_wide_bounds_are_close_and_forecasts_closer(kind: str) -> None:
    wide = [case for case in cases(kind) if case.factor >= WIDE]
    assert len(wide) >= 5
    for case in wide:
        bound = motion(case.target)
        assert bound is not None
        assert bound**2 <= 3 * (case.mean + case.doubt)
        slack = case.doubt / case.mean / 2  # in the root
        assert 1 == pytest.approx(first_order.forecast(case.target, GOE) / math.sqrt(case.mean), abs=0.05 + slack)
        assert slack < 0.02


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_with_a_confidence_are_exceeded_no_more_often(kind: str) -> None:
    checked = 0
    for case in cases(kind):
        errors = np.sqrt(np.maximum(case.squares, 0.0))
        for bound in (concentrated, markov, davis_kahan):
            value = bound(case.target)
            if value is not None:
                checked += 1
                exceeded = int(np.count_nonzero(errors > value))
                assert binom.sf(exceeded - 1, len(errors), BETA) > FALSE_ALARM
    assert checked >= 2 * SPECTRA


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_constants_are_rejected(kind: str) -> None:
    """Half of the variance off the diagonal, and a forecast in place of a bound with a confidence."""

    def quieter(target: Target) -> float | None:
        return motion(target, Noise(math.sqrt(0.5), 0.5))

    assert too_small(kind, quieter) >= 3
    exceeded = [
        np.count_nonzero(np.sqrt(np.maximum(case.squares, 0.0)) > first_order.forecast(case.target, GOE))
        for case in cases(kind)
    ]
    counts = [len(case.squares) for case in cases(kind)]
    assert sum(binom.sf(n - 1, m, BETA) < FALSE_ALARM for n, m in zip(exceeded, counts, strict=True)) >= 3
