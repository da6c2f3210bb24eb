"""Divided differences of the exponential function by a contour integral, where their power series would be long.

E_T(t) = (1/2πi)∫ e^{ts}/∏(s − b_i) ds along the hyperbola s(u) = B − c·sin(α − iu), −∞ < u < ∞, whose vertex
V = B − c·sin α lies right of all nodes.

**Lemma (descent).** If 0 < α ≤ π/4 and Σ 1/(V − b_i) ≤ t, then |e^{ts}/∏(s − b_i)| decreases in |u|.

*Proof.* Let x = c·sin α, y = c·cos α ≥ x, e = y² − x², C = cosh u, R = V − b_i and D_i = |s − b_i|² =
(R + x − xC)² + y²(C² − 1). The derivative of the logarithm of the modulus is sinh u·(−tx + Σ[x(R + x − xC) − y²C]/D_i),
which is at most sinh u·Σ{−x/R + [x(R + x) − (x² + y²)C]/D_i}, and
x·D_i − R[x(R + x) − (x² + y²)C] = x²R + eRC + x[e(C² − 1) + 2x²C(C − 1)] ≥ 0. ∎

Shifting u by iv turns α into α + v. So the trapezoidal rule with step h has an error of at most
M₊/(e^{2πv₊/h} − 1) + M₋/(e^{2πv₋/h} − 1), where M± are the integrals of the modulus (with |s'| ≤ c·cosh u) along the
hyperbolas with α + v₊ and α − v₋, both of which the lemma covers; upper Riemann sums bound them. These bounds are
computed in floats, as logarithms relative to e^{tB}, and enlarged by more than their rounding.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from flint import acb, acb_mat, arb, ctx
from numpy.typing import NDArray

from dpframe_orbit.balls import Undecided

Floats = NDArray[np.float64]
OUTER, INNER, MIDDLE = math.pi / 4, 0.05, math.pi / 4 - 0.36  # the angles α + v₊, α − v₋ and α
STEP = 0.05  # of the upper sums
FARTHEST = 12.0  # |u| of the upper sums
ROUNDING = 0.05  # of logarithms, enlarged; their floats are accurate to 1e-6


@attrs.frozen(eq=False)
class Line:
    """The modulus along one hyperbola: the real parts of s − B, the logarithms of ∏|s − b_i|, and Σ 1/(V − b_i)."""

    angle: float
    real: Floats
    logs: Floats
    inverse: float


class Exponentials:
    """e^{ts} at the points of a rule, for the t that was asked for last."""

    def __init__(self, points: list[Any]) -> None:
        self.points = points
        self._point: Any = None
        self._row: Any = None

    def at(self, point: Any) -> Any:
        """A row of them."""
        if self._point is None or self._point != point:
            row = [(place * point).exp() for place in self.points]
            self._point, self._row = point, acb_mat(1, len(row), row)
        return self._row


@attrs.frozen(eq=False)
class Contour:
    """A trapezoidal rule for one set of nodes, for t from ``first`` to ``last``."""

    first: float
    last: float
    step: float
    scale: float
    center: float
    exponentials: Exponentials
    weights: Any
    end: float
    outer: Line
    inner: Line
    middle: Line

    @classmethod
    def of(cls, nodes: list[Any], floats: list[float], point: float, precision: int) -> Contour:
        """A rule for these nodes, from the largest, and points from about this one on."""
        b = np.array(floats)
        first, spread = _window(b, point)
        saddle = _saddle(b, first)
        sigma = 1.0 / math.sqrt(float((1.0 / (saddle - b) ** 2).sum()))
        vertex = saddle + 0.25 * sigma
        if not float((1.0 / (vertex - b)).sum()) < first * (1.0 - 1e-9):
            raise Undecided("saddle")
        scale = 2.5 * sigma
        center = vertex + scale * math.sin(OUTER)
        bits = (precision + 24) * math.log(2.0)
        step = 2.0 * math.pi * min(OUTER - MIDDLE, MIDDLE - INNER) / bits
        far = np.arange(0.0, FARTHEST, STEP)
        middle = _line(b, center, scale, MIDDLE, far)
        falls = first * middle.real - middle.logs + np.log(np.cosh(far))
        enough = np.nonzero(falls < falls[0] - bits - 4.0)[0]
        if not len(enough):
            raise Undecided("contour")
        count = math.ceil(float(far[enough[0]]) / step) + 1
        with ctx.workprec(precision + 30):
            points, weights = _rule(nodes, arb(center), arb(scale), arb(step), count)
        return cls(
            first=first,
            last=point + min(0.5 * point, spread),
            step=step,
            scale=scale,
            center=center,
            exponentials=Exponentials(points),
            weights=acb_mat(len(weights), 1, weights),
            end=count * step,
            outer=_line(b, center, scale, OUTER, far),
            inner=_line(b, center, scale, INNER, far),
            middle=middle,
        )

    def without(self, dropped: list[Any], floats: list[float], precision: int) -> Contour:
        """The same rule for fewer nodes: those that are dropped, and all that are left."""
        with ctx.workprec(precision + 30):
            weights = [
                weight * _product([place - node for node in dropped])
                for place, weight in zip(self.exponentials.points, self.weights.entries(), strict=True)
            ]
        b, far = np.array(floats), np.arange(0.0, FARTHEST, STEP)
        outer, inner, middle = (_line(b, self.center, self.scale, angle, far) for angle in (OUTER, INNER, MIDDLE))
        return attrs.evolve(self, weights=acb_mat(len(weights), 1, weights), outer=outer, inner=inner, middle=middle)

    def covers(self, point: float) -> bool:
        """Whether the rule was made for points like this one."""
        return self.first <= point <= self.last

    def at(self, point: Any) -> Any:
        """E_T at an exact point."""
        total = (self.exponentials.at(point) * self.weights)[0, 0].real
        value = total * arb(self.step) / arb.pi()
        logs = [
            self._log_mass(self.outer, float(point)) - _log_expm1(2 * math.pi * (OUTER - MIDDLE) / self.step),
            self._log_mass(self.inner, float(point)) - _log_expm1(2 * math.pi * (MIDDLE - INNER) / self.step),
            self._log_tail(float(point)),
        ]
        bound = max(logs) + math.log(3.0) - math.log(2 * math.pi) + ROUNDING
        return value + arb(0, 1) * (arb(bound) + arb(self.center) * point).exp()

    def _log_mass(self, line: Line, point: float) -> float:
        """The logarithm of a bound on the integral of the modulus along a line, relative to e^{tB}."""
        u = np.arange(len(line.real)) * STEP
        logs = point * line.real - line.logs + np.log(self.scale * np.cosh(u + STEP))
        largest = float(logs.max())
        total = float(np.exp(logs - largest).sum()) * STEP
        total += math.exp(float(logs[-1]) - largest) * 2.0 / (self._decay(line, point, float(u[-1])) - 1.0)
        return largest + math.log(2.0 * total)

    def _log_tail(self, point: float) -> float:
        """The logarithm of a bound on what the rule leaves out beyond its last point, relative to e^{tB}."""
        line = self.middle
        before = min(int(self.end / STEP), len(line.real) - 1)
        log = point * float(line.real[before]) - float(line.logs[before]) + math.log(self.scale * math.cosh(self.end))
        return log + math.log(2.0 * (1.0 / (self._decay(line, point, self.end) - 1.0) + self.step))

    def _decay(self, line: Line, point: float, u: float) -> float:
        """A rate at which the modulus falls beyond u: that of e^{−x(cosh u)(t − Σ 1/(V − b_i))}, by the lemma."""
        rate = (point - line.inverse) * self.scale * math.sin(line.angle) * math.sinh(u)
        if not rate > 2.0:
            raise Undecided("contour")
        return rate


def _log_expm1(x: float) -> float:
    return x + math.log1p(-math.exp(-x))


def _saddle(b: Floats, point: float) -> float:
    """A little more than the s with Σ 1/(s − b_i) = t."""
    low, high = b[0] + 0.999 / point, b[0] + 1.001 * len(b) / point
    for _ in range(200):
        middle = 0.5 * (low + high)
        if float((1.0 / (middle - b)).sum()) > point:
            low = middle
        else:
            high = middle
        if high - low < 1e-13 * high:
            break
    return float(high * (1.0 + 1e-12))


def _window(b: Floats, point: float) -> tuple[float, float]:
    """The first t of a window about as wide as the scale on which the function changes, and that scale."""
    first, spread = 0.98 * point, 0.0
    for _ in range(3):
        spread = math.sqrt(float((1.0 / (_saddle(b, first) - b) ** 2).sum()))
        first = max(0.9 * point, point - 0.3 * spread)
    return first, spread


def _line(b: Floats, center: float, scale: float, angle: float, u: Floats) -> Line:
    offset = -scale * np.sin(angle - 1j * u)
    logs: Floats = np.log(np.abs((center - b)[None, :] + offset[:, None])).sum(axis=1)
    vertex = center - scale * math.sin(angle)
    return Line(angle, offset.real.copy(), logs, float((1.0 / (vertex - b)).sum()))


def _rule(nodes: list[Any], center: Any, scale: Any, step: Any, count: int) -> tuple[list[Any], list[Any]]:
    """The points s(u) and the weights s'(u)/∏(s(u) − b_i) at u = 0, h, …, count·h, the first of them halved.

    The rule for all u from −count·h on is twice the real part of the sum, as s(−u) is the conjugate of s(u).
    """
    sine, cosine = arb(MIDDLE).sin(), arb(MIDDLE).cos()
    points, weights = [], []
    for q in range(count + 1):
        grown = (step * q).exp()
        high, low = (grown + 1 / grown) / 2, (grown - 1 / grown) / 2
        place = acb(center - scale * sine * high, scale * cosine * low)
        points.append(place)
        weights.append(acb(scale * cosine * high, scale * sine * low) / _product([place - node for node in nodes]))
    weights[0] = weights[0] / 2
    return points, weights


def _product(factors: list[Any]) -> Any:
    """The product of complex balls, in pairs.

    A product of rectangles is enclosed in one that may be √2 times too large. One factor after the other, that is to
    the power of their number, and at d = 1000 no bits are left; in pairs, it is to the power of the logarithm.
    """
    while len(factors) > 1:
        odd = factors[len(factors) // 2 * 2 :]
        factors = [one * other for one, other in zip(factors[::2], factors[1::2], strict=False)] + odd
    return factors[0]
