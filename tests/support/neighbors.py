"""Neighboring data sets, and exact distances between the statistics of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpframe as dp
from dpframe.reading.chunk import Chunk

Rows2D = NDArray[Any]


def parts(statistic: dp.Statistic, rows: dp.Rows, values: Rows2D) -> Mapping[str, NDArray[np.int64]]:
    return statistic.partial(Chunk(rows, values))


def moved(statistic: dp.Statistic, rows: dp.Rows, one: Rows2D, other: Rows2D) -> dict[str, tuple[int, int]]:
    """For each part the exact (L1, squared L2) distance between two data sets."""
    first, second = parts(statistic, rows, one), parts(statistic, rows, other)
    found = {}
    for name in first:
        difference = [int(a) - int(b) for a, b in zip(first[name].ravel(), second[name].ravel(), strict=True)]
        found[name] = (sum(map(abs, difference)), sum(value**2 for value in difference))
    return found


def neighbor(values: Rows2D, relation: str, replacement: Rows2D, at: int) -> Rows2D:
    """The data set with len(replacement) rows from ``at`` on removed or replaced."""
    kept = [values[:at], values[at + len(replacement) :]]
    middle: list[Any] = [] if relation == "add-remove" else [replacement]
    return np.concatenate([kept[0], *middle, kept[1]])
