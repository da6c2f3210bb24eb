"""Divided differences of the exponential function over nested sets of nodes, in balls.

E_T(t) = exp(t·)[T], by its power series (`series`) where that is not too long, and by a contour integral (`contour`)
elsewhere. Two families of sets are needed, for nodes in descending order of which the first k are *spikes*. The set
(i, m) with i < m ≤ k holds the spikes i, …, m − 1 and all nodes from k on, the set (i, d) with i ≥ k the nodes from i
on. A contour for the set (i, k) serves all (i, m): what it is for fewer nodes differs by a few factors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flint import arb

from dpframe_orbit.balls import ONE, ZERO, Undecided, power_of_two
from dpframe_orbit.contour import Contour
from dpframe_orbit.series import SIZES, Powers, Series

Set = tuple[int, int]
GUARD = 8  # bits below the precision that are left out of a series
LONGEST = 6144  # terms of a series
STEPS = 8
CONTOURS = 8  # of one set that are held, each for a range of points
ENTRIES = 1_500_000  # coefficients that are held at most
COEFFICIENT, FACTOR = 8, 32  # measured: computing one takes as long as summing so many terms


def _float(number: Any) -> float:
    return float(int(number.p) / int(number.q))


class Exponentials:
    """E_T(t) for the sets T of the two families and 0 < t ≤ 1, at one precision.

    Args:
        nodes: b_0 ≥ … ≥ b_{d−1} ≥ 0, exact.
        spikes: k.
        precision: bits.
    """

    def __init__(self, nodes: Sequence[Any], spikes: int, precision: int) -> None:
        self.dim, self.spikes, self.precision = len(nodes), spikes, precision
        self._exact = list(nodes)
        self.floats = [_float(node) for node in nodes]
        self.nodes = [arb(node) for node in nodes]
        self.looks = 0  # points at which a distribution function was computed
        self._summed = 0  # terms of series
        self._factors = 0  # of products at the points of contours
        self._series: dict[Set, Series] = {}
        self._lengths: dict[tuple[Set, int], int] = {}
        self._short: dict[Set, int] = {}  # lengths of series that are of the shortest at every point
        self._contours: dict[Set, list[Contour]] = {}
        self._longest = min(LONGEST, ENTRIES // self.dim)
        self._rounding = ONE + arb(0, power_of_two(-precision - GUARD))

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

    def series(self, nodes: Set) -> Series:
        """The series of a set."""
        chain: list[Set] = []
        current: Set | None = nodes
        while current is not None and current not in self._series:
            chain.append(current)
            current = self._without_largest(current)
        smaller = None if current is None else self._series[current]
        for each in reversed(chain):
            smaller = self._series[each] = Series(self.nodes[each[0]], smaller, self.precision + GUARD)
        return self._series[nodes]

    def _without_largest(self, nodes: Set) -> Set | None:
        first, last = nodes
        if first >= self.spikes:
            return (first + 1, last) if first + 1 < self.dim else None
        return (first + 1, last) if first + 1 < last else (self.spikes, self.dim)

    def _length(self, nodes: Set, grid: int) -> int:
        """How many terms of its series points up to 2^(grid/STEPS) need; 0 where it would be too long."""
        found = self._short.get(nodes) or self._lengths.get((nodes, grid))
        if found is None:
            series = self.series(nodes)
            found = series.length(grid / STEPS, self._longest)
            if found is None and self._longest < LONGEST and nodes[0] < self.spikes:
                # Sets with spikes are few, but start from the series of the others.
                whole = self.series((self.spikes, self.dim)).length(0.0, self._longest)
                found = series.length(grid / STEPS, LONGEST) if whole is not None else None
            found = self._lengths[nodes, grid] = found or 0
            if series.whole and len(series.coefficients) == SIZES[0]:
                self._short[nodes] = found
        return found

    def at(self, point: Any, sets: Sequence[Set]) -> list[Any]:
        """The values of these sets' functions at an exact point."""
        grid = math.ceil(STEPS * math.log2(float(point)) - 1e-9)
        powers = Powers(point)
        last, power = -1, ONE
        found = []
        for nodes in sets:
            if nodes[0] >= self.dim:  # no nodes
                found.append(ZERO)
                continue
            count = self._length(nodes, grid)
            if not count:
                found.append(self._by_contour(point, nodes))
                continue
            series = self._series[nodes]
            degree = series.degree
            if degree != last:
                power = power / point if degree == last - 1 else self._power(point, degree)
                last = degree
            found.append(powers.sum(series, count) * power)
            self._summed += count
        return found

    def terms(self) -> int:
        """How much was computed, as the number of terms of series that take about as long to sum."""
        coefficients = sum(len(series.coefficients) for series in self._series.values())
        return self._summed + COEFFICIENT * coefficients + FACTOR * self._factors

    def _power(self, point: Any, degree: int) -> Any:
        """t^M, with a radius that covers what series leave out."""
        return point**degree * self._rounding

    def _by_contour(self, point: Any, nodes: Set) -> Any:
        value = self._contour(point, nodes).at(point) * (self.nodes[nodes[0]] * point).exp()
        if not value > 0:
            raise Undecided("contour")
        return value

    def _contour(self, point: Any, nodes: Set) -> Contour:
        """A contour for the nodes of a set less the largest; with spikes, from that of the set with one more."""
        known = self._contours.setdefault(nodes, [])
        for contour in known:
            if contour.covers(float(point)):
                return contour
        first, last = nodes
        shifted = {i: self._exact[i] - self._exact[first] for i in self.members(nodes)}
        floats = [_float(node) for node in shifted.values()]
        if first < last < self.spikes:
            dropped = arb(self._exact[last] - self._exact[first])
            found = self._contour(point, (first, last + 1)).without(dropped, floats, self.precision)
        else:
            found = Contour.of([arb(node) for node in shifted.values()], floats, float(point), self.precision)
            self._factors += len(floats) * len(found.exponentials.points)
        known.insert(0, found)
        del known[CONTOURS:]
        return found
