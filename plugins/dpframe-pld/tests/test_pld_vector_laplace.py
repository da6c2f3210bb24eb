"""A vector of Laplace variables is dominated by one of the same total: docs/vector-laplace.md, by quadrature."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate

import dpframe.plugin as dp

PLD = dp.accountant("pld")
SHIFTS = [(0.05, 0.05), (0.1, 0.9), (0.5, 0.5), (0.3, 1.7), (1.0, 1.0), (0.02, 3.0), (1.5, 2.5)]

each_split = pytest.mark.parametrize(("a", "b"), SHIFTS)


def scalar(theta: float, epsilon: float) -> float:
    """The curve of one Laplace variable shifted by theta, from its density."""
    if epsilon >= theta:
        return 0.0
    if epsilon <= -theta:
        return -math.expm1(epsilon)
    return -math.expm1((epsilon - theta) / 2)


def split(a: float, b: float, epsilon: float) -> float:
    """∫∫ (p − e^epsilon q)₊ over the plane, p and q the densities of two Laplace variables with and without shifts.

    The inner integral, over the second variable, is where its own loss exceeds epsilon less that of the first.
    """

    def inner(x: float) -> float:
        first = abs(x - a) - abs(x)
        return 0.5 * math.exp(-abs(x)) * scalar(b, epsilon - first)

    kinks = [0.0, a, *(x for x in ((a - epsilon + b) / 2, (a - epsilon - b) / 2) if 0.0 < x < a)]
    edges = [-math.inf, *sorted(set(kinks)), math.inf]
    return math.fsum(
        integrate.quad(inner, low, high, epsabs=1e-13, epsrel=1e-11)[0] for low, high in itertools.pairwise(edges)
    )


def difference(a: float, b: float, epsilon: float) -> float:
    """Split minus scalar, in closed form, for a ≤ b."""
    if epsilon < 0.0:
        return math.exp(epsilon) * difference(a, b, -epsilon)
    theta, c = a + b, epsilon - b
    if epsilon >= theta:
        return 0.0
    if epsilon >= b - a:
        return math.exp((c - a) / 2) * (c - a) / 4
    return -(a / 2) * math.exp((epsilon - theta) / 2)


def levels(theta: float) -> NDArray[np.float64]:
    return np.linspace(-1.2 * theta, 1.2 * theta, 41)


@each_split
def test_the_split_curve_is_never_above_the_scalar_one(a: float, b: float) -> None:
    for epsilon in levels(a + b):
        found = split(a, b, float(epsilon)) - scalar(a + b, float(epsilon))
        assert found <= 1e-10
        assert difference(a, b, float(epsilon)) <= 0.0
        assert found == pytest.approx(difference(a, b, float(epsilon)), abs=1e-9)


@each_split
def test_the_inner_integral_is_the_curve(a: float, b: float) -> None:
    """The formula of the curve of one variable, against the integral of its definition."""
    for epsilon in levels(b)[::8]:
        e = float(epsilon)

        def positive_part(y: float, e: float = e) -> float:
            return max(0.0, math.exp(-abs(y)) - math.exp(e - abs(y - b))) / 2

        kinks = sorted({0.0, b, (b - e) / 2})
        edges = [kinks[0] - 60.0, *kinks, kinks[-1] + 60.0]
        total = math.fsum(
            integrate.quad(positive_part, low, high, epsabs=1e-13)[0] for low, high in itertools.pairwise(edges)
        )
        assert scalar(b, e) == pytest.approx(total, abs=1e-9)


def test_a_wrong_claim_would_be_noticed() -> None:
    """The scalar curve of a slightly smaller total is exceeded."""
    a, b = 0.1, 0.9
    assert any(split(a, b, float(e)) > scalar(0.97 * (a + b), float(e)) + 1e-4 for e in levels(1.0))


@pytest.mark.parametrize("parts", [(0.5, 0.5), (0.2, 0.3, 0.5), (0.1,) * 10, (0.9, 0.05, 0.05)])
@pytest.mark.parametrize("delta", [1e-2, 1e-4, 1e-8])
def test_the_accountant_agrees(parts: tuple[float, ...], delta: float) -> None:
    apart = PLD.epsilon([dp.losses.Laplace(epsilon=part) for part in parts], delta)
    assert apart <= PLD.epsilon([dp.losses.Laplace(epsilon=math.fsum(parts))], delta) * (1 + 1e-7)
