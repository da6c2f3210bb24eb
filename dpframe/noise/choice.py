"""Exact sampling from the exponential mechanism over a finite public list."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

from dpframe.noise.keystream import Keystream

__all__ = ["exponential_choice"]


def exponential_choice(stream: Keystream, costs: Sequence[int], rate: Fraction) -> int:
    """Draw an index i with probability proportional to exp(−rate · costs[i]), exactly.

    The distribution function is inverted at one uniform U, whose binary expansion is read from one word of the stream
    and its extension as far as needed: partial sums are enclosed in ball arithmetic, and bits and precision are added
    until one index is certain for every U in the cell. The index is a function of U alone, so how many bits are read
    has no influence on the law.

    Args:
        stream: the source of randomness; one word is taken.
        costs: integers of any size.
        rate: a positive rational number.

    >>> exponential_choice(Keystream.insecure(7), [0, 3, 1000], Fraction(1, 2))
    0
    """
    if not costs or rate <= 0:
        raise ValueError(f"exponential_choice: needs costs and a positive rate; got {len(costs)} costs, rate {rate}.")
    position, words = stream.take(1)
    more = stream.extension(position)
    cell, bits = int(words[0]), 64
    least = min(costs)
    excess = [cost - least for cost in costs]
    while (index := _certain(excess, rate, cell, bits)) is None:
        cell, bits = _extended(cell, bits, more)
    return index


def _extended(cell: int, bits: int, more: Iterator[int]) -> tuple[int, int]:
    return cell << 64 | next(more), bits + 64


def _certain(excess: Sequence[int], rate: Fraction, cell: int, bits: int) -> int | None:
    """The index for every U in [cell, cell + 1]·2^−bits, if it is the same for all and this can be proved."""
    from flint import arb, ctx, fmpq

    with ctx.workprec(bits + 64):
        exact_rate = arb(fmpq(rate.numerator, rate.denominator))
        weights: dict[int, Any] = {cost: (-exact_rate * cost).exp() for cost in set(excess)}
        sums = list(accumulate(weights[cost] for cost in excess))
        low, high = sums[-1] * arb((cell, -bits)), sums[-1] * arb((cell + 1, -bits))
        index = bisect_left(sums, True, key=lambda total: not total <= low)  # the first sum that is not certainly ≤ low
        return index if index == len(sums) - 1 or high <= sums[index] else None
