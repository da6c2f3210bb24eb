"""Scales for a regression: less than deviations where noise costs little, so that rare features are stretched less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe_adaptive import ColumnScales, RegressionScales
from dpframe_adaptive.place import column_deviations
from dpframe_adaptive.regression_scales import target_weight

COUNT = 1e4
VARIANCES = np.array([0.04, 0.0025, 0.02, 0.05])


def subject(noise: float, explained: float = 0.4, **changed: Any) -> RegressionScales:
    """Three uncorrelated features, of which the first explains a share of the last coordinate."""
    moment = np.diag([*VARIANCES, 0.25]) * COUNT
    moment[0, 3] = moment[3, 0] = COUNT * np.sqrt(explained * VARIANCES[0] * VARIANCES[3])
    given: dict[str, Any] = {
        "of": dp.AugmentedMoment(moment, constant=0.5),
        "targets": [3],
        "of_noise": {"diagonal": noise * np.sqrt(2), "off-diagonal": noise},
    }
    return RegressionScales(**{**given, **changed})


def power(step: RegressionScales) -> float:
    """The power of the deviations that features were divided by."""
    scales, deviations = step.apply().array[:3], column_deviations(step.of, step.of_noise)
    return float(np.log(scales[0] / scales[1]) / np.log(deviations[0] / deviations[1]))


@pytest.mark.parametrize(("noise", "expected"), [(0.01, 0.5), (10.0, 0.5), (40.0, 0.75), (200.0, 1.0)])
def test_the_less_noise_costs_the_smaller_the_power(noise: float, expected: float) -> None:
    step = subject(noise)
    assert expected == pytest.approx(power(step))
    assert ("power" in step.choice()) is (expected < 1.0)


@pytest.mark.parametrize("noise", [0.0, 1e-30])
def test_without_noise_the_power_is_the_smallest(noise: float) -> None:
    assert 0.5 == pytest.approx(power(subject(noise)), abs=1e-9)


def test_more_budget_for_the_moment_is_less_noise() -> None:
    assert 0.75 == pytest.approx(power(subject(40.0)))
    assert 0.5 == pytest.approx(power(subject(40.0, gain=10.0)))


@pytest.mark.parametrize(
    "changed",
    [
        {"explained": 0.0, "noise": 1.0},
        {"noise": 1e300},
        {"noise": 1.0, "of": dp.AugmentedMoment(np.full((5, 5), 1e300), constant=0.5)},
        {"noise": 1.0, "of": dp.AugmentedMoment(-np.eye(5), constant=0.5)},
    ],
    ids=str,
)
def test_where_nothing_is_found_columns_are_divided_by_their_deviations(changed: dict[str, Any]) -> None:
    step = subject(**changed)
    assert "by their deviations" in step.choice()
    scales, deviations = step.apply().array, ColumnScales(of=step.of, of_noise=step.of_noise).apply().array
    np.testing.assert_allclose(scales[:3] / scales[0], deviations[:3] / deviations[0], rtol=1e-12)


@pytest.mark.parametrize(("dim", "targets"), [(4, (3,)), (10, (0,)), (9, (2, 5, 6))])
def test_targets_are_divided_by_less(dim: int, targets: tuple[int, ...]) -> None:
    """Their variance in scaled coordinates is √(p/q) times that of the others."""
    variances = np.linspace(1.0, 2.0, dim)
    released = dp.AugmentedMoment(np.diag([*100 * variances, 25.0]), constant=0.5)
    scaled = variances / RegressionScales(of=released, targets=targets).apply().array ** 2
    others = np.delete(scaled, targets)
    np.testing.assert_allclose(others, others[0], rtol=1e-12)
    np.testing.assert_allclose(scaled[list(targets)] / others[0], np.sqrt(len(others) / len(targets)), rtol=1e-12)


def test_the_weight_of_targets_costs_little_and_gains_much() -> None:
    """The cost that its docstring states, beside that of no weight; and no weight is below 1."""

    def cost(p: int, slopes: float) -> float:
        weight = target_weight(p + 1, 1)
        return ((p + weight) / (p + 1)) ** 2 * (1 / weight + slopes) / (1 + slopes)

    assert max(cost(p, slopes) for p in range(1, 100) for slopes in (0.0, 0.1, 0.3, 0.5, 1.0)) < 1.11
    assert (0.65, 0.29) == pytest.approx((cost(5, 0.0), cost(22, 0.0)), abs=0.005)
    assert 1.0 == target_weight(4, 0) == target_weight(4, 3)


@pytest.mark.parametrize("targets", [[-1], ["x"], 1, [True]])
def test_targets_are_coordinates(targets: Any) -> None:
    with pytest.raises(dp.PlanError, match=r"RegressionScales\.targets must be a list of coordinates"):
        RegressionScales(of="pilot", targets=targets)


@pytest.mark.parametrize("targets", [[], [3], [0, 1, 2]])
def test_some_coordinates_are_predicted_and_not_all(targets: list[int]) -> None:
    rows = dp.Rows(columns=[dp.Column(name, 0, 1) for name in "abc"], neighbors="replace")
    with pytest.raises(dp.PlanError, match="must be some, not all, of the coordinates 0 to 2"):
        RegressionScales(of="pilot", targets=targets).check(rows)
