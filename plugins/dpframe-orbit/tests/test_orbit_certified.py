"""Certification: balls against 400 digits, and planted errors that these tests find; escalations; the grid."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_orbit import direct, frame, series
from dpframe_orbit.balls import Undecided, exponent, power_of_two, radius_norm, rational
from dpframe_orbit.decided import GridDraw
from dpframe_orbit.direct import Target, Work, draw_integers, draw_rows
from dpframe_orbit.divided_differences import Exponentials, Set
from dpframe_orbit.frame import lift
from dpframe_orbit.lazy import LazyUniforms
from dpframe_orbit.row_law import strip_order

DIGITS = 400
PLANTED = 2.0**-60
Floats = NDArray[np.float64]

NODES = {
    "spikes": [600.0, 400.0, 200.0, 60.0, 57.0, 50.0, 44.0, 40.0],
    "ties": [30.0, 30.0, 30.0, 7.0, 7.0, 7.0, 0.0, 0.0],
    "flat": [0.0] * 8,
    "contours": [900.0, 800.0, 799.0, 40.0, 30.0, 20.0, 10.0, 0.0],
}
SPECTRA = {
    "distinct": [1.0, 0.6, 0.2],
    "projector": [1.0, 1.0, 1.0],
    "tied": [1.0, 0.5, 0.5],
}


def target_of(nodes: list[float], spectrum: list[float]) -> Target:
    return Target.of([Fraction(x) for x in nodes], np.array(spectrum + [0.0] * (len(nodes) - len(spectrum))))


def force_contours(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the nodes of this name, leave no series that is long enough."""
    if name == "contours":
        monkeypatch.setattr(series, "SIZES", [384])


def exact(ball: Any) -> Any:
    """The midpoint of a ball as a number of mpmath, exactly."""
    mantissa, shift = ball.mid().man_exp()
    return mp.mpf(int(mantissa)) * mp.mpf(2) ** int(shift)


def contains(ball: Any, value: Any) -> bool:
    """Whether a number of mpmath, accurate to hundreds of digits, is in a ball."""
    return bool(abs(exact(ball) - value) <= exact(ball.rad()))


# -- divided differences -----------------------------------------------------------------------------------------------


def divided_difference(nodes: list[Fraction], point: Any) -> Any:
    """exp(t·)[nodes] from the recursion for separate nodes, ties moved 10⁻¹⁰⁰ apart."""
    b = [mp.mpf(node.numerator) / node.denominator + mp.mpf(10) ** -100 * i for i, node in enumerate(sorted(nodes))]
    table = [mp.exp(x * point) for x in b]
    for order in range(1, len(b)):
        table = [(table[i + 1] - table[i]) / (b[i + order] - b[i]) for i in range(len(table) - 1)]
    return table[0]


def all_sets(functions: Exponentials) -> list[Set]:
    k, d = functions.spikes, functions.dim
    return [(i, m) for m in range(1, k + 1) for i in range(m)] + [(i, d) for i in range(k, d)]


def outside(functions: Exponentials, nodes: tuple[Fraction, ...], points: list[float]) -> list[tuple[Set, float]]:
    """The sets and points at which a value is not in its ball."""
    found = []
    with mp.workdps(1500):
        for point in points:
            sets = all_sets(functions)
            for nodes_of, ball in zip(sets, functions.at(arb(point), sets), strict=True):
                value = divided_difference([nodes[i] for i in functions.members(nodes_of)], mp.mpf(point))
                if not contains(ball * (1 + arb(0, 1e-90)), value):  # ties were moved
                    found.append((nodes_of, point))
    return found


