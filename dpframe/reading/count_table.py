"""Counts by key, in a hash table that is searched for many keys at once.

A key is a row of 64-bit words, kept whole and compared whole. A slot takes 8 bytes for each word of a key, and one for
the count where counts stay below 255; from a quarter to a half of the slots are in use.
"""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Numbers = NDArray[np.int64]

SMALLEST = 1 << 10  # slots of an empty table
AT_ONCE = 1 << 18  # keys that are moved to a larger table at a time
PLACE_BITS = 22  # of a row in its block


class Counts:
    """How many rows of each key were seen, up to a limit.

    A slot holds 0 where it is free, and otherwise one more than the count of its key.

    Args:
        most: counts stop here.
        width: the words of a key.
        unknown: the count of a row whose key was never added, before that row.
    """

    def __init__(self, most: int, width: int, unknown: int = 0) -> None:
        self.most, self._unknown = most, unknown
        self._factors = np.array([secrets.randbits(64) | 1 for _ in range(2)], dtype=np.uint64)
        self._make(SMALLEST, width)

    def _make(self, size: int, width: int) -> None:
        self._keys = np.zeros((size, width), dtype=np.uint64)
        self._states = np.zeros(size, dtype=np.min_scalar_type(self.most + 1))
        self._used = 0

    @property
    def width(self) -> int:
        """The words of a key."""
        return self._keys.shape[1]

    def choose(self, keys: Keys) -> NDArray[np.bool_]:
        """Count these rows, and tell which of them are among the first of their key."""
        slots = self._slots(keys, self._unknown)
        places = np.arange(len(slots))
        by_slot = np.sort((slots << PLACE_BITS) | places)  # many times faster than a stable argsort
        slots, order = by_slot >> PLACE_BITS, by_slot & ((1 << PLACE_BITS) - 1)
        first = np.ones(len(slots), dtype=np.bool_)
        first[1:] = slots[1:] != slots[:-1]
        ranks = places - np.maximum.accumulate(np.where(first, places, 0))
        counts = ranks + self._states[slots]  # this row included
        last = np.append(first[1:], True)[: len(slots)]
        self._states[slots[last]] = np.minimum(counts[last], self.most) + 1
        chosen = np.empty(len(slots), dtype=np.bool_)
        chosen[order] = counts <= self.most
        return chosen

    def add(self, keys: Keys, counts: Numbers) -> Numbers:
        """Add to the counts of keys that all differ; what they were before."""
        slots = self._slots(keys, 0)
        found = self._states[slots].astype(np.int64) - 1
        self._states[slots] = np.minimum(found + counts, self.most) + 1
        return found

    def items(self) -> tuple[Keys, Numbers]:
        """All keys and their counts."""
        used = self._states > 0
        return self._keys[used], self._states[used].astype(np.int64) - 1

    def widen(self, width: int) -> None:
        """Make room for longer keys; those that are there end in zeros from now on."""
        self._rebuild(len(self._keys), width)

    def _rebuild(self, size: int, width: int) -> None:
        keys, states = self._keys, self._states
        self._make(size, width)
        for start in range(0, len(keys), AT_ONCE):
            used = states[start : start + AT_ONCE] > 0
            moved = np.zeros((int(used.sum()), width), dtype=np.uint64)
            moved[:, : keys.shape[1]] = keys[start : start + AT_ONCE][used]
            self._states[self._found(moved, 0)] = states[start : start + AT_ONCE][used]

    def _slots(self, keys: Keys, count: int) -> Numbers:
        """The slot of each key, a new one with this count where it has none."""
        size = len(self._keys)
        while size < 2 * (self._used + len(keys)):
            size *= 2
        if size > len(self._keys):
            self._rebuild(size, self.width)
        return self._found(keys, count)

    def _found(self, keys: Keys, count: int) -> Numbers:
        size = len(self._keys)
        slots = self._hashed(keys, size)
        searching = np.arange(len(keys))
        while len(searching):
            at, wanted = slots[searching], keys[searching]
            free = np.flatnonzero(self._states[at] == 0)
            if len(free):
                self._keys[at[free]] = wanted[free]  # where several want one slot, the last of them has it
                self._states[at[free]] = count + 1
                self._used += len(np.unique(at[free]))
            held = np.take(self._keys, at, axis=0)
            other = held[:, 0] != wanted[:, 0]
            for column in range(1, self.width):
                other |= held[:, column] != wanted[:, column]
            searching = searching[other]
            slots[searching] = (slots[searching] + 1) & (size - 1)
        return slots

    def _hashed(self, keys: Keys, size: int) -> Numbers:
        """Where to look first. The factors are drawn, so that nobody can choose ids that all come to one place."""
        hashes = np.zeros(len(keys), dtype=np.uint64)
        for column in range(self.width):
            hashes = (hashes ^ keys[:, column]) * self._factors[0]
            hashes ^= hashes >> np.uint64(32)
        hashes *= self._factors[1]
        return (hashes >> np.uint64(65 - size.bit_length())).astype(np.int64)
