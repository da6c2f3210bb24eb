"""Lemmas behind the bounds of private matrices with a given spectrum, against matrices drawn at random.

[Unitary orbits: Lemma 6.5, Lemma 8.1, Lemma 8.2, Lemma 8.3, Lemma 8.4, Lemma 9.1, Lemma 9.2, Theorem 2.7, (2), (3)]
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import attrs
import numpy as np
import pytest
from scipy.stats import binom, unitary_group

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_orbit import Orbit, packing, theory


def projectors(dim: int, k: int, count: int) -> list[Any]:
    found = [unitary_group.rvs(dim, random_state=seed)[:, :k] for seed in range(count)]
    return [basis @ basis.conj().T for basis in found]


@pytest.mark.parametrize(("dim", "k"), [(4, 1), (4, 2), (5, 3), (7, 3)])
def test_a_frame_is_no_farther_than_its_projector(dim: int, k: int) -> None:
    """[Unitary orbits: Lemma 8.3]"""
    first = np.eye(dim)[:, :k]
    for projector in projectors(dim, k, 20):
        frame = packing.nearest_frame(projector)
        np.testing.assert_allclose(frame.conj().T @ frame, np.eye(k), atol=1e-12)
        np.testing.assert_allclose(frame @ frame.conj().T, projector, atol=1e-12)
        apart = np.linalg.norm(frame - first)
        assert apart <= np.linalg.norm(projector - first @ first.T) + 1e-12
        turned = frame @ unitary_group.rvs(k, random_state=1) if k > 1 else -frame
        assert apart <= np.linalg.norm(turned - first) + 1e-12  # the nearest one


def test_the_diameter_is_reached_and_larger_than_printed() -> None:
    """[Unitary orbits: Lemma 8.1]: by √2."""
    for dim, k in ((4, 2), (5, 2), (6, 4)):
        first = np.diag((np.arange(dim) < k).astype(float))
        assert packing.diameter(dim, k) == pytest.approx(float(np.linalg.norm(first - first[::-1, ::-1])))
        assert packing.diameter(dim, k) == pytest.approx(math.sqrt(2) * min(math.sqrt(k), math.sqrt(dim - k)))
        assert max(np.linalg.norm(first - other) for other in projectors(dim, k, 50)) < packing.diameter(dim, k)
        assert 0.0 == packing.log_grassmannian(dim, k, 10.0) < packing.log_grassmannian(dim, k, 0.1)


def test_the_sine_theorem_as_printed_needs_gaps_on_both_sides() -> None:
    """[Unitary orbits: Lemma 8.2]: with a gap on one side only it fails, by up to √2."""
    rng = np.random.default_rng(2)
    worst = 0.0
    for _ in range(2000):
        angle = rng.uniform(0.0, math.pi / 2)
        inside = np.array([math.cos(angle), math.sin(angle)])
        outside = np.array([-math.sin(angle), math.cos(angle)])
        first = np.diag([1.0, rng.uniform(-1.0, 1.0)])  # the gap between 1 and the 0 outside is 1
        second = rng.uniform(-1.0, 1.0) * np.outer(inside, inside) + 0.0 * np.outer(outside, outside)
        apart = math.sqrt(2) * math.sin(angle)
        difference = float(np.linalg.norm(first - second))
        assert apart <= packing.sine_bound(difference, 1.0, separated_both_ways=False) + 1e-12
        worst = max(worst, apart / packing.sine_bound(difference, 1.0, separated_both_ways=True))
    assert 1.2 < worst <= math.sqrt(2)
    values = np.array([5.0, 4.0, 1.0, 0.0])  # equal spectra, as in the paper: gap 3 on both sides
    for seed in range(200):
        basis = unitary_group.rvs(4, random_state=seed)
        difference = float(np.linalg.norm(np.diag(values) - basis * values @ basis.conj().T))
        projector = basis[:, :2] @ basis[:, :2].conj().T - np.diag([1.0, 1.0, 0.0, 0.0])
        assert np.linalg.norm(projector) <= packing.sine_bound(difference, 3.0, separated_both_ways=True) + 1e-12


def test_distances_within_an_orbit_are_scores() -> None:
    """[Unitary orbits: Lemma 9.1]"""
    values = np.array([3.0, 1.0, 0.5, 0.0])
    one, other = (unitary_group.rvs(4, random_state=seed) for seed in (1, 2))
    first, second = (basis * values @ basis.conj().T for basis in (one, other))
    score = float(np.trace(first @ second).real)
    assert packing.squared_distance(values, score) == pytest.approx(float(np.linalg.norm(first - second)) ** 2)


def test_moments_are_as_many_rows_apart_as_said_and_stay_moments() -> None:
    """[Unitary orbits: Lemma 9.2]: rows added first, removed last."""
    values = np.array([4.0, 2.5, 0.3, 0.0])
    for seed in range(50):
        basis = unitary_group.rvs(4, random_state=seed)
        first, second = np.diag(values), basis * values @ basis.conj().T
        changes, vectors = np.linalg.eigh(second - first)
        rows = [math.sqrt(abs(v) / math.ceil(abs(v))) for v in changes]
        counts = [math.ceil(abs(v)) for v in changes]
        assert max(rows) <= 1.0
        assert sum(counts) <= packing.exchanges(float(np.linalg.norm(first - second)) ** 2, 4)
        added = sum(v * np.outer(u, u.conj()) for v, u in zip(changes, vectors.T, strict=True) if v > 0)
        assert np.linalg.eigvalsh(first + added)[0] >= -1e-12
        lines = [15.0 * np.outer(u, u.conj()) for u in basis.T[:2]]  # rank 1: the difference has two eigenvalues
        steps = [math.ceil(abs(v)) for v in np.linalg.eigvalsh(lines[1] - lines[0]) if abs(v) > 1e-9]
        assert sum(steps) <= packing.exchanges(float(np.linalg.norm(lines[1] - lines[0])) ** 2, 2)


def test_for_large_epsilon_an_algorithm_is_better_than_the_lower_bound_as_printed() -> None:
    """[Unitary orbits: Theorem 2.4]: the algorithm of docs/explanation/unitary-orbits-errata.md, for d = 2 and k = 1.

    Its density e^{−(ε/2)⌈(‖H − M‖ − √2 g)₊/√2⌉} is integrated over the orbit, where ‖H − M‖²/2λ² is uniform on [0, 1]
    for M in it; the error is at most √2 g with probability above one half.
    """
    largest, shares = 1e3, []
    for epsilon in (2.0, 10.0, 40.0):
        q = math.exp(-epsilon / 2)
        reach = 1.001 * (q / (1 - q) + math.sqrt((q / (1 - q)) ** 2 + q * (1 + q) / (1 - q) ** 2))
        steps = np.arange(int(largest) + 2)
        ends = np.minimum(math.sqrt(2) * (reach + steps), math.sqrt(2) * largest) ** 2
        rings = np.diff(ends, prepend=0.0) * q**steps
        assert 0.5 < rings[0] / rings.sum()
        shares.append(2 * reach**2 / theory.lower_rate([largest, 0.0], 1, epsilon))
    assert shares[0] > 1.0 > shares[1] > 1e5 * shares[2]
    assert theory.lower_reach([largest, 0.0]) == 1.0
    scores = np.random.default_rng(0).uniform(size=20_000)
    lines = np.sqrt(1 - scores)  # |⟨u, v⟩| of random lines: the squared distance of projectors is uniform
    drawn = np.random.default_rng(1).standard_normal((20_000, 2, 2)) @ (1, 1j)
    cosines = np.abs(drawn[:, 0]) / np.linalg.norm(drawn, axis=1)
    assert np.abs(np.quantile(cosines, (0.1, 0.5, 0.9)) - np.quantile(lines, (0.1, 0.5, 0.9))).max() < 0.03


def test_a_packing_limits_every_private_algorithm() -> None:
    """[Unitary orbits: Lemma 9.2]: randomized response over a packing is the worst that it allows."""
    count, epsilon, changes = 200, 0.5, 6.0
    hit = math.exp(epsilon * changes) / (math.exp(epsilon * changes) + count - 1)  # private for matrices so far apart
    shown = packing.packing_lower(math.log(count), changes, 2.0, epsilon)
    assert (hit < 0.5) == (shown == 1.0)
    assert 0.0 == packing.packing_lower(math.log(10), changes, 2.0, epsilon)


def test_packing_numbers_of_orbits_and_balls() -> None:
    """[Unitary orbits: Theorem 2.7, (2), (3), Lemma 8.4]: a ball holds no more than the orbit, small balls less."""
    values = [1.0, 1.0, 0.0, 0.0, 0.0]
    whole = theory.log_packing(values, 0.05)
    assert whole == pytest.approx(2 * 2 * 3 * math.log(math.sqrt(2) / 0.05))
    sizes = [packing.log_packing_within(values, radius, 0.05) for radius in (0.01, 0.2, 0.5, 1.0, 50.0)]
    assert sorted(sizes) == sizes
    assert 0.0 == sizes[0]
    assert whole == pytest.approx(sizes[-1])
    assert sizes[1] == pytest.approx(12 * math.log(0.2 / 0.05))
    assert packing.log_packing_of_ball(5.0, 3.0) == 2.0
    assert 0.0 == packing.log_packing_of_ball(3.0, 5.0) == packing.log_packing_within([0.0, 0.0], 1.0, 0.1)


def test_points_on_a_sphere_pack_no_better_than_the_covering_allows() -> None:
    """[Unitary orbits: Lemma 6.3, Lemma 8.4]: a greedy packing of projectors of rank 1, in spectral norm."""
    chosen: list[Any] = []
    for projector in projectors(2, 1, 400):
        if all(np.linalg.norm(projector - other, 2) > 0.3 for other in chosen):
            chosen.append(projector)
    assert math.log(len(chosen)) <= theory.log_covering([1.0, 0.0], 0.15)
    assert len(chosen) >= 10
    pairs = itertools.combinations(chosen, 2)
    assert min(np.linalg.norm(one - other, 2) for one, other in pairs) > 0.3


def test_shortfalls_in_closed_form_are_never_below_the_solved_ones() -> None:
    """[Unitary orbits: Lemma 6.5]"""
    for gammas, spectrum, kappa in (([50.0, 20.0, 1.0], [1.0, 0.0, 0.0], 0.1), ([5e4, 1e3, 1.0], [3.0, 2.0, 0.0], 2.0)):
        for beta in (0.05, 1e-6):
            solved = theory.explicit_shortfall(gammas, spectrum, kappa, beta)
            assert solved <= theory.closed_shortfall(gammas, spectrum, kappa, beta)
            assert theory.closed_shortfall(gammas, spectrum, kappa, beta) <= 20 * solved


def test_low_rank_releases_are_as_near_as_the_theorem_with_constants_says() -> None:
    """[Unitary orbits: Theorem 2.3, Algorithm 2]: 30 releases, with a false alarm of 1e-9; the slack is below 8."""
    gammas = [300.0, 200.0, 20.0, 10.0]
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0),
        steps=[
            dp.release("values", "laplace-eigenvalues", k=2),
            dp.release("h", "orbit", spectrum=dp.ref("values")),
        ],
    )
    bounds = {bound.name: bound for bound in plan.explain(spectrum=gammas).bounds("h")}
    sure = bounds["Theorem 2.3 with constants, 95% sure"]
    assert sure.value is not None
    bound = plan.bind(4)
    integers = np.diag(np.rint(np.array(gammas) / bound.rows.step**2)).astype(np.int64)
    data = dp.PrivateData(bound.rows, statistics={dp.Moment(): {"moment": integers}})
    (_, first), (_, second) = bound.releases
    assert isinstance(second, Orbit)
    errors = []
    for draw in range(30):
        values = first.release(data, bound.pricing.levels["values"], seeded(draw))
        orbit = attrs.evolve(second, spectrum=values)
        released = orbit.release(data, bound.pricing.levels["h"], seeded(draw + 1000))
        errors.append(float(np.linalg.norm(released.array - np.diag(gammas))))
    assert binom.sf(sum(error > sure.value for error in errors) - 1, 30, 0.05) > 1e-9
    assert sure.value <= 8 * np.median(errors)
