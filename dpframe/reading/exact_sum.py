"""Exact sums of integers of any size."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpframe.display.redacted import Redacted
from dpframe.lattice import IntArray

LIMB_BITS = 62
"""A total is high · 2⁶² + low, with 0 ≤ low < 2⁶²."""


NOISE_ROOM = 1 << 61
"""Totals below this leave room for noise in int64; others are handed on as Python integers."""


_LOW = (1 << LIMB_BITS) - 1


class ExactSum(Redacted):
    """An exact sum of int64 arrays: in one int64 array, carried over to two limbs before it can overflow."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._sum = np.zeros(shape, dtype=np.int64)
        self._most = 0  # no entry of the sum is larger than this, either way
        self._limbs: tuple[IntArray, IntArray] | None = None
        self._shown = False  # whether somebody was handed the sum itself

    def add(self, part: IntArray) -> None:
        """Add integers of any type; those that int64 may not hold are added in limbs."""
        if part.dtype.kind == "O" or part.dtype == np.uint64:
            high, low = _split(part)
            self._carry(high.astype(np.int64), low.astype(np.int64))
        else:
            total = self.with_room(_largest(part))
            total += part

    def with_room(self, most: int) -> IntArray:
        """The array to add to, in place and once, what is at most so large either way."""
        if self._most + most >= 2**63:
            self._carry(*_split(self._sum))
            self._sum, self._most, self._shown = np.zeros_like(self._sum), 0, False
        if self._shown:
            self._sum, self._shown = self._sum.copy(), False
        self._most += most
        return self._sum

    def merge(self, other: ExactSum) -> None:
        """Add another sum."""
        most, added, limbs = other._most, other._sum, other._limbs  # as they are now: the other may be this one
        total = self.with_room(most)
        total += added
        if limbs is not None:
            self._carry(*limbs)

    def exact(self) -> IntArray:
        """The sum: int64 where that leaves room for noise, Python integers otherwise."""
        if self._limbs is None and (self._most < NOISE_ROOM or _largest(self._sum) < NOISE_ROOM):
            self._shown = True
            return self._sum
        high, low = _split(self._sum)
        if self._limbs is not None:
            high, low = _added(self._limbs, (high, low))
        if ((high == 0) | (high == -1)).all():
            small = (high << LIMB_BITS) + low
            if _largest(small) < NOISE_ROOM:
                return np.asarray(small)
        whole: Any = np.asarray(high).astype(object) * 2**LIMB_BITS + np.asarray(low).astype(object)
        return np.asarray(whole, dtype=object)

    def _carry(self, high: IntArray, low: IntArray) -> None:
        self._limbs = (high, low) if self._limbs is None else _added(self._limbs, (high, low))


def _largest(part: IntArray) -> int:
    """The largest absolute value, which for −2⁶³ is none of int64."""
    return max(int(part.max()), -int(part.min())) if part.size else 0


def _split(value: IntArray) -> tuple[IntArray, IntArray]:
    """The limbs of integers."""
    return np.asarray(value >> LIMB_BITS), np.asarray(value & _LOW)


def _added(first: tuple[IntArray, IntArray], second: tuple[IntArray, IntArray]) -> tuple[IntArray, IntArray]:
    """The sum of two numbers in limbs, with its carry."""
    low = first[1] + second[1]  # below 2⁶³
    return first[0] + second[0] + (low >> LIMB_BITS), low & _LOW
