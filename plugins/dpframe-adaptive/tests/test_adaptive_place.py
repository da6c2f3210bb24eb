"""Ball or box, scales, and the share of rows that a radius keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe_adaptive import BallOrBoxCenter, BallOrBoxNorm, ColumnScales, KeptShare
from dpframe_adaptive.place import COUNT_LEFT, MEAN_LEFT

CENTER = dp.Mean([0.5, -0.25, 2.0])
MIDDLE = dp.Mean([0.0, 0.0, 0.0])


@pytest.mark.parametrize(("beyond", "kept"), [(20.0, 0.8), (1.0, 0.99), (90.0, 0.5)])
def test_the_kept_share(beyond: float, kept: float) -> None:
    total = dp.AugmentedSum([1.0, 50.0], constant=0.5)  # a count of 100
    step = KeptShare(of=total, beyond_per_noise=beyond / 4, of_noise={"each": 4.0})
    assert kept == pytest.approx(float(step.apply().array))
    assert f"A share of {1 - kept:.2g} of the rows" in step.choice()
    assert 0.99 == float(KeptShare(of=total, beyond_per_noise=beyond).apply().array)  # without noise, one row


@pytest.mark.parametrize(("radius", "is_ball"), [(2.5, True), (2.51, False)])
def test_a_short_radius_makes_a_ball(radius: float, is_ball: bool) -> None:
    """Three columns: the longest row about the middle has the squared length 3, and a center with |t|² = 1.3125 which
    is 7 squared constant coordinates: noise is √(1 + (4·7/2 + 49/8)/6) = 2.087 times as large there."""
    choice = {"center": CENTER, "radius": dp.Scalar(radius)}
    expected = [0.5, -0.25, 1.0] if is_ball else [0.0, 0.0, 0.0]  # a center outside of the box is moved into it
    np.testing.assert_array_equal(BallOrBoxCenter(**choice).apply().array, expected)
    norm = BallOrBoxNorm(**choice)
    assert (radius if is_ball else np.sqrt(3.0)) == pytest.approx(float(norm.apply().array))
    assert ("about the released center" in norm.choice()) is is_ball


def test_a_margin_makes_the_box_more_likely() -> None:
    for margin, norm in ((1.0, 1.7), (1.1, np.sqrt(3.0))):
        step = BallOrBoxNorm(center=MIDDLE, radius=dp.Scalar(1.7), margin=margin)
        assert norm == pytest.approx(float(step.apply().array))


def test_noise_about_the_middle_is_that_of_moment_mean_and_count() -> None:
    """Simulated: a moment of the box, with its constant coordinate, of rows that all are at the center; the covariance
    from it has no other error than noise."""
    random, dim, draws = np.random.default_rng(0), 6, 20_000
    center, scale = random.uniform(-1, 1, dim), random.uniform(0.3, 1.0, dim)
    step = BallOrBoxNorm(center=dp.Mean(center), radius=dp.Scalar(1e3), scale=dp.Scales(scale))
    constant, placed = float(step.apply().array) / 4, center / scale
    noise = random.standard_normal((draws, dim + 1, dim + 1)) * 1e-6
    noise = (noise + noise.swapaxes(1, 2)) / 2  # 1e-6 on the diagonal
    first, mean = noise[:, :dim, :dim], noise[:, :dim, dim] / constant * math.sqrt(MEAN_LEFT)
    count = noise[:, dim, dim] / constant**2 * math.sqrt(COUNT_LEFT)
    outer = placed[:, None] * mean[:, None, :]
    error = first - outer - outer.swapaxes(1, 2) + count[:, None, None] * np.outer(placed, placed)
    ratio = np.square(error).sum(axis=(1, 2)).mean() / np.square(first).sum(axis=(1, 2)).mean()
    assert step._off_center == pytest.approx(math.sqrt(ratio), rel=0.02)


def test_the_box_of_scaled_columns_and_categories() -> None:
    """A numeric column of scale 1/2 contributes 4; of a category, one level is 1 at a time: its largest rate."""
    scale = dp.Scales([0.5, 1.0, 0.25])
    for columns, squared in ((None, 4.0 + 1.0 + 16.0), ((1, 2), 4.0 + 16.0), ((3,), 16.0)):
        step = BallOrBoxNorm(center=CENTER, radius=dp.Scalar(100.0), scale=scale, columns=columns)
        assert np.sqrt(squared) == pytest.approx(float(step.apply().array))


def test_the_longest_row_of_the_box_is_that_of_the_rows() -> None:
    columns = [dp.Column("a", 0, 1), dp.Category("b", ["x", "y"]), dp.Column("c", -1, 4)]
    scale = (0.5, 0.2, 1.0, 0.3)
    rows = dp.Rows(columns=columns, neighbors="replace", scale=scale)
    step = BallOrBoxNorm(
        center=dp.Mean(np.zeros(4)), radius=dp.Scalar(100.0), scale=dp.Scales(scale), columns=(1, 2, 1)
    )
    assert rows.length <= float(step.apply().array) * (1 + 1e-12)
    assert rows.length == pytest.approx(float(step.apply().array), rel=0.1)


def test_scales_follow_deviations_and_end_at_the_noise() -> None:
    """Variances 4, 1 and 0 with a count of 100: the last is replaced by the deviation of the noise, 0.25."""
    moment = np.diag([400.0, 100.0, 0.0, 25.0])
    released = dp.AugmentedMoment(moment, constant=0.5)
    found = ColumnScales(of=released, of_noise={"diagonal": 35.0, "off-diagonal": 25.0}).apply().array
    assert 1.0 == found[0]
    assert found[0] > found[1] > found[2] == pytest.approx(np.sqrt(0.25 / 4.0), rel=0.2)
    exact = ColumnScales(of=released).apply().array
    np.testing.assert_allclose(exact, [1.0, 0.5, 1 / 32], rtol=1e-12)
