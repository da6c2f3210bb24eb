"""Error bars of moments that were released in blocks."""

from __future__ import annotations

import numpy as np

import dpframe.plugin as dp
from dpframe_spiked.blocks import BlockGaussian, Blocks

RELEASES = 30


def test_moments_in_blocks_are_covered() -> None:
    """30 releases of 78 entries: a mean share below 0.85 is more than five deviations away, if entries go together."""
    random = np.random.default_rng(0)
    basis = np.linalg.qr(random.standard_normal((12, 12)))[0]
    rows = random.standard_normal((5000, 12)) * np.sqrt([0.05, 0.03, *[0.0005] * 10]) @ basis.T
    exact = rows.T @ (rows * np.minimum(1.0, 1.0 / np.linalg.norm(rows, axis=1))[:, None] ** 2)
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[
            dp.release("moment", "spiked-block", rank=2, radii=[1.0, 0.2], shares=(0.3, 0.7)),
            dp.derive("components", "top-subspace", of="moment", k=2),
        ],
    )
    directions = np.linalg.eigh(exact)[1][:, ::-1][:, :2]
    shares, angles = [], []
    for seed in range(RELEASES):
        result = plan.run(rows, insecure_seed=seed)
        found = result.interval("moment")
        shares.append(((found.low <= exact) & (exact <= found.high)).mean())
        limit = result.interval("components").angle_degrees
        assert limit is not None
        overlap = np.linalg.svd(directions.T @ result["components"])[1].min()
        angles.append(np.degrees(np.arccos(min(float(overlap), 1.0))) <= limit)
        assert np.isfinite(result.standard_error("moment.blocks")).all()
    assert 0.85 < np.mean(shares) < 0.995
    assert np.mean(angles) > 0.7


def test_blocks_are_redrawn_as_blocks() -> None:
    rows = dp.Rows(norm=1.0, neighbors="replace", dim=4)
    mechanism = BlockGaussian(basis=np.eye(4)[:, :1], radii=[1.0, 0.5])
    array = np.diag([5.0, 1.0, 1.0, 1.0])
    value = Blocks(array, basis=np.eye(4)[:, :1])
    draws = [mechanism.redraw(value, rows, 1.0, np.random.default_rng(seed)) for seed in range(2000)]
    arrays = np.array([draw.array for draw in draws if draw is not None])
    noise = mechanism.noise(rows, 1.0)
    spread = arrays.std(axis=0)
    assert np.allclose(spread[0, 0], noise["signal"], rtol=0.1)
    assert np.allclose(spread[0, 1:], noise["cross"], rtol=0.1)
    assert np.array_equal(arrays[:, 1, 1], arrays[:, 3, 3])
