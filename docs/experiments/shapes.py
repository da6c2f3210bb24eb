"""Subspace error under three shapes of noise and two calibrations, by running plans on made-up rows."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

import dpframe as dp
from dpframe_gaussian import classical_level

Floats = NDArray[np.float64]

ROWS, DIM, K, DELTA = 20_000, 20, 3, 1e-6
EPSILONS = (0.1, 0.2, 0.4, 0.6, 0.9)
CASES = [(shape, curve) for curve in ("classical", "exact") for shape in ("paper", "triangular", "goe")]


@attrs.frozen(kw_only=True)
class Case:
    """Median and quartiles of the error of one noise at one budget."""

    shape: str
    curve: str
    epsilon: float
    noise: float  # deviation off the diagonal
    median: float
    quartiles: tuple[float, float]


def directions() -> Floats:
    """Rows of length one: three directions of more variance than the others, in a basis that no axis is close to."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((DIM, DIM)))[0]
    deviations = np.concatenate([[3.0, 2.5, 2.0], np.ones(DIM - K)])
    rows = rng.standard_normal((ROWS, DIM)) * deviations @ basis.T
    found: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return found


def plan(shape: str, curve: str, epsilon: float) -> dp.Plan:
    level = {"level": classical_level(epsilon=epsilon, delta=DELTA)} if curve == "classical" else {}
    return dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove"),
        budget=dp.Budget(epsilon=epsilon, delta=DELTA),
        steps=[
            dp.release("moment", "gaussian", noise=shape, **level),
            dp.derive("components", "top-subspace", of="moment", k=K),
        ],
    )


def errors(data: Floats, chosen: dp.Plan, seeds: int) -> Floats:
    """‖P̂ − P‖ for several seeds."""
    truth = np.linalg.eigh(data.T @ data)[1][:, -K:]
    released = [chosen.run(data, insecure_seed=seed)["components"] for seed in range(seeds)]
    return np.array([np.linalg.norm(found @ found.T - truth @ truth.T) for found in released])


def compared(seeds: int = 60) -> list[Case]:
    """Every shape and calibration at every budget."""
    data = directions()
    found = []
    for epsilon in EPSILONS:
        for shape, curve in CASES:
            chosen = plan(shape, curve, epsilon)
            low, median, high = np.quantile(errors(data, chosen, seeds), [0.25, 0.5, 0.75])
            noise = chosen.explain(dim=DIM).statement.line("moment").noise["off-diagonal"]
            found.append(
                Case(
                    shape=shape,
                    curve=curve,
                    epsilon=epsilon,
                    noise=noise,
                    median=float(median),
                    quartiles=(float(low), float(high)),
                )
            )
    return found
