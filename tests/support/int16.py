"""Columns for 16-bit integers, and cells for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp
from tests.support.compiled import NASTY

COLUMNS = [dp.Column(f"x{i}", -1.0 - i / 7, 2.0, missing=0.5) for i in range(18)]


def promise(*more: dp.Column | dp.Category, **said: Any) -> dp.Rows:
    return dp.Rows(columns=[*COLUMNS, *more], neighbors="add-remove", **said)


def table(rows: dp.Rows, count: int, *, nasty: bool = True) -> dict[str, NDArray[Any]]:
    """Cells of several types and forms, with every nasty one at every place of a vector."""
    random = np.random.default_rng(5)
    cells: dict[str, NDArray[Any]] = {}
    assert rows.columns is not None
    for i, column in enumerate(rows.columns):
        if isinstance(column, dp.Category):
            cells[column.name] = random.integers(0, 4, count)
            continue
        found = random.uniform(-4, 3, count)
        if nasty:
            chosen = random.random(count) < 0.2
            found[chosen] = random.choice(NASTY, chosen.sum())
        with np.errstate(all="ignore"):
            forms: list[NDArray[Any]] = [
                found,
                found.astype(np.float32),
                np.repeat(found, 2)[::2],
                found.astype(np.float16),
            ]
        cells[column.name] = forms[i % 4]
    return cells
