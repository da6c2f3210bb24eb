"""Declared sensitivities against neighbors, in exact integers: never exceeded, and reached."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dpframe.plugin as dp
from dpframe import sensitivity
from dpframe.lattice import RADIUS, inner_radius
from tests.support.neighbors import Rows2D, moved, neighbor, parts

RELATIONS = ("add-remove", "replace")
R = float(RADIUS)


def promise(dim: int, relation: str, contributions: int = 1, center: bool = False) -> dp.Rows:
    """Rows whose lattice step is exactly one, so that integers map to themselves."""
    norm = float(inner_radius(dim))
    return dp.Rows(norm=norm, neighbors=relation, contributions=contributions, center=center, dim=dim)


def unit_basis(dim: int, rank: int) -> dp.Subspace:
    return dp.Subspace(np.eye(dim)[:, :rank])


def skewed_basis(dim: int, rank: int) -> dp.Subspace:
    return dp.Subspace(np.linalg.qr(np.random.default_rng(3).standard_normal((dim, dim)))[0][:, :rank])


def statistics(dim: int) -> list[dp.Statistic]:
    radius = inner_radius(dim) / 3
    return [
        dp.Moment(),
        dp.BlockMoment(basis=unit_basis(dim, 2), radii=(radius, radius / 2)),
        dp.BlockMoment(basis=skewed_basis(dim, 2), radii=(radius, radius)),
        dp.NormHistogram(edges=(radius / 10, radius, 2 * radius)),
        dp.RowSum(),
        dp.PlacedSum(),
        dp.FoldMoments(folds=3),
    ]


# Rows that stress the map: tiny, at the norm, just beyond it, huge, aligned, opposite, non-finite, half-integers.
HARD = st.sampled_from([0.0, 0.5, -0.5, 1.0, R, -R, R + 1, -R - 1, 1e7, -1e7, 1e151, -1e151, 5e-324, np.nan, np.inf])
ENTRIES = st.one_of(HARD, st.floats(-2 * R, 2 * R))


@settings(max_examples=150, deadline=None)
@given(
    values=hnp.arrays(np.float64, (6, 4), elements=ENTRIES),
    replacement=hnp.arrays(np.float64, (3, 4), elements=ENTRIES),
    at=st.integers(0, 3),
    relation=st.sampled_from(RELATIONS),
    contributions=st.sampled_from([1, 3]),
    center=st.booleans(),
)
def test_neighbors_never_move_a_statistic_more_than_declared(
    values: Rows2D, replacement: Rows2D, at: int, relation: str, contributions: int, center: bool
) -> None:
    other = neighbor(values, relation, replacement[:contributions], at)
    for statistic in statistics(4):
        centered = center and not isinstance(statistic, dp.BlockMoment)
        rows = promise(4, relation, contributions, centered)
        declared = statistic.sensitivity(rows)
        for part, (l1, l2_squared) in moved(statistic, rows, values, other).items():
            assert l2_squared <= declared[part].l2_squared, (statistic.name, part)
            assert declared[part].l1 is None or l1 <= declared[part].l1, (statistic.name, part)  # type: ignore[operator]


@settings(max_examples=60, deadline=None)
@given(
    one=hnp.arrays(np.float64, (1, 1), elements=ENTRIES),
    other=hnp.arrays(np.float64, (1, 1), elements=ENTRIES),
    center=st.booleans(),
    relation=st.sampled_from(RELATIONS),
)
def test_in_one_dimension_too(one: Rows2D, other: Rows2D, center: bool, relation: str) -> None:
    rows = promise(1, relation, center=center)
    changed = neighbor(one, relation, other, 0)
    assert moved(dp.Moment(), rows, one, changed)["moment"][1] <= dp.Moment().sensitivity(rows)["moment"].l2_squared


def worst_moment_rows(dim: int, relation: str, center: bool) -> tuple[Rows2D, Rows2D]:
    """The row to remove or replace, and its replacement, that move the moment most."""
    first = np.zeros((1, dim))
    first[0, 0] = R
    other = np.zeros((1, dim))
    if dim == 1:
        other[0, 0] = -R if center else 0.0
    elif not center:
        other[0, 1] = R
    else:
        # Inner product −c² with c = R/2, in integers: 1 + 9 + 4 + 1 + 1 = 16.
        other[0, :5] = np.array([-1, 3, 2, 1, 1]) * R / 4
    return first, other


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize(("dim", "center"), [(1, False), (1, True), (6, False), (6, True)])
def test_the_declared_moment_sensitivity_is_reached(dim: int, center: bool, relation: str, contributions: int) -> None:
    rows = promise(dim, relation, contributions, center)
    first, other = worst_moment_rows(dim, relation, center)
    background = np.full((2, dim), 17.0)
    one = np.concatenate([np.repeat(first, contributions, axis=0), background])
    two = neighbor(one, relation, np.repeat(other, contributions, axis=0), 0)
    declared = dp.Moment().sensitivity(rows)["moment"].l2_squared
    assert declared == moved(dp.Moment(), rows, one, two)["moment"][1]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize("dim", [1, 6])
def test_the_declared_sensitivity_of_sums_is_reached(dim: int, relation: str, contributions: int) -> None:
    rows = promise(dim, relation, contributions)
    first = np.zeros((contributions, dim))
    first[:, 0] = R
    other = neighbor(first, relation, -first, 0)
    assert dp.RowSum().sensitivity(rows)["sum"].l2_squared == moved(dp.RowSum(), rows, first, other)["sum"][1]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize("dim", [1, 4, 16])  # of the others, the roots are no integers
def test_the_declared_sensitivity_of_sums_in_l1_norm_is_reached(dim: int, relation: str, contributions: int) -> None:
    rows = promise(dim, relation, contributions)
    first = np.full((contributions, dim), R / dim**0.5)
    other = neighbor(first, relation, -first, 0)
    assert dp.RowSum().sensitivity(rows)["sum"].l1 == moved(dp.RowSum(), rows, first, other)["sum"][0]


CATEGORIES: tuple[dp.Column | dp.Category, ...] = (
    dp.Column("a", 0, 1),
    dp.Category("b", [0, 1, 2]),
    dp.Column("c", -1, 1),
    dp.Category("d", [5, 6]),
)


def mapped(values: Rows2D) -> Rows2D:
    return np.column_stack([column.map(values[:, at]) for at, column in enumerate(CATEGORIES)])


@settings(max_examples=150, deadline=None)
@given(
    values=hnp.arrays(np.float64, (4, 4), elements=st.sampled_from([-1e9, -1.0, 0.0, 0.3, 1.0, 2.0, 5.0, 6.0, np.nan])),
    relation=st.sampled_from(RELATIONS),
    contributions=st.sampled_from([1, 2]),
)
def test_no_neighbor_moves_a_sum_of_categories_farther_than_declared(
    values: Rows2D, relation: str, contributions: int
) -> None:
    rows = dp.Rows(columns=CATEGORIES, neighbors=relation, contributions=contributions)
    other = neighbor(values[:2], relation, values[2 : 2 + contributions], 0)
    l1, l2_squared = moved(dp.RowSum(), rows, mapped(values[:2]), mapped(other))["sum"]
    declared = dp.RowSum().sensitivity(rows)["sum"]
    assert declared.l1 is not None
    assert l1 <= declared.l1
    assert l2_squared <= declared.l2_squared


@pytest.mark.parametrize("relation", RELATIONS)
def test_of_categories_one_level_counts(relation: str) -> None:
    """The L1 sensitivity grows with the number of columns, not of levels, and is reached up to the lattice's margin."""
    rows = dp.Rows(columns=CATEGORIES, neighbors=relation)
    first = np.array([[1.0, 0.0, 1.0, 5.0]])
    other = neighbor(first, relation, np.array([[0.0, 1.0, -1.0, 6.0]]), 0)
    declared = dp.RowSum().sensitivity(rows)["sum"].l1
    assert declared == (4 * RADIUS if relation == "replace" else 2 * RADIUS + RADIUS // 2)
    assert declared == pytest.approx(moved(dp.RowSum(), rows, mapped(first), mapped(other))["sum"][0], rel=1e-4)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("contributions", [1, 3])
def test_the_declared_block_and_histogram_sensitivities_are_reached(relation: str, contributions: int) -> None:
    dim, rank = 5, 2
    rows = promise(dim, relation, contributions)
    alpha, beta = inner_radius(rank) / 4, inner_radius(dim - rank) / 8
    statistic = dp.BlockMoment(basis=unit_basis(dim, rank), radii=(alpha, beta))
    full_signal, full_residual = RADIUS / 4, RADIUS / 8  # what rounds to the radius itself on each lattice

    def row(*entries: float) -> Rows2D:
        return np.tile(np.array([[*entries]]), (contributions, 1))

    cases = {
        "signal": (row(full_signal, 0, 0, 0, 0), row(0, full_signal, 0, 0, 0)),
        "cross": (row(full_signal, 0, full_residual, 0, 0), row(full_signal, 0, -full_residual, 0, 0)),
        "residual": (row(0, 0, full_residual, 0, 0), row(0, 0, 0, 0, 0)),
    }
    declared = statistic.sensitivity(rows)
    for part, (one, other) in cases.items():
        assert declared[part].l2_squared == moved(statistic, rows, one, neighbor(one, relation, other, 0))[part][1]

    together = dict(zip(("signal", "cross", "residual"), (1, 2, 4), strict=True))
    replaced = [cases["cross"], (row(full_signal, 0, full_residual, 0, 0), row(0, full_signal, 0, 0, 0))]
    for one, other in replaced if relation == "replace" else [(replaced[0][0], row(0, 0, 0, 0, 0))]:
        found = moved(statistic, rows, one, neighbor(one, relation, other, 0))
        total = sum(weight * found[part][1] for part, weight in together.items())
        assert sensitivity.blocks_together(rows) == total

    histogram = dp.NormHistogram(edges=(1.0, 10.0))
    one, other = row(0.5, 0, 0, 0, 0), row(5.0, 0, 0, 0, 0)
    expected = histogram.sensitivity(rows)["counts"]
    assert (expected.l1, expected.l2_squared) == moved(histogram, rows, one, neighbor(one, relation, other, 0))[
        "counts"
    ]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_eigenvalues_move_no_more_than_declared_and_reach_it(relation: str, dim: int) -> None:
    rows = promise(dim, relation)
    declared = sensitivity.eigenvalues(rows)
    assert declared.l1 is not None

    def spectrum(values: Rows2D) -> Rows2D:
        return np.linalg.eigvalsh(parts(dp.Moment(), rows, values)["moment"])

    # Well separated eigenvalues: taking a row off the first and giving one to the second moves both fully.
    separated = np.repeat(np.eye(dim) * R, [3 * (dim - i) for i in range(dim)], axis=0)
    rng = np.random.default_rng(11)
    cases = [(*worst_moment_rows(dim, relation, False), separated)]
    for _ in range(300):
        one, other = rng.standard_normal((2, 1, dim)) * R
        cases.append((one, other, rng.standard_normal((4, dim)) * R))
    distances = []
    for one, other, background in cases:
        data = np.concatenate([one, background])
        distances.append(spectrum(data) - spectrum(neighbor(data, relation, other, 0)))
    assert declared.l1 == pytest.approx(max(np.abs(distance).sum() for distance in distances), rel=1e-9)
    assert declared.l2_squared == pytest.approx(max((distance**2).sum() for distance in distances), rel=1e-9)


def trace_norm(rows: dp.Rows, one: Rows2D, other: Rows2D) -> float:
    change = parts(dp.Moment(), rows, one)["moment"] - parts(dp.Moment(), rows, other)["moment"]
    return float(np.abs(np.linalg.eigvalsh(change)).sum())


@settings(max_examples=150, deadline=None)
@given(
    values=hnp.arrays(np.float64, (6, 4), elements=ENTRIES),
    replacement=hnp.arrays(np.float64, (3, 4), elements=ENTRIES),
    dim=st.sampled_from([1, 2, 4]),
    relation=st.sampled_from(RELATIONS),
    contributions=st.sampled_from([1, 3]),
    center=st.booleans(),
)
def test_no_neighbor_moves_the_moment_farther_in_trace_norm_than_declared(
    values: Rows2D, replacement: Rows2D, dim: int, relation: str, contributions: int, center: bool
) -> None:
    rows = promise(dim, relation, contributions, center)
    one = values[:, :dim]
    found = trace_norm(rows, one, neighbor(one, relation, replacement[:contributions, :dim], 1))
    assert found <= sensitivity.moment_trace_norm(rows) * (1 + 1e-12)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize(("dim", "center"), [(1, False), (1, True), (6, False), (6, True)])
def test_the_declared_trace_norm_is_reached(dim: int, center: bool, relation: str, contributions: int) -> None:
    rows = promise(dim, relation, contributions, center)
    first, other = (np.repeat(row, contributions, axis=0) for row in worst_moment_rows(dim, relation, center))
    two = neighbor(first, relation, other, 0)
    assert sensitivity.moment_trace_norm(rows) == pytest.approx(trace_norm(rows, first, two), rel=1e-12)
    if dim == 1 and not center:  # nothing is farther away than a row that is lost
        assert sensitivity.moment_trace_norm(rows) == trace_norm(rows, first, np.full_like(first, np.nan))


def test_contributions_multiply_every_sensitivity() -> None:
    for statistic in statistics(4):
        for relation in RELATIONS:
            one = statistic.sensitivity(promise(4, relation, 1))
            three = statistic.sensitivity(promise(4, relation, 3))
            assert {part: 9 * each.l2_squared for part, each in one.items()} == {
                part: each.l2_squared for part, each in three.items()
            }
            for part, each in one.items():
                assert three[part].l1 == (None if each.l1 is None else 3 * each.l1)


def test_the_relations_differ_so_one_cannot_stand_in_for_the_other() -> None:
    for center in (False, True):
        add = dp.Moment().sensitivity(promise(6, "add-remove", center=center))["moment"].l2_squared
        replace = dp.Moment().sensitivity(promise(6, "replace", center=center))["moment"].l2_squared
        assert 2 * add == replace


@pytest.mark.parametrize("relation", RELATIONS)
def test_scores_of_hermitian_matrices_move_apart_by_the_declared_spread_and_no_more(relation: str) -> None:
    rng = np.random.default_rng(0)
    spread = 0.0
    for trial in range(300):
        row, other = (vector / np.linalg.norm(vector) * R for vector in rng.standard_normal((2, 4)))
        if trial == 0:
            row, other = np.eye(4)[0] * R, np.eye(4)[1] * R
        moved_by = np.outer(row, row) - (np.outer(other, other) if relation == "replace" else 0.0)
        values = np.linalg.eigvalsh(moved_by)
        # Scores over H with eigenvalues in [0, 1] range over what the positive and the negative part can give.
        spread = max(spread, float(values[values > 0].sum() - values[values < 0].sum()))
    assert spread == pytest.approx(sensitivity.score(promise(4, relation)), rel=1e-12)
    assert 3 * sensitivity.score(promise(4, relation)) == sensitivity.score(promise(4, relation, contributions=3))
