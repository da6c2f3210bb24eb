"""Statistics are exact sums over rows, whatever the order, the layout or the chunking."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe import lattice
from dpframe.reading.totals import accumulate
from dpframe.sources import open_source
from dpframe.sources.source import array_rows, table_rows
from tests.support.neighbors import parts

DIM, RANK = 33, 5  # a shape for which BLAS gives a row other last bits in another place
ROWS = dp.Rows(norm=1.0, neighbors="add-remove", dim=DIM)
CENTERED = dp.Rows(norm=1.0, neighbors="add-remove", dim=DIM, center=True)
BASIS = dp.Subspace(np.linalg.qr(np.random.default_rng(8).standard_normal((DIM, RANK)))[0])
STATISTICS: list[tuple[dp.Statistic, dp.Rows]] = [
    (dp.Moment(), ROWS),
    (dp.Moment(), CENTERED),
    (dp.BlockMoment(basis=BASIS, radii=(0.7, 0.4)), ROWS),
    (dp.NormHistogram(edges=(0.25, 0.5, 1.0, 1.5)), ROWS),
    (dp.RowSum(), ROWS),
    (dp.RowSum(), CENTERED),
    (dp.PlacedSum(), CENTERED),
    (dp.FoldMoments(folds=3), ROWS),
    (dp.FoldMoments(folds=5, key=7), CENTERED),
]


def awkward_rows(n: int, seed: int = 0) -> NDArray[np.float64]:
    """Rows of all sizes: most near the norm, some far beyond, some with denormals."""
    rng = np.random.default_rng(seed)
    values: NDArray[np.float64] = rng.standard_normal((n, DIM)) * rng.choice(
        [0.05, 0.17, 3.0, 1e151, 1e-320], size=(n, 1)
    )
    values[::97] = 0.0
    return values


def total(statistic: dp.Statistic, rows: dp.Rows, data: Any) -> dict[str, list[int]]:
    found = accumulate(open_source(data, rows).blocks(), [statistic], rows)[statistic]
    return {name: part.ravel().tolist() for name, part in found.items()}


@pytest.mark.parametrize(("statistic", "rows"), STATISTICS)
def test_chunking_order_layout_and_padding_change_no_bit(statistic: dp.Statistic, rows: dp.Rows) -> None:
    values = awkward_rows(5000)
    expected = total(statistic, rows, values)
    rng = np.random.default_rng(1)
    for size in (1, 13, 256, 1001, 5000):
        subset = values if size > 1 else values[:300]
        wanted = expected if size > 1 else total(statistic, rows, subset)
        assert wanted == total(statistic, rows, [subset[i : i + size] for i in range(0, len(subset), size)])
    assert expected == total(statistic, rows, np.asfortranarray(values))
    assert expected == total(statistic, rows, values[rng.permutation(len(values))])
    assert expected == total(statistic, rows, values[::-1])
    spread = np.zeros((2 * len(values), 2 * DIM))
    spread[::2, ::2] = values
    assert expected == total(statistic, rows, spread[::2, ::2])


@pytest.mark.parametrize(("statistic", "rows"), STATISTICS[:3])
def test_inserting_or_deleting_zero_rows_changes_no_bit_of_a_moment(statistic: dp.Statistic, rows: dp.Rows) -> None:
    # A zero row of a centered plan does count; of any other it must not, wherever it stands.
    values = awkward_rows(600)
    rng = np.random.default_rng(2)
    expected = total(statistic, rows, values)
    for _ in range(20):
        where = np.sort(rng.choice(len(values), size=rng.integers(1, 8)))
        padded = np.insert(values, where, np.nan if rows.center else 0.0, axis=0)
        assert expected == total(statistic, rows, padded)
        assert expected == total(statistic, rows, [padded[:311], padded[311:]])


@pytest.mark.parametrize(("statistic", "rows"), STATISTICS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_with_a_non_finite_entry_equals_that_row_left_out(
    statistic: dp.Statistic, rows: dp.Rows, bad: float
) -> None:
    values = awkward_rows(400)
    without = np.delete(values, [0, 17, 399], axis=0)
    values[[0, 17, 399], [0, 3, DIM - 1]] = bad
    assert total(statistic, rows, without) == total(statistic, rows, values)


@pytest.mark.parametrize(("statistic", "rows"), STATISTICS)
def test_float32_and_float64_copies_of_the_same_values_agree(statistic: dp.Statistic, rows: dp.Rows) -> None:
    values = np.random.default_rng(4).standard_normal((3000, DIM)).astype(np.float32)
    assert total(statistic, rows, values) == total(statistic, rows, values.astype(np.float64))


@pytest.mark.parametrize(("statistic", "rows"), STATISTICS)
def test_no_rows_give_zero(statistic: dp.Statistic, rows: dp.Rows) -> None:
    found = total(statistic, rows, np.zeros((0, DIM)))
    assert all(not any(part) for part in found.values())
    assert found.keys() == total(statistic, rows, awkward_rows(3)).keys()


def naive_projection(values: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """What a block statistic would round if it projected in floats."""
    projected: NDArray[np.float64] = values @ BASIS.array
    return np.rint(projected * (lattice.inner_radius(RANK) / radius))


def rows_that_feel_their_place(radius: float) -> NDArray[np.float64]:
    """An adversary's rows: on a rounding boundary, where float projections alone and in a block round apart."""
    values = np.random.default_rng(9).standard_normal((4000, DIM)) * 0.02
    first = values @ BASIS.array[:, 0] * (lattice.inner_radius(RANK) / radius)
    values *= ((np.floor(first) + 0.5) / first)[:, None]
    alone = np.concatenate([naive_projection(row[None, :], radius) for row in values])
    apart = (alone != naive_projection(values, radius)).any(axis=1)
    return np.compress(apart, values, axis=0)


