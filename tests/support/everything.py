"""Plans that together use every mechanism and every post-processor that is shipped, on one small table."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import dpframe.plugin as dp
from tests.support.shipped import DRAWN_ELSEWHERE, MODEL_BASED, PARAMETERS, promise

SEED = 3
WARDS = ("north", "south")
COLUMNS = [
    dp.Column("age", 0, 100, unit="years"),
    dp.Column("income", 0, 200, unit="EUR"),
    dp.Category("ward", WARDS),
]
PREDICTED: dict[str, Any] = {"scale": "column_scales", "targets": [1]}
CENTERED = [
    dp.release("moment", "gaussian"),
    dp.derive("count", "count", of="moment"),
    dp.derive("mean", "mean", of="moment"),
    dp.derive("covariance", "covariance", of="moment"),
    dp.derive("mean_in_units", "to-units", of="mean"),
    dp.derive("covariance_in_units", "to-units", of="covariance"),
    dp.derive("correlation", "correlation", of="covariance"),
    dp.derive("eigenvalues", "eigenvalues", of="covariance"),
    dp.derive("components", "top-subspace", of="covariance", k=2),
    dp.derive("loadings", "to-units", of="components"),
    dp.derive("explained", "explained-variance", of="covariance", components="components"),
    dp.derive("nearest", "psd", of="covariance"),
    dp.derive("part", "rank-k", of="covariance", k=2),
    dp.derive("joined", "with-spectrum", of="components", spectrum="explained"),
    dp.derive("scales", "scales", of="covariance"),
    dp.derive("model", "regression", of="covariance", mean="mean", target="income", features=["age"]),
    dp.derive("classes", "discriminant", of="covariance", mean="mean", target="ward", features=["age", "income"]),
    dp.derive("denoised", "denoise", of="covariance"),
    dp.derive("shrunk", "eigenvalue-shrinkage", of="eigenvalues", n=2000, dim=4, noise=0.01),
    dp.derive("rank", "eigen-ratio-rank", of="eigenvalues"),
    dp.derive("column_scales", "column-scales", of="moment"),
    dp.derive("regression_scales", "regression-scales", of="moment", targets=[0]),
    dp.derive("about", "ball-or-box-center", center="mean", radius="count", columns=[1, 1, 2]),
    dp.derive("norm", "ball-or-box-norm", center="mean", radius="count", columns=[1, 1, 2]),
    dp.derive("wider", "affordable-radius", radius="norm", pilot="moment", pilot_radius="count", **PREDICTED),
    dp.derive("spiked", "spiked-covariance", of="covariance", rank=1, n=2000),
]
RANGES = [
    dp.release("moment", "gaussian"),
    dp.derive("components", "top-subspace", of="moment", k=2),
    dp.derive("radii", "range-radii", of="components"),
]
COMPLEX = [
    dp.release("matrix", "orbit", spectrum=[1.0, 0.5], real=False),
    dp.derive("real", "real-part", of="matrix"),
    dp.derive("span", "top-subspace", of="matrix", k=1),
]


@cache
def table(rows: int = 2000) -> dict[str, Any]:
    """People of two wards, with income rising with age."""
    random = np.random.default_rng(0)
    age, ward = random.normal(50, 12, rows), np.array(WARDS)[random.integers(0, 2, rows)]
    return {"age": age, "income": age + 20 * (ward == "south") + random.normal(30, 20, rows), "ward": ward}


@cache
def plans() -> dict[str, dp.Plan]:
    """The plans by name: one for each mechanism, and some that derive whatever can be derived."""
    budget = dp.Budget(epsilon=2.0, delta=1e-6)
    centered = dp.Rows(columns=COLUMNS, neighbors="add-remove", center=True)
    found = {
        "every derivation": dp.Plan(rows=centered, budget=budget, steps=CENTERED),
        "ranges": dp.Plan(rows=dp.Rows(columns=COLUMNS, neighbors="add-remove"), budget=budget, steps=RANGES),
        "complex": dp.Plan(rows=dp.Rows(norm=1.0, neighbors="replace"), budget=budget, steps=COMPLEX),
        "adaptive, by its own columns": dp.pca_plan(columns=COLUMNS, epsilon=2.0, neighbors="add-remove", k=2),
        "adaptive, with a linear map": dp.covariance_plan(
            columns={f"c{at}": (-2, 2) for at in range(8)}, epsilon=2.0, delta=1e-6, neighbors="add-remove"
        ),
    }
    elsewhere = {name: {"neighbors": "add-remove"} for name in sorted(DRAWN_ELSEWHERE)}
    for name, parameters in {**PARAMETERS, **elsewhere}.items():
        modeled = name in MODEL_BASED
        rows = promise(name, "replace" if modeled else "add-remove")
        accept = [dp.model("spiked-covariance")] if modeled else []
        found[name] = dp.Plan(rows=rows, budget=budget, steps=[dp.release("value", name, **parameters)], accept=accept)
    return found


@cache
def released(name: str) -> dp.Result:
    """The result of one of the plans, drawn from a fixed seed where dpframe draws its noise."""
    plan, seed = plans()[name], None if name in DRAWN_ELSEWHERE else SEED
    if plan.rows.columns is not None and plan.rows.columns[0].name == "age":
        return plan.run(table(), insecure_seed=seed)
    width = 3 if plan.rows.columns is None else len(plan.rows.columns)
    data = np.random.default_rng(1).normal(scale=np.geomspace(0.5, 0.1, width), size=(2000, width))
    return plan.run(data, insecure_seed=seed)
