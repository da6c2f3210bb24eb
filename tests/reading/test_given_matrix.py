"""A matrix that was computed elsewhere, as integers: exact, for any entries, and no farther apart than declared."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import dpframe as dp
from dpframe import sensitivity
from dpframe.reading.given_matrix import GivenMatrix

Floats = NDArray[np.float64]
EDGES = st.sampled_from(
    [0.0, -0.0, 2.0**-32, -(2.0**-33), 3 * 2.0**-33, 0.5, 1e9, 2.0**35, 1e200, -1e308, 5e-324, math.nan, math.inf]
)
ENTRIES = st.one_of(EDGES, st.floats(-1e3, 1e3))


def promise(
    dim: int, *, frobenius: float | None = None, trace_norm: float | None = None, hermitian: bool = False
) -> dp.Matrix:
    bound = 1.0 if frobenius is None and trace_norm is None else trace_norm
    return dp.Matrix(neighbors="replace", dim=dim, frobenius=frobenius, trace_norm=bound, complex=hermitian)


def exact(values: Any, given: dp.Matrix) -> list[list[Fraction]]:
    """The symmetric part in lattice units, before it is rounded, in rational numbers."""
    largest, unit = Fraction(given.largest), Fraction(4) ** given.halvings

    def taken(entry: Any) -> Fraction:
        if isinstance(entry, float) and not math.isfinite(entry):
            return Fraction(0)
        return min(max(Fraction(entry), -largest), largest) * unit

    rows = [[taken(entry) for entry in row] for row in values.tolist()]
    return [[(rows[i][j] + rows[j][i]) / 2 for j in range(len(rows))] for i in range(len(rows))]


def difference(one: Any, other: Any) -> NDArray[Any]:
    return np.array(one.astype(object) - other.astype(object), dtype=object)


@settings(max_examples=200, deadline=None)
@given(hnp.arrays(np.float64, (3, 3), elements=ENTRIES), st.sampled_from([1.0, 0.3, 1e-140, 1e140]))
def test_within_one_of_the_exact_symmetric_part(values: Floats, bound: float) -> None:
    given_ = promise(3, trace_norm=bound)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        integers = GivenMatrix(values).moment(given_)
    assert np.array_equal(integers, integers.T)
    for i, row in enumerate(exact(values, given_)):
        for j, entry in enumerate(row):
            assert abs(int(integers[i, j]) - entry) <= 1


@settings(max_examples=100, deadline=None)
@given(
    hnp.arrays(np.int64, (2, 2), elements=st.sampled_from([0, 1, -1, 2**62 + 1, -(2**63), 2**53 + 1, 7])),
    st.sampled_from([1.0, 1e9, 1e12, 1e140, 1e-140]),
)
def test_integers_of_64_bits_are_not_taken_by_way_of_floats(values: Any, bound: float) -> None:
    given_ = promise(2, frobenius=bound)
    integers = GivenMatrix(values).moment(given_)
    for i, row in enumerate(exact(values, given_)):
        for j, entry in enumerate(row):
            assert abs(int(integers[i, j]) - entry) <= 1


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint8, np.int32, np.uint64, np.dtype(">f8")])
def test_types(dtype: Any) -> None:
    values = np.array([[3, 1], [1, 2]], dtype=dtype)
    assert (GivenMatrix(values).moment(promise(2)) == np.array([[3, 1], [1, 2]]) * 2**32).all()


@settings(max_examples=200, deadline=None)
@given(
    base=hnp.arrays(np.float64, (4, 4), elements=st.floats(-3, 3)),
    step=hnp.arrays(np.float64, (4, 4), elements=st.floats(-1, 1)),
    places=hnp.arrays(np.int64, (4, 4), elements=st.integers(-2, 2)),
)
def test_no_two_matrices_are_moved_farther_than_declared(base: Floats, step: Floats, places: Any) -> None:
    """Differences of exactly a bound, from points between those of the lattice; asymmetric ones among them."""
    base = base + places * 2.0**-32  # the middle of two points
    sizes = np.linalg.svd(step, compute_uv=False)
    if sizes.sum() < 1e-3:
        return
    for name, size in (("frobenius", math.sqrt((sizes**2).sum())), ("trace_norm", sizes.sum())):
        given_ = promise(4, frobenius=1.0) if name == "frobenius" else promise(4, trace_norm=1.0)
        other = base + step / (size * (1 + 1e-12))
        moved = difference(GivenMatrix(other).moment(given_), GivenMatrix(base).moment(given_))
        squares = int((moved**2).sum())
        assert squares <= sensitivity.moment(given_).l2_squared
        if name == "trace_norm":
            values = np.linalg.eigvalsh(moved.astype(np.float64))
            total = float(np.abs(values).sum())  # its floating-point error is below 1e-4 units
            assert total <= sensitivity.moment_trace_norm(given_) + 1e-4
            assert values[-1] - values[0] <= sensitivity.score(given_) + 1e-4  # a spread between two projectors


def test_the_rounding_is_needed_in_the_sensitivity() -> None:
    """Entries just below and just above the middle of two points: a difference of the bound is 2 more in each entry."""
    dim, unit = 4, 2.0**-32
    given_ = promise(dim, frobenius=1.0)
    low = np.full((dim, dim), unit * (1 - 2.0**-9))
    moved = difference(*(GivenMatrix(each).moment(given_) for each in (low + 0.25 + unit * 2.0**-8, low)))
    exact_bound = Fraction(dim) * (Fraction(1, 4) + Fraction(unit) / 256) / Fraction(unit)
    assert math.isqrt(int((moved**2).sum())) >= exact_bound + 2 * dim - Fraction(1, 8)
    assert (
        math.isqrt(sensitivity.moment(promise(dim, frobenius=1.0 + dim * unit / 256)).l2_squared)
        >= exact_bound + 2 * dim
    )


def test_sorted_eigenvalues_move_by_at_most_the_trace_norm() -> None:
    random = np.random.default_rng(0)
    given_ = promise(5, trace_norm=1.0)
    declared = sensitivity.eigenvalues(given_)
    assert declared.l1 is not None
    most = 0.0
    for _ in range(300):
        basis = np.linalg.qr(random.standard_normal((5, 5)))[0]
        signs = random.dirichlet(np.full(5, 0.3)) * random.choice([-1.0, 1.0], 5)
        base = random.standard_normal((5, 5)) * random.choice([0.01, 1.0, 100.0])
        pair = [GivenMatrix(base + part).moment(given_) for part in (np.zeros((5, 5)), (basis * signs) @ basis.T)]
        shift = np.subtract(*(np.linalg.eigvalsh(each.astype(np.float64)) for each in pair))
        most = max(most, float(np.abs(shift).sum()))
        assert np.abs(shift).sum() <= declared.l1 + 1e-2
        assert (shift**2).sum() <= declared.l2_squared * (1 + 1e-9)
    assert most > 0.9 * declared.l1


PARTS = st.one_of(EDGES, st.floats(-3, 3))


@settings(max_examples=150, deadline=None)
@given(hnp.arrays(np.float64, (2, 3, 3), elements=PARTS))
def test_the_hermitian_part_of_a_complex_matrix(parts: Floats) -> None:
    given_ = promise(3, hermitian=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = np.empty((3, 3), dtype=np.complex128)
        values.real, values.imag = parts
        real, imaginary = GivenMatrix(values).moment(given_)
    assert np.array_equal(real, real.T)
    assert np.array_equal(imaginary, -imaginary.T)
    for i, row in enumerate(exact(parts[0], given_)):
        for j, entry in enumerate(row):
            assert abs(int(real[i, j]) - entry) <= 1
    doubled = exact(np.block([[np.zeros((3, 3)), parts[1]], [-parts[1], np.zeros((3, 3))]]), given_)
    for i in range(3):  # the symmetric part of [[0, B], [−B, 0]] has (B − Bᵀ)/2 in its corner
        for j in range(3):
            assert abs(int(imaginary[i, j]) - doubled[i][3 + j]) <= 1


@settings(max_examples=150, deadline=None)
@given(
    base=hnp.arrays(np.float64, (2, 3, 3), elements=st.floats(-3, 3)),
    step=hnp.arrays(np.float64, (2, 3, 3), elements=st.floats(-1, 1)),
)
def test_no_two_complex_matrices_are_moved_farther_than_declared(base: Floats, step: Floats) -> None:
    difference_ = step[0] + 1j * step[1]
    sizes = np.linalg.svd(difference_, compute_uv=False)
    if sizes.sum() < 1e-3:
        return
    given_ = promise(3, trace_norm=1.0, hermitian=True)
    ground = base[0] + 1j * base[1]
    other = ground + difference_ / (sizes.sum() * (1 + 1e-12))
    moved = GivenMatrix(other).moment(given_) - GivenMatrix(ground).moment(given_)
    values = np.linalg.eigvalsh(moved[0].astype(np.float64) + 1j * moved[1].astype(np.float64))
    assert int((moved.astype(object) ** 2).sum()) <= sensitivity.moment(given_).l2_squared
    assert float(np.abs(values).sum()) <= sensitivity.moment_trace_norm(given_) + 1e-4


def test_the_rounding_of_complex_entries_is_in_the_sensitivity() -> None:
    """Real and imaginary parts of all entries off the diagonal are moved by 2 more."""
    dim, unit = 4, 2.0**-32
    upper = np.triu(np.ones((dim, dim)), 1)
    below, above = unit * (1 - 2.0**-9), unit * (1 + 2.0**-9)
    low, high = (part * (np.ones((dim, dim)) + 1j * (upper - upper.T)) for part in (below, above))
    given_ = promise(dim, frobenius=1e-3, trace_norm=1.0, hermitian=True)
    moved = GivenMatrix(high).moment(given_) - GivenMatrix(low).moment(given_)
    assert int((moved**2).sum()) == 4 * dim**2 + 4 * dim * (dim - 1)
    extra = math.isqrt(sensitivity.moment(given_).l2_squared) - math.ceil(Fraction(1e-3) * 2**32)
    assert extra**2 >= 4 * dim**2 + 4 * dim * (dim - 1)


def test_nothing_is_shown() -> None:
    assert "7.25" not in repr(GivenMatrix(np.full((2, 2), 7.25)))


@pytest.mark.parametrize("entry", [0.0, math.nan, 1e300, -1e300, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("bound", [1e-140, 1.0, 1e140])
def test_integers_of_64_bits_hold_any_matrix_and_its_noise(entry: float, bound: float) -> None:
    """So no type, and no time or memory that goes with it, depends on the entries."""
    integers = GivenMatrix(np.full((2, 2), entry)).moment(promise(2, trace_norm=bound))
    assert integers.dtype == np.int64
    assert int(np.abs(integers).max()) <= 2**62
