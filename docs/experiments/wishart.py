"""Smallest eigenvalue gaps of Wishart matrices AᵀA, with A of independent standard normal entries."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BATCH = 200  # matrices at a time
PRINTED = [(rows, 10) for rows in range(20, 201, 20)]  # the axis of Figure 1
FIRST = [(rows, 10) for rows in (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)]
SECOND = [(dim**3, dim) for dim in (5, 7, 10, 14, 20, 28, 40, 56, 80, 113, 160)]


@attrs.frozen(kw_only=True)
class Gaps:
    """Smallest gaps over many matrices of one size."""

    rows: int
    dim: int
    mean: float
    error: float  # standard error of the mean
    quartiles: tuple[float, float]
    above: float  # share of matrices whose smallest gap is at least √dim


@attrs.frozen
class Exponent:
    """A fitted power of growth and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}"


def smallest_gaps(rows: int, dim: int, trials: int, rng: np.random.Generator) -> Floats:
    """The smallest gap between neighboring eigenvalues, for each of many matrices.

    Reflections from the left and from the right make A bidiagonal without changing the eigenvalues of AᵀA: independent
    chi variables with m, m−1, …, m−d+1 degrees of freedom on the diagonal and d−1, …, 1 above it. So the cost of a draw
    does not depend on the number of rows, and none of them is ever made.
    """
    diagonal = rng.chisquare(np.arange(rows, rows - dim, -1), (trials, dim))
    above = rng.chisquare(np.arange(dim - 1, 0, -1), (trials, dim - 1))
    tridiagonal = np.zeros((trials, dim, dim))
    place = np.arange(dim)
    tridiagonal[:, place, place] = diagonal
    tridiagonal[:, place[1:], place[1:]] += above
    tridiagonal[:, place[1:], place[:-1]] = np.sqrt(diagonal[:, :-1] * above)  # eigvalsh reads the lower half
    smallest: Floats = np.diff(np.linalg.eigvalsh(tridiagonal), axis=1).min(axis=1)
    return smallest


def gaps(sizes: Sequence[tuple[int, int]], trials: int, seed: int) -> list[Gaps]:
    """Smallest gaps for each size (rows, dim)."""
    rng = np.random.default_rng(seed)
    found = []
    for rows, dim in sizes:
        batches = [min(BATCH, trials - start) for start in range(0, trials, BATCH)]
        smallest = np.concatenate([smallest_gaps(rows, dim, batch, rng) for batch in batches])
        low, high = np.quantile(smallest, [0.25, 0.75])
        found.append(
            Gaps(
                rows=rows,
                dim=dim,
                mean=float(smallest.mean()),
                error=float(smallest.std(ddof=1)) / math.sqrt(trials),
                quartiles=(float(low), float(high)),
                above=float((smallest >= math.sqrt(dim)).mean()),
            )
        )
    return found


def exponent(sizes: Sequence[float], means: Sequence[float], errors: Sequence[float]) -> Exponent:
    """The slope of log mean against log size, weighted by the errors of the means."""
    x, y = np.log(sizes), np.log(means)
    weights = (np.asarray(means) / np.asarray(errors)) ** 2
    x = x - np.average(x, weights=weights)
    spread = float((weights * x**2).sum())
    return Exponent(float((weights * x * y).sum()) / spread, 1 / math.sqrt(spread))
