"""What an adaptive covariance takes beside a plain one: several passes over the data instead of one."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import dpframe as dp
from benchmarks.table import Row, Table, at_most
from benchmarks.timing import Turns

ROWS, DIM = 1_000_000, 50
REPETITIONS = 3
WANTED = 4.0
PLAIN = "plain: `gaussian`, `covariance`"
GOALS: dict[str, dict[str, Any]] = {
    "covariance": {"goal": "covariance"},
    "components, k = 1": {"goal": "components", "k": 1},
    "components, k = 3": {"goal": "components", "k": 3},
    "correlation": {"goal": "correlation"},
    "regression": {"goal": "regression"},
}


def measure(turns: Turns) -> Table:
    """Whole runs on an array in memory."""
    turns.progress.expect(REPETITIONS)
    turns.progress.says("drawing the rows")
    random = np.random.default_rng(1)
    mixed = random.standard_normal((ROWS, 8)) @ random.standard_normal((8, DIM)) + random.standard_normal((ROWS, DIM))
    data = np.clip(0.05 * mixed + random.uniform(-0.6, 0.6, DIM), -1, 1)
    rows = dp.Rows(columns=[dp.Column(f"x{index}", -1, 1) for index in range(DIM)], neighbors="add-remove")
    budget = dp.Budget(epsilon=1.0, delta=1e-6)
    plain = dp.Plan(
        rows=dp.Rows(columns=rows.columns, neighbors="add-remove", center=True),
        budget=budget,
        steps=[dp.release("moment", "gaussian"), dp.derive("covariance", "covariance", of="moment")],
    )
    plans = {PLAIN: plain}
    for goal, said in GOALS.items():
        steps = [dp.release("covariance", "adaptive", **said)]
        plans[f"adaptive, {goal}"] = dp.Plan(rows=rows, budget=budget, steps=steps)
    seconds = turns.medians({name: _on_all_cores(partial(plan.run, data)) for name, plan in plans.items()}, REPETITIONS)
    ratios = {name: taken / seconds[PLAIN] for name, taken in seconds.items()}
    return Table(
        title=f"A covariance of {ROWS:,} × {DIM} rows, in several passes",
        notes=(
            "Seconds of all cores together (CPU time) of a run on an array in memory, with planning and noise, so that "
            "other processes disturb less. Passes: how often the data is read.",
        ),
        rows=tuple(
            Row(
                what=name,
                figures={
                    "CPU seconds": seconds[name],
                    "passes": float(plans[name].schedule()[-1].number),
                    "ratio": ratios[name],
                },
                goal="none" if name == PLAIN else f"at most {WANTED:g}",
                verdict="" if name == PLAIN else at_most(ratios[name], WANTED),
            )
            for name in plans
        ),
    )


def _on_all_cores(action: Callable[[], object]) -> Callable[[], float]:
    """The action, and the CPU time that it took."""

    def run() -> float:
        start = time.process_time()
        action()
        return time.process_time() - start

    return run
