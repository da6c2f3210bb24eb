"""Directions by rejection: their law against closed forms, and decisions that more precision does not change."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from typing import Any

import attrs
import numpy as np
import pytest
from flint import arb, arb_mat, ctx, fmpz_mat
from numpy.typing import NDArray
from scipy import integrate, special, stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_orbit import rejection
from dpframe_orbit.envelope import Envelope
from dpframe_orbit.rejection import Direction, FirstLook, directions, rounded

FALSE_ALARM = 1e-6
SURE = float(stats.norm.isf(FALSE_ALARM / 2))
ROW = 2**32
Floats = NDArray[np.float64]


@pytest.fixture(autouse=True)
def many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejection, "BATCH", 256)


def drawn(matrix: Any, rate: float, count: int, seed: int = 1) -> Floats:
    """Unit vectors in rows."""
    found = islice(directions(Envelope.of(np.asarray(matrix), rate), seeded(seed)), count)
    return np.array([[float(x.mid()) for x in each.coordinates(60).entries()] for each in found])


def cdf_of(density: Callable[[Floats], Floats], low: float, high: float) -> Any:
    """The distribution function of an unnormalized density, on a fine grid."""
    points = np.linspace(low, high, 20_001)
    mass = integrate.cumulative_simpson(density(points), x=points, initial=0.0)
    return lambda x: np.interp(x, points, mass / mass[-1])


def angle_law(a: float) -> Any:
    """Of the angle with the first axis at d = 2, for exp(a·cos²)."""
    return cdf_of(lambda angle: np.exp(-a * np.sin(angle) ** 2), 0.0, math.pi)


def first_coordinate_law(first: float, second: float, third: float) -> Any:
    """Of x_1 at d = 3, the angle of the rest integrated out, for the costs of the squares."""

    def density(x: Floats) -> Floats:
        rest = 1 - x**2
        swing = rest * (third - second) / 2
        return np.exp(-first * x**2 - rest * (second + third) / 2 + np.abs(swing)) * special.ive(0, swing)

    return cdf_of(density, -1.0, 1.0)


# -- the law ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [2.0, 40.0])
def test_angles_in_two_dimensions(a: float) -> None:
    angles = np.arccos(drawn([[ROW, 0], [0, 0]], a / ROW, 6000)[:, 0])
    assert stats.kstest(angles, angle_law(a)).pvalue > FALSE_ALARM
    assert stats.kstest(angles, angle_law(1.5 * a)).pvalue < FALSE_ALARM


@pytest.mark.parametrize("costs", [(0.0, 1.0, 3.0), (5.0, 0.0, 2.0), (0.0, 7.0, 30.0)])
def test_coordinates_in_three_dimensions(costs: tuple[float, float, float]) -> None:
    matrix = np.diag([int((max(costs) - cost) * ROW) for cost in costs])
    seen = drawn(matrix, 1 / ROW, 6000)[:, 0]
    assert stats.kstest(seen, first_coordinate_law(*costs)).pvalue > FALSE_ALARM
    assert stats.kstest(seen, first_coordinate_law(*(1.5 * cost for cost in costs))).pvalue < FALSE_ALARM


def mean_square(a: float, dim: int) -> tuple[float, float]:
    """Mean and variance of (u·x)² for a unit vector u and density ∝ exp(a(u·x)²)."""
    whole, first, second = (
        special.hyp1f1(0.5 + n, dim / 2 + n, a) * special.poch(0.5, n) / special.poch(dim / 2, n) for n in range(3)
    )
    return float(first / whole), float(second / whole - (first / whole) ** 2)


def surprise(squares: Floats, a: float, dim: int) -> float:
    """How many standard deviations the mean is from that for a."""
    mean, variance = mean_square(a, dim)
    return abs(float(squares.mean()) - mean) / math.sqrt(variance / len(squares))


def power(a: float, off: float, dim: int, count: int) -> float:
    """The probability that a sample for a rejects off·a."""
    (mean, variance), (other, other_variance) = mean_square(a, dim), mean_square(off * a, dim)
    threshold = SURE * math.sqrt(other_variance / count)
    return float(stats.norm.sf((threshold - abs(mean - other)) / math.sqrt(variance / count)))


@pytest.mark.parametrize(
    ("dim", "a", "share", "count"),
    [
        (8, 60.0, 0.05, 7000),
        (2, 2.0, 0.15, 7000),
        pytest.param(2, 2.0, 0.05, 64_000, marks=pytest.mark.long),
        pytest.param(3, 20.0, 0.03, 80_000, marks=pytest.mark.long),
    ],
)
def test_a_strength_that_is_a_little_off_is_rejected(dim: int, a: float, share: float, count: int) -> None:
    """By the mean of the sufficient statistic; the first axis is any integer vector, and so M no diagonal matrix."""
    axis = np.random.default_rng(dim).integers(-30_000, 30_000, dim)
    square = int(axis @ axis)
    squares = (drawn(np.outer(axis, axis), a / square, count) @ axis) ** 2 / square
    assert surprise(squares, a, dim) < SURE
    for off in (1 - share, 1 + share):
        assert power(a, off, dim, count) > 0.99
        assert surprise(squares, off * a, dim) > SURE


def fallen_law(a: float, dim: int) -> Any:
    """Of the root r of a(1 − x_1²), for density ∝ exp(a·x_1²)."""
    end = math.sqrt(a) * (1 - 1e-9)
    return cdf_of(lambda r: r ** (dim - 2) * np.exp(-(r**2)) / np.sqrt(1 - r**2 / a), 0.0, end)


@pytest.mark.long
@pytest.mark.parametrize(("dim", "count"), [(2, 130_000), (3, 60_000)])
def test_shapes_for_a_strength_that_is_five_percent_off_are_rejected(dim: int, count: int) -> None:
    """By the distance of distribution functions, which rejects at 2.69/√n.

    The laws are D apart; a sample of n is nearer to the wrong law than 2.69/√n only if it is farther than D − 2.69/√n
    from its own at the point where they are farthest apart, which has a probability of at most exp(−2n(D − 2.69/√n)²).
    """
    a, points = 40.0, np.linspace(0.0, 4.0, 4001)
    found = np.sqrt(a * (1 - drawn(np.diag([ROW] + [0] * (dim - 1)), a / ROW, count)[:, 0] ** 2))
    assert stats.kstest(found, fallen_law(a, dim)).pvalue > FALSE_ALARM
    for off in (0.95, 1.05):
        root, wrong = math.sqrt(off), fallen_law(off * a, dim)
        apart = float(np.abs(wrong(root * points) - fallen_law(a, dim)(points)).max())
        assert math.exp(-2 * (math.sqrt(count) * apart - 2.7) ** 2) < 0.01
        assert stats.kstest(root * found, wrong).pvalue < FALSE_ALARM


def test_the_mean_square_that_a_wrong_exponent_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    """At d = 2, a = 2: 0.7232. With the exponent of t inverted the same check fails: that law has 0.896."""
    assert 0.7232 == pytest.approx(mean_square(2.0, 2)[0], abs=5e-5)
    assert 0.7232 == pytest.approx((1 + special.iv(1, 1.0) / special.iv(0, 1.0)) / 2, abs=5e-5)
    assert surprise(drawn([[ROW, 0], [0, 0]], 2 / ROW, 5000)[:, 0] ** 2, 2.0, 2) < SURE

    def inverted(law: Envelope, below: Any, t: Any) -> Any:
        return -arb(law.rate) * below - arb(law.dim) / 2 * t.log()

    monkeypatch.setattr(rejection, "_log_acceptance", inverted)
    wrong = drawn([[ROW, 0], [0, 0]], 2 / ROW, 5000)[:, 0] ** 2
    assert surprise(wrong, 2.0, 2) > SURE
    assert 0.896 == pytest.approx(float(wrong.mean()), abs=0.02)


def test_the_law_is_that_of_the_matrix_for_eigenvectors_that_are_far_off() -> None:
    """Any B will do as long as its bounds are stated: here V is turned by a tenth of a radian."""
    matrix, rate, bits = np.diag([3 * ROW, ROW, 0]), 1 / ROW, 52
    law = Envelope.of(matrix, rate)
    turn = np.array([[math.cos(0.1), -math.sin(0.1), 0], [math.sin(0.1), math.cos(0.1), 0], [0, 0, 1]])
    vectors = fmpz_mat(np.rint(turn * 2.0**bits).astype(np.int64).tolist())
    gamma = np.array([3.0, 1.0, 0.0]) * ROW
    residual = 1.01 * float(np.linalg.norm(matrix @ turn - turn * gamma)) + 1.0
    poor = attrs.evolve(
        law.eigenvectors, values=[int(g) for g in gamma], vectors=vectors, bits=bits, overlap=1e-14, residual=residual
    )
    b, shrink = law.b, np.array(sorted(law.shrink, reverse=True), dtype=object)
    turned = Envelope(matrix, rate, poor, shrink, b, 3 * ROW + math.ceil(poor.margin(rate)))
    found = islice(directions(turned, seeded(5)), 4000)
    seen = np.array([float(each.coordinates(60)[0, 0].mid()) for each in found])
    assert stats.kstest(seen, first_coordinate_law(0.0, 2.0, 3.0)).pvalue > FALSE_ALARM
    assert stats.kstest(seen, first_coordinate_law(0.0, 3.0, 4.5)).pvalue < FALSE_ALARM
    assert all(FirstLook(turned).log_acceptance(each, 60).rad() > 0.1 for each in proposals(turned, 5))  # M decides


# -- decisions -------------------------------------------------------------------------------------------------------


def generic(dim: int = 4, seed: int = 2) -> Envelope:
    values = np.random.default_rng(seed).integers(-30_000, 30_000, (200, dim)) * np.arange(1, dim + 1) // dim
    return Envelope.of(values.T @ values, 1 / ROW)


def released(count: int, law: Envelope) -> list[list[int]]:
    """Integers of the grid of several draws."""
    frame = arb_mat(fmpz_mat([[3, 1, 0, 0], [0, 3, 1, 0], [0, 0, 3, 1], [1, 0, 0, 3], [1, 1, 1, 1]])) / 4
    found = []
    for number, each in enumerate(islice(directions(law, seeded(6)), count)):
        found.append(rounded(each, None if number % 2 else frame, 16, seeded(7).child(str(number))))
    return found


@pytest.mark.parametrize("first", [3, 20, 240])
def test_integers_do_not_depend_on_the_precision_that_is_tried_first(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3 bits decide hardly anything, so that nearly every draw is escalated; 240 are four times the usual number."""
    law = generic()
    usual = released(100, law)
    looks: list[int] = []
    exact = Direction.log_acceptance

    def watched(self: Direction, bits: int) -> Any:
        looks.append(bits)
        return exact(self, bits)

    monkeypatch.setattr(Direction, "log_acceptance", watched)
    monkeypatch.setattr(rejection, "FIRST", first)
    assert usual == released(100, law)
    if first == 3:
        assert len(looks) > 60


