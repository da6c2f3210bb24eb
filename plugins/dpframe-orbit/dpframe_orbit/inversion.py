"""The entries of one row: conditional distribution functions, inverted at lazy uniforms.

The conditional density g of an entry is log-concave (Prékopa: the density of the pattern is exponential-linear on a
polytope), hence unimodal. Where the distribution function G satisfies G(x₁) < U < G(x₂) or G(x₁) > U > G(x₂), proved in
balls, the exact entry x lies between x₁ and x₂, g is at least min(g(x₁), g(x₂)) there, and
|x − x₂| ≤ |G(x₂) − U|/min(g(x₁), g(x₂)). How x₁ and x₂ were found does not matter.

They are found by inverting the Taylor polynomial of G about the last point, as the derivatives of all functions are
known. From a guess by an exponential law at an end of the interval, the first polynomial mostly gives half of all
digits, and the second all of them. So three values of the functions suffice for most entries; those of a row are
padded to a public number.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import attrs
from flint import arb, arb_mat

from dpframe_orbit.balls import Undecided, power_of_two
from dpframe_orbit.lazy import LazyUniforms
from dpframe_orbit.row_law import JETS, End, RowLaw, scale
from dpframe_orbit.verified_inverse import VerifiedInverse

MARGIN = 64  # bits by which a uniform is finer than the accuracy
MOST = 400  # values of the functions for one entry; bisection alone would do with fewer


@attrs.frozen(eq=False)
class Look:
    """A point, and what is known about G there: value, derivatives, and the vectors that they are made from."""

    end: End
    weighted: list[Any]
    rise: list[Any]
    value: Any
    jets: list[Any]


class Entry:
    """The conditional law of one entry.

    Args:
        law: of its row.
        inverse: of the matrix C, checked.
        index: l.
        size: the power of two that column l was scaled by.
    """

    def __init__(self, law: RowLaw, inverse: VerifiedInverse, index: int, size: Any) -> None:
        self.law, self.inverse, self.index, self.size = law, inverse, index, size
        self.row = inverse.row(index) * size
        self.jets = law.jets(self.row)
        self.low, self.high = law.ends[index + 1].point, law.ends[index].point

    def derivatives(self, weighted: list[Any]) -> list[Any]:
        """G′, G″, … from the functions at a point."""
        f = self.law.densities(weighted)
        return list((self.jets * arb_mat(len(f), 1, f)).entries())

    def look(self, point: Any) -> Look:
        """G and its derivatives at a point."""
        self.law.functions.looks += 1
        end = End(point)
        weighted = self.law.weighted(end)
        rise = self.law.rise(self.index, end, weighted)
        value = (self.row * arb_mat(len(rise), 1, rise))[0, 0]
        return Look(end, weighted, rise, value, self.derivatives(weighted))

    def proved(self, *looks: Look) -> list[Any]:
        """Balls of G and G′ at each point that cover the error of the inverse."""
        columns = []
        for look in looks:
            columns += [look.rise, self.law.densities(look.weighted)[: self.law.entries]]
        return [ball * self.size for ball in self.inverse.enclosed(self.index, columns)]

    def guess(self, uniform: float, rest: float) -> Any:
        """A first point: the root for an exponential law that has G′ and G″ of one end of the interval."""
        width = self.high - self.low
        share = None
        for at, tail, sign in ((self.index, rest, -1.0), (self.index + 1, uniform, 1.0)):
            weighted = self.law.at_ends[at]
            if weighted is None:
                continue
            first, second = self.derivatives(weighted)[:2]
            density, slope = float((first * width).mid()), float((second * width * width).mid())
            if not (density > 0.0 and math.isfinite(density) and math.isfinite(slope)):
                continue
            rate = slope / density
            argument = sign * rate * tail / density
            distance = tail / density if abs(argument) < 1e-9 else 2.0
            if abs(argument) >= 1e-9 and argument > -1.0:
                distance = sign * math.log1p(argument) / rate
            if 0.0 < distance < 0.7:
                share = distance if sign > 0.0 else 1.0 - distance
                break
        if share is None:
            share = self._usual(uniform)
        point = (self.high - width * (1.0 - share)).mid()
        return point if self.low < point < self.high else ((self.low + self.high) / 2).mid()

    def _usual(self, uniform: float) -> float:
        """A point as a share of the interval, where its ends tell nothing."""
        law, high, functions = self.law, float(self.high), self.law.functions
        rate, nodes = functions.floats[law.step.node], functions.floats[max(law.step.node + 1, functions.spikes) :]
        if law.at_ends[self.index + 1] is not None:
            return 0.5
        share: float = max(uniform ** (1.0 / max(1, len(nodes))), 0.02)
        # Without an upper end, and other entries, it would be a sum of exponential variables.
        means = [1.0 / (rate - node) for node in nodes if rate - node > 0.01 / high]
        if len(means) == len(nodes):
            mean = sum(means)
            spread = sum(x * x for x in means) / (9.0 * mean * mean)  # Wilson and Hilferty's law of a gamma variable
            normal = NormalDist().inv_cdf(min(max(uniform, 1e-6), 1.0 - 1e-6))
            share = min(share, mean * max(1.0 - spread + normal * math.sqrt(spread), 0.1) ** 3 / high)
        return min(max(share, 1e-9), 0.99)


def step_to(look: Look, target: Any, width: Any) -> tuple[Any, float] | None:
    """The step h to the root of the Taylor polynomial of G − target, and a guess of its error relative to the width."""
    scaled, size = [], width
    for order, derivative in enumerate(look.jets):
        scaled.append(float((derivative * size).mid()) / math.factorial(order + 1))
        size = size * width
    missing = float((target - look.value).mid())
    slope = scaled[0]
    if not (slope > 0.0 and all(map(math.isfinite, scaled))):
        return None
    bend = 2.0 * scaled[1] / slope
    argument = bend * missing / slope
    if argument <= -0.98:
        return None
    h = missing / slope if abs(argument) < 1e-9 else math.log1p(argument) / bend
    for _ in range(4):
        value = derivative = 0.0
        for order in range(JETS, 0, -1):
            value = (value + scaled[order - 1]) * h
            derivative = derivative * h + order * scaled[order - 1]
        if not derivative > 0.05 * slope:
            return None
        h -= (value - missing) / derivative
    if not abs(h) < 4.0:
        return None
    ratio = max(abs(bend) / 2.0, *(abs(scaled[m] / slope) ** (1.0 / m) for m in range(1, JETS)))
    error = abs(h) * min(ratio * abs(h), 1e9) ** JETS * 4.0
    step = arb(h) * width
    if error < 1e-14 * abs(h):  # floats do not do
        for _ in range(2):
            total, derivative_ball = arb(0), arb(0)
            for order in range(JETS, 0, -1):
                coefficient = look.jets[order - 1].mid() / math.factorial(order)
                total = ((total + coefficient) * step).mid()
                derivative_ball = (derivative_ball * step + order * coefficient).mid()
            step = (step - (total - (target - look.value).mid()) / derivative_ball).mid()
    return step, max(error, abs(h) * 1e-15 if error >= 1e-14 * abs(h) else 0.0)


def invert(entry: Entry, uniform: Any, accuracy: int) -> Look:
    """A point within 2^−accuracy of the x with G(x) = U, and what is known there."""
    low, high, width = entry.low, entry.high, entry.high - entry.low
    target, beyond = uniform.mid(), power_of_two(-accuracy - 2)
    point = entry.guess(float(target), float((1 - target).mid()))
    wide = float(width)
    least, most = low, high
    for _ in range(MOST):
        look = entry.look(point)
        if look.value.rad() > 1e-3:
            raise Undecided("radius")
        upward = look.value.mid() < target
        least, most = (point, most) if upward else (least, point)
        found = step_to(look, target, width)
        if found is not None:
            step, error = found
            root = (point + step).mid()
            if error * wide < 2.0 ** (-accuracy - 3):
                aside = beyond if upward else -beyond
                if not low < root - beyond < root + beyond < high:
                    raise Undecided("edge")
                if abs(step) < beyond:  # too close to the root for a proof of the side that it is on
                    look = entry.look((root - aside).mid())
                ending = entry.look((root + aside).mid())
                if _proved(entry, look, ending, uniform, accuracy=accuracy, upward=upward):
                    return ending
            point = root
        if found is None or not least < point < most:
            point = ((least + most) / 2).mid()
    raise Undecided("no convergence")


def _proved(entry: Entry, one: Look, other: Look, uniform: Any, *, accuracy: int, upward: bool) -> bool:
    """Whether the exact entry is proved to lie between two points, and within 2^−accuracy of the second."""
    value, density, last, last_density = entry.proved(one, other)
    between = value < uniform < last if upward else last < uniform < value
    if not between:
        if last.rad() > power_of_two(-accuracy) * last_density.mid():
            raise Undecided("radius")
        return False
    if not (density > 0 and last_density > 0):
        raise Undecided("density")
    lowest = min(density.lower(), last_density.lower())
    return bool((last - uniform).abs_upper() < power_of_two(-accuracy) * lowest)


def draw_row(law: RowLaw, uniforms: LazyUniforms, place: int, accuracy: int) -> list[End]:
    """The entries of a row, each within 2^−accuracy of the exact one given those before it and the row above.

    Entry l is drawn from the uniform at place + l.
    """
    if all(law.fixed):
        return law.ends[:-1]
    matrix, sizes = law.prepare()
    inverse = VerifiedInverse(matrix)
    drawn: list[End] = []
    for index in range(law.entries):
        if law.fixed[index]:
            drawn.append(law.ends[index])
            continue
        inverse.check()
        entry = Entry(law, inverse, index, sizes[index])
        ending = invert(entry, uniforms.ball(place + index, accuracy + MARGIN), accuracy)
        drawn.append(ending.end)
        if index + 1 < law.entries:
            column = law.densities(ending.weighted)[: law.entries]
            size = scale(column)
            inverse.replace(index, [value * size for value in column])
    return drawn
