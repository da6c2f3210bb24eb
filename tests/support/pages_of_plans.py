"""Plans and results for tests of pages: with names that a page must not obey."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import dpframe as dp

HOSTILE = """</title></svg><script>stolen=1</script><img src=x onerror="stolen=1">"'&"""
UNSEEN = "\u202e\x1b[2J"  # reversed writing, and a command of terminals
NOTE = f"for {HOSTILE}"
DATA = np.column_stack([np.linspace(0.0, 9.0, 3000), np.linspace(1.0, 5.0, 3000) ** 2, np.tile([0.0, 1.0, 2.0], 1000)])


def hostile_plan(epsilon: float = 1.0) -> dp.Plan:
    """A plan whose names and units are markup."""
    columns = [
        dp.Column(HOSTILE, 0, 10, unit=f"u{HOSTILE}"),
        dp.Column(f"b{UNSEEN}", 0, 30, missing=1.0),
        dp.Category("kind", [0, 1, 2]),
    ]
    return dp.Plan(
        rows=dp.Rows(columns=columns, neighbors="add-remove", center=True),
        budget=dp.Budget(epsilon=epsilon, delta=1e-6),
        steps=[
            dp.release("moment", "gaussian"),
            dp.derive("mean", "mean", of="moment"),
            dp.derive("mean_in_units", "to-units", of="mean"),
            dp.derive("covariance", "covariance", of="moment"),
            dp.derive("correlation", "correlation", of="covariance"),
            dp.derive("eigenvalues", "eigenvalues", of="covariance"),
            dp.derive("components", "top-subspace", of="covariance", k=2),
            dp.derive("explained", "explained-variance", of="covariance", components="components"),
        ],
    )


def charged(folder: Path, plan: dp.Plan) -> dp.Result:
    """The result of the second of two runs on a data set of a ledger."""
    ledger = dp.Ledger.create(folder / "budget.db")
    ledger.add(HOSTILE, budget=dp.Budget(epsilon=3.0, delta=1e-6), neighbors="add-remove")
    plan.run(DATA, ledger=ledger, dataset=HOSTILE)
    return plan.run(DATA, ledger=ledger, dataset=HOSTILE, note=NOTE)
