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
hyperbolas with α + v₊ and α − v₋, both of which the lemma covers; upper Riemann sums bound them. Relative to e^{tB} the
modulus decreases in t, as Re(s − B) < 0: so a bound for one t holds for all larger ones. These bounds are computed in
floats, as logarithms relative to e^{tB}, and enlarged by more than their rounding.
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
FAR = np.arange(0.0, 12.0, STEP)  # |u| of the upper sums
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
    bound: float

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
        middle = _line(b, center, scale, MIDDLE)
        falls = first * middle.real - middle.logs + np.log(np.cosh(FAR))
        enough = np.nonzero(falls < falls[0] - bits - 4.0)[0]
        if not len(enough):
            raise Undecided("contour")
        count = math.ceil(float(FAR[enough[0]]) / step) + 1
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
            bound=math.inf,
        )._bounded(b)

    def without(self, node: Any, floats: list[float], precision: int) -> Contour:
        """The same rule without one of the nodes, for those that are left."""
        points = self.exponentials.points
        with ctx.workprec(precision + 30):
            weights = [weight * (place - node) for place, weight in zip(points, self.weights.entries(), strict=True)]
        return attrs.evolve(self, weights=acb_mat(len(weights), 1, weights))._bounded(np.array(floats))

    def _bounded(self, b: Floats) -> Contour:
        """With a bound on the error for these nodes, as a logarithm relative to e^{tB}, for all t from the first on."""
        outer, inner, middle = (_line(b, self.center, self.scale, angle) for angle in (OUTER, INNER, MIDDLE))
        end = (len(self.exponentials.points) - 1) * self.step
        logs = [
            _log_mass(outer, self.scale, self.first) - _log_expm1(2 * math.pi * (OUTER - MIDDLE) / self.step),
            _log_mass(inner, self.scale, self.first) - _log_expm1(2 * math.pi * (MIDDLE - INNER) / self.step),
            _log_tail(middle, self.scale, self.first, self.step, end),
        ]
        return attrs.evolve(self, bound=max(logs) + math.log(3.0) - math.log(2 * math.pi) + ROUNDING)

    def covers(self, point: float) -> bool:
        """Whether the rule was made for points like this one."""
        return self.first <= point <= self.last

    def at(self, point: Any) -> Any:
        """E_T at an exact point of the window."""
        total = (self.exponentials.at(point) * self.weights)[0, 0].real
        error = (arb(self.bound) + arb(self.center) * point).exp()
        return total * arb(self.step) / arb.pi() + arb(0, 1) * error


def _log_mass(line: Line, scale: float, point: float) -> float:
    """The logarithm of a bound on the integral of the modulus along a line, relative to e^{tB}."""
    logs = point * line.real - line.logs + np.log(scale * np.cosh(FAR + STEP))
    largest = float(logs.max())
    total = float(np.exp(logs - largest).sum()) * STEP
    total += math.exp(float(logs[-1]) - largest) * 2.0 / (_decay(line, scale, point, float(FAR[-1])) - 1.0)
    return largest + math.log(2.0 * total)


def _log_tail(line: Line, scale: float, point: float, step: float, end: float) -> float:
    """The logarithm of a bound on what the rule leaves out beyond its last point, relative to e^{tB}."""
    before = min(int(end / STEP), len(FAR) - 1)
    log = point * float(line.real[before]) - float(line.logs[before]) + math.log(scale * math.cosh(end))
    return log + math.log(2.0 * (1.0 / (_decay(line, scale, point, end) - 1.0) + step))


def _decay(line: Line, scale: float, point: float, u: float) -> float:
    """A rate at which the modulus falls beyond u: that of e^{−x(cosh u)(t − Σ 1/(V − b_i))}, by the lemma."""
    rate = (point - line.inverse) * scale * math.sin(line.angle) * math.sinh(u)
    if not rate > 2.0:
        raise Undecided("contour")
    return rate


def _log_expm1(x: float) -> float:
    return x + math.log1p(-math.exp(-x))


def _saddle(b: Floats, point: float) -> float:
    """A little more than the s with Σ 1/(s − b_i) = t."""
    s = b[0] + 1.0 / point  # not above it; Newton's method rises to it, the sum being convex
    for _ in range(100):
        inverse = 1.0 / (s - b)
        step = (float(inverse.sum()) - point) / float(inverse @ inverse)
        s += step
        if step < 1e-13 * (s - b[0]):
            break
    return float(s + 1e-12 * (s - b[0]))


def _window(b: Floats, point: float) -> tuple[float, float]:
    """The first t of a window about as wide as the scale on which the function changes, and that scale."""
    first, spread = 0.98 * point, 0.0
    for _ in range(3):
        spread = math.sqrt(float((1.0 / (_saddle(b, first) - b) ** 2).sum()))
        first = max(0.9 * point, point - 0.3 * spread)
    return first, spread


def _line(b: Floats, center: float, scale: float, angle: float) -> Line:
    offset = -scale * np.sin(angle - 1j * FAR)
    squares = ((center - b)[None, :] + offset.real[:, None]) ** 2 + (offset.imag**2)[:, None]
    vertex = center - scale * math.sin(angle)
    return Line(angle, offset.real.copy(), 0.5 * np.log(squares).sum(axis=1), float((1.0 / (vertex - b)).sum()))


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
