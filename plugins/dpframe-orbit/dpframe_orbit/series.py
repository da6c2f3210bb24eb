"""Power series of divided differences of the exponential function: coefficients, and how many of them suffice.

For nodes T = {b_0, …, b_M}, all b_i ≥ 0, E_T(t) = exp(t·)[b_0, …, b_M] is e^{bt} for a single node b, and the
convolution of e^{bt} with E_T when a node b joins T. With the complete homogeneous polynomials h_n of the nodes,

    E_T(t) = Σ h_n t^{M+n}/(M+n)! = t^M·Σ c_n tⁿ,   c_n = h_n/(M+n)! ≥ 0.

When a node b joins and M counts it, c'_n = (c_n + b·c'_{n−1})/(M+n), as h'_n = h_n + b·h'_{n−1}: sums of positive
numbers, which lose no precision. Ties among nodes are no special case.

*What is left out.* The ratios h_n/h_{n−1} decrease with n, since h_n² − h_{n−1}h_{n+1} is the Schur function of the
shape (n, n), a polynomial in the nodes with positive coefficients. So c_n/c_{n−1} ≤ ρ·(M + N − 1)/(M + n) from N on,
where ρ = c_{N−1}/c_{N−2}; and if ρt < 1, N terms leave out at most c_{N−1}t^{N−1}·ρt/(1 − ρt). The sum is at least as
large as any of its terms. The share that is left out increases with t, since terms grow the faster with t the larger
n is. N is one of a few public sizes, so that how many terms are summed says little about the nodes.
"""

from __future__ import annotations

import math
from typing import Any

from flint import arb, arb_mat

from dpframe_orbit.balls import ONE, ZERO, exponent, upper

WIDTH = 96  # terms of a row of a block
SIZES = [384, 576, 768, 1152, 1536, 2304, 3072, 4608, 6144]
SAMPLED = 24  # every so many terms are compared with what is left out
LN2 = math.log(2.0)
NOTHING = -math.inf


