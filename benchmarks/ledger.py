"""How long a charge takes, in a new ledger and in one with a long history."""

from __future__ import annotations

import tempfile
from pathlib import Path

import attrs
import numpy as np

import dpframe as dp
from benchmarks.table import Row, Table, at_most
from benchmarks.timing import Measured, Turns, timed
from dpframe.ledger.account import Account
from dpframe.run.statement import statement

REPETITIONS = 40
EARLIER = 10_000
WANTED = 20.0
NAME = "benchmark"
PLAN = dp.Plan(
    rows=dp.Rows(norm=1.0, neighbors="add-remove", dim=4),
    budget=dp.Budget(epsilon=1e-4, delta=1e-6),
    steps=[dp.release("moment", "gaussian")],
    accountant="zcdp",
)

STATED = statement(PLAN, PLAN.content_hash)


def measure(turns: Turns) -> Table:
    """Reservations on disk, as a run makes them, in turns; and a verification of everything."""
    turns.progress.expect(REPETITIONS)
    with tempfile.TemporaryDirectory() as folder:
        new, old = _ledger(Path(folder) / "new.db"), _ledger(Path(folder) / "old.db")
        _fill(old)
        charges = {"new": _charge(new), "old": _charge(old)}
        seconds = turns.medians(charges, REPETITIONS)
        run = timed(lambda: PLAN.run(np.zeros((10, 4)), ledger=old, dataset=NAME))
        seconds |= turns.medians({"run": run}, REPETITIONS)
        seconds |= turns.medians({"verify": timed(old.verify)}, 3)
    goal = f"below {WANTED:g} ms"
    charged = 1e3 * seconds["old"]
    return Table(
        title="Ledger",
        notes=(
            f"A charge is from the start of its transaction until it is on disk (SQLite), median of {REPETITIONS}; "
            "most of it is waiting for the disk. A run is charge, read, draw and recorded outcome, on ten rows.",
        ),
        rows=(
            Row(what="charge, new ledger", figures={"milliseconds": 1e3 * seconds["new"]}),
            Row(
                what=f"charge, after {EARLIER} entries",
                figures={"milliseconds": charged},
                goal=goal,
                verdict=at_most(charged, WANTED),
            ),
            Row(what=f"whole run, after {EARLIER} entries", figures={"milliseconds": 1e3 * seconds["run"]}),
            Row(what=f"verify all of {EARLIER} entries", figures={"milliseconds": 1e3 * seconds["verify"]}),
        ),
    )


def _ledger(path: Path) -> dp.Ledger:
    ledger = dp.Ledger.create(path)
    ledger.add(NAME, budget=dp.Budget(epsilon=3.0, delta=1e-6), neighbors="add-remove")
    return ledger


def _fill(ledger: dp.Ledger) -> None:
    """A long history, written at once: what runs would have left."""
    account = Account.open(ledger, NAME)
    with ledger.journal.writing() as transaction:
        for number in range(EARLIER):
            attrs.evolve(account, run=f"{number:032x}")._enter(transaction, PLAN, STATED)


def _charge(ledger: dp.Ledger) -> Measured:
    def once() -> float:
        account = Account.open(ledger, NAME)
        return timed(lambda: account.reserve(PLAN, STATED))()

    return once
