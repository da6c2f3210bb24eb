"""Laws on a lattice: the masses, the error they carry, and the library underneath."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import pld_pmf  # type: ignore[import-untyped]
from dp_accounting.pld import privacy_loss_distribution as pld
from mpmath import mp, mpf

from dpframe_pld.composition import composed, epsilon_of
from dpframe_pld.distribution import (
    BUILT,
    Distribution,
    connect_dots,
    gaussian,
    laplace,
    log_largest_weight,
    responses,
)
from dpframe_pld.mixture import Mixture

SPACING = 2.0**-8
TILTS = (0.5, 4.0, 12.0)


def build(kind: str, level: float, tilt: float, spacing: float = SPACING) -> Distribution:
    if kind == "response":
        return responses([level], spacing, tilt)
    return {"gaussian": gaussian, "laplace": laplace}[kind](level, spacing, tilt)


def theirs(kind: str, level: float) -> Any:
    """The library's own distribution; a response by its connect-the-dots too."""
    if kind == "gaussian":
        return pld.from_gaussian_mechanism(1 / level, value_discretization_interval=SPACING)
    if kind == "laplace":
        return pld.from_laplace_mechanism(1 / level, value_discretization_interval=SPACING)
    low, high = math.floor(-level / SPACING), math.ceil(level / SPACING)
    points = np.array([low, low + 1, high - 1, high])
    curve = [response_curve(level, point * SPACING) for point in points]
    return pld_pmf.create_pmf_pessimistic_connect_dots(SPACING, points, curve)


def response_curve(level: float, epsilon: float) -> float:
    right = 1 / (1 + math.exp(-level))
    return sum(
        mass * max(0.0, -math.expm1(epsilon - loss))
        for loss, mass in ((level, right), (-level, right * math.exp(-level)))
    )


def laplace_curve(level: float, epsilon: float) -> float:
    return max(0.0, -math.expm1((epsilon - level) / 2))


def gaussian_curve(level: float, epsilon: float) -> float:
    with mp.workdps(30):
        mu, at = mpf(level), mpf(epsilon)
        return float(mp.ncdf(mu / 2 - at / mu) - mp.exp(at) * mp.ncdf(-mu / 2 - at / mu))


CURVES: dict[str, Callable[[float, float], float]] = {
    "gaussian": gaussian_curve,
    "laplace": laplace_curve,
    "response": response_curve,
}
each_kind = pytest.mark.parametrize("kind", CURVES)
each_tilt = pytest.mark.parametrize("tilt", TILTS)


def allowance(law: Distribution, epsilon: float) -> float:
    """What the curve adds for the error that the law carries."""
    return math.exp(law.log_mass - law.tilt * epsilon + log_largest_weight(law.tilt)) * law.error


@each_kind
@each_tilt
@pytest.mark.parametrize("level", [0.6, 1.0, 2.3456])
def test_the_curve_is_exact_at_the_points_of_the_lattice_and_a_chord_between(
    kind: str, tilt: float, level: float
) -> None:
    law = build(kind, level, tilt)
    for epsilon in (0.0, 31 * SPACING, 100 * SPACING):
        slack = allowance(law, epsilon)
        truth = CURVES[kind](level, epsilon)
        assert truth <= math.exp(law.log_delta(epsilon)) <= truth * (1 + 1e-9) + 1.1 * slack
        between = epsilon + 0.4 * SPACING
        share = math.expm1(0.4 * SPACING) / math.expm1(SPACING)
        chord = (1 - share) * truth + share * CURVES[kind](level, epsilon + SPACING)
        assert chord <= math.exp(law.log_delta(between)) <= chord * (1 + 1e-9) + 1.1 * slack
        assert chord * (1 + 1e-15) >= CURVES[kind](level, between)


@each_kind
@each_tilt
def test_the_masses_are_those_of_the_library(kind: str, tilt: float) -> None:
    law, other = build(kind, 1.2345, tilt), theirs(kind, 1.2345)
    for epsilon in map(float, np.linspace(0.0, 1.2, 37)):
        expected = other.get_delta_for_epsilon(epsilon)
        assert expected * (1 - 1e-9) <= math.exp(law.log_delta(epsilon))
        assert math.exp(law.log_delta(epsilon)) <= expected * (1 + 1e-9) + 1.1 * allowance(law, epsilon)


def exact_masses(mu: float, spacing: float, tilt: float, first: int, count: int) -> list[mpf]:
    """Tilted and normalized masses of a Gaussian by closed forms, with 60 digits.

    A cell from a to b has the probability p under the upper law and q under the lower one; masses at a and b with the
    same p and q are then tilted.
    """
    with mp.workdps(60):
        scale, step, tilted = mpf(mu), mpf(spacing), mpf(tilt)
        edges = [(first + i) * step for i in range(count)]
        upper, lower = ([mp.ncdf(-(at + sign * scale**2 / 2) / scale) for at in edges] for sign in (-1, 1))
        totals = [mpf(0)] * count
        for i in range(count - 1):
            p, q = upper[i] - upper[i + 1], lower[i] - lower[i + 1]
            above = (p - q * mp.exp(edges[i])) / -mp.expm1(-step)
            totals[i] += (p - above) * mp.exp(tilted * edges[i])
            totals[i + 1] += above * mp.exp(tilted * edges[i + 1])
        whole = mp.fsum(totals)
        return [total / whole for total in totals]


@pytest.mark.parametrize(("mu", "tilt"), [(1.0, 0.5), (1.0, 37.0), (0.25, 148.0), (3.0, 12.3), (1.0, 100.0)])
def test_the_masses_of_a_gaussian_are_exact_to_what_is_allowed(mu: float, tilt: float) -> None:
    """On the coarsest lattice that is used, 2^7 points per deviation, also where delta is at the end of the doubles."""
    law = gaussian(mu, mu / 128, tilt)
    exact = exact_masses(mu, mu / 128, tilt, law.pmf._lower_loss, law.pmf.size)
    distance = math.fsum(abs(float(each - mpf(float(mass)))) for each, mass in zip(exact, law.masses, strict=True)) / 2
    assert distance < BUILT / 2


