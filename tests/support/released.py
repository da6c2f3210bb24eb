"""A small table, a plan that derives everything from its moment, and its results."""

from __future__ import annotations

from typing import Any

import numpy as np

import dpframe.plugin as dp

ROWS = dp.Rows(columns=[dp.Column("a", 0, 10), dp.Column("b", -1, 1)], neighbors="add-remove", center=True)
STEPS = [
    dp.release("moment", "gaussian"),
    dp.derive("count", "count", of="moment"),
    dp.derive("mean", "mean", of="moment"),
    dp.derive("covariance", "covariance", of="moment"),
    dp.derive("mean_in_units", "to-units", of="mean"),
    dp.derive("covariance_in_units", "to-units", of="covariance"),
    dp.derive("correlation", "correlation", of="covariance"),
    dp.derive("eigenvalues", "eigenvalues", of="covariance", k=1),
    dp.derive("nearest", "psd", of="covariance"),
    dp.derive("scales", "scales", of="covariance"),
]


def table(rows: int = 4000) -> dict[str, Any]:
    random = np.random.default_rng(0)
    a = random.normal(4.0, 1.0, rows)
    return {"a": a, "b": 0.1 * (a - 4) + random.normal(0.1, 0.2, rows)}


def run(steps: Any = STEPS, rows: dp.Rows = ROWS, seed: int = 1, **budget: float) -> dp.Result:
    budget = budget or {"epsilon": 1.0, "delta": 1e-6}
    return dp.Plan(rows=rows, budget=dp.Budget(**budget), steps=steps).run(table(), insecure_seed=seed)
