"""Last bits of floats tell neighbors apart; the integers that orbit and bingham release do not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_orbit import Bingham, Orbit

FALSE_ALARM = 1e-6
LEVEL = 0.01  # so small that all directions are nearly alike
CHOICES = 24  # rows of which one is left out
Floats = NDArray[np.float64]


def private(values: Floats) -> dp.PrivateData:
    """The second moment of these rows."""
    integers = np.rint(values.T @ values * dp.lattice.RADIUS**2).astype(np.int64)
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=values.shape[1])
    return dp.PrivateData(rows, statistics={dp.Moment(): {"moment": integers}})


def neighbors(dim: int) -> tuple[dp.PrivateData, dp.PrivateData]:
    """Data that differ by one of 20,000 rows: that for which this machine's solver errs most differently."""
    values = np.random.default_rng(0).standard_normal((20_000, dim)) * np.linspace(1.0, 0.2, dim)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    whole = private(values)
    others = (private(np.delete(values, row, axis=0)) for row in range(CHOICES))
    return whole, max(others, key=lambda other: abs(solver_error(other) - solver_error(whole)))


def solver_error(data: dp.PrivateData) -> float:
    """The mean of ‖v‖² − 1 over a solver's eigenvectors, which directions V·x inherit."""
    _, basis = np.linalg.eigh(data.moment.astype(np.float64) * (LEVEL / dp.lattice.RADIUS**2))
    return sum(map(length, basis.T)) / len(basis)


def excess(squares: list[Fraction]) -> float:
    """A sum that would be 1 without rounding, less 1, in units of 2⁻⁵³."""
    return float((sum(squares, Fraction(0)) - 1) * 2**53)


def length(vector: Floats) -> float:
    """‖v‖² − 1 without rounding."""
    return excess([Fraction(entry) ** 2 for entry in vector.tolist()])


def trace(matrix: Floats) -> float:
    """tr H − 1 without rounding."""
    return excess([Fraction(entry) for entry in np.diagonal(matrix).tolist()])


def largest_epsilon(one: list[float], other: list[float]) -> float:
    """A lower confidence bound on ε from the best threshold of a first half, tried on the second half."""
    first, second, half = np.array(one), np.array(other), len(one) // 2
    thresholds = np.quantile(np.concatenate([first[:half], second[:half]]), np.linspace(0.02, 0.98, 49))
    best = 0.0
    for a in (first, -first):
        b, cuts = (second, thresholds) if a is first else (-second, -thresholds)
        shares = [(np.mean(a[:half] > cut), np.mean(b[:half] > cut)) for cut in cuts]
        cut = cuts[int(np.argmax([math.log((p + 0.01) / (q + 0.01)) for p, q in shares]))]
        hits, misses = int(np.sum(a[half:] > cut)), int(np.sum(b[half:] > cut))
        low = stats.beta.ppf(FALSE_ALARM, hits, half - hits + 1) if hits else 0.0
        high = stats.beta.isf(FALSE_ALARM, misses + 1, half - misses) if misses < half else 1.0
        best = max(best, math.log(low / high) if low > 0 else 0.0)
    return best


def directions(data: dp.PrivateData, count: int, seed: int, *, phases: bool) -> NDArray[np.complex128]:
    """Directions as a float program draws them, in columns."""
    scale = LEVEL / dp.lattice.RADIUS**2
    values, basis = np.linalg.eigh(data.moment.astype(np.float64) * scale)
    random = np.random.default_rng(seed)
    drawn = random.standard_normal((count, len(values))) + 0j
    if phases:
        drawn += 1j * random.standard_normal(drawn.shape)
    drawn /= np.sqrt(1 + 2 * (values[-1] - values) / len(values))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return np.stack([basis @ each for each in drawn], axis=1)


def test_last_bits_of_a_direction() -> None:
    """At d = 20 and ε = 0.01: the exact norm of a float direction, and of a released one."""
    raw, released = [], []
    for seed, data in enumerate(neighbors(20)):
        floats = directions(data, 6000, seed, phases=False).real
        raw.append([length(each) for each in floats.T])
        random = seeded(seed)
        released.append([length(Bingham().release(data, LEVEL, random.child(str(i))).array[:, 0]) for i in range(800)])
    assert largest_epsilon(*raw) > 0.1
    assert largest_epsilon(*released) <= LEVEL


@pytest.mark.parametrize("draws", [150, pytest.param(2000, marks=pytest.mark.long)])
def test_last_bits_of_a_matrix(draws: int) -> None:
    """The exact trace of the real part of a float draw from the orbit of (1, 0, …, 0), and of a released one."""
    raw, released = [], []
    for seed, data in enumerate(neighbors(8)):
        floats = directions(data, 6000, seed, phases=True).T
        raw.append([trace(np.outer(each, each.conj()).real) for each in floats])
        random, mechanism = seeded(seed), Orbit(spectrum=[1.0])
        released.append([trace(mechanism.release(data, LEVEL, random.child(str(i))).array) for i in range(draws)])
    assert largest_epsilon(*raw) > 0.1
    assert largest_epsilon(*released) <= LEVEL
