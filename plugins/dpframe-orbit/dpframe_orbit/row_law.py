"""The law of one row of a pattern given the row above it, as conditional distribution functions.

Let z be the node that is stripped, S the nodes that are left, S_0 = S ⊃ S_1 ⊃ … with the largest node dropped each
time, and ν the row above. The row μ has density ∝ det[f_r(μ_l)] on the box ν_{l+1} ≤ μ_l ≤ ν_l, where
f_r(t) = e^{−b_z t}E_{S_r}(t), and F_r(t) = ∫_0^t f_r = e^{−b_z t}E_{S_r ∪ {z}}(t) (docs/explanation/orbit.md). A
determinant is linear in each column, and each μ_l is in one column: columns to come are integrated, columns drawn are
fixed. With
C = [f(μ_1), …, f(μ_{l−1}), D_l, …, D_k], D_l = F(ν_l) − F(ν_{l+1}),

    P(μ_l ≤ x | μ_1, …, μ_{l−1}) = (C⁻¹(F(x) − F(ν_{l+1})))_l.

*Columns of ties.* Where ν_l = ν_{l+1} = …, the entries between them are fixed, and their columns are f and its
derivatives, or any combinations of those: (D + θ)f_r = f_{r+1} + (b_{τ_r} − b_z + θ)f_r with τ_r the largest node of
S_r, and θ such that nothing is negative.

*F where the largest node is below z.* From H_0 = E_{S_r ∪ {z}} of the first such r on, H_{q+1} = E_{S_{r+q}} +
(b_z − b_{τ_{r+q}})·H_q: positive. There F is bounded, and near its limit differences cancel; then its complement
∫_x^∞ f_r is used, by the positive recursion H̄_S = (E_S + H̄_{S without its largest node})/(b_z − b_τ) for
H̄ = e^{b_z x}∫_x^∞ f. It ends at a small set, for which 0 ≤ H̄_S ≤ E_S/(b_z − θ), θ = b_τ + E_{S without τ}/E_S being
the logarithmic derivative of E_S at x, which decreases, as E_S is log-concave.
"""

from __future__ import annotations

from typing import Any

import attrs
from flint import arb, arb_mat

from dpframe_orbit.balls import ONE, ZERO, Undecided, exponent, power_of_two
from dpframe_orbit.divided_differences import Exponentials, Set

JETS = 4  # derivatives of a distribution function that its inversion uses
AHEAD = 24  # functions at a time in the search for the end of a complement


def strip_order(dim: int, spikes: int) -> list[int]:
    """The nodes as they are stripped: the spikes from the smallest, then the others from the largest.

    Then distribution functions grow where their entries are, or their complements do.
    """
    return [*range(spikes - 1, -1, -1), *range(spikes, dim)]


@attrs.frozen(eq=False)
class Step:
    """What a step needs: all of it follows from its number, the dimension and the number of spikes.

    Args:
        node: z.
        entries: the number of entries of the row.
        above: how many of the functions f_r have a largest node above z.
        tops: the largest nodes τ_r of the functions f_r; d for an empty set.
        sets: of E in F_r for r < above, of H_0, and of f_0, f_1, ….
        ahead: sets that the next step needs besides.
    """

    node: int
    entries: int
    above: int
    tops: tuple[int, ...]
    sets: tuple[Set, ...]
    ahead: tuple[Set, ...]

    @classmethod
    def number(cls, step: int, dim: int, spikes: int, extra: int) -> Step:
        """The step of this number, with so many functions beyond those of the determinant."""
        node = strip_order(dim, spikes)[step]
        entries = min(spikes, dim - step - 1)
        count = entries + extra
        if node < spikes:
            tops = [*range(node), *range(spikes, spikes + count)][:count]
            direct = [(i, node + 1) for i in range(node)]
            start = (node, node + 1)
        else:
            tops = list(range(node + 1, node + 1 + count))
            direct, start = [], (node, dim)
        functions = [(i, node if i < spikes else dim) for i in (min(top, dim) for top in tops)]
        return cls(
            node=node,
            entries=entries,
            above=len(direct),
            tops=tuple(min(top, dim) for top in tops),
            sets=(*direct, start, *functions),
            ahead=() if node < spikes - 1 else ((min(tops[-1] + 1, dim), dim),),
        )


