"""Checks of a statistic: exact integers, shares that depend on one row each, and the declared sensitivity."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpframe.auditing.neighbor_pairs import cells
from dpframe.interfaces import Statistic
from dpframe.lattice import FloatArray
from dpframe.reading.chunk import Chunk
from dpframe.reading.mapper import coordinates
from dpframe.reading.totals import Totals
from dpframe.spec.columns import Column
from dpframe.spec.rows import Rows
from dpframe.testing.checks import Failed, check
from dpframe.testing.instruments import held
from dpframe.testing.subjects import StatisticStage, some_rows

MANY = 70_000  # rows of a large chunk
LONGEST = 200  # of the longest steps are compared exactly
OF_MECHANISMS_TOO = ("exact-integers", "declared-sensitivity", "adds-up", "not-a-number", "keeps-no-rows")


@check("statistic")
def exact_integers(stage: StatisticStage) -> None:
    """Its parts are integer arrays, and each has a declared sensitivity of positive integers."""
    for rows in stage.rows:
        parts, declared = stage.parts(rows, some_rows(rows)[:4]), stage.subject.sensitivity(rows)
        if set(parts) != set(declared):
            raise Failed(f"its parts are {sorted(parts)}, but the sensitivity is declared for {sorted(declared)}")
        for name, part in parts.items():
            if np.asarray(part).dtype.kind not in "iuO":
                raise Failed(f"its part {name!r} is {np.asarray(part).dtype}; only integers add up exactly")
            bound = declared[name]
            if not all(isinstance(number, int) and number > 0 for number in (bound.l2_squared, bound.l1 or 1)):
                raise Failed(f"the sensitivity of {name!r} must be positive integers")


@check("statistic")
def declared_sensitivity(stage: StatisticStage) -> str:
    """One person moves no part by more than declared, in exact integers, on random and adversarial neighbors."""
    closest = 0.0
    for rows in stage.rows:
        shares = [_integers(stage.parts(rows, row[None])) for row in some_rows(rows)]
        for name, declared in stage.subject.sensitivity(rows).items():
            moved = _farthest([share[name] for share in shares], rows)
            farthest = max(int((step**2).sum()) for step in moved) * rows.contributions**2
            if farthest > declared.l2_squared:
                raise Failed(_exceeded(rows, name, "squared L2", declared.l2_squared, farthest))
            if declared.l1 is not None:
                most = max(int(np.abs(step).sum()) for step in moved) * rows.contributions
                if most > declared.l1:
                    raise Failed(_exceeded(rows, name, "L1", declared.l1, most))
            closest = max(closest, (farthest / declared.l2_squared) ** 0.5)
    return f"reached to {closest:.4f}"


def _farthest(shares: list[Any], rows: Rows) -> list[Any]:
    """How one row can move a part: the longest steps by either norm, selected in floats, in exact integers."""
    if rows.neighbors == "add-remove":
        return shares
    floats = np.array(shares, dtype=np.float64)
    steps = np.abs(floats[:, None, :] - floats[None, :, :])
    longest = []
    for sizes in (np.square(steps).sum(axis=2), steps.sum(axis=2)):
        near = np.argwhere(np.triu(sizes >= (1 - 1e-9) * sizes.max()))[:LONGEST]
        longest += [shares[i] - shares[j] for i, j in near]
    return longest


def _exceeded(rows: Rows, name: str, norm: str, declared: int, moved: int) -> str:
    return (
        f"under {rows.neighbors!r} with {rows.contributions} rows a person moves {name!r} by {moved} in {norm}; "
        f"declared is {declared}"
    )


def _integers(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(part).astype(object).ravel() for name, part in parts.items()}


@check("statistic")
def adds_up(stage: StatisticStage) -> None:
    """The parts of all rows are the sum of the parts of each, in any order and any split; of no rows, zero."""
    for rows in stage.rows:
        made = some_rows(rows)
        whole = _integers(stage.parts(rows, made))
        alone = [_integers(stage.parts(rows, row[None])) for row in made]
        shuffled = np.random.default_rng(4).permutation(len(made))
        splits = {
            "one by one": alone,
            "in three chunks": [_integers(stage.parts(rows, part)) for part in np.array_split(made, 3)],
            "in another order": [_integers(stage.parts(rows, made[shuffled]))],
            "with an empty chunk": [whole, _integers(stage.parts(rows, made[:0]))],
        }
        if rows is stage.rows[0]:
            times = MANY // len(made)
            many = _integers(stage.parts(rows, np.tile(made, (times, 1))))
            if any((many[name] != times * total).any() for name, total in whole.items()):
                raise Failed(f"a chunk of {times * len(made)} rows does not weigh all of them alike")
        for way, parts in splits.items():
            for name, total in whole.items():
                if (sum(part[name] for part in parts) != total).any():
                    raise Failed(f"{name!r} does not add up {way}: a row's share must depend on that row alone")
        if type(stage.subject).add_to is not Statistic.add_to:
            totals = Totals([stage.subject], rows)
            for part in np.array_split(made, 2):
                totals.read(cells(rows, part))
            added = _integers(totals.exact()[stage.subject])
            if any((added[name] != total).any() for name, total in whole.items()):
                raise Failed("add_to adds something other than what partial returns")


@check("statistic")
def not_a_number(stage: StatisticStage) -> None:
    """A row with a cell that is not finite contributes nothing, without an error or a warning."""
    for rows in stage.rows:
        made = some_rows(rows)[:20]
        clean = _integers(stage.parts(rows, made))
        for poison in (np.nan, np.inf, -np.inf, *(complex(0.0, each) for each in (np.nan, -np.inf) if rows.complex)):
            for place in _numeric(rows):
                lost = made.copy()
                lost[:, place] = poison
                mixed = _integers(stage.parts(rows, _interleaved(made, lost)))
                if any((mixed[name] != clean[name]).any() for name in clean):
                    raise Failed(
                        f"rows with {poison} in one cell change {sorted(clean)}: such rows must contribute nothing"
                    )


def _numeric(rows: Rows) -> list[int]:
    """The coordinates of numeric columns that have no public value for missing cells."""
    if rows.columns is None:
        return list(range(rows.known_dim))
    numeric, at = [], 0
    for column in rows.columns:
        if isinstance(column, Column) and column.missing is None:
            numeric.append(at)
        at += len(column.labels)
    return numeric


def _interleaved(one: FloatArray, other: FloatArray) -> FloatArray:
    mixed = np.empty((2 * len(one), one.shape[1]), dtype=one.dtype)
    mixed[::2], mixed[1::2] = one, other
    return mixed


@check("statistic")
def keeps_no_rows(stage: StatisticStage) -> None:
    """After partial() returns, nothing keeps a reference to the chunk or its values."""
    for rows in stage.rows:
        values = np.array(coordinates(rows, cells(rows, some_rows(rows)[:6])))
        chunk = Chunk(rows, values)
        alive: list[weakref.ref[Any]] = [weakref.ref(chunk), weakref.ref(values)]
        parts = stage.subject.partial(chunk)
        del chunk, values
        if held(alive):
            raise Failed("rows are still held after partial() has returned")
        del parts