def proposals(law: Envelope, count: int, seed: int = 8) -> list[Direction]:
    normals, dim = seeded(seed).normals(count * law.dim), law.dim
    return [Direction(law, normals, np.arange(i * dim, (i + 1) * dim)) for i in range(count)]


def outside(found: Any, exact: Any) -> bool:
    """Whether an exact value is certainly not in the ball that was stated for it."""
    return not found.overlaps(exact)


def test_balls_contain_what_four_hundred_digits_give() -> None:
    law = generic()
    first = FirstLook(law)
    for each in proposals(law, 8):
        exact, point = each.log_acceptance(1330), each.coordinates(1330)
        assert exact < 1e-300  # p ≤ 1
        for bits in (20, 60, 96):
            assert not outside(first.log_acceptance(each, bits), exact)
            assert not outside(each.log_acceptance(bits), exact)
            assert not any(map(outside, each.coordinates(bits).entries(), point.entries()))
        assert first.log_acceptance(each, 60).rad() < 1e-8


@pytest.mark.parametrize("which", ["normal", "vector", "shrink", "residual"])
def test_a_planted_error_is_outside_its_ball(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of 2⁻⁶⁰ in one normal, eigenvector or entry of S; and a bound on the residual that is too small."""
    law = generic()
    exact = [(each.log_acceptance(1330), each.coordinates(1330)) for each in proposals(law, 6)]
    if which == "normal":
        scaled = dp.Normals.scaled

        def off(self: dp.Normals, bits: int, which: Any = None) -> Any:
            values = scaled(self, bits, which).astype(object)
            values[0] += 2 ** (bits - 60)
            return values

        monkeypatch.setattr(dp.Normals, "scaled", off)
    elif which == "vector":
        entries = [[int(entry) << 8 for entry in row] for row in law.eigenvectors.vectors.tolist()]
        entries[0][0] += 1
        changed = attrs.evolve(law.eigenvectors, vectors=fmpz_mat(entries), bits=60)
        law = attrs.evolve(law, eigenvectors=changed)
    elif which == "shrink":
        law = attrs.evolve(law, shrink=law.shrink + np.array([16, 0, 0, 0], dtype=object))
    else:
        law = attrs.evolve(law, eigenvectors=attrs.evolve(law.eigenvectors, overlap=0.0, residual=0.0))
    found = []
    for each, (log, point) in zip(proposals(law, 6), exact, strict=True):
        if which == "residual":
            found.append(outside(FirstLook(law).log_acceptance(each, 60), log))
        else:
            found.append(
                any(map(outside, each.coordinates(96).entries(), point.entries()))
                and outside(each.log_acceptance(96), log)
            )
    assert sum(found) >= 5


def test_no_proposal_is_accepted_with_a_probability_above_one() -> None:
    for dim, rate in ((1, 1.0), (2, 1e-3), (3, 1e3), (20, 1.0), (20, 1e5)):
        law = Envelope.of(generic(dim).matrix, rate / ROW)
        for each in proposals(law, 30):
            assert each.log_acceptance(96) < 2.0**-80


def test_a_direction_has_length_one() -> None:
    for each in proposals(generic(7), 5):
        with ctx.workprec(256):
            square = sum((x * x for x in each.coordinates(96).entries()), arb(0))
            assert square.contains(1)
            assert square.rad() < 1e-25


def test_rounding_is_to_a_neighbor_and_right_in_the_mean() -> None:
    law = generic()
    (each,) = proposals(law, 1)
    exact = np.array([float(x.mid()) for x in each.coordinates(60).entries()]) * 2**8
    found = np.array([rounded(each, None, 8, seeded(i)) for i in range(3000)])
    assert np.abs(found - exact).max() < 1
    for i in range(law.dim):
        ups = int((found[:, i] > exact[i]).sum())
        assert stats.binomtest(ups, 3000, exact[i] - math.floor(exact[i])).pvalue > FALSE_ALARM