@pytest.mark.parametrize("name", NODES)
def test_divided_differences_are_in_their_balls_and_a_planted_error_is_not(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = target_of(NODES[name], [1.0, 0.6, 0.2])
    force_contours(name, monkeypatch)
    with ctx.workprec(160):
        functions = Exponentials([rational(node) for node in target.nodes], 3, 160)
        points = [1.0, 0.37, 2.0**-7]
        assert [] == outside(functions, target.nodes, points)
        sets = all_sets(functions)
        radii = [float((ball.rad() / ball).mid()) for ball in functions.at(arb(0.37), sets)]
        assert max(radii) < 2.0**-120
        whole = Exponentials.at

        def planted(self: Exponentials, point: Any, wanted: Any) -> list[Any]:
            values = whole(self, point, wanted)
            return [value * (1 + arb(PLANTED)) if i == 4 else value for i, value in enumerate(values)]

        monkeypatch.setattr(Exponentials, "at", planted)
        assert 3 == len(outside(functions, target.nodes, points))


def exact_series(nodes: list[Fraction], count: int) -> list[Any]:
    """c_n = h_n/(M + n)! from the recursion for h_n alone."""
    h = [mp.mpf(1)] + [mp.mpf(0)] * (count - 1)
    for node in nodes:
        b = mp.mpf(node.numerator) / node.denominator
        for n in range(1, count):
            h[n] += b * h[n - 1]
    return [each / mp.factorial(len(nodes) - 1 + n) for n, each in enumerate(h)]


@pytest.mark.parametrize("name", ["flat", "contours", "many"])
def test_a_series_leaves_out_no_more_than_it_says(name: str) -> None:
    """Of sets whose last coefficients are bounds, too; and what does not suffice is hardly more than it should be."""
    spikes, bits, held = 2, 168, 1152
    many = [210.0, 200.0, *np.linspace(25.0, 0.0, 14).tolist()]
    nodes = target_of(NODES[name][::3] if name in NODES else many, [1.0, 0.6]).nodes
    slack: list[float] = []
    with ctx.workprec(bits), mp.workdps(120):
        functions = Exponentials([rational(node) for node in nodes], spikes, bits - 8)
        for nodes_of in ((0, 2), (2, len(nodes))):
            found = functions.series(nodes_of)
            found.lengthen(held)
            known = len(found.coefficients)
            terms = exact_series([nodes[i] for i in functions.members(nodes_of)], 2 * held)
            bounds = zip(found.between(0, held), terms, strict=False)
            assert all(
                abs(exact(ball) - term) <= exact(ball.rad()) + term * mp.mpf(10) ** -110 for ball, term in bounds
            )
            for log in (0.0, -1.5):
                sizes = [term * mp.mpf(2) ** (log * n) for n, term in enumerate(terms)]
                whole = mp.fsum(sizes)
                for size in (size for size in series.SIZES if size <= known):
                    if terms[size]:
                        rise = terms[size] / terms[size - 1] * (found.degree + size)
                        assert exact(found._rise(size)) >= rise * (1 - mp.mpf(10) ** -100)
                    share, bound = mp.fsum(sizes[size:]) / whole, found.left_out(size, log)
                    if bound < 0.0 and share:
                        slack.append(bound - float(mp.log(share, 2)))
                    assert found.suffices(size, log) == (bound < -bits - 1)
    assert all(0.0 < each < 10.0 for each in slack)
    assert len(slack) > 4 or name == "flat"


def test_series_of_many_like_nodes_stay_short() -> None:
    """Coefficients that are bounds on others are no reason to ask for more and more of them."""
    with ctx.workprec(160):
        functions = Exponentials([rational(x) for x in np.linspace(170.0, 150.0, 200).tolist()], 1, 160)
        functions._length((0, 1), 0)
        assert 576 == functions._length((80, 200), 0)


def test_no_series_is_longer_than_is_held() -> None:
    with ctx.workprec(160):
        functions = Exponentials([rational(x) for x in (1e6, 5e5, 0.0)], 1, 160)
        assert 0 == functions._length((0, 1), 0)
        assert 0 < functions._length((0, 1), -16 * 10)


# -- the contour -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", [[1e13] * 7 + [0.0], [1e16, 7e15, 3e15, 1.0, 0.0, 0.0]])
def test_contours_hold_for_nodes_far_larger_than_their_distances_from_the_contour(nodes: list[float]) -> None:
    """Floats are relative to the largest node; as they stand, nodes that large are known to no digit of a distance."""
    target = target_of(nodes, [1.0, 0.5])
    with ctx.workprec(160):
        functions = Exponentials([rational(node) for node in target.nodes], 2, 160)
        assert [] == outside(functions, target.nodes, [1.0, 0.37])
    work, dim = Work(), len(nodes)
    draw_integers(target, np.eye(dim), 1e-15, 16, seeded(1), real=True, work=work)
    assert (work.rows, work.draws) == (0, 0)


# -- entries of the pattern --------------------------------------------------------------------------------------------


def entry_errors(target: Target, rows: list[list[Any]], uniforms: LazyUniforms) -> list[Any]:
    """|G(x) − U|/g(x) of every entry, from d × d determinants with 400 digits: no divided difference, no rank k."""
    errors = []
    order = strip_order(target.dim, target.rank)
    a = [mp.mpf(node.numerator) / node.denominator + mp.mpf(10) ** -60 * i for i, node in enumerate(target.nodes)]
    for step in range(target.dim - 1):
        left = [a[i] - a[order[step]] for i in order[step + 1 :]]
        new = [exact(x) for x in rows[step + 1]]
        ends = [*(exact(x) for x in rows[step]), mp.mpf(0)][: len(new) + 1]
        fixed = [ends[i] == ends[i + 1] for i in range(len(new))]

        def point(x: Any, power: int = 0, left: list[Any] = left) -> list[Any]:
            return [c**power * mp.exp(c * x) for c in left]

        def integral(low: Any, high: Any, left: list[Any] = left) -> list[Any]:
            return [(mp.exp(c * high) - mp.exp(c * low)) / c for c in left]

        zeros = [[c**p for c in left] for p in range(len(left) - len(new))]
        for index in range(len(new)):
            if fixed[index]:
                continue
            others = [
                point(ends[i], sum(fixed[j] and ends[j] == ends[i] for j in range(i)))
                if fixed[i]
                else point(new[i])
                if i < index
                else integral(ends[i + 1], ends[i])
                for i in range(len(new))
            ]

            def determinant(
                column: list[Any],
                others: list[list[Any]] = others,
                index: int = index,
                zeros: list[list[Any]] = zeros,
            ) -> Any:
                return mp.det(mp.matrix([*others[:index], column, *others[index + 1 :], *zeros]))

            whole = determinant(integral(ends[index + 1], ends[index]))
            below = determinant(integral(ends[index + 1], new[index])) / whole
            density = determinant(point(new[index])) / whole
            uniform = (mp.mpf(uniforms.cell(step * target.rank + index, 4)) + 0.5) / mp.mpf(2) ** 256
            errors.append(abs((below - uniform) / density))
    return errors


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("name", ["spikes", "ties", "contours"])
def test_entries_are_within_their_bound_of_determinants_with_400_digits(
    name: str, spectrum: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    force_contours(name, monkeypatch)
    target = target_of(NODES[name][:7], SPECTRA[spectrum])
    uniforms = LazyUniforms(seeded(5), target.dim * target.rank, words=3)
    accuracy = 96
    rows = draw_rows(target, uniforms, accuracy, Work())
    with mp.workdps(2 * DIGITS if name == "contours" else DIGITS):
        errors = entry_errors(target, rows, uniforms)
        assert len(errors) > 7
        assert max(errors) <= mp.mpf(2) ** -accuracy
        rows[1][-1] = rows[1][-1] * (1 - arb(PLANTED))
        assert max(entry_errors(target, rows, uniforms)) > mp.mpf(2) ** -accuracy


# -- the frame ---------------------------------------------------------------------------------------------------------


def reference_frame(rows: list[list[Any]], order: list[int], uniforms: LazyUniforms) -> Any:
    """Y of untied rows that are taken as exact, with 400 digits."""
    rank = len(rows[0])
    Q, Y = mp.eye(rank), mp.matrix(len(order), rank)
    for step, node in enumerate(order):
        nu = [exact(x) for x in rows[step]]
        mu = [exact(x) for x in rows[step + 1]] if step + 1 < len(order) else []
        kept, mu = len(mu), [*mu, *[mp.mpf(0)] * (len(nu) - len(mu))]
        n = len(nu)
        z = mp.matrix(n, 1)
        for i in range(n):
            square = mp.fprod(nu[i] - x for x in mu) / mp.fprod(nu[i] - nu[j] for j in range(n) if j != i)
            angle = 2 * mp.pi * (mp.mpf(uniforms.cell(step * rank + i, 24)) + 0.5) / mp.mpf(2) ** (24 * 64)
            z[i] = mp.sqrt(square) * mp.expj(angle)
        y = Q * z
        for r in range(rank):
            Y[node, r] = y[r]
        if not kept:
            break
        T = mp.matrix(n, kept)
        for j in range(kept):
            column = [z[i] / (nu[i] - mu[j]) for i in range(n)]
            length = mp.sqrt(sum(abs(x) ** 2 for x in column))
            for i in range(n):
                T[i, j] = column[i] / length
        Q = Q * T
    return Y


def frame_distance(found: frame.Frame, Y: Any) -> Any:
    total = mp.mpf(0)
    for i, (real, imaginary) in enumerate(zip(found.real, found.imaginary, strict=True)):
        for j, (x, y) in enumerate(zip(real, imaginary, strict=True)):
            total += abs(mp.mpc(exact(x), exact(y)) - Y[i, j]) ** 2
    return mp.sqrt(total)


class Shifted(LazyUniforms):
    """One phase is off by 2⁻⁶⁰."""

    def ball(self, place: int, bits: int) -> Any:
        found = super().ball(place, bits)
        return found + arb(PLANTED) if place == 7 else found


def test_the_frame_is_within_its_bound_and_planted_errors_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    target, order = target_of(NODES["spikes"], SPECTRA["distinct"]), strip_order(8, 3)
    rows = draw_rows(target, LazyUniforms(seeded(6), 24, words=3), 96, Work())
    arguments: dict[str, Any] = {"error": 24 * 2.0**-96, "bits": 160, "precision": 160}
    phases = LazyUniforms(seeded(7), 24, words=3)
    with mp.workdps(DIGITS):
        expected = reference_frame(rows, order, phases)
        found = lift(rows, order, phases, **arguments)
        assert frame_distance(found, expected) <= found.error < 1e-18
        shifted = lift(rows, order, Shifted(seeded(7), 24, words=3), **arguments)
        assert frame_distance(shifted, expected) > shifted.error
        update = frame._update

        def planted(*args: Any) -> Any:
            z, T = update(*args)
            return [z[0] * (1 + arb(PLANTED)), *z[1:]], T

        monkeypatch.setattr(frame, "_update", planted)
        wrong = lift(rows, order, phases, **arguments)
        assert frame_distance(wrong, expected) > wrong.error


def test_errors_of_the_rows_are_part_of_the_error_of_the_frame() -> None:
    """Rows moved by as much as they may be off move the frame by no more than its error."""
    target, order = target_of(NODES["spikes"], SPECTRA["distinct"]), strip_order(8, 3)
    rows = draw_rows(target, LazyUniforms(seeded(6), 24, words=3), 96, Work())
    phases, error = LazyUniforms(seeded(7), 24, words=3), 2.0**-80
    rng = np.random.default_rng(1)
    found = lift(rows, order, phases, error=error, bits=160, precision=160)
    with ctx.workprec(200):
        moved = [rows[0], *([x + arb(error * float(rng.choice([-1, 1]))) for x in row] for row in rows[1:])]
    with mp.workdps(DIGITS):
        distance = frame_distance(found, reference_frame(moved, order, phases))
        assert 0.0 < distance <= found.error


# -- escalations, and the grid -----------------------------------------------------------------------------------------


def basis_of(dim: int, seed: int = 1) -> tuple[Floats, float]:
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim)))[0]
    return basis, dp.eigensolver.overlap(basis)


