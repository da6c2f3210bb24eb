"""A complete release on built-in data: ``make demo``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dpframe as dp
from dpframe.demo.datasets import ADULT_COLUMNS, adult


def plan() -> dp.Plan:
    """Mean, covariance and principal components of the Adult columns from one Gaussian release."""
    return dp.Plan(
        rows=dp.Rows(columns=ADULT_COLUMNS, neighbors="add-remove", center=True),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[
            dp.release("moment", "gaussian"),
            dp.derive("mean", "mean", of="moment"),
            dp.derive("covariance", "covariance", of="moment"),
            dp.derive("components", "top-subspace", of="covariance", k=3),
            dp.derive("explained", "explained-variance", of="covariance", components="components"),
            dp.derive("mean_in_units", "to-units", of="mean"),
            dp.derive("covariance_in_units", "to-units", of="covariance"),
        ],
    )


def subspace_distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The largest principal angle between two subspaces, in degrees."""
    cosines = np.linalg.svd(one.T @ other, compute_uv=False)
    return float(np.degrees(np.arccos(np.clip(cosines.min(), 0.0, 1.0))))


def diagnostic(result: dp.Result, data: dict[str, NDArray[np.float64]]) -> dict[str, str]:
    """The distance of the release from the exact values; only the steward of the data may see it."""
    mapped = np.concatenate([column.map(data[column.name]) for column in ADULT_COLUMNS], axis=1)
    covariance = np.cov(mapped, rowvar=False, bias=True)
    components = np.linalg.eigh(covariance)[1][:, ::-1][:, :3]
    error = np.linalg.norm(result["covariance"] - covariance) / np.linalg.norm(covariance)
    captured = np.trace(result["components"].T @ covariance @ result["components"])
    best = np.trace(components.T @ covariance @ components)
    ages = abs(result["mean_in_units"][0] - data["age"].mean())
    return {
        "covariance": f"relative error {error:.2%} (Frobenius norm)",
        "components": f"largest angle {subspace_distance(result['components'], components):.2f} degrees; "
        f"{captured / best:.3%} of the variance that three components can capture",
        "mean age": f"off by {ages:.3f} years",
    }


def write_files(folder: Path) -> None:
    """Write the table to adult.csv and the plan to plan.toml."""
    import csv

    folder.mkdir(parents=True, exist_ok=True)
    data = adult()
    with (folder / "adult.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(data)
        writer.writerows(zip(*(values.astype(int).tolist() for values in data.values()), strict=True))
    plan().dump(folder / "plan.toml")


def main() -> None:
    """Explain the plan, run it on the built-in data, and compare the result with the exact values."""
    from rich.console import Console
    from rich.rule import Rule

    from dpframe.display.printable import NOT_PRIVATE
    from dpframe.display.tables import pairs

    console = Console(highlight=False)
    console.print(Rule("1. Before the data is touched: plan.explain()"))
    console.print(plan().explain())
    data = adult()
    console.print(Rule("2. The release: plan.run(data)"))
    result = plan().run(data)
    console.print(result)
    console.print(Rule(f"3. {NOT_PRIVATE}: compared with the answer without privacy"))
    console.print("A diagnostic that only the steward of the data may see; it is not part of the release.")
    console.print(pairs(diagnostic(result, data)))
