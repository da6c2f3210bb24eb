"""Error bars of directions drawn on an orbit: known where the spectrum was released."""

from __future__ import annotations

import numpy as np
import pytest

import dpframe.plugin as dp

ROWS = dp.Rows(norm=1.0, neighbors="add-remove")


def data() -> dp.FloatArray:
    random = np.random.default_rng(1)
    basis = np.linalg.qr(random.standard_normal((5, 5)))[0]
    return np.asarray(random.standard_normal((5000, 5)) * np.sqrt([0.16, 0.08, 0.03, 0.002, 0.002]) @ basis.T)


def test_directions_are_covered_where_the_spectrum_was_released() -> None:
    """25 releases: fewer than 15 angles within their limit have a probability below 1e-9."""
    rows = data()
    exact = rows.T @ (rows * np.minimum(1.0, 1.0 / np.linalg.norm(rows, axis=1))[:, None] ** 2)
    truth = np.linalg.eigh(exact)[1][:, ::-1][:, :1]
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
        angle = np.degrees(np.arccos(min(abs(float((truth * result["components"]).sum())), 1.0)))
        inside.append(angle <= (found.angle_degrees or 0.0))
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
