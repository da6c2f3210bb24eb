"""Half-widths of simulated figures, against the quantiles of known laws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpframe.forecast.spread import margins

DRAWS = 4000


@pytest.mark.parametrize(("confidence", "normal"), [(0.5, 0.6745), (0.95, 1.9600), (0.99, 2.5758)])
def test_normal_figures(confidence: float, normal: float) -> None:
    """A half-width of 4000 draws has a deviation of at most 2.5 percent: five of them are below the limit."""
    scales, shift = np.array([1.0, 10.0, 0.01]), np.array([0.0, 5.0, -1.0])
    drawn = shift + scales * np.random.default_rng(1).standard_normal((DRAWS, 3))
    found, bias = margins(list(drawn), confidence)
    np.testing.assert_allclose(found, normal * scales, rtol=0.13)
    np.testing.assert_allclose(bias, shift, atol=0.13 * scales.max(), rtol=0.05)


def test_a_wrong_scale_is_seen() -> None:
    drawn = 1.3 * np.random.default_rng(1).standard_normal((DRAWS, 3))
    assert (margins(list(drawn), 0.95)[0] > 1.13 * 1.96).all()


def test_heavy_tails() -> None:
    """Of Laplace draws, the half-width at 95 percent is log 20 scales, more than 1.96 deviations."""
    found, _ = margins(list(np.random.default_rng(2).laplace(size=(DRAWS, 4))), 0.95)
    np.testing.assert_allclose(found, math.log(20), rtol=0.13)


def test_figures_that_do_not_vary() -> None:
    drawn = np.column_stack([np.full(50, 2.0), np.arange(50.0)])
    found, bias = margins(list(drawn), 0.95)
    assert (0.0, 2.0) == (found[0], bias[0])
    assert found[1] > 0.0
    constant, _ = margins([np.zeros(3)] * 20, 0.95)
    np.testing.assert_array_equal(constant, 0.0)


def test_many_figures_have_the_shape_of_some() -> None:
    found, _ = margins(list(np.random.default_rng(3).standard_normal((100, 20_000)).astype(np.float32)), 0.95)
    assert 1.96 == pytest.approx(float(np.median(found)), rel=0.05)