class End:
    """The values of all functions at one point of the pattern."""

    def __init__(self, point: Any) -> None:
        self.point = point
        self.values: dict[Set, Any] = {}
        self.complements: list[Any] | None = None

    def reused(self) -> End:
        """The same point for another step, with the values that are known."""
        end = End(self.point)
        end.values = self.values
        return end

    def at(self, functions: Exponentials, sets: tuple[Set, ...]) -> list[Any]:
        """The values of these sets, of which those that are not known are computed."""
        missing = [nodes for nodes in sets if nodes not in self.values]
        if missing:
            self.values.update(zip(missing, functions.at(self.point, missing), strict=True))
        return [self.values[nodes] for nodes in sets]


class RowLaw:
    """The law of the row after one step, given the row above, at the precision of the functions.

    Args:
        functions: the divided differences.
        step: the number of the step.
        ends: ν_1, …, ν_{n+1} for n entries, the last zero where ν has no more entries; exact.
    """

    def __init__(self, functions: Exponentials, step: int, ends: list[End]) -> None:
        self.functions, self.ends = functions, ends
        count = len(ends) - 1
        self.fixed = [bool(ends[i].point == ends[i + 1].point) for i in range(count)]
        longest, run = 0, 0
        for fixed in self.fixed:
            run = run + 1 if fixed else 0
            longest = max(longest, run)
        self.step = Step.number(step, functions.dim, functions.spikes, max(JETS - 1, longest))
        self.rate = functions.nodes[self.step.node]
        self.gaps = [functions.nodes[top] - self.rate if top < functions.dim else ZERO for top in self.step.tops]
        self.chain = count - self.step.above
        self.at_ends: list[Any] = []
        self._cumulative: list[Any] = []
        self._saturated: list[bool] = []
        self._deep = [
            tuple((i, functions.dim) for i in range(start, min(start + AHEAD, functions.dim)))
            for start in range(self.step.tops[self.step.above], functions.dim, AHEAD)
        ]

    @property
    def entries(self) -> int:
        """The number of entries of the row."""
        return self.step.entries

    def weighted(self, end: End) -> list[Any]:
        """All functions times e^{−b_z x} at a point."""
        decay = (-self.rate * end.point).exp()
        return [value * decay for value in end.at(self.functions, self.step.sets)]

    def densities(self, weighted: list[Any]) -> list[Any]:
        """f_0, f_1, …, as many as were asked for."""
        return weighted[self.step.above + 1 :]

    def cumulative(self, weighted: list[Any]) -> list[Any]:
        """F_0, …, F_{n−1}."""
        above, f = self.step.above, self.densities(weighted)
        found = weighted[:above]
        if self.chain:
            found.append(weighted[above])
            for q in range(above, self.entries - 1):
                found.append(f[q] - self.gaps[q] * found[-1])
        return found

    def complements(self, end: End) -> list[Any]:
        """∫_x^∞ of the functions whose largest node is below z."""
        if end.complements is None:
            end.complements = self._complements(end.point)
        return end.complements

    def _complements(self, point: Any) -> list[Any]:
        functions, first = self.functions, self.step.tops[self.step.above]
        values: dict[int, Any] = {}
        chunks = iter(self._deep)

        def value(index: int) -> Any:
            if index >= functions.dim:
                return ZERO
            while index not in values:
                sets = next(chunks)
                values.update(zip((i for i, _ in sets), functions.at(point, sets), strict=True))
            return values[index]

        last, small, term = first + self.chain - 1, power_of_two(-functions.precision), ONE
        while last < functions.dim:  # terms of the complement of the deepest set that is needed, relative to the first
            last += 1
            if last >= functions.dim:
                break
            ratio = (value(last) / value(last - 1) / (self.rate - functions.nodes[last])).mid()
            term = (term * ratio).mid()
            if ratio < 0.97 and term < small:
                break
        complement = ZERO
        if last < functions.dim:
            slope = functions.nodes[last] + value(last + 1) / value(last)
            if not slope < self.rate:
                raise Undecided("complement")
            half = (value(last) / (self.rate - slope) / 2).upper()
            complement = arb(half, half)
        found: dict[int, Any] = {}
        for index in range(min(last, functions.dim) - 1, first - 1, -1):
            complement = (value(index) + complement) / (self.rate - functions.nodes[index])
            found[index] = complement
        decay = (-self.rate * point).exp()
        return [found[i] * decay if i < functions.dim else ZERO for i in range(first, first + self.chain)]

    def prepare(self) -> tuple[Any, list[Any]]:
        """The matrix C with columns scaled to about 1, and the scales, for the first entry that is not fixed."""
        zero = self.ends[-1].point == 0
        known = [self.weighted(end) for end in (self.ends[:-1] if zero else self.ends)]
        self.at_ends = known + ([None] if zero else [])
        self._cumulative = [self.cumulative(weighted) for weighted in known] + ([[ZERO] * self.entries] if zero else [])
        self._saturated = [self._near_its_limit(i) for i in range(self.entries)]
        columns: list[list[Any]] = []
        while len(columns) < self.entries:
            i = len(columns)
            if self.fixed[i]:
                columns += self._tied(i)
            else:
                columns.append(self.rise(i, self.ends[i], known[i]))
        scales = [scale(column) for column in columns]
        flat = [columns[i][r] * scales[i] for r in range(self.entries) for i in range(self.entries)]
        return arb_mat(self.entries, self.entries, flat), scales

    def _tied(self, index: int) -> list[list[Any]]:
        """The columns of a run of fixed entries."""
        run = 1
        while index + run < self.entries and self.fixed[index + run]:
            run += 1
        f = self.densities(self.at_ends[index])[: self.entries + run]
        nodes = [self.functions.nodes[top] if top < self.functions.dim else ZERO for top in self.step.tops]
        lowest = nodes[min(self.entries + run, len(nodes)) - 1]
        columns = []
        for _ in range(run):
            columns.append(f[: self.entries])
            f = [f[r + 1] + (nodes[r] - lowest) * f[r] for r in range(len(f) - 1)]
        return columns

    def _near_its_limit(self, index: int) -> bool:
        """Whether complements are smaller than F at the lower end of an interval, where F hardly grows."""
        functions, above = self.functions, self.step.above
        first = self.step.tops[above] if self.chain else functions.dim
        if self.fixed[index] or first >= functions.dim or self.ends[index + 1].point == 0:
            return False
        if not functions.floats[self.step.node] > functions.floats[first]:
            return False
        low, high = self._cumulative[index + 1][above], self._cumulative[index][above]
        if not low.mid() > 0.9 * high.mid():
            return False
        return bool(self.complements(self.ends[index + 1])[0].mid() < low.mid())

    def rise(self, index: int, end: End, weighted: list[Any]) -> list[Any]:
        """F(x) − F(ν_{l+1})."""
        F, low = self.cumulative(weighted), self._cumulative[index + 1]
        if not self._saturated[index]:
            return [x - y for x, y in zip(F, low, strict=True)]
        below, beyond = self.complements(self.ends[index + 1]), self.complements(end)
        above = self.step.above
        return [
            *(x - y for x, y in zip(F[:above], low[:above], strict=True)),
            *(x - y for x, y in zip(below, beyond, strict=True)),
        ]

    def jets(self, row: Any) -> Any:
        """The coefficients, with respect to f_0, f_1, …, of Σ_r row_r f_r and of its derivatives."""
        count = len(self.gaps)
        current = [row[0, r] for r in range(self.entries)] + [ZERO] * (count - self.entries)
        rows = [current]
        for order in range(JETS - 1):
            width = min(self.entries + order + 1, count)
            current = [
                (current[j - 1] if j else ZERO) + self.gaps[j] * current[j] if j < width else ZERO for j in range(count)
            ]
            rows.append(current)
        return arb_mat(JETS, count, [entry for current in rows for entry in current])


def scale(column: list[Any]) -> Any:
    """A power of two that brings the largest entry of a column to about 1."""
    sizes = [size for size in map(exponent, column) if size is not None]
    if not sizes:
        raise Undecided("zero column")
    return power_of_two(-max(sizes))