def integers(target: Target, bits: int, seed: int, **arguments: Any) -> tuple[NDArray[Any], NDArray[Any], Work]:
    work = Work()
    basis, overlap = basis_of(target.dim)
    real, imaginary = draw_integers(target, basis, overlap, bits, seeded(seed), real=False, work=work, **arguments)
    assert imaginary is not None
    return real, imaginary, work


def escalates_to_the_same(count: int) -> None:
    cases = [("spikes", "distinct"), ("ties", "projector"), ("spikes", "tied"), ("flat", "distinct")]
    for seed in range(count):
        name, spectrum = cases[seed % len(cases)]
        target = target_of(NODES[name][: 5 + seed % 4], SPECTRA[spectrum])
        low = integers(target, 20, seed, accuracy=12, precision=40)
        high = integers(target, 20, seed, accuracy=384)
        assert low[2].draws + low[2].rows > 0 == high[2].draws
        assert np.array_equal(low[0], high[0])
        assert np.array_equal(low[1], high[1])


def test_forced_escalations_give_the_integers_of_a_higher_precision() -> None:
    escalates_to_the_same(24)


@pytest.mark.long
def test_a_thousand_forced_escalations_give_the_integers_of_a_higher_precision() -> None:
    escalates_to_the_same(1000)


def test_a_fine_grid_shows_the_same_draw() -> None:
    target = target_of(NODES["spikes"], SPECTRA["distinct"])
    coarse = integers(target, 16, 3)
    for bits in (30, 45, 100):
        fine = integers(target, bits, 3)
        for one, other in zip(coarse[:2], fine[:2], strict=True):
            scaled = np.array([[float(Fraction(int(x), 2 ** (bits - 16))) for x in row] for row in other])
            assert np.abs(scaled - one).max() < 1.0 + 1e-4  # both floor(x + U): at most 1 apart
    # The same offsets: from the fine entries follow the coarse integers themselves.
    offsets = LazyUniforms(seeded(3).child("grid"), 64, words=1)
    fine = integers(target, 100, 3)
    i, j = np.triu_indices(8)
    for p, (a, b) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        uniform = Fraction(2 * offsets.cell(p, 4) + 1, 2**257)
        entry = (Fraction(int(fine[0][a, b])) - uniform) / 2**100  # within 2⁻¹⁰⁰ of it
        assert math.floor(entry * 2**16 + uniform) == coarse[0][a, b]


