"""Blocks in a released basis: how far one person moves them, and noise that covers it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_spiked import BlockEstimate, BlockGaussian, Blocks
from dpframe_spiked.calibration import LARGEST, LEAST_SHARE, multiples, shares

RELATIONS = ("add-remove", "replace")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
DIM, RANK, RADII = 5, 2, (1.5, 0.5)
BASIS = np.linalg.qr(np.random.default_rng(3).standard_normal((DIM, RANK)))[0]
Floats = NDArray[np.float64]


def promise(relation: str, contributions: int = 1) -> dp.Rows:
    return dp.Rows(norm=2.0, neighbors=relation, dim=DIM, contributions=contributions)


def integer_parts(values: Floats, rows: dp.Rows) -> dict[str, list[int]]:
    """The parts of a block moment as Python integers."""
    found = dp.BlockMoment(basis=BASIS, radii=RADII).partial(dp.Chunk(rows, values))
    return {name: [int(entry) for entry in np.ravel(part)] for name, part in found.items()}


def spent(moved: dict[str, int], relation: str, contributions: int = 1) -> Fraction:
    """mu² at level 1 of a move, given as squared lengths in lattice units, by the multiples that the release uses."""
    factors = multiples(relation, DIM, RANK, RADII)
    unit = (contributions * dp.lattice.RADIUS**2) ** 2
    return sum(
        (
            Fraction(moved[part]) / (Fraction(factor) ** 2 * unit)
            for part, factor in zip(("signal", "cross", "residual"), factors, strict=True)
        ),
        Fraction(0),
    )


row = st.lists(st.floats(-8.0, 8.0), min_size=DIM, max_size=DIM)


@settings(max_examples=150, deadline=None)
@given(one=st.lists(row, min_size=3, max_size=3), other=st.lists(row, min_size=3, max_size=3), m=st.integers(1, 3))
@pytest.mark.parametrize("relation", RELATIONS)
def test_no_neighbors_are_farther_apart_than_the_noise_covers(
    relation: str, one: list[list[float]], other: list[list[float]], m: int
) -> None:
    """In exact integers: all three parts together, in units of their noise."""
    background = np.full((2, DIM), 0.3)
    rows = promise(relation, m)
    before = np.vstack([background, np.array(one[:m])])
    after = np.vstack([background, np.array(other[:m])]) if relation == "replace" else background
    first, second = integer_parts(before, rows), integer_parts(after, rows)
    moved = {part: sum((a - b) ** 2 for a, b in zip(first[part], second[part], strict=True)) for part in first}
    assert spent(moved, relation, m) <= 1


def test_an_orthogonal_signal_without_residual_comes_as_near_to_it() -> None:
    """The other replacement that reaches the bound: here the noise of the residual counts."""
    complement = dp.BlockMoment.rotation(dp.Subspace(BASIS))[:, RANK]
    values = (1.5 * BASIS[:, 0] + 0.5 * complement, 1.5 * BASIS[:, 1])
    first, second = (integer_parts(each[None, :], promise("replace")) for each in values)
    moved = {part: sum((a - b) ** 2 for a, b in zip(first[part], second[part], strict=True)) for part in first}
    assert 0.999 < float(spent(moved, "replace")) <= 1.0


@pytest.mark.parametrize("relation", RELATIONS)
def test_some_neighbors_come_as_near_to_it_as_rounding_allows(relation: str) -> None:
    rows = promise(relation)
    complement = dp.BlockMoment.rotation(dp.Subspace(BASIS))[:, RANK]
    signal, residual = 1.5 * BASIS[:, 0], 0.5 * complement
    other = signal - residual if relation == "replace" else np.zeros(DIM)
    first, second = (integer_parts(values[None, :], rows) for values in (signal + residual, other))
    moved = {part: sum((a - b) ** 2 for a, b in zip(first[part], second[part], strict=True)) for part in first}
    assert 0.999 < float(spent(moved, relation)) <= 1.0


def joint(a: Floats, b: Floats, c: Floats, d: Floats, factors: tuple[float, float, float]) -> Floats:
    """mu² of replacing (a, b) by (c, d), for unit radii, many at a time."""
    outer = np.einsum
    signal = np.square(outer("ni,nj->nij", a, a) - outer("ni,nj->nij", c, c)).sum((1, 2))
    cross = np.square(outer("ni,nj->nij", a, b) - outer("ni,nj->nij", c, d)).sum((1, 2))
    residual = np.square(np.square(b).sum(1) - np.square(d).sum(1))
    total: Floats = signal / factors[0] ** 2 + cross / factors[1] ** 2 + residual / factors[2] ** 2
    return total


def in_ball(rng: np.random.Generator, count: int, dim: int) -> Floats:
    """Half of them on the sphere, others of all lengths."""
    directions = rng.standard_normal((count, dim))
    lengths = np.where(rng.random(count) < 0.5, 1.0, rng.random(count))
    found: Floats = directions / np.linalg.norm(directions, axis=1, keepdims=True) * lengths[:, None]
    return found


def worst_replacement(rank: int, rest: int, factors: tuple[float, float, float]) -> float:
    """By random search, with the best found moved towards −b, which is where the cross part is largest."""
    rng = np.random.default_rng(rank)
    a, c = in_ball(rng, 60_000, rank), in_ball(rng, 60_000, rank)
    b, d = in_ball(rng, 60_000, rest), in_ball(rng, 60_000, rest)
    beside = c - np.einsum("ni,ni->n", a, c)[:, None] * a / np.square(a).sum(1)[:, None]  # orthogonal to a
    beside /= np.maximum(np.linalg.norm(beside, axis=1, keepdims=True), 1e-9 if rank > 1 else 1e9)
    corners = [(a, b, c, d), (a, b, a, -b), (a, b, a, -d), (a, b, c, -b), (a, b, -a, b), (a, b, 0 * a, 0 * b)]
    corners.append((a, b, beside, 0 * b))
    mixed = [(a, b, t * a + (1 - t) * c, -t * b + (1 - t) * d) for t in (0.5, 0.9, 0.99)]
    return max(float(joint(*case, factors).max()) for case in (*corners, *mixed))


@pytest.mark.parametrize(("rank", "rest"), [(1, 1), (1, 2), (2, 2), (2, 4), (3, 3)])
def test_the_joint_calibration_of_replaced_rows_by_brute_force(rank: int, rest: int) -> None:
    """No replacement is above mu² = 1, and flipping b reaches it; less noise would be exceeded.

    From two directions on, an orthogonal a without any b reaches it too: that is where the residual needs its noise.
    """
    factors = multiples("replace", rank + rest, rank, (1.0, 1.0))
    assert (math.sqrt(8), 2.0, math.sqrt(2)) == pytest.approx(factors, rel=1e-15)
    assert 1.0 == pytest.approx(worst_replacement(rank, rest, factors), abs=1e-9)
    less_cross = (factors[0], 0.98 * factors[1], factors[2])
    assert 1.03 < worst_replacement(rank, rest, less_cross)
    if rank > 1:
        assert 1.01 < worst_replacement(rank, rest, (*factors[:2], 0.98 * factors[2]))
        assert 1.005 < worst_replacement(rank, rest, (0.98 * factors[0], *factors[1:]))


@pytest.mark.parametrize("contributions", [1, 3])
def test_the_noise_of_replaced_rows_covers_all_blocks_together(contributions: int) -> None:
    """In exact numbers: deviations of √(8/w) for weights w = 1, 2, 4, each in units of its own lattice."""
    rows = promise("replace", contributions)
    unit = (contributions * dp.lattice.RADIUS**2) ** 2
    for factor, weight in zip(multiples("replace", DIM, RANK, RADII), (1, 2, 4), strict=True):
        assert Fraction(factor) ** 2 * unit >= Fraction(dp.sensitivity.blocks_together(rows), weight)


def test_composing_the_parts_of_replaced_rows_would_cost_three_quarters_more() -> None:
    factors = multiples("replace", 4, 2, (1.0, 1.0))
    squares = [2.0 / factors[0] ** 2, 4.0 / factors[1] ** 2, 1.0 / factors[2] ** 2]
    assert 1.75 == pytest.approx(sum(squares))


@settings(max_examples=200, deadline=None)
@given(
    values=st.tuples(*[st.floats(0.0, 1.0)] * 4),
    cosines=st.tuples(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0)),
)
def test_the_bound_of_the_proof(values: tuple[float, ...], cosines: tuple[float, float]) -> None:
    """(A²+A'²−2u²)/8 + (AB+A'B'−2uv)/4 + (B−B')²/2 ≤ 1 for squared lengths up to 1: what the docs prove."""
    A, C, B, D = values
    u, v = cosines[0] * math.sqrt(A * C), cosines[1] * math.sqrt(B * D)
    total = (A**2 + C**2 - 2 * u**2) / 8 + (A * B + C * D - 2 * u * v) / 4 + (B - D) ** 2 / 2
    assert total <= 1.0 + 1e-12


@pytest.mark.parametrize(("dim", "rank", "radii"), [(5, 2, RADII), (200, 5, (105.0, 15.0)), (3, 1, (1e6, 1e-6))])
def test_shares_for_added_rows(dim: int, rank: int, radii: tuple[float, float]) -> None:
    """They add up to 1, none is tiny, and where none is cut off no other shares give a smaller error."""
    found = shares(dim, rank, radii)
    assert 1.0 == pytest.approx(sum(found), abs=1e-12)
    assert all(share >= LEAST_SHARE / 1.01 for share in found)
    factors = multiples("add-remove", dim, rank, radii)
    assert sum(1.0 / Fraction(factor) ** 2 for factor in factors) <= 1
    assert max(factors) <= LARGEST

    def error(split: tuple[float, ...]) -> float:
        alpha, beta = radii
        weights = (rank * (rank + 1) / 2, 2 * rank * (dim - rank), 1 / (dim - rank))
        sizes = (alpha**4, (alpha * beta) ** 2, beta**4)
        return sum(w * size / share for w, size, share in zip(weights, sizes, split, strict=True))

    if min(found) > 2 * LEAST_SHARE:
        for step in (1e-3, -1e-3):
            assert error(found) <= error((found[0] + step, found[1] - step, found[2]))


def released(relation: str, level: float, draws: int) -> Floats:
    """Noise of many releases on one data set: (draws, dim, dim)."""
    mechanism = BlockGaussian(basis=BASIS, radii=RADII)
    rows = promise(relation, contributions=2)
    statistic = mechanism.reads()[0]
    values = np.random.default_rng(5).standard_normal((40, DIM))
    data = dp.PrivateData(rows, statistics={statistic: statistic.partial(dp.Chunk(rows, values))})
    stream = seeded(11)
    exact = mechanism.noiseless(data).array
    found = [mechanism.release(data, level, stream.child(str(i))).array - exact for i in range(draws)]
    return np.array(found)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_noise_has_the_stated_scales(relation: str) -> None:
    """Chi-square tests of four scales for each relation, 5e-8 each; they reject a scale 20 per cent off."""
    from scipy.stats import chi2

    level, draws = 0.7, 1500
    noise = released(relation, level, draws)
    alpha, beta = RADII
    signal, cross, residual = (2 * each / level for each in multiples(relation, DIM, RANK, RADII))  # two rows each
    diagonal = np.einsum("nii->ni", noise[:, :RANK, :RANK]).ravel() / (signal * alpha**2)
    above = noise[:, 0, 1] / (signal * alpha**2 / math.sqrt(2))
    between = noise[:, :RANK, RANK:].ravel() / (cross * alpha * beta)
    total = noise[:, -1, -1] * (DIM - RANK) / (residual * beta**2)

    def fits(values: Floats, scale: float) -> bool:
        square = float(np.square(values / scale).sum())
        return bool(5e-8 / 2 < chi2.cdf(square, values.size) < 1 - 5e-8 / 2)

    for values in (diagonal, above, between, total):
        assert fits(values, 1.0)
        assert not fits(values, 1.2)
        assert not fits(values, 0.83)
    assert not fits(between, 1.1)
    assert np.array_equal(noise, noise.transpose(0, 2, 1))


def test_noise_is_told_in_the_units_of_the_rows() -> None:
    mechanism = BlockGaussian(basis=BASIS, radii=RADII)
    told = mechanism.noise(promise("replace"), 0.5)
    assert {"signal": 2 * math.sqrt(8) * 2.25, "cross": 4 * 0.75, "residual": 2 * math.sqrt(2) * 0.25} == pytest.approx(
        dict(told), rel=1e-4
    )
    waiting = BlockGaussian(basis=dp.ref("basis"), radii=RADII)
    assert {} == waiting.noise(promise("replace"), 0.5)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_smallest_level_stays_within_the_exact_sampler(relation: str) -> None:
    rows = dp.Rows(norm=1.0, neighbors=relation, dim=DIM, contributions=8)
    mechanism = BlockGaussian(basis=BASIS, radii=(1.0, 1e-6))
    served, refused = (dp.Step(name="blocks", action=mechanism, level=m * mechanism.smallest_level) for m in (8, 4))
    dp.Plan(rows=rows, budget=BUDGET, steps=[served]).run([np.eye(DIM)])
    with pytest.raises(dp.PlanError, match="'block-gaussian' needs a level of at least"):
        dp.Plan(rows=rows, budget=BUDGET, steps=[refused])


def test_blocks_without_noise_give_back_what_they_can() -> None:
    """A moment whose residual block is a multiple of I comes back whole."""
    rotation = dp.BlockMoment.rotation(dp.Subspace(BASIS))
    blocks = np.zeros((DIM, DIM))
    blocks[:RANK, :RANK] = [[5.0, 1.0], [1.0, 4.0]]
    blocks[:RANK, RANK:] = blocks[RANK:, :RANK].T
    blocks[:RANK, RANK:] = [[0.5, 0.2, 0.1], [0.0, -0.3, 0.4]]
    blocks[RANK:, :RANK] = blocks[:RANK, RANK:].T
    np.fill_diagonal(blocks[RANK:, RANK:], 0.7)
    moment = rotation @ blocks @ rotation.T
    found = BlockEstimate(of=Blocks(blocks, basis=BASIS)).apply().array
    np.testing.assert_allclose(found, moment, atol=1e-12)
    half = (
        BlockEstimate(of=Blocks(blocks, basis=BASIS), prior=(moment + moment.T) / 2, kept=(0.5, 0.25, 0.75))
        .apply()
        .array
    )
    np.testing.assert_allclose(half, moment, atol=1e-12)
    more = BlockEstimate(of=Blocks(blocks, basis=BASIS), left=(0.5, 0.5, 0.5)).apply().array
    np.testing.assert_allclose(more, 2 * moment, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: BlockGaussian(basis=BASIS, radii=(1.0, 0.0)), "two positive numbers"),
        (lambda: BlockGaussian(basis=BASIS, radii=(1.0, -1.0)), "two positive numbers"),
        (lambda: BlockGaussian(basis=BASIS, radii=(1.0,)), "two positive numbers"),
        (lambda: BlockEstimate(of=Blocks(np.eye(5), basis=BASIS), kept=(1.0, 0.0, 1.0)), "three numbers above 0"),
        (lambda: BlockEstimate(of=Blocks(np.eye(5), basis=BASIS), left=(1.0, 1.0, 1.1)), "three numbers above 0"),
        (lambda: Blocks(np.ones((2, 3)), basis=BASIS), "equal rows and columns"),
    ],
)
def test_bad_parameters_are_refused(make: Any, words: str) -> None:
    with pytest.raises(dp.PlanError, match=words):
        make()


def test_a_basis_of_another_dimension_is_refused() -> None:
    step = dp.Step(name="blocks", action=BlockGaussian(basis=BASIS, radii=RADII))
    with pytest.raises(dp.PlanError, match="cannot use a basis of shape"):
        dp.Plan(rows=dp.Rows(norm=1.0, neighbors="replace", dim=7), budget=BUDGET, steps=[step])