def test_rows_on_rounding_boundaries_do_not_feel_their_place() -> None:
    statistic = dp.BlockMoment(basis=BASIS, radii=(0.7, 0.4))
    values = rows_that_feel_their_place(0.7)
    assert len(values) > 10  # the effect that the integer map defends against is real
    expected = total(statistic, ROWS, values)
    for zeros in (1, 2, 3, 5, 8):
        assert expected == total(statistic, ROWS, np.concatenate([np.zeros((zeros, DIM)), values]))
    for size in (37, 1):
        assert expected == total(statistic, ROWS, [values[i : i + size] for i in range(0, len(values), size)])
    assert expected == total(statistic, ROWS, np.asfortranarray(values))


def test_moment_is_the_second_moment_of_the_clipped_rows() -> None:
    values = np.random.default_rng(3).standard_normal((2000, DIM))
    clipped = values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1.0)
    moment = dp.Moment.value(parts(dp.Moment(), ROWS, values)["moment"], ROWS)
    assert np.abs(moment.array - clipped.T @ clipped).max() < 2000 * ROWS.step / 10


def test_centered_moment_gives_count_and_sums() -> None:
    values = np.random.default_rng(3).standard_normal((500, DIM)) * 0.05
    moment = dp.Moment.value(parts(dp.Moment(), CENTERED, values)["moment"], CENTERED)
    assert isinstance(moment, dp.AugmentedMoment)
    assert moment.array[-1, -1] / moment.constant**2 == pytest.approx(500, rel=1e-12)
    assert np.abs(moment.array[:-1, -1] / moment.constant - values.sum(axis=0)).max() < 500 * CENTERED.step


