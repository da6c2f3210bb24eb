"""What a statistic sees of some rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.reading.chunk import Chunk

ROWS = dp.Rows(norm=1.0, neighbors="add-remove", dim=2, center=True)


def test_the_public_chunk_takes_rows_and_values_only() -> None:
    assert ["rows", "values"] == [field.alias for field in attrs.fields(dp.Chunk) if field.init]


def test_it_cannot_be_changed_and_shows_nothing() -> None:
    chunk = dp.Chunk(ROWS, np.ones((3, 2)))
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        chunk.rows = ROWS  # type: ignore[misc]
    for array in (chunk.values, chunk.integers()):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0
    assert "<Chunk: private>" == repr(chunk)


def test_integers_are_computed_once() -> None:
    chunk = dp.Chunk(ROWS, np.ones((3, 2)))
    assert chunk.integers() is chunk.integers()
    assert chunk.values is chunk.values


def test_workers_do_not_take_turns() -> None:
    """Two chunks are computed at the same time: each waits for the other."""
    together = Barrier(2, timeout=60.0)

    @attrs.frozen(repr=False, eq=False)
    class Waiting(Chunk):
        def _coordinates(self) -> Any:
            together.wait()
            return super()._coordinates()

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: Waiting(ROWS, np.ones((1, 2))).integers(), range(2)))
    assert (found[0] == found[1]).all()
