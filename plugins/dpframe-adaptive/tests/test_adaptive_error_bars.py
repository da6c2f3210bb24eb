"""Error bars of an adaptive release, against its rows as they were placed and scaled down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp

COLUMNS = {"a": (0.0, 10.0), "b": (0.0, 10.0), "c": (0.0, 10.0)}


def rows() -> dp.FloatArray:
    random = np.random.default_rng(3)
    mixed = random.standard_normal((4000, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 0.6, 0.1], [0.0, 0.0, 0.3]])
    return np.asarray(3.0 + mixed)


def clipped_covariance(mapped: dp.FloatArray, result: dp.Result) -> dp.FloatArray:
    """The covariance of the rows as they were placed and scaled down; of both moments, where a pilot counts."""
    if "cov.linear" not in result:
        scale = result["cov.scale"] if "cov.scale" in result else np.ones(3)
        return covariance((mapped - result["cov.about"]) / scale, result["cov.norm"]) * np.outer(scale, scale)
    axes, rates, _ = np.linalg.svd(result["cov.linear"])
    about = (mapped - result["cov.center"]) @ axes
    products = np.outer(rates, rates)
    pilot = covariance(about, result["cov.radius"])
    moment = covariance(about * rates, result["cov.linear-radius"]) / products
    noise = {name: result.record(f"cov.{name}").line.noise["off-diagonal"] for name in ("pilot", "moment")}
    weight = 1 / (1 + (noise["moment"] / products / noise["pilot"]) ** 2)
    return np.asarray(axes @ (weight * moment + (1 - weight) * pilot) @ axes.T)


def covariance(rows: dp.FloatArray, norm: dp.FloatArray) -> dp.FloatArray:
    """The covariance of rows that are scaled down to a norm."""
    factors = np.minimum(1.0, float(norm) / np.linalg.norm(rows, axis=1))
    return np.cov((rows * factors[:, None]).T, bias=True)


@pytest.mark.parametrize(("goal", "delta"), [("covariance", 1e-6), ("correlation", 1e-6), ("covariance", 0.0)])
def test_count_mean_and_covariance_are_covered(goal: str, delta: float) -> None:
    """25 releases: a mean share below 0.7 has a probability below 1e-5 even if all numbers of a release go together."""
    data = rows()
    mapped = data / 5 - 1
    plan = dp.Plan(
        rows=dp.Rows(columns=[dp.Column(name, *ends) for name, ends in COLUMNS.items()], neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=delta),
        steps=[dp.release("cov", "adaptive", goal=goal)],
    )
    shares: dict[str, list[float]] = {"cov": [], "cov.mean": [], "cov.count": []}
    for seed in range(25):
        result = plan.run(data, insecure_seed=seed)
        truths = {
            "cov": clipped_covariance(mapped, result),
            "cov.mean": mapped.mean(axis=0),
            "cov.count": np.array(4000.0),
        }
        for name, truth in truths.items():
            found = result.interval(name)
            room = 1e-4 if name == "cov.mean" else 1e-7  # scaling down a few rows moves the mean
            shares[name].append(float(((found.low - room <= truth) & (truth <= found.high + room)).mean()))
    assert {name: np.mean(share) > 0.7 for name, share in shares.items()} == dict.fromkeys(shares, True)


def test_the_sampling_error_of_a_population_is_known() -> None:
    plan = dp.covariance_plan(columns=COLUMNS, epsilon=1.0, delta=1e-6, neighbors="add-remove")
    result = plan.run({name: rows()[:, at] for at, name in enumerate(COLUMNS)}, insecure_seed=1)
    for name in ("covariance", "covariance.mean", "mean_in_units"):
        ours, theirs = result.interval(name), result.interval(name, sampling="normal")
        assert (theirs.high - theirs.low > ours.high - ours.low).all()


@pytest.mark.parametrize("parameters", [{}, {"goal": "correlation"}, {"goal": "components", "k": 1}])
def test_what_has_no_law_is_redrawn_about_the_same_center_and_radius(parameters: dict[str, Any]) -> None:
    """A post-processor without a law of its own; the law of the covariance itself says how wide its bars are."""
    steps = [dp.release("cov", "adaptive", **parameters), dp.derive("same", "psd", of="cov")]
    columns = [dp.Column(name, *ends) for name, ends in COLUMNS.items()]
    plan = dp.Plan(
        rows=dp.Rows(columns=columns, neighbors="add-remove"), budget=dp.Budget(epsilon=4.0, delta=1e-6), steps=steps
    )
    result = plan.run(rows(), insecure_seed=2)
    bars: Any = result._error_bars
    redrawn = bars._from_redrawn(bars._steps["same"], np.inf)
    assert redrawn is not None
    ratios = redrawn.standard_error() / result.standard_error("cov")
    assert (ratios > 0.5).all()
    assert (ratios < 2.0).all()
