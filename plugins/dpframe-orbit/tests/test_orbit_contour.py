"""The contour integrals of divided differences: as the series have them, with factors less, and their lemma."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from dpframe_orbit.balls import rational
from dpframe_orbit.contour import Contour
from dpframe_orbit.divided_differences import Exponentials

PLANTED = 2.0**-60


@pytest.mark.parametrize("point", [1.0, 0.3, 0.02])
def test_the_contour_agrees_with_the_series(point: float) -> None:
    floats = [300.0, 290.0, 250.0, 40.0, 39.0, 20.0, 5.0, 0.0]
    nodes = [rational(Fraction(x)) for x in floats]
    with ctx.workprec(160):
        expected = Exponentials(nodes, 3, 160).at(arb(point), [(0, 3)])[0]
        contour = Contour.of([arb(node) for node in nodes], floats, point, 160).at(arb(point))
        assert expected.overlaps(contour)
        assert contour.rel_accuracy_bits() > 100
        assert not expected.overlaps(contour * (1 + arb(PLANTED)))


@pytest.mark.parametrize("share", [0.0, 0.4, 0.8, 1.0])
def test_one_bound_holds_for_all_points_of_a_contour(share: float) -> None:
    floats = [300.0, 290.0, 250.0, 40.0, 39.0, 20.0, 5.0, 0.0]
    nodes = [rational(Fraction(x)) for x in floats]
    with ctx.workprec(160):
        contour = Contour.of([arb(node) for node in nodes], floats, 0.5, 160)
        point = contour.first + share * (contour.last - contour.first)
        assert contour.covers(point)
        found = contour.at(arb(point))
        expected = Exponentials(nodes, 3, 160).at(arb(point), [(0, 3)])[0]
        assert expected.overlaps(found)
        assert found.rel_accuracy_bits() > 140
        assert not expected.overlaps(found * (1 + arb(PLANTED)))


def test_rules_that_are_coarse_err_by_no_more_than_their_bounds() -> None:
    """With so few points that errors are seen, which are then at most a tenth of the bounds, and not far below."""
    rng, shares = np.random.default_rng(0), []
    for bits in (-16, -8, 0, 10) * 6:
        floats = np.sort(rng.uniform(0.0, 10.0 ** rng.uniform(0.0, 3.3), int(rng.integers(2, 14))))[::-1]
        nodes = [rational(Fraction(x - floats[-1])) for x in floats.tolist()]
        with ctx.workprec(200):
            below = [arb(node - nodes[0]) for node in nodes]
            contour = Contour.of(below, [float(node) for node in below], float(rng.uniform(0.2, 0.6)), bits)
            for point in (contour.first, contour.last):
                found = contour.at(arb(point)) * (arb(nodes[0]) * arb(point)).exp()
                expected = Exponentials(nodes, 1, 200).at(arb(point), [(0, 1)])[0]
                shares.append(float((abs(found.mid() - expected.mid()) / found.rad()).mid()))
    assert 1e-3 < max(shares) < 0.1


@pytest.mark.parametrize("point", [1.0, 0.3])
def test_a_contour_for_fewer_nodes_is_one_with_factors_less(point: float) -> None:
    floats = [300.0, 290.0, 250.0, 40.0, 39.0, 20.0, 5.0, 0.0]
    nodes = [rational(Fraction(x)) for x in floats]
    with ctx.workprec(160):
        expected = Exponentials(nodes, 3, 160).at(arb(point), [(0, 1)])[0]
        whole = Contour.of([arb(node) for node in nodes], floats, point, 160)
        between = whole.without(arb(290), [floats[0], *floats[2:]], 160)
        found = between.without(arb(250), [floats[0], *floats[3:]], 160)
        assert found.covers(point)
        assert expected.overlaps(found.at(arb(point)))
        assert found.at(arb(point)).rel_accuracy_bits() > 100
        wrong = between.without(arb(250) * (1 + arb(PLANTED)), [floats[0], *floats[3:]], 160)
        assert not expected.overlaps(wrong.at(arb(point)))


def test_values_for_many_nodes_that_are_far_apart_lose_no_precision() -> None:
    """Neither by multiplying hundreds of complex balls, nor by coefficients that are not held."""
    dim, spikes, precision = 500, 3, 152
    floats = [*np.linspace(2400.0, 2300.0, spikes), *np.linspace(2200.0, 0.0, dim - spikes)]
    nodes = [rational(x) for x in floats]
    sets = [(0, spikes), (spikes, dim)]
    with ctx.workprec(precision):
        values = Exponentials(nodes, spikes, precision).at(arb(1), sets)
    assert min(value.rel_accuracy_bits() for value in values) > precision - 20
    with ctx.workprec(precision + 64):
        assert all(map(arb.overlaps, values, Exponentials(nodes, spikes, precision + 64).at(arb(1), sets)))


def test_the_modulus_decreases_along_the_contour() -> None:
    """The lemma, at random: any nodes, any vertex right of the saddle, arms up to 45 degrees from the vertical."""
    rng, worst = np.random.default_rng(0), -np.inf
    u = np.linspace(0.0, 8.0, 300)
    for _ in range(500):
        b = 10.0 ** rng.uniform(-3, 6, int(rng.integers(1, 40)))
        vertex = b.max() + 10.0 ** rng.uniform(-4, 5)
        t = float((1.0 / (vertex - b)).sum()) * (1.0 + rng.exponential() * rng.integers(0, 2))
        angle, scale = rng.uniform(0.01, math.pi / 4), 10.0 ** rng.uniform(-4, 6)
        s = vertex + scale * math.sin(angle) - scale * np.sin(angle - 1j * u)
        logs = t * (s.real - vertex) - np.log(np.abs(s[:, None] - b) / np.abs(vertex - b)).sum(axis=1)
        worst = max(worst, float((np.diff(logs) / np.maximum(1.0, np.abs(logs[1:]))).max()))
    assert worst < 1e-9
