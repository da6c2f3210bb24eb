"""Uniform random numbers of which any number of bits can be read, each at a place of its own in the stream.

The bits of place p are the words p·w, …, p·w + w − 1 of a stream and, where more are asked for, its extension at
that position. So what is read for one place does not depend on how much is read for another, and reading more bits
of a place tells more about the same number. The words that a draw certainly needs are at places that are fixed
by its public shape.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from flint import arb

import dpframe.plugin as dp


class LazyUniforms:
    """Independent uniforms U_0, …, U_{count−1} on [0, 1].

    Args:
        random: the source; its next count·words words are read at once.
        count: the number of uniforms.
        words: 64-bit words of each that are read at first.

    >>> from dpframe.testing import seeded
    >>> uniforms = LazyUniforms(seeded(7), 3, words=1)
    >>> uniforms.cell(2, 3) >> 128 == uniforms.cell(2, 1)
    True
    """

    def __init__(self, random: dp.Random, count: int, *, words: int) -> None:
        self._stream = random.keystream
        self._start, drawn = self._stream.take(count * words)
        self.first = drawn.reshape(count, words)
        self._length = words
        self._read: dict[int, list[int]] = {}

    def cell(self, place: int, words: int) -> int:
        """The c with c ≤ 2^(64·words)·U ≤ c + 1."""
        known: Any = self.first[place] if words <= self._length else self._read.get(place, ())
        if len(known) < words:
            more = islice(self._stream.extension(self._start + place * self._length), words - self._length)
            known = self._read[place] = [*self.first[place].tolist(), *more]
        value = 0
        for word in known[:words]:
            value = value << 64 | int(word)
        return value

    def ball(self, place: int, bits: int) -> Any:
        """A ball of a radius of at most 2^(−bits−1) that contains U, exactly the cell that was read."""
        words = -(-bits // 64)
        return arb(2 * self.cell(place, words) + 1, 1) * arb((1, -64 * words - 1))
