"""DP-Oja beside the Gaussian mechanism on spiked rows: the table in the README.

``python compare.py`` prints it; it needs dpframe, dpframe-gaussian and dpframe-oja.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from numpy.typing import NDArray

import dpframe as dp

DIM, STRENGTH = 50, 10.0
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
NORM = 12.0  # one row in 260 is longer

STEPS: dict[str, list[dp.Step]] = {
    "gaussian": [dp.release("moment", "gaussian"), dp.derive("top", "top-subspace", of="moment", k=1)],
    "oja": [dp.release("top", "oja")],
    "oja, clip=0.2": [dp.release("top", "oja", clip=0.2)],
    "oja, clip=0.1": [dp.release("top", "oja", clip=0.1)],
}


def spiked(count: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows of covariance STRENGTH · u uᵀ + I, and u."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(DIM)
    u /= np.linalg.norm(u)
    rows = rng.standard_normal((count, DIM))
    rows += math.sqrt(STRENGTH) * np.outer(rng.standard_normal(count), u)
    return rows, u


def error(found: NDArray[np.float64], u: NDArray[np.float64]) -> float:
    """The Frobenius distance of the two projectors: 0 where they agree, √2 at a right angle."""
    return math.sqrt(max(0.0, 2.0 - 2.0 * float(found[:, 0] @ u) ** 2))


def measured(relation: str, count: int, repeats: int) -> dict[str, float]:
    """The mean error of each way over fresh rows, with seeds that make the run repeatable."""
    rows = dp.Rows(norm=NORM, neighbors=relation)
    plans = {name: dp.Plan(rows=rows, budget=BUDGET, steps=steps) for name, steps in STEPS.items()}
    errors: dict[str, list[float]] = {name: [] for name in ["without privacy", *plans]}
    for seed in range(repeats):
        values, u = spiked(count, seed)
        errors["without privacy"].append(error(np.linalg.eigh(values.T @ values)[1][:, -1:], u))
        for name, plan in plans.items():
            errors[name].append(error(plan.run(values, insecure_seed=seed)["top"], u))
    return {name: float(np.mean(found)) for name, found in errors.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    options = parser.parse_args()
    for relation in ("add-remove", "replace"):
        found = {count: measured(relation, count, options.repeats) for count in options.rows}
        print(f"| {relation} | " + " | ".join(f"n = {count:,}" for count in found) + " |")
        print("|---|" + "---|" * len(found))
        for name in next(iter(found.values())):
            print(f"| {name} | " + " | ".join(f"{errors[name]:.3f}" for errors in found.values()) + " |")


if __name__ == "__main__":
    main()
