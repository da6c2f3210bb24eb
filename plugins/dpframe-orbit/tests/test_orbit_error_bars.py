"""Error bars of directions drawn on an orbit: known where the spectrum was released."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_orbit import Bingham

ROWS = dp.Rows(norm=1.0, neighbors="add-remove")


def data(variances: Sequence[float] = (0.16, 0.08, 0.03, 0.002, 0.002), count: int = 5000) -> dp.FloatArray:
    random, dim = np.random.default_rng(1), len(variances)
    basis = np.linalg.qr(random.standard_normal((dim, dim)))[0]
    return np.asarray(random.standard_normal((count, dim)) * np.sqrt(variances) @ basis.T)


def directions(rows: dp.FloatArray, k: int) -> dp.FloatArray:
    """The leading directions without noise, of rows that are scaled down to the norm."""
    exact = rows.T @ (rows * np.minimum(1.0, 1.0 / np.linalg.norm(rows, axis=1))[:, None] ** 2)
    return np.asarray(np.linalg.eigh(exact)[1][:, ::-1][:, :k])


def angle(truth: dp.FloatArray, found: dp.FloatArray) -> float:
    """The largest angle of two spans, in degrees."""
    return float(np.degrees(np.arccos(min(np.linalg.svd(truth.T @ found)[1].min(), 1.0))))


def test_directions_are_covered_where_the_spectrum_was_released() -> None:
    """25 releases: fewer than 15 angles within their limit have a probability below 1e-9."""
    rows = data()
    truth = directions(rows, 1)
    plan = dp.Plan(
        rows=ROWS,
        budget=dp.Budget(epsilon=1.0),
        steps=[
            dp.release("spectrum", "laplace-eigenvalues", k=3),
            dp.release("estimate", "orbit", spectrum=dp.ref("spectrum")),
            dp.derive("components", "top-subspace", of="estimate", k=1),
        ],
    )
    inside = []
    for seed in range(25):
        result = plan.run(rows, insecure_seed=seed)
        found = result.interval("components")
        assert found.determined.all()
        inside.append(angle(truth, result["components"]) <= (found.angle_degrees or 0.0))
        assert not result.interval("estimate").determined.any()  # the gap below the last value was not released
    assert np.sum(inside) >= 15


def test_a_public_spectrum_says_nothing_of_the_gaps() -> None:
    plan = dp.Plan(
        rows=ROWS,
        budget=dp.Budget(epsilon=1.0),
        steps=[dp.release("estimate", "orbit", spectrum=[3.0, 2.0, 1.0])],
    )
    with pytest.raises(dp.PlanError, match="the error of 'estimate' is not known"):
        plan.run(data(), insecure_seed=1).interval("estimate")


def of_bingham(k: int, released: int) -> dp.Plan:
    return dp.Plan(
        rows=ROWS,
        budget=dp.Budget(epsilon=1.0),
        steps=[
            dp.release("spectrum", "laplace-eigenvalues", k=released),
            dp.release("components", "bingham", k=k, spectrum=dp.ref("spectrum")),
        ],
    )


@pytest.mark.parametrize("k", [1, 2])
def test_directions_that_were_drawn_one_by_one_are_covered(k: int) -> None:
    """40 releases: of angles that are covered with probability 0.94 at most 27 are once in 3 million times."""
    rows = data()
    truth, plan = directions(rows, k), of_bingham(k, k + 1)
    limits, angles, shares = [], [], []
    for seed in range(40):
        result = plan.run(rows, insecure_seed=seed)
        found, value = result.interval("components"), result["components"]
        assert found.determined.all()
        near = truth * np.where((truth * value).sum(axis=0) < 0.0, -1.0, 1.0)
        shares.append(((found.low <= near) & (near <= found.high)).mean())
        limits.append(found.angle_degrees or 0.0)
        angles.append(angle(truth, value))
    assert (np.array(angles) <= limits).sum() > 27
    assert (np.array(angles) <= np.array(limits) / 2).sum() < 27
    assert np.mean(shares) > 0.8


def test_a_gap_that_was_not_released_determines_no_last_direction() -> None:
    found = of_bingham(2, 2).run(data(), insecure_seed=1).interval("components")
    assert found.determined[:, 0].all()
    assert not found.determined[:, 1].any()
    assert 90.0 == found.angle_degrees
    plan = dp.Plan(
        rows=ROWS,
        budget=dp.Budget(epsilon=1.0),
        steps=[dp.release("estimate", "bingham-low-rank", k=2), dp.release("alone", "bingham")],
    )
    result = plan.run(data(), insecure_seed=1)
    assert not result.interval("estimate").determined.any()
    with pytest.raises(dp.PlanError, match=r"spectrum=dp\.ref"):
        result.interval("alone")


@pytest.mark.parametrize("cells", [np.zeros((3, 5)), np.eye(5)], ids=len)
def test_a_spectrum_of_zeros_or_in_noise_determines_nothing(cells: dp.FloatArray) -> None:
    steps = [dp.release("one", "bingham-low-rank", k=2), dp.release("other", "orbit-low-rank", k=2)]
    plan = dp.Plan(rows=ROWS, budget=dp.Budget(epsilon=0.1), steps=steps)
    for seed in range(10):
        result = plan.run(cells, insecure_seed=seed)
        for name in ("one", "one.directions", "other"):
            found = result.interval(name)
            assert not found.determined.any()
            assert not np.isnan([found.low, found.high]).any()


def test_the_spectrum_changes_no_draw() -> None:
    """It is released before, and only error bars depend on it."""
    known = dp.Rows(norm=1.0, neighbors="add-remove", dim=5)
    integers = np.rint(np.diag([9.0, 4.0, 1.0, 1.0, 1.0]) / known.step**2).astype(np.int64)
    private = dp.PrivateData(known, statistics={dp.Moment(): {"moment": integers}})
    one, other = (
        Bingham(k=2, spectrum=spectrum).release(private, 1.0, seeded(3)).array for spectrum in (None, [9.0, 4.0, 1.0])
    )
    assert np.array_equal(one, other)
