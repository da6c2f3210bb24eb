"""Bases that blocks cannot use are refused before anything is charged, also where only the run tells the dimension."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dpframe as dp

BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
DATA = np.random.default_rng(0).standard_normal((30, 4))
BLOCKS = dp.release("blocks", "block-gaussian", basis="u", radii=(1.0, 1.0))
RADII = dp.release("radii", "block-radii", basis="u", quantile=0.9, high=1.0)
MOMENT = dp.release("moment", "gaussian")


def top(k: int, of: str = "moment") -> dp.Step:
    return dp.derive("u", "top-subspace", of=of, k=k)


SPIKED = dp.release("u", "spiked", rank=1, n=30, spike=2.0, noise=1.0, output="components")


@pytest.fixture
def ledger(tmp_path: Path) -> dp.Ledger:
    found = dp.Ledger.create(tmp_path / "budget.db")
    found.add("people", budget=BUDGET, neighbors="replace", accountant="zcdp")
    return found


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([MOMENT, top(4), BLOCKS], "'blocks': a block moment needs a basis of fewer directions than the 4 .* got 4"),
        ([MOMENT, top(4), RADII], "'radii': a block moment needs a basis of fewer directions than the 4 .* got 4"),
        ([dp.release("u", "bingham", k=4), BLOCKS], "fewer directions than the 4 coordinates, .* Take fewer"),
        (
            [MOMENT, dp.derive("u", "top-subspace", of=np.eye(6), k=2), BLOCKS],
            r"of 4 coordinates cannot use a basis of shape \(6, 2\)",
        ),
        (
            [MOMENT, top(2), BLOCKS, dp.derive("cov", "block-estimate", of="blocks", prior=np.eye(5))],
            "'block-estimate' needs prior= about the 4 coordinates of the rows; got one of 5",
        ),
    ],
)
def test_a_basis_without_anything_beside_it_is_refused_before_the_charge(
    ledger: dp.Ledger, steps: list[dp.Step], words: str
) -> None:
    """The plan can be written, since it does not tell the dimension; the run charges nothing."""
    plan = dp.Plan(rows=dp.Rows(norm=1.0, neighbors="replace"), budget=BUDGET, steps=steps)
    before = ledger.head
    with pytest.raises(dp.PlanError, match=words):
        plan.run(DATA, ledger=ledger, dataset="people")
    assert (before, 0.0) == (ledger.head, ledger.dataset("people").spent.epsilon)
    with pytest.raises(dp.PlanError, match=words):
        plan.bind(4)


@pytest.mark.parametrize("after", [BLOCKS, RADII])
def test_a_complex_basis_is_refused_when_the_plan_is_written(after: dp.Step) -> None:
    drawn = dp.release("estimate", "orbit", spectrum=[2.0, 1.0], real=False)
    words = "needs a subspace in basis=, but 'u' gives a complex subspace. Take the real part"
    with pytest.raises(dp.PlanError, match=words):
        dp.Plan(rows=dp.Rows(norm=1.0, neighbors="replace"), budget=BUDGET, steps=[drawn, top(2, of="estimate"), after])
    real = dp.derive("real", "real-part", of="estimate")
    rows = dp.Rows(norm=1.0, neighbors="replace", dim=4)
    dp.Plan(rows=rows, budget=BUDGET, steps=[drawn, real, top(2, of="real"), after])


def test_blocks_are_put_together_in_the_basis_they_were_released_in(tmp_path: Path) -> None:
    """There is no other basis to name: of another rank or direction, the estimate would be about something else."""
    steps = [MOMENT, top(2), BLOCKS]
    with pytest.raises(dp.PlanError, match="'block-estimate' has no parameter 'basis'"):
        dp.derive("cov", "block-estimate", of="blocks", basis="u")
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="replace"),
        budget=BUDGET,
        steps=[*steps, dp.derive("cov", "block-estimate", of="blocks")],
    )
    result = plan.run(DATA, insecure_seed=1)
    blocks = result.record("blocks").value
    assert result.record("u").value == blocks.basis  # type: ignore[attr-defined]
    result.to_json(tmp_path / "result.json")
    assert blocks == dp.Result.load(tmp_path / "result.json").record("blocks").value


def test_a_basis_of_fewer_directions_is_served() -> None:
    rows = dp.Rows(norm=1.0, neighbors="replace")
    assert (4, 4) == dp.Plan(rows=rows, budget=BUDGET, steps=[MOMENT, top(3), BLOCKS]).run(DATA)["blocks"].shape
    assert (2,) == dp.Plan(rows=rows, budget=BUDGET, steps=[MOMENT, top(3), RADII]).run(DATA)["radii"].shape
    accepted = dp.Plan(
        rows=rows, budget=BUDGET, steps=[SPIKED, BLOCKS], accept=[dp.model("spiked-covariance")], accountant="gdp"
    )
    assert (4, 4) == accepted.run(DATA)["blocks"].shape
