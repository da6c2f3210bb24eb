"""How much the radius matters: subspace error of one Gaussian release under several ways of choosing it.

Spiked data, 10,000 rows of 50 coordinates, three spikes of variance 10 over unit noise; epsilon 1, delta 1e-6,
add-remove; median over 15 seeds of the Frobenius distance between the projectors on the leading three components.
Run with ``python docs/experiments/radius.py``; the table in docs/how-to/choose-a-radius.md is its output.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp

ROWS, DIM, SPIKES, VARIANCE, SEEDS = 10_000, 50, 3, 10.0, 15


def spiked_rows() -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((DIM, SPIKES)))[0]
    signal = rng.standard_normal((ROWS, SPIKES)) * math.sqrt(VARIANCE)
    rows: NDArray[np.float64] = signal @ basis.T + rng.standard_normal((ROWS, DIM))
    return rows


def projector(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    basis = np.linalg.eigh(matrix)[1][:, -SPIKES:]
    found: NDArray[np.float64] = basis @ basis.T
    return found


def median_error(data: NDArray[np.float64], norm: float | dp.Ref, *radius: dp.Step) -> float:
    plan = dp.Plan(
        rows=dp.Rows(norm=norm, neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[*radius, dp.release("moment", "gaussian")],
    )
    truth = projector(data.T @ data)
    released = [plan.run(data, insecure_seed=seed)["moment"] for seed in range(SEEDS)]
    return float(np.median([np.linalg.norm(projector(moment) - truth) for moment in released]))


def main() -> None:
    data = spiked_rows()
    formula = math.sqrt((SPIKES + 4 * math.log(ROWS)) * VARIANCE + DIM)
    print("| radius | length | error |\n|---|---|---|")
    print(
        f"| formula that holds for all rows with high probability | {formula:.1f} | {median_error(data, formula):.3f} |"
    )
    for quantile in (0.95, 0.75, 0.5):
        step = dp.release("radius", "private-quantile", quantile=quantile, high=1000.0, level=0.05)
        error = median_error(data, dp.ref("radius"), step)
        length = np.quantile(np.linalg.norm(data, axis=1), quantile)
        print(f"| private {quantile:g}-quantile, level 0.05, grid from 1 to 1000 | about {length:.1f} | {error:.3f} |")


if __name__ == "__main__":
    main()
