"""The radius of a regression: as large as noise allows, where the pilot finds a model, and as released elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe_adaptive import AffordableRadius

COUNT = 1e4
SCALE = np.array([1.0, 0.5, 0.8, 1.0])


def subject(explained: float = 0.4, noise: float = 5.0, **changed: Any) -> AffordableRadius:
    """Three uncorrelated features of variances 0.04, 0.01 and 0.02, of which the first predicts the last coordinate."""
    covariance = np.diag([0.04, 0.01, 0.02, 0.05])
    covariance[0, 3] = covariance[3, 0] = np.sqrt(explained * 0.04 * 0.05)
    moment = np.zeros((5, 5))
    moment[:4, :4], moment[4, 4] = COUNT * covariance, COUNT * 0.25
    given: dict[str, Any] = {
        "radius": dp.Scalar(0.3),
        "pilot": dp.AugmentedMoment(moment, constant=0.5),
        "pilot_radius": dp.Scalar(0.5),
        "scale": dp.Scales(SCALE),
        "targets": [3],
        "gain": 2.0,
        "missed": 0.1,
        "pilot_noise": {"diagonal": noise * np.sqrt(2), "off-diagonal": noise},
    }
    return AffordableRadius(**{**given, **changed})


def found(step: AffordableRadius) -> float:
    return float(step.apply().array)


def test_the_sum_of_both_costs_is_smallest_at_the_radius() -> None:
    """From the law of the noise: what it costs at r = 0.3 is that of the pilot times (r / its radius)⁴ / gain²."""
    slopes = np.array([np.sqrt(0.4 * 0.05 / 0.04), 0.0, 0.0]) * SCALE[:3] / SCALE[3]
    inverse = (SCALE[:3] ** 2 / [0.04, 0.01, 0.02]).sum()
    cost = (5.0 / COUNT) ** 2 * (1 + slopes @ slopes) * inverse * (0.3 / 0.5) ** 4 / 2.0**2 / (0.4 * 0.05)
    grid = np.geomspace(1.0, 100.0, 20_001)
    expected = 0.3 * grid[np.argmin(cost * grid**4 + 0.1 / grid**2)]
    assert 0.6 < expected == pytest.approx(found(subject()), rel=0.03)  # the model is a ridge, the variances corrected
    assert found(subject(missed=0.1 / 2**6)) == pytest.approx(found(subject()) / 2, rel=1e-9)
    assert found(subject(gain=16.0)) == pytest.approx(2 * found(subject()), rel=1e-9)
    assert found(subject(pilot_radius=dp.Scalar(4.0))) == pytest.approx(4 * found(subject()), rel=1e-9)
    assert found(subject(radius=dp.Scalar(0.3 / 8))) == pytest.approx(found(subject()) / 2, rel=1e-9)
    assert "The radius is enlarged 3.16 times" in subject().choice()


def test_several_targets_have_the_smallest_radius_of_theirs() -> None:
    both = subject(targets=[2, 3])  # nothing explains the coordinate 2
    assert 0.3 == found(both)
    assert found(subject(targets=[3])) > 0.3


@pytest.mark.parametrize(
    "changed",
    [
        {"explained": 1e-6},
        {"noise": 1e4},
        {"noise": 0.0},
        {"radius": dp.Scalar(50.0)},
        {"targets": [0, 1, 2, 3]},
        {"targets": []},
        {"pilot_radius": dp.Scalar(0.0)},
        {"pilot": dp.AugmentedMoment(np.full((5, 5), 1e300), constant=0.5)},
        {"pilot": dp.AugmentedMoment(-np.eye(5), constant=0.5)},
        {"noise": 1e300},
    ],
    ids=str,
)
def test_elsewhere_it_stays(changed: dict[str, Any]) -> None:
    step = subject(**changed)
    assert float(step.radius.array) == found(step)
    assert "not enlarged" in step.choice()


def test_it_is_not_enlarged_without_end() -> None:
    assert 0.3e6 == pytest.approx(found(subject(noise=1e-30)))


def capped(count: int) -> tuple[Any, Any]:
    """A rare feature, a tenth of it at the end of its range, whose effect is that of having it at all."""
    random = np.random.default_rng(12)
    others = random.standard_normal((count, 4)) * [0.15, 0.3, 0.05, 0.1]
    size = np.where(random.random(count) < 0.1, 2.0, np.clip(0.1 * np.exp(0.7 * random.standard_normal(count)), 0, 2))
    rare = np.where(random.random(count) < 0.06, size, 0.0)
    signal = others @ [0.5, 0.3, 1.0, 0.2] + 0.4 * (rare > 0)
    signal = (signal - signal.mean()) / signal.std()
    target = 0.1 * (signal + random.standard_normal(count))
    return np.clip(np.column_stack([others, rare - 1, target]), -1, 1), signal


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_a_model_of_most_rows_is_not_extended_to_those_far_out(neighbors: str) -> None:
    """With columns divided by their deviations the share of the R² of least squares is 0.5 to 0.9 here, below 0.2 with
    the radius that was released."""
    rows, _ = capped(20_000)
    columns = [dp.Column(f"x{index}", -1, 1) for index in range(6)]
    plan = dp.regression_plan(columns=columns, target="x5", epsilon=1.0, delta=1e-6, neighbors=neighbors)
    covariance = np.cov(rows.T)
    exact = np.linalg.solve(covariance[:5, :5], covariance[:5, 5])

    def explained(slopes: Any) -> float:
        return float(2 * slopes @ covariance[:5, 5] - slopes @ covariance[:5, :5] @ slopes)

    for seed in range(3):
        model = plan.run(rows, insecure_seed=seed).record("model").value
        assert explained(model.array[:5]) > 0.8 * explained(exact)