def test_floats_and_balls_decide_the_same_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    target = target_of(NODES["spikes"], SPECTRA["tied"])
    by_floats = [integers(target, 16, seed)[:2] for seed in range(5)]
    monkeypatch.setattr("dpframe_orbit.decided.FINEST", 0)
    for seed, expected in enumerate(by_floats):
        found = integers(target, 16, seed)
        for one, other in zip(expected, found[:2], strict=True):
            assert np.array_equal(one, other.astype(np.int64))


def test_the_polar_factor_of_the_basis_is_used() -> None:
    """Vectors that are off by 2⁻⁴⁰ have an orthogonal factor of their own: integers of a fine grid are those of it."""
    target = target_of(NODES["spikes"], SPECTRA["distinct"])
    basis, _ = basis_of(8)
    skewed = basis @ (np.eye(8) + 2.0**-40 * np.random.default_rng(2).standard_normal((8, 8)))
    left, _, right = np.linalg.svd(skewed)
    found, _ = draw_integers(target, skewed, dp.eigensolver.overlap(skewed), 45, seeded(4), real=True)
    straight, _ = draw_integers(target, left @ right, dp.eigensolver.overlap(left @ right), 45, seeded(4), real=True)
    plain, _ = draw_integers(target, basis, dp.eigensolver.overlap(basis), 45, seeded(4), real=True)
    assert np.abs((found - straight).astype(np.float64)).max() < 2.0  # 2⁻⁴⁵ is finer than floats of the factor
    assert np.abs((found - plain).astype(np.float64)).max() > 2.0


