"""Tiles: the number of rows that are mapped and summed at a time."""

from __future__ import annotations

from collections.abc import Iterator

TILE_ENTRIES = 1 << 18
"""Entries of a tile for NumPy, 2 MiB of float64: it is still in a core's share of the cache when it is summed."""

INT16_ENTRIES = 1 << 20
"""Entries of a tile for the kernels, which divide it into blocks of their own."""


def tiles(count: int, dim: int, entries: int = TILE_ENTRIES) -> Iterator[slice]:
    """Slices of rows: small enough for the cache, large enough for the Gram matrix to dominate the time."""
    size = max(entries // dim, min(dim, 2048))
    for start in range(0, count, size):
        yield slice(start, start + size)