def test_block_moment_is_the_clipped_second_moment_in_the_basis() -> None:
    values = np.random.default_rng(6).standard_normal((1500, DIM)) * 0.15
    rows = dp.Rows(norm=100.0, neighbors="replace", dim=DIM)
    alpha, beta = 0.5, 0.3
    statistic = dp.BlockMoment(basis=BASIS, radii=(alpha, beta))
    found = parts(statistic, rows, values)
    complement = np.linalg.qr(BASIS.array, mode="complete")[0][:, RANK:]

    def clip(block: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
        lengths: NDArray[np.float64] = np.linalg.norm(block, axis=1, keepdims=True)
        return block * np.minimum(1.0, radius / lengths)

    a, b = clip(values @ BASIS.array, alpha), clip(values @ complement, beta)
    step_a, step_b = alpha / lattice.inner_radius(RANK), beta / lattice.inner_radius(DIM - RANK)
    tolerance = 1500 * 0.01 * 0.05  # the outer lattice step is 100/2^16
    assert np.abs(found["signal"] * step_a**2 - a.T @ a).max() < tolerance
    assert np.abs(found["cross"] * step_a * step_b - a.T @ b).max() < tolerance
    assert abs(found["residual"] * step_b**2 - (b**2).sum()) < tolerance


def test_norm_histogram_counts_lengths_up_to_each_edge() -> None:
    lengths = np.array([0.0, 0.2, 0.25, 0.26, 0.5, 0.9, 1.0, 1.2, 1.5, 1.6, 1e200, 1e-300])
    values = np.zeros((len(lengths), DIM))
    values[np.arange(len(lengths)), np.arange(len(lengths)) % DIM] = lengths
    counts = parts(dp.NormHistogram(edges=(0.25, 0.5, 1.0, 1.5)), ROWS, values)["counts"]
    expected = [4, 2, 2, 2, 2]
    assert expected == counts.tolist()


@pytest.mark.parametrize("edges", [(), (0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (1.0, float("inf")), ("a",)])
def test_edges_must_increase(edges: Any) -> None:
    with pytest.raises(dp.PlanError, match=r"NormHistogram\.edges must be (increasing|positive)"):
        dp.NormHistogram(edges=edges)


@pytest.mark.parametrize("radii", [(1.0,), (1.0, 0.0), (-1.0, 1.0), (1.0, float("nan"))])
def test_radii_must_be_two_positive_numbers(radii: Any) -> None:
    with pytest.raises(dp.PlanError, match=r"a pair of radii must have (two positive|finite) numbers"):
        dp.BlockMoment(basis=BASIS, radii=radii)


@pytest.mark.parametrize("dim", [1, 6, 100, 1000, 20_000])
def test_blocks_keep_the_gram_matrix_exact(dim: int) -> None:
    assert 1 <= array_rows(dim) <= table_rows(dim) <= lattice.MAX_BLOCK_ROWS


def test_a_block_moment_travels_with_its_integer_basis() -> None:
    """Another machine's QR may round otherwise, and then a row's share would depend on who reads it."""
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 2)))[0]
    moment = dp.BlockMoment(basis=dp.Subspace(basis), radii=dp.Radii(np.array([0.5, 0.5])))
    sent = pickle.loads(pickle.dumps(moment))
    assert "_integer_basis" in vars(sent)
    assert (moment._integer_basis == vars(sent)["_integer_basis"]).all()


def test_folds_depend_on_the_row_alone_and_on_the_key() -> None:
    """The fold of a row is the same whatever other rows there are; another key gives others, of about equal size."""
    integers = np.random.default_rng(0).integers(-(2**15), 2**15, (20_000, 4)).astype(np.float64)
    folds = dp.FoldMoments(folds=5)
    places = folds.places(integers)
    assert np.array_equal(places[::-1][:700], folds.places(integers[::-1][:700]))
    assert np.array_equal(places, folds.places(np.asfortranarray(integers)))
    counts = np.bincount(places, minlength=5)
    assert np.abs(counts - 4000).max() < 5.5 * np.sqrt(20_000 * 0.2 * 0.8)  # a right hash is beyond with 2e-7
    other = dp.FoldMoments(folds=5, key=1).places(integers)
    assert abs((other == places).mean() - 0.2) < 5.5 * np.sqrt(0.16 / 20_000)
    assert [4, 4, 3, 3, 4, 3] == dp.FoldMoments(folds=5).places(np.arange(12.0).reshape(6, 2)).tolist()


def test_positions_would_not_do_as_folds() -> None:
    """Where a row is removed, those after it change their places, and all moments of folds with them."""
    values = awkward_rows(400)[:, :3] * 0.1
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=3)

    def by_position(data: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.stack([parts(dp.Moment(), rows, data[start::5])["moment"] for start in range(5)])

    declared = dp.FoldMoments(folds=5).sensitivity(rows)["moments"].l2_squared
    moved = [int(each) for each in (by_position(values) - by_position(values[1:])).ravel()]
    assert sum(each**2 for each in moved) > 4 * declared
    exact = (
        parts(dp.FoldMoments(folds=5), rows, values)["moments"]
        - parts(dp.FoldMoments(folds=5), rows, values[1:])["moments"]
    )
    assert sum(int(each) ** 2 for each in exact.ravel()) <= declared
