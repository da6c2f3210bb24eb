"""Counts by key, in an open-addressing hash table that looks up many keys at once.

A key is a row of 64-bit words, stored and compared in full. A slot takes 8 bytes for each word of a key, and 1 for the
count if counts stay below 255. Between a quarter and a half of the slots are in use.
"""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Numbers = NDArray[np.int64]

SMALLEST = 1 << 10  # slots of an empty table
AT_ONCE = 1 << 18  # slots that are moved to a larger table at a time
PLACE_BITS = 22  # bits for the index of a row in its block


class Counts:
    """The number of rows seen of each key, up to a limit.

    The state of a slot is 0 if it is free, otherwise the count of its key plus 1.

    Args:
        most: the limit of a count.
        width: the number of words in a key.
        unknown: the count with which `choose` starts a new key.
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
        """The number of words in a key."""
        return self._keys.shape[1]

    def choose(self, keys: Keys) -> NDArray[np.bool_]:
        """Count these rows; return which of them are among the first ``most`` of their key."""
        slots = self._slots(keys, self._unknown)
        places = np.arange(len(slots))
        by_slot = np.sort(
            (slots << PLACE_BITS) | places
        )  # sorts by slot, then by row: many times faster than a stable argsort
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
        """Add to the counts of distinct keys; return their counts before."""
        slots = self._slots(keys, 0)
        before = self._states[slots].astype(np.int64) - 1
        self._states[slots] = np.minimum(before + counts, self.most) + 1
        return before

    def items(self) -> tuple[Keys, Numbers]:
        """All keys and their counts."""
        used = self._states > 0
        return self._keys[used], self._states[used].astype(np.int64) - 1

    def widen(self, width: int) -> None:
        """Widen the keys; those in the table are padded with zeros."""
        self._rebuild(len(self._keys), width)

    def _rebuild(self, size: int, width: int) -> None:
        keys, states = self._keys, self._states
        self._make(size, width)
        for start in range(0, len(keys), AT_ONCE):
            used = states[start : start + AT_ONCE] > 0
            moved = np.zeros((int(used.sum()), width), dtype=np.uint64)
            moved[:, : keys.shape[1]] = keys[start : start + AT_ONCE][used]
            self._states[self._probe(moved, 0)] = states[start : start + AT_ONCE][used]

    def _slots(self, keys: Keys, count: int) -> Numbers:
        """The slot of each key; a key that has none gets one, with this count. The table grows if it must."""
        size = len(self._keys)
        while size < 2 * (self._used + len(keys)):
            size *= 2
        if size > len(self._keys):
            self._rebuild(size, self.width)
        return self._probe(keys, count)

    def _probe(self, keys: Keys, count: int) -> Numbers:
        """The slot of each key by linear probing, all keys at a time."""
        size = len(self._keys)
        slots = self._hashed(keys, size)
        searching = np.arange(len(keys))
        while len(searching):
            at, wanted = slots[searching], keys[searching]
            free = np.flatnonzero(self._states[at] == 0)
            if len(free):
                self._keys[at[free]] = wanted[
                    free
                ]  # if several keys want one slot, the last is stored, and the others probe on
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
        """The first slot to probe. The factors are random, so that nobody can choose ids that all collide."""
        hashes = np.zeros(len(keys), dtype=np.uint64)
        for column in range(self.width):
            hashes = (hashes ^ keys[:, column]) * self._factors[0]
            hashes ^= hashes >> np.uint64(32)
        hashes *= self._factors[1]
        return (hashes >> np.uint64(65 - size.bit_length())).astype(np.int64)
