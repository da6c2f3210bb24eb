"""How many rows are worked on at a time."""

from __future__ import annotations

from collections.abc import Iterator

TILE_ENTRIES = 1 << 18
"""2 MiB of float64: still in a core's share of the cache when it is summed."""

INT16_ENTRIES = 1 << 20
"""Compiled code goes over rows in passes of its own."""


def tiles(count: int, dim: int, entries: int = TILE_ENTRIES) -> Iterator[slice]:
    """Some rows at a time: few enough for the cache, enough for the Gram matrix to dominate."""
    size = max(entries // dim, min(dim, 2048))
    for start in range(0, count, size):
        yield slice(start, start + size)
