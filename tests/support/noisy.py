"""Matrices with noise of a known law, and the shares of releases in which intervals cover."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpframe.intervals.interval import Interval
from dpframe.intervals.law import Law
from dpframe.lattice import FloatArray

RELEASES = 400


def symmetric_noise(random: np.random.Generator, dim: int, deviation: float = 1.0) -> FloatArray:
    """Noise with this deviation on the diagonal, and a square root of two less off it."""
    drawn = deviation * random.standard_normal((dim, dim))
    return np.asarray((drawn + drawn.T) / 2)


def rotated(random: np.random.Generator, values: Any) -> FloatArray:
    """A symmetric matrix with these eigenvalues, in random directions."""
    basis = np.linalg.qr(random.standard_normal((len(values), len(values))))[0]
    matrix = (basis * np.asarray(values)) @ basis.T
    return np.asarray((matrix + matrix.T) / 2)


def covered(interval: Interval, truth: Any) -> Any:
    """Where an interval covers the truth, up to rounding."""
    room = 1e-9 * (1.0 + np.abs(truth))
    return (interval.low <= truth + room) & (truth <= interval.high + room)


def coverage(draw: Callable[[np.random.Generator], Law], truth: Any, releases: int = RELEASES, seed: int = 1) -> Any:
    """The share of releases whose intervals at 95 % cover the truth, for each number."""
    random = np.random.default_rng(seed)
    return np.mean([covered(draw(random).interval(0.95), truth) for _ in range(releases)], axis=0)
