"""The map from a row to integers: exact, bounded, and a function of that row alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from dpframe import lattice
from dpframe.lattice import RADIUS, gram, inner_radius, integer_rows

ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True, width=64)
MATRICES = hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 9)), elements=ANY_FLOAT)


def exact_squares(integers: NDArray[Any]) -> list[int]:
    return [sum(int(value) ** 2 for value in row) for row in integers]


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 16, 17, 100, 1023, 5000])
def test_half_root_is_the_smallest_bound_on_the_rounding_of_a_row(dim: int) -> None:
    half = lattice.ceil_half_root(dim)
    assert 4 * half**2 >= dim
    assert 4 * (half - 1) ** 2 < dim


@settings(max_examples=400, deadline=None)
@given(values=MATRICES, norm=st.floats(1e-100, 1e100))
def test_no_row_is_longer_than_the_radius_whatever_it_holds(values: NDArray[np.float64], norm: float) -> None:
    integers, lost = integer_rows(values, norm)
    assert (integers == np.rint(integers)).all()
    assert max(exact_squares(integers)) <= RADIUS**2
    finite = np.isfinite(values).all(axis=1)
    assert (np.zeros(len(values), dtype=bool) if lost is None else lost).tolist() == (~finite).tolist()
    assert not integers[~finite].any()


@pytest.mark.parametrize("dim", [1, 4, 16, 64, 100])
def test_worst_case_rounding_of_rows_at_the_norm_stays_within_the_radius(dim: int) -> None:
    # Every coordinate at a half-integer rounds up by 1/2: the triangle inequality is tight.
    entry = np.floor(inner_radius(dim) / np.sqrt(dim)) + 0.5
    for norm in (1.0, np.sqrt(dim) * entry, 3.7e11):
        rows = np.full((3, dim), entry * norm / inner_radius(dim))
        integers, _ = integer_rows(rows, norm)
        assert max(exact_squares(integers)) <= RADIUS**2
    longer = np.full((3, dim), 1e3)
    assert max(exact_squares(integer_rows(longer, 1.0)[0])) <= RADIUS**2


@settings(max_examples=200, deadline=None)
@given(values=MATRICES, data=st.data())
def test_a_rows_integers_do_not_depend_on_the_other_rows(values: NDArray[np.float64], data: Any) -> None:
    norm = data.draw(st.sampled_from([1e-3, 1.0, 1e5]))
    together, _ = integer_rows(values, norm)
    alone = np.concatenate([integer_rows(row[None, :], norm)[0] for row in values])
    order = data.draw(st.permutations(range(len(values))))
    shuffled, _ = integer_rows(np.asfortranarray(values[list(order)]), norm)
    padded, _ = integer_rows(np.concatenate([np.zeros((7, values.shape[1])), values]), norm)
    assert np.array_equal(together, alone)
    assert np.array_equal(together[list(order)], shuffled)
    assert np.array_equal(together, padded[7:])


def test_rows_within_the_norm_are_rounded_and_longer_ones_keep_their_direction() -> None:
    step = 1.0 / inner_radius(3)
    rows = np.array([[0.3, -0.2, 0.1], [3.0, 4.0, 0.0], [1e151, -1e151, 1e151], [5e-324, 0.0, -5e-324]])
    integers, lost = integer_rows(rows, 1.0)
    assert lost is None
    assert np.abs(integers[0] * step - rows[0]).max() <= step / 2
    assert np.abs(integers[1] * step - [0.6, 0.8, 0.0]).max() <= step
    assert np.abs(integers[2] * step - np.array([1, -1, 1]) / np.sqrt(3)).max() <= step
    assert not integers[3].any()


def test_the_largest_doubles_are_scaled_down_not_lost() -> None:
    largest = np.finfo(np.float64).max
    integers, lost = integer_rows(np.array([[largest, -largest], [largest, 0.0]]), 1e-100)
    assert lost is None
    assert integers[1].tolist() == [inner_radius(2), 0]
    assert integers[0, 0] == -integers[0, 1] == np.rint(inner_radius(2) / np.sqrt(2))


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, np.longdouble, np.int8, np.int64, np.uint16, bool]
)
def test_every_real_dtype_gives_the_integers_of_its_values(dtype: Any) -> None:
    values = np.array([[0, 1, 1], [1, 0, 0], [1, 1, 1]]).astype(dtype)
    expected, _ = integer_rows(values.astype(np.float64), 1.5)
    assert np.array_equal(expected, integer_rows(values, 1.5)[0])


def test_gram_is_exact_at_the_largest_block() -> None:
    rows = np.full((lattice.MAX_BLOCK_ROWS, 1), float(RADIUS))
    assert gram(rows)[0, 0] == lattice.MAX_BLOCK_ROWS * RADIUS**2 == 2**53
    with pytest.raises(ValueError, match="would not be exact"):
        gram(np.zeros((lattice.MAX_BLOCK_ROWS + 1, 1)))


def test_gram_equals_python_integers() -> None:
    rng = np.random.default_rng(5)
    integers, _ = integer_rows(rng.standard_normal((200, 4)), 1.0)
    expected = [[sum(int(r[i]) * int(r[j]) for r in integers) for j in range(4)] for i in range(4)]
    assert expected == gram(integers).tolist()
