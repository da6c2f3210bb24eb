"""First-order forecasts against simulation."""

from __future__ import annotations

import numpy as np
import pytest

import dpframe as dp

SPECTRUM = np.array([5000.0, 4000.0, 3000.0, 1000.0, 500.0, 400.0, 300.0, 200.0])


def plan(noise: str = "goe") -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[
            dp.release("moment", "gaussian", noise=noise),
            dp.derive("components", "top-subspace", of="moment", k=3),
            dp.derive("leading", "rank-k", of="moment", k=3),
            dp.derive("values", "eigenvalues", of="moment"),
        ],
    )


@pytest.mark.parametrize(("noise", "tolerance"), [("goe", 0.05), ("paper", 0.05), ("triangular", 0.15)])
def test_forecasts_agree_with_simulation(noise: str, tolerance: float) -> None:
    chosen = plan(noise)
    forecast = chosen.explain(spectrum=SPECTRUM.tolist())
    truth = np.diag(SPECTRUM)
    scales = forecast.statement.line("moment").noise
    rng = np.random.default_rng(0)
    squares = {"components": [], "leading": []}  # type: dict[str, list[float]]
    for _ in range(4000):
        # A random basis, since triangular noise is not the same in all of them.
        basis = np.linalg.qr(rng.standard_normal((8, 8)))[0]
        draw = np.triu(rng.standard_normal((8, 8)), 1) * scales["off-diagonal"]
        noisy = basis @ truth @ basis.T + draw + draw.T + np.diag(rng.standard_normal(8) * scales["diagonal"])
        values, vectors = np.linalg.eigh(noisy)
        found = vectors[:, -3:]
        squares["components"].append(float(np.linalg.norm(found @ found.T - basis[:, :3] @ basis[:, :3].T) ** 2))
        part = (found * values[-3:]) @ found.T
        squares["leading"].append(float(np.linalg.norm(part - (basis[:, :3] * SPECTRUM[:3]) @ basis[:, :3].T) ** 2))
    for step, simulated in squares.items():
        (bound,) = forecast.bounds(step)
        assert all(assumption.holds for assumption in bound.assumptions)
        assert np.sqrt(np.mean(simulated)) == pytest.approx(bound.value, rel=tolerance)


def test_nothing_is_said_of_other_results_and_near_ties_are_flagged() -> None:
    assert () == plan().explain(spectrum=SPECTRUM.tolist()).bounds("values")
    assert () == plan().explain(dim=8).bounds("components")
    tied = plan().explain(spectrum=[10.0] * 8)
    (bound,) = tied.bounds("components")
    assert not bound.assumptions[0].holds
    assert bound.value == pytest.approx(np.sqrt(6.0))
    assert "the gap below eigenvalue 3 is at least 10 s√d" == bound.assumptions[0].text
    assert "does not hold" in str(tied)
    (leading,) = tied.bounds("leading")
    assert leading.value is not None
    assert np.isfinite(leading.value)
