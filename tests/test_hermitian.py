"""Complex rows and Hermitian matrices as real ones: the same lengths, moments, products and spectra."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpframe import hermitian

DIM = 4


def gaussian_integers(*shape: int, seed: int = 0, size: int = 1000) -> NDArray[np.complex128]:
    random = np.random.default_rng(seed)
    found: NDArray[np.complex128] = random.integers(-size, size, shape) + 1j * random.integers(-size, size, shape)
    return found


@pytest.mark.parametrize("dtype", ["c8", "c16", ">c16", "G"])
def test_real_rows_have_the_same_numbers_in_any_layout(dtype: str) -> None:
    rows = gaussian_integers(7, DIM).astype(dtype)
    for each in (rows, np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2], rows[::-1][::-1]):
        real = hermitian.real_rows(each)
        assert (7, 2 * DIM) == real.shape
        assert rows.real.tolist() == real[:, ::2].tolist()
        assert rows.imag.tolist() == real[:, 1::2].tolist()
    assert (0, 2 * DIM) == hermitian.real_rows(rows[:0]).shape


def test_the_moment_follows_from_the_gram_matrix_of_real_rows() -> None:
    rows = gaussian_integers(50, DIM)
    expected = sum(np.outer(row, row.conj()) for row in rows)
    real = hermitian.real_rows(rows).astype(np.int64)
    parts = hermitian.of_gram(real.T @ real)
    assert np.array_equal(expected, hermitian.as_complex(parts))
    assert np.int64 == parts.dtype
    assert np.array_equal(parts[0], parts[0].T)
    assert np.array_equal(parts[1], -parts[1].T)
    huge = hermitian.of_gram((real.T @ real).astype(object) * 2**70)
    assert (parts.astype(object) * 2**70).tolist() == huge.tolist()


def test_doubling_keeps_sums_products_transposes_and_norms() -> None:
    one, other = gaussian_integers(DIM, DIM), gaussian_integers(DIM, DIM, seed=1)
    double = hermitian.doubled
    assert np.array_equal(double(one) + double(other), double(one + other))
    assert np.array_equal(double(one) @ double(other), double(one @ other))
    assert np.array_equal(double(one).T, double(one.conj().T))
    assert np.array_equal(double(one), double(np.stack([one.real, one.imag])))
    assert np.linalg.norm(double(one)) == pytest.approx(np.sqrt(2) * np.linalg.norm(one))
    assert np.linalg.norm(double(one), 2) == pytest.approx(np.linalg.norm(one, 2))


def test_a_doubled_hermitian_matrix_has_each_eigenvalue_twice() -> None:
    one = gaussian_integers(DIM, DIM)
    matrix = one @ one.conj().T
    values = np.linalg.eigvalsh(hermitian.doubled(matrix))
    assert np.repeat(np.linalg.eigvalsh(matrix), 2) == pytest.approx(values)
