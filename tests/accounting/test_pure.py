"""Pure losses: sums that are never rounded down."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import dpframe.plugin as dp


def test_pure_losses_add_without_rounding_down() -> None:
    pure = dp.accountant("pure")
    losses = [dp.losses.Pure(epsilon=0.1), dp.losses.Laplace(epsilon=0.2), dp.losses.BoundedRange(epsilon=0.3)]
    total = Fraction(0.1) + Fraction(0.2) + Fraction(0.3)
    assert total <= Fraction(pure.epsilon(losses, 0.0)) <= total + Fraction(2) ** -53
    assert pure.epsilon([dp.losses.Pure(epsilon=1.0)], 0.0) == 1.0
    assert pure.delta([dp.losses.Pure(epsilon=1.0)], 1.0) == 0.0
    # Randomized response: P(1) = e/(1+e) under one input, 1/(1+e) under the other.
    expected = math.e / (1 + math.e) - math.exp(0.5) / (1 + math.e)
    assert expected == pytest.approx(pure.delta([dp.losses.Pure(epsilon=1.0)], 0.5), rel=1e-12)


def test_implied_pure_losses() -> None:
    for loss in (dp.losses.Laplace(epsilon=1.5), dp.losses.BoundedRange(epsilon=1.5)):
        assert dp.losses.Pure(epsilon=1.5) in loss.implies()
