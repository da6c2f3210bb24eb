"""A complete release on built-in data: ``make demo``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dpframe as dp
from dpframe.demo.datasets import ADULT_COLUMNS, adult
from dpframe.forecast.column_margins import Margin
from dpframe.run.value_text import with_error

Numbers = NDArray[np.float64]

ASSUMED_ROWS = 50_000  # a guess, as an analyst would make it: the number of rows is private


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


def subspace_distance(one: Numbers, other: Numbers) -> float:
    """The largest principal angle between two subspaces, in degrees."""
    cosines = np.linalg.svd(one.T @ other, compute_uv=False)
    return float(np.degrees(np.arccos(np.clip(cosines.min(), 0.0, 1.0))))


def truth(data: dict[str, Numbers]) -> tuple[Numbers, Numbers]:
    """The means and the covariance without noise, in units; only the steward of the data may see them."""
    table = np.column_stack([data[column.name] for column in ADULT_COLUMNS])
    return table.mean(axis=0), np.cov(table, rowvar=False, bias=True)


def deviations(covariance: Numbers) -> Numbers:
    """The standard deviations in a covariance."""
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))


def true_angle(result: dp.Result, covariance: Numbers) -> float:
    """The largest angle between the released components and those without noise, in degrees."""
    half_widths = np.array([(column.high - column.low) / 2 for column in ADULT_COLUMNS])
    mapped = covariance / np.outer(half_widths, half_widths)
    return subspace_distance(result["components"], np.linalg.eigh(mapped)[1][:, ::-1][:, :3])


def beside_the_truth(
    title: str, margins: list[Margin | None], released: tuple[Numbers, Numbers, Numbers], exact: Numbers
) -> list[dict[str, str]]:
    """The rows of a table: forecast, release and truth of each column beside each other.

    Args:
        title: what is compared.
        margins: the forecasts.
        released: the values and the ends of their intervals.
        exact: the values without noise.
    """
    return [
        {
            title: f"{column.name} ({column.unit})",
            "forecast": "" if margin is None else f"± {float(f'{margin.error:.2g}'):g}",
            "released": with_error(value, max(high - value, value - low)),
            "truth": f"{true:.6g}",
        }
        for column, margin, value, low, high, true in zip(ADULT_COLUMNS, margins, *released, exact, strict=True)
    ]


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
    """The data, the plan, the forecast, the result and, beside it, the truth."""
    from rich.console import Console

    from dpframe.display.printable import NOT_PRIVATE
    from dpframe.display.tables import heading, pairs, table

    console = Console(highlight=False)
    explanation = plan().explain(rows=ASSUMED_ROWS)
    data = adult()
    result = plan().run(data)
    story = {
        "Data": "one row for each adult of a US census sample of 1994, six numeric columns, clipped to public ranges",
        "Plan": "one release of counts, sums and products, by Gaussian noise; all the rest follows from it, free",
        "Protected": explanation.statement.protected,
        "Forecast": f"the error of 95 % of releases, for {ASSUMED_ROWS} assumed rows, before any data is read; with no "
        "assumption given, columns are taken to be in the middle of their ranges: capital gains and losses are nearly "
        "all zero, and come out less precise",
        "Charged": f"{result.spent}, once, before the data was read",
    }
    console.print(heading("Means, covariance and principal components of a table of people"), pairs(story), "")

    means, covariance = truth(data)
    assert explanation.columns is not None  # it was given a number of rows
    forecasts = explanation.columns.columns
    of_means, of_covariance = result.interval("mean_in_units"), result.interval("covariance_in_units")
    released = result["mean_in_units"], of_means.low, of_means.high
    console.print(table(beside_the_truth("mean", [each.mean for each in forecasts], released, means)), "")
    released = deviations(result["covariance_in_units"]), deviations(of_covariance.low), deviations(of_covariance.high)
    margins = [each.sd for each in forecasts]
    console.print(table(beside_the_truth("standard deviation", margins, released, deviations(covariance))))

    angle = result.interval("components").angle_degrees
    closing = {
        "Components": f"three; their span is within {angle:.2g}° of the one without noise, at 95 % confidence "
        f"(truth: {true_angle(result, covariance):.2g}°)",
        "Truth": f"{NOT_PRIVATE}: only the steward of the data may see it; it is no part of a release",
        "Next": "dpframe demo --files DIR writes this table and its plan; dpframe run DIR/plan.toml DIR/adult.csv "
        "releases it again, with the whole report",
    }
    console.print("", pairs(closing))
