"""How the error of the Gaussian mechanism grows with k, on made-up spectra."""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

import dpframe as dp

Floats = NDArray[np.float64]

DIM, RANKS, GAP = 200, (1, 2, 4, 8, 16, 32, 64), 30.0  # gaps in units of s√d


def plan(k: int) -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[
            dp.release("moment", "gaussian"),
            dp.derive("components", "top-subspace", of="moment", k=k),
            dp.derive("leading", "rank-k", of="moment", k=k),
        ],
    )


SCALE = plan(1).explain(dim=DIM).statement.line("moment").noise["diagonal"]


def spread(k: int, dim: int = DIM) -> Floats:
    """k eigenvalues in equal steps down to zero: every gap among them is that below the last."""
    return np.maximum(k - np.arange(dim), 0.0) * GAP * SCALE * math.sqrt(dim)


def tied(k: int, dim: int = DIM) -> Floats:
    """k equal eigenvalues over zeros: no gap among them, so Assumption 2.1 fails for k > 1."""
    return np.where(np.arange(dim) < k, 1.0, 0.0) * GAP * SCALE * math.sqrt(dim)


@attrs.frozen(kw_only=True)
class Errors:
    """Root mean square errors of the projector on k directions and of the rank-k part, with standard errors."""

    k: int
    subspace: tuple[float, float]
    low_rank: tuple[float, float]


def simulated(spectrum: Callable[[int], Floats], k: int, trials: int, seed: int) -> Errors:
    """The error of either result over many draws of the noise, in the basis where the moment is diagonal."""
    rng = np.random.default_rng((seed, k))
    values = spectrum(k)
    squares = np.empty((trials, 2))
    for trial in range(trials):
        square = rng.standard_normal((len(values), len(values)))
        found, vectors = np.linalg.eigh(np.diag(values) + (square + square.T) * (SCALE / 2))
        leading = vectors[:, -k:]
        inside = float((leading[:k] ** 2).sum())
        squares[trial, 0] = 2 * (k - inside)
        part = (leading * np.maximum(found[-k:], 0.0)) @ leading.T
        part[np.arange(k), np.arange(k)] -= values[:k]
        squares[trial, 1] = float((part**2).sum())
    means = squares.mean(axis=0)
    unsure = squares.std(axis=0, ddof=1) / math.sqrt(trials)
    subspace, low_rank = ((math.sqrt(m), e / (2 * math.sqrt(m))) for m, e in zip(means, unsure, strict=True))
    return Errors(k=k, subspace=subspace, low_rank=low_rank)


def said(name: str, spectrum: Floats, k: int, step: str) -> float:
    """What an oracle says of a step, by the name of the bound; nan where it gives no number."""
    bounds = plan(k).explain(spectrum=spectrum.tolist()).bounds(step)
    value = next(bound.value for bound in bounds if bound.name == name)
    return math.nan if value is None else value