class Series:
    """The series of one set of nodes, lengthened as it is needed, at one precision.

    Args:
        node: the largest node.
        smaller: the series of the set without it; None where there are no more nodes.
        bits: a share of 2^−bits of the sum may be left out.
    """

    def __init__(self, node: Any, smaller: Series | None, bits: int) -> None:
        self.node, self.smaller, self.bits = node, smaller, bits
        self.degree: int = 0 if smaller is None else smaller.degree + 1
        self._inverses: list[Any] = [ZERO] if smaller is None else smaller._inverses  # 1/n, in one list for all sets
        self.coefficients: list[Any] = [ONE if smaller is None else smaller.coefficients[0] / self.degree]
        self.whole = False  # whether the terms that are known suffice for all t ≤ 1
        self._beyond: list[Any] = []
        self._narrow = 1  # coefficients that do not come from bounds on others
        self._rises: dict[int, Any] = {}
        self._ends: dict[int, tuple[int | None, float]] = {}
        self._logs: list[float] = []
        self._blocks: list[Any] = []

    def lengthen(self, count: int) -> None:
        """Have this public number of terms, or as many as suffice for t ≤ 1."""
        chain: list[Series] = []
        current = self
        while len(current.coefficients) < count and not current.whole:
            chain.append(current)
            if current.smaller is None:
                break
            current = current.smaller
        for series in reversed(chain):
            for size in SIZES:
                if len(series.coefficients) < size <= count and not series.whole:
                    series._extend(size)
                    series.whole = series.suffices(size, 0.0)

    def _extend(self, count: int) -> None:
        found, node, start = self.coefficients, self.node, len(self.coefficients)
        last = found[-1]
        self._inverses += [ONE / n for n in range(len(self._inverses), self.degree + count)]
        inverses = self._inverses[self.degree + start : self.degree + count]
        if self.smaller is None:
            for inverse in inverses:
                last = last * node * inverse
                found.append(last)
            self._narrow = count
        else:
            for before, inverse in zip(self.smaller.between(start, count), inverses, strict=True):
                last = (before + node * last) * inverse
                found.append(last)
            self._narrow = min(count, self.smaller._narrow)
        for n in range(len(self._logs) * SAMPLED, count, SAMPLED):
            size = exponent(found[n].lower()) if found[n] > 0 else None
            self._logs.append(NOTHING if size is None else size - 1.0)

    def between(self, start: int, end: int) -> list[Any]:
        """The coefficients of these places; balls from zero to a bound beyond those that are known."""
        found, known = self.coefficients, len(self.coefficients)
        if end <= known:
            return found[start:end]
        if not self._beyond:
            self._beyond.append(found[-1].upper())
        rise = self._rise(known)
        for n in range(known + len(self._beyond) - 1, end):
            self._beyond.append((self._beyond[-1] * rise / (self.degree + n)).upper())
        halves = [bound / 2 for bound in self._beyond[max(start - known, 0) + 1 : end - known + 1]]
        return found[start:known] + [arb(half, half) for half in halves]

    def _rise(self, count: int) -> Any:
        """A bound on h_n/h_{n−1} from n = count on, which is that of the last two coefficients before it.

        Where these come from bounds on others, they may be wide; those before are not, and their bound holds as well.
        """
        found = self._rises.get(count)
        if found is None:
            found = arb(math.inf)
            for place in (count, min(count, self._narrow)):
                last, before = self.coefficients[place - 1], self.coefficients[place - 2]
                if last == 0:  # of nodes that are all zero
                    found = ZERO
                elif before > 0:
                    found = min(found, (last / before * (self.degree + place - 1)).upper())
            self._rises[count] = found
        return found

    def _end(self, count: int) -> tuple[int | None, float]:
        """Bounds on the logarithms of the last of so many coefficients, None if it is zero, and of the next ratio."""
        found = self._ends.get(count)
        if found is None:
            size, rise = exponent(self.coefficients[count - 1].upper()), self._rise(count)
            ratio = upper(rise) / (self.degree + count)
            found = self._ends[count] = size, NOTHING if rise == 0 else math.log2(ratio)
        return found

    def left_out(self, count: int, log: float) -> float:
        """The logarithm of a bound on the share that the first terms leave out for t up to 2^log, up to rounding."""
        size, ratio = self._end(count)
        if size is None or ratio == NOTHING:
            return NOTHING
        fall = ratio + log
        if fall > -0.01:
            return math.inf
        return size + (count - 1) * log + fall - math.log2(-math.expm1(fall * LN2)) - self._largest(log)

    def _largest(self, log: float) -> float:
        """About the largest of the logarithms of sampled terms, by bisection, as they are concave up to rounding."""
        logs, rise = self._logs, SAMPLED * log
        low, high = 0, len(logs) - 1
        while low < high:
            middle = (low + high) // 2
            if logs[middle + 1] - logs[middle] + rise > 0.0:
                low = middle + 1
            else:
                high = middle
        return logs[low] + rise * low

    def suffices(self, count: int, log: float) -> bool:
        """Whether the first terms leave out no more than 2^−bits for t up to 2^log."""
        return self.left_out(count, log) < -self.bits - 1.0  # the 1 covers the rounding of floats

    def length(self, log: float, limit: int) -> int | None:
        """The smallest public number of terms that suffices for t up to 2^log; None where the limit does not."""
        rising = float(self.node) * 2.0**log - self.degree  # terms up to here, at least, increase
        for size in SIZES:
            if size <= rising:
                continue
            if size > limit:
                break
            self.lengthen(size)
            if self.suffices(size, log):
                return size
        return None

    def blocks(self, count: int) -> list[Any]:
        """The first terms, from one public number of them to the next, as many to a row as `Powers` has."""
        starts = (0, *SIZES)
        for place in range(len(self._blocks), SIZES.index(count) + 1):
            start, end = starts[place : place + 2]
            self._blocks.append(arb_mat((end - start) // WIDTH, WIDTH, self.coefficients[start:end]))
        return self._blocks[: SIZES.index(count) + 1]


class Powers:
    """Powers of a point, for the sums of series at it: 1, t, …, t^95 in a column, and those of t^96 in rows."""

    def __init__(self, point: Any) -> None:
        powers = [ONE]
        for _ in range(WIDTH):
            powers.append(powers[-1] * point)
        self._column, self._step, self._next = arb_mat(WIDTH, 1, powers[:-1]), powers[-1], ONE
        self._rows: list[Any] = []

    def sum(self, series: Series, count: int) -> Any:
        """The sum of the first terms."""
        blocks = series.blocks(count)
        while len(self._rows) < len(blocks):
            row = []
            for _ in range(blocks[len(self._rows)].nrows()):
                row.append(self._next)
                self._next = self._next * self._step
            self._rows.append(arb_mat(1, len(row), row))
        total = ZERO
        for row, block in zip(self._rows, blocks, strict=False):
            total = total + (row * (block * self._column))[0, 0]
        return total
