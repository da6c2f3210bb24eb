"""Dyson Brownian motion on made-up spectra: paths, and the error along time against what oracles say of it."""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

import dpframe as dp
from dpframe_gaussian import DysonPaths

Floats = NDArray[np.float64]

NEAR = np.array([10.0, 9.0, 9.0, 6.0, 5.5, 5.0, 1.0, 0.0])  # gaps of the size of the noise: paths meet and turn away
CLEAR = np.array([900.0, 800.0, 650.0, 300.0, 150.0, 100.0, 60.0, 30.0, 10.0, 0.0])
K, SCALE = 3, 8.0  # a gap of 14 s√d below the third eigenvalue of the clear spectrum


def near(seed: int = 5) -> DysonPaths:
    return DysonPaths(spectrum=NEAR, scale=1.5, steps=600, seed=seed)


def diagonals(paths: DysonPaths) -> Floats:
    """The diagonal entries of M + N(t): independent Brownian motions, for comparison."""
    return np.einsum("tij,tj->ti", paths.vectors**2, paths.eigenvalues)


@attrs.frozen(kw_only=True, eq=False)
class ErrorAlongTime:
    """The error of the projector on K directions: single paths, their root mean square, and forecasts."""

    times: Floats  # as shares of s²
    single: Floats
    mean_square: Floats
    forecast: Floats
    proved: Floats


def along_time(paths: int = 400, steps: int = 100) -> ErrorAlongTime:
    drawn = [DysonPaths(spectrum=CLEAR, scale=SCALE, steps=steps, seed=seed) for seed in range(paths)]
    errors = np.stack([one.errors([1.0] * K) for one in drawn])
    times = drawn[0].times / SCALE**2
    return ErrorAlongTime(
        times=times,
        single=errors[:6],
        mean_square=np.sqrt((errors**2).mean(axis=0)),
        forecast=np.array([0.0, *(said("first-order", SCALE * math.sqrt(t)) for t in times[1:])]),
        proved=np.array([0.0, *(said("dyson", SCALE * math.sqrt(t)) for t in times[1:])]),
    )


def said(name: str, scale: float) -> float:
    """A bound by its name, for the projector under noise of the given scale: rows of a norm that makes it so."""
    level = priced(1.0).pricing.levels["moment"]
    bounds = priced(math.sqrt(scale * level)).explain(spectrum=CLEAR.tolist()).bounds("components")
    value = next(bound.value for bound in bounds if bound.name == name)
    return math.nan if value is None else value


def priced(norm: float) -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(norm=norm, neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("moment", "gaussian"), dp.derive("components", "top-subspace", of="moment", k=K)],
    )
