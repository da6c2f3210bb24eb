"""The largest scale that meets a budget."""

from __future__ import annotations

import math

import pytest

from dpframe.accounting.calibrate import largest_scale


@pytest.mark.parametrize("slope", [1e-6, 1.0, 1e6])
def test_the_largest_scale_meets_the_budget_from_below(slope: float) -> None:
    scale = largest_scale(lambda t: slope * t, 0.7)
    assert scale is not None
    assert slope * scale <= 0.7
    assert slope * scale * (1 + 1e-12) > 0.7


@pytest.mark.parametrize("budget", [2.0**power for power in range(-20, 21)])
def test_a_budget_that_a_tried_scale_meets_exactly_is_solved(budget: float) -> None:
    scale = largest_scale(lambda t: t, budget)
    assert scale is not None
    assert budget * (1 - 1e-12) < scale <= budget


def test_no_scale_fits_where_every_one_is_too_expensive() -> None:
    assert largest_scale(lambda t: 1.0 + t, 0.5) is None
    assert largest_scale(lambda t: math.inf, 0.5) is None
