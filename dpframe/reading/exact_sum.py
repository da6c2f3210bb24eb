"""Exact sums of integers, without overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpframe.display.redacted import Redacted
from dpframe.lattice import IntArray

LIMB_BITS = 62
"""A total is high · 2⁶² + low, with 0 ≤ low < 2⁶²."""


NOISE_HEADROOM = 1 << 61
"""Totals below this leave headroom for noise in int64; larger ones are returned as Python integers."""


_LOW = (1 << LIMB_BITS) - 1


class ExactSum(Redacted):
    """An exact sum of int64 arrays: one int64 array, which is carried to two limbs before it can overflow."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._sum = np.zeros(shape, dtype=np.int64)
        self._most = 0  # a bound on the absolute value of every entry of the sum
        self._limbs: tuple[IntArray, IntArray] | None = None
        self._shared = False  # whether exact() returned the sum itself: copy it before adding

    def add(self, part: IntArray) -> None:
        """Add integers of any type; types that may not fit in int64 are added as limbs."""
        if part.dtype.kind == "O" or part.dtype == np.uint64:
            high, low = _split(part)
            self._carry(high.astype(np.int64), low.astype(np.int64))
        else:
            total = self.with_room(_largest(part))
            total += part

    def with_room(self, most: int) -> IntArray:
        """The array to add to in place, once, integers of absolute value at most ``most``."""
        if self._most + most >= 2**63:
            self._carry(*_split(self._sum))
            self._sum, self._most, self._shared = np.zeros_like(self._sum), 0, False
        if self._shared:
            self._sum, self._shared = self._sum.copy(), False
        self._most += most
        return self._sum

    def merge(self, other: ExactSum) -> None:
        """Add another sum."""
        most, added, limbs = other._most, other._sum, other._limbs  # read before adding: other may be self
        total = self.with_room(most)
        total += added
        if limbs is not None:
            self._carry(*limbs)

    def exact(self) -> IntArray:
        """The sum: int64 if that leaves headroom for noise, Python integers otherwise."""
        if self._limbs is None and (self._most < NOISE_HEADROOM or _largest(self._sum) < NOISE_HEADROOM):
            self._shared = True
            return self._sum
        high, low = _split(self._sum)
        if self._limbs is not None:
            high, low = _added(self._limbs, (high, low))
        if ((high == 0) | (high == -1)).all():
            small = (high << LIMB_BITS) + low
            if _largest(small) < NOISE_HEADROOM:
                return np.asarray(small)
        whole: Any = np.asarray(high).astype(object) * 2**LIMB_BITS + np.asarray(low).astype(object)
        return np.asarray(whole, dtype=object)

    def _carry(self, high: IntArray, low: IntArray) -> None:
        self._limbs = (high, low) if self._limbs is None else _added(self._limbs, (high, low))


def _largest(part: IntArray) -> int:
    """The largest absolute value, as a Python integer: 2⁶³ does not fit in int64."""
    return max(int(part.max()), -int(part.min())) if part.size else 0


def _split(value: IntArray) -> tuple[IntArray, IntArray]:
    """The limbs of integers."""
    return np.asarray(value >> LIMB_BITS), np.asarray(value & _LOW)


def _added(first: tuple[IntArray, IntArray], second: tuple[IntArray, IntArray]) -> tuple[IntArray, IntArray]:
    """The sum of two numbers in limbs, with the carry from low to high."""
    low = first[1] + second[1]  # below 2⁶³
    return first[0] + second[0] + (low >> LIMB_BITS), low & _LOW