@each_tilt
def test_sharing_out_keeps_both_probabilities(tilt: float) -> None:
    places = np.array([-0.77, -0.5, 0.0, 0.123, 0.1231, 2.0])
    masses = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.1])
    first, found = connect_dots(places, masses * np.exp(tilt * places), SPACING, tilt)
    points = (first + np.arange(len(found))) * SPACING
    untilted = found * np.exp(-tilt * points)
    assert masses.sum() == pytest.approx(untilted.sum(), rel=1e-13)
    assert (masses * np.exp(-places)).sum() == pytest.approx((untilted * np.exp(-points)).sum(), rel=1e-13)
    assert (found >= 0.0).all()


@each_tilt
def test_coarser_lattices_only_raise_the_curve(tilt: float) -> None:
    fine = laplace(1.2345, SPACING, tilt)
    coarse = fine.coarsened(8 * SPACING)
    for epsilon in map(float, np.linspace(0.0, 1.3, 50)):
        assert fine.log_delta(epsilon) <= coarse.log_delta(epsilon)
    at_a_point = 80 * SPACING
    raised = math.exp(coarse.log_delta(at_a_point)) - math.exp(fine.log_delta(at_a_point))
    assert raised <= 1.1 * allowance(coarse, at_a_point)


@each_tilt
def test_the_error_of_a_composition_is_within_its_bound(tilt: float) -> None:
    """Against sums of products of positive numbers, which lose no digits; measured errors are 1e-15 to 1e-14."""
    one, two = laplace(1.0, SPACING, tilt), gaussian(0.9, SPACING, tilt)
    both = one.compose(two, SPACING)
    exact = np.convolve(one.masses, two.masses)
    start = both.pmf._lower_loss - one.pmf._lower_loss - two.pmf._lower_loss
    missing = exact.copy()
    missing[start : start + both.pmf.size] -= both.masses
    assert np.abs(missing).sum() < both.error / 20
    assert both.error < 1e-10


def test_what_is_read_from_the_library() -> None:
    """Its distributions show their masses under private names only; a release that renames them must fail here."""
    pmf = pld_pmf.DensePLDPmf(0.5, -1, np.array([0.25, 0.75]), 0.0, True)
    assert (-1, [0.25, 0.75]) == (pmf._lower_loss, list(pmf._probs))
    twice = pld_pmf.compose_pmfs(pmf, pmf, 0.0)
    assert isinstance(twice, pld_pmf.DensePLDPmf)
    assert -2 == twice._lower_loss
    assert [0.0625, 0.375, 0.5625] == pytest.approx(list(twice._probs), rel=1e-15)


@pytest.mark.parametrize("tilt", [1e-6, 0.3, 1.0, 50.0, 1e9])
def test_no_weight_is_above_the_largest(tilt: float) -> None:
    x = np.geomspace(1e-12, 100.0, 20001)
    weights = np.log(-np.expm1(-x)) - tilt * x
    assert weights.max() <= log_largest_weight(tilt) + 1e-12
    assert weights.max() == pytest.approx(log_largest_weight(tilt), abs=1e-4)


@pytest.mark.parametrize("tilt", [0.01, 0.7, 5.0])
def test_moments_are_those_of_the_pairs(tilt: float) -> None:
    with mp.workdps(30):
        t, e = mpf(tilt), mpf("0.8")
        gaussian_moment = mp.quad(lambda x: mp.npdf(x, e, 1) * mp.exp(t * (e * x - e**2 / 2)), mp.linspace(-20, 40, 31))
        laplace_moment = mp.quad(
            lambda x: mp.exp(-abs(x)) / 2 * mp.exp(t * (abs(x - e) - abs(x))), [-60, -5, 0, e, 5, 60]
        )
        response_moment = (mp.exp(e * (1 + t)) + mp.exp(-e * t)) / (1 + mp.exp(e))
        expected = float(mp.log(gaussian_moment * laplace_moment**2 * response_moment**3))
    mixture = Mixture(mu=0.8, laplace=((0.8, 2),), response=((0.8, 3),), failure=0.0)
    assert mixture.log_moment()(tilt) == pytest.approx(expected, rel=1e-12)
    assert composed(mixture, tilt).log_mass == pytest.approx(expected, rel=1e-4)


def test_a_gaussian_on_the_lattice_is_close_to_the_exact_one() -> None:
    for mu, exact in ((0.1, 0.396857377644083615), (math.sqrt(10.0), 19.42365647403105288)):
        found = epsilon_of(Mixture(mu=mu, laplace=(), response=(), failure=0.0), 1e-6)
        assert exact <= found <= exact * (1 + 1e-6)


def test_sums_and_failures_are_rounded_up() -> None:
    mixture = Mixture(mu=0.0, laplace=((0.1, 3),), response=((0.3, 7),), failure=0.0)
    exact = 3 * Fraction(0.1) + 7 * Fraction(0.3)
    assert exact <= Fraction(mixture.total()) <= exact * (1 + Fraction(1, 2**51))
    failing = Mixture(mu=0.0, laplace=(), response=(), failure=0.25)
    assert 0.25 == failing.with_failure(0.0)
    assert 0.625 == pytest.approx(failing.with_failure(0.5), rel=1e-14)
    assert 0.5 == pytest.approx(failing.without_failure(0.625), rel=1e-14)
    assert failing.without_failure(0.2) < 0.0 == failing.without_failure(0.25)
