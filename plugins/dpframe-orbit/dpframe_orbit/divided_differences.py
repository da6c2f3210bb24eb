"""Divided differences of the exponential function over nested sets of nodes, in balls.

For nodes T = {b_0, …, b_M}, all b_i ≥ 0, E_T(t) = exp(t·)[b_0, …, b_M] is e^{bt} for a single node b, and the
convolution of e^{bt} with E_T when a node b joins T. By the formula of Hermite and Genocchi

    E_T(t) = (t^M/M!)·𝔼[e^{tX}],   X = Σ w_i b_i,   w uniform on the simplex,

so that E_T(t) = (t^M/M!)·Σ c_n tⁿ with c_n = 𝔼[Xⁿ]/n! ≥ 0. When a node b joins, with M + 1 nodes afterwards counted
by M + 1, the convolution gives c'_n = (M·c_n + b·c'_{n−1})/(n + M): sums of positive numbers, which lose no precision.
Ties among nodes are no special case.

*What is left out.* X ≤ b, the largest node, so c_n tⁿ ≤ (bt)ⁿ/n!; and 𝔼[e^{tX}] ≥ e^{t𝔼X} by Jensen's inequality,
where 𝔼X is the mean of the nodes. N terms leave a share of at most (bt)^N/N!/(1 − bt/(N+1))·e^{−t𝔼X} of the sum, which
increases with t as long as N > bt. N is rounded up to one of a few public sizes, so that how many terms are summed says
little about the nodes.

Two families are needed, for nodes in descending order of which the first k are *spikes*. The set (i, m) with
i < m ≤ k holds the spikes i, …, m − 1 and all nodes from k on; the set (i, d) with i ≥ k the nodes from i on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flint import arb, arb_poly, fmpz

from dpframe_orbit.balls import ONE, ZERO, Undecided, power_of_two
from dpframe_orbit.contour import Contour

Set = tuple[int, int]
LN2 = math.log(2.0)
GUARD = 8  # bits below the precision that are left out of a series
SHORTEST, LONGEST = 96, 6144  # terms of a series
STEPS = 16  # points are rounded up to powers of 2^(1/16) where lengths are chosen
CONTOURS = 8  # of one set that are held, each for a range of points
ENTRIES = 1_500_000  # coefficients that are held at most


def sizes() -> list[int]:
    """The public lengths of series: powers of two, and those times 3/2."""
    return sorted(
        {n for i in range(7) for n in (SHORTEST << i, 3 * (SHORTEST << i) // 2)} & set(range(SHORTEST, LONGEST + 1))
    )


SIZES = sizes()


def terms_left_out(count: int, largest: float, mean: float, bits: int) -> bool:
    """Whether so many terms leave out more than 2^−bits of 𝔼[e^X], X having this mean and nowhere more than largest."""
    if largest <= 0.0:
        return False
    if count < 1.05 * largest + 2.0:
        return True
    logarithm = count * math.log(largest) - math.lgamma(count + 1) - math.log1p(-largest / (count + 1))
    return logarithm - mean > -bits * LN2 - 1.0  # the 1 covers the rounding of these floats


def series_length(largest: float, mean: float, bits: int) -> int | None:
    """The smallest public length that leaves out no more than 2^−bits; None where all are too short."""
    for count in SIZES:
        if not terms_left_out(count, largest, mean, bits):
            return count
    return None


def _float(number: Any) -> float:
    return float(int(number.p) / int(number.q))


class Exponentials:
    """E_T(t) for the sets T of the two families and 0 < t ≤ 1, at one precision.

    Args:
        nodes: b_0 ≥ … ≥ b_{d−1} = 0, exact.
        spikes: k.
        precision: bits.
    """

    def __init__(self, nodes: Sequence[Any], spikes: int, precision: int) -> None:
        self.dim, self.spikes, self.precision = len(nodes), spikes, precision
        self._exact = list(nodes)
        self.floats = [_float(node) for node in nodes]
        self.nodes = [arb(node) for node in nodes]
        self.looks = 0  # points at which a distribution function was computed
        sums = [0.0]
        for value in reversed(self.floats):
            sums.append(sums[-1] + value)
        self._tails = sums[::-1]  # sums of the floats from each node on
        self._series: dict[Set, list[Any]] = {}
        self._short: dict[Set, tuple[Any, int]] = {}  # sets whose series are of the shortest length at every point
        self._polynomials: dict[tuple[Set, int], tuple[Any, int]] = {}
        self._cut: dict[tuple[Set, int], Any] = {}
        self._factorials: dict[int, Any] = {}
        self._contours: dict[Set, list[Contour]] = {}
        self._longest = min(LONGEST, max(SHORTEST, ENTRIES // self.dim))
        self._rounding = ONE + arb(0, power_of_two(-precision - GUARD))
        # Otherwise coefficients with spikes beyond those that are held would have balls as wide as themselves.
        self._others_suffice = self._length((spikes, self.dim)) is not None

    def members(self, nodes: Set) -> list[int]:
        """The indices of the nodes of a set, from the largest node."""
        first, last = nodes
        if first >= self.spikes:
            return list(range(first, self.dim))
        return [*range(first, last), *range(self.spikes, self.dim)]

    def size(self, nodes: Set) -> int:
        """The number of nodes of a set."""
        first, last = nodes
        return self.dim - first if first >= self.spikes else last - first + self.dim - self.spikes

    def mean(self, nodes: Set) -> float:
        """The mean of the nodes, rounded down by more than its error."""
        first, last = nodes
        total = self._tails[max(first, self.spikes)]
        total += sum(self.floats[first:last]) if first < self.spikes else 0.0
        return total / self.size(nodes) * (1.0 - 1e-10)

    def _length(self, nodes: Set, point: float = 1.0) -> int | None:
        largest = self.floats[nodes[0]] * point * (1.0 + 1e-10)
        found = series_length(largest, self.mean(nodes) * point, self.precision + GUARD)
        return found if found is not None and found <= self._limit(nodes) else None

    def _limit(self, nodes: Set) -> int:
        """The longest series of a set: sets with spikes are few, but start from the series of the others."""
        return LONGEST if nodes[0] < self.spikes and self._others_suffice else self._longest

    def series(self, nodes: Set) -> list[Any]:
        """The coefficients c_n of a set, as many as suffice for t ≤ 1, or as are held."""
        found = self._series.get(nodes)
        if found is not None:
            return found
        chain = [nodes]
        while chain[-1] not in self._series and (smaller := self._without_largest(chain[-1])) is not None:
            chain.append(smaller)
        for current in reversed(chain):
            if current not in self._series:
                self._series[current] = self._joined(current)
        return self._series[nodes]

    def _without_largest(self, nodes: Set) -> Set | None:
        first, last = nodes
        if first >= self.spikes:
            return (first + 1, last) if first + 1 < self.dim else None
        return (first + 1, last) if first + 1 < last else (self.spikes, self.dim)

    def _joined(self, nodes: Set) -> list[Any]:
        """The coefficients of a set from those of the set without its largest node."""
        count = self._length(nodes) or self._limit(nodes)
        smaller = self._without_largest(nodes)
        node, others = self.nodes[nodes[0]], self.size(nodes) - 1
        if smaller is None:  # a single node, e^{bt}; it is the smallest, 0
            return [ONE] + [ZERO] * (count - 1)
        before = self._extended(self._series[smaller], self.nodes[smaller[0]], count)
        last, found = ONE, [ONE]
        for n in range(1, count):
            last = (before[n] * others + node * last) / (n + others)
            found.append(last)
        return found

    @staticmethod
    def _extended(series: list[Any], largest: Any, count: int) -> list[Any]:
        """The coefficients up to c_{count−1}, by 0 ≤ c_n ≤ c_{n−1}·b/n beyond those that are known."""
        if len(series) >= count:
            return series
        bound, beyond = series[-1].upper(), []
        for n in range(len(series), count):
            bound = (bound * largest / n).upper()
            half = (bound / 2).upper()
            beyond.append(arb(half, half))
        return series + beyond

    def at(self, point: Any, sets: Sequence[Set]) -> list[Any]:
        """The values of these sets' functions at an exact point."""
        grid = math.ceil(STEPS * math.log2(float(point)) - 1e-9)
        last, power = -1, ONE
        found = []
        for nodes in sets:
            if nodes[0] >= self.dim:  # no nodes
                found.append(ZERO)
                continue
            polynomial, degree = self._polynomial(nodes, grid)
            if polynomial is None:
                found.append(self._by_contour(point, nodes))
                continue
            if degree != last:
                power = power * last / point if degree == last - 1 else self._power(point, degree)
                last = degree
            found.append(polynomial(point) * power)
        return found

    def _polynomial(self, nodes: Set, grid: int) -> tuple[Any, int]:
        """As many terms of the series as points up to 2^(grid/STEPS) need, None where they are too many; and M."""
        found = self._short.get(nodes) or self._polynomials.get((nodes, grid))
        if found is None:
            count, degree = self._length(nodes, 2.0 ** (grid / STEPS)), self.size(nodes) - 1
            found = None if count is None else self._truncated(nodes, count), degree
            if self._length(nodes) == SHORTEST:
                self._short[nodes] = found
            else:
                self._polynomials[nodes, grid] = found
        return found

    def _truncated(self, nodes: Set, count: int) -> Any:
        found = self._cut.get((nodes, count))
        if found is None:
            found = self._cut[nodes, count] = arb_poly(self.series(nodes)[:count])
        return found

    def _power(self, point: Any, degree: int) -> Any:
        """t^M/M!, with a radius that covers what series leave out."""
        factorial = self._factorials.get(degree)
        if factorial is None:
            factorial = self._factorials[degree] = self._rounding / arb(fmpz(math.factorial(degree)))
        return point**degree * factorial

    def _by_contour(self, point: Any, nodes: Set) -> Any:
        known = self._contours.setdefault(nodes, [])
        contour = next((contour for contour in known if contour.covers(float(point))), None)
        if contour is None:
            shifted = [self._exact[i] - self._exact[nodes[0]] for i in self.members(nodes)]
            contour = Contour.of([arb(x) for x in shifted], list(map(_float, shifted)), float(point), self.precision)
            known.insert(0, contour)
            del known[CONTOURS:]
        value = contour.at(point) * (self.nodes[nodes[0]] * point).exp()  # of the nodes less the largest
        if not value > 0:
            raise Undecided("contour")
        return value