def test_norms_of_radii_do_not_underflow() -> None:
    small = arb(1, power_of_two(-700))
    assert radius_norm([small, small]) >= math.sqrt(2.0) * 2.0**-700


def test_balls_without_a_finite_midpoint_are_undecided() -> None:
    for text in ("nan", "inf"):
        with pytest.raises(Undecided):
            exponent(arb(text))


def test_a_basis_that_is_far_from_orthonormal_is_refused() -> None:
    target = target_of(NODES["spikes"], SPECTRA["distinct"])
    with pytest.raises(ValueError, match="not orthonormal enough"):
        draw_integers(target, np.eye(8) * 1.01, 0.03, 16, seeded(1), real=True)


@pytest.mark.parametrize("dim", [30, *(pytest.param(dim, marks=pytest.mark.long) for dim in (50, 100, 200, 500, 1000))])
def test_no_escalation_on_ordinary_spectra(dim: int) -> None:
    nodes = [*np.linspace(600.0, 200.0, 5), *np.linspace(60.0, 40.0, dim - 5)]
    for seed, spectrum in enumerate(([1.0] * 5, [1.0, 0.8, 0.6, 0.4, 0.2])):
        work = Work()
        target = target_of([float(x) for x in nodes], spectrum)
        draw_integers(target, *basis_of(dim), 16, seeded(seed), real=True, work=work)
        assert (0, 0, 160) == (work.rows, work.draws, work.precision)


@pytest.mark.parametrize("least", [2e4, 2e5, 1e7])
def test_no_escalation_for_several_strong_spikes(least: float) -> None:
    """Errors of the inverse that differ by hundreds of thousands of bits are brought together by weights."""
    work, dim, rank = Work(), 16, 5
    nodes = [*np.linspace(3.0 * least, least, rank).tolist(), *np.linspace(60.0, 40.0, dim - rank).tolist()]
    draw_integers(target_of(nodes, [1.0] * rank), *basis_of(dim), 16, seeded(1), real=True, work=work)
    assert (0, 0, 160) == (work.rows, work.draws, work.precision)


def test_undecided_entries_are_as_rare_as_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry with error e is left to balls with a probability of at most 2^(b+1)·e over its offset."""
    asked: list[int] = []
    whole = GridDraw._in_balls

    def counted(self: GridDraw, *arguments: int) -> int:
        asked.append(1)
        return whole(self, *arguments)

    monkeypatch.setattr(GridDraw, "_in_balls", counted)
    target = target_of(NODES["spikes"], SPECTRA["distinct"])
    for seed in range(20):
        integers(target, 16, seed)
    assert not asked
    for seed in range(20):
        integers(target, 40, seed)
    assert len(asked) < 20 * 64 * 2.0**41 * 1e-14
    assert direct.ACCURACY == 96
