"""A small plan, a small data set and a ledger for them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import numpy as np

import dpframe as dp
from dpframe.ledger.account import Account
from dpframe.ledger.store import TABLE
from dpframe.run.result import Charge
from dpframe.run.statement import statement

NAME = "clinic-2026"
BUDGET = dp.Budget(epsilon=3.0, delta=1e-6)
ROWS = dp.Rows(norm=1.0, neighbors="add-remove", dim=3)
DATA = np.random.default_rng(0).standard_normal((200, 3))


def plan(epsilon: float = 0.5, *steps: dp.Step, **changes: Any) -> dp.Plan:
    """A plan of one Gaussian release, unless others are given."""
    chosen = dp.Plan(
        rows=ROWS,
        budget=dp.Budget(epsilon=epsilon, delta=1e-6),
        steps=steps or (dp.release("moment", "gaussian"),),
    )
    return attrs.evolve(chosen, **changes)


def make(path: Path | str, budget: dp.Budget = BUDGET, **terms: Any) -> dp.Ledger:
    """A ledger with one data set."""
    ledger = dp.Ledger.create(path, key=terms.pop("key", None))
    ledger.add(NAME, budget=budget, neighbors=terms.pop("neighbors", "add-remove"), **terms)
    return ledger


def reserve(ledger: dp.Ledger | Path, priced: dp.Plan) -> Charge:
    """A charge without a run; the plan has the data set's accountant already."""
    return Account.open(ledger, NAME).reserve(priced, statement(priced, "0" * 64))


def kinds(ledger: dp.Ledger) -> list[str]:
    """What has happened, after the ledger and its data set were made."""
    return [entry.kind for entry in ledger.history()][2:]


def roll_back(target: str, kept: int) -> None:
    """Leave the first entries only, as a copy from an earlier time would have them."""
    statement: Any = f"DELETE FROM {TABLE} WHERE number > {kept}"
    if not target.startswith("postgresql:"):
        tamper(Path(target), statement)
        return
    import psycopg

    with psycopg.connect(target) as connection:
        connection.execute(f"ALTER TABLE {TABLE} DISABLE TRIGGER ALL")
        connection.execute(statement)


def tamper(path: Path, *statements: str) -> None:
    """Change a file as somebody with SQL at hand would, past the triggers."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        for change in ("update", "delete"):
            connection.execute(f"DROP TRIGGER IF EXISTS {TABLE}_{change}")
        for statement in statements:
            connection.execute(statement)
