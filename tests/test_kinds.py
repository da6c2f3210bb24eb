"""Kinds: each accepts what it names and nothing else; values compare by content."""

from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import dpframe.plugin as dp
from dpframe.kinds import titles

NAN, INFINITY = float("nan"), float("inf")
SQUARE = [[2.0, 1.0], [1.0, 3.0]]
AXES = dp.Axes(("age", "hours"), (36.5, 49.0), (53.5, 50.0))

GOOD: list[tuple[type[dp.Kind], Any, dict[str, Any]]] = [
    (dp.HermitianMatrix, [[2.0, 1j], [-1j, 3.0]], {}),
    (dp.HermitianMatrix, SQUARE, {}),
    (dp.SymmetricMatrix, SQUARE, {}),
    (dp.SymmetricMatrix, [[-1.0]], {}),
    (dp.Covariance, SQUARE, {}),
    (dp.AugmentedMoment, SQUARE, {"constant": 0.5}),
    (dp.Spectrum, [3.0, 2.0, 2.0, 0.0], {}),
    (dp.Subspace, [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], {}),
    (dp.ComplexSubspace, [[0.6], [0.8j]], {}),
    (dp.Loadings, [[3.0, 4.0]], {}),
    (dp.Vector, [1.0, -2.0], {}),
    (dp.Mean, [1.0, -2.0], {}),
    (dp.Scalar, 3.5, {}),
]
good = pytest.mark.parametrize(("kind", "value", "more"), GOOD, ids=lambda part: getattr(part, "__name__", None))


@good
def test_good_values(kind: type[dp.Kind], value: Any, more: dict[str, Any]) -> None:
    made = kind(value, **more)
    assert np.array_equal(np.asarray(value), made.array)
    assert made.array.dtype in (np.float64, np.complex128)
    assert not made.array.flags.writeable
    assert made.axes is None
    assert made is kind.of(made)


BAD = [
    *(
        (kind, value, more, "finite numbers")
        for kind, more in [
            (dp.HermitianMatrix, {}),
            (dp.SymmetricMatrix, {}),
            (dp.Covariance, {}),
            (dp.AugmentedMoment, {"constant": 1.0}),
            (dp.Subspace, {}),
            (dp.Loadings, {}),
        ]
        for value in ([[NAN, 0.0], [0.0, 1.0]], [[INFINITY, 0.0], [0.0, 1.0]], [["a", "b"], ["b", "a"]])
    ),
    *(
        (kind, [value], {}, "finite numbers")
        for kind in (dp.Spectrum, dp.Vector, dp.Mean)
        for value in (NAN, "a", None)
    ),
    *((dp.Scalar, value, {}, "finite numbers") for value in (NAN, INFINITY, "a", None, object())),
    *(
        (kind, value, {}, "equal rows and columns")
        for kind in (dp.HermitianMatrix, dp.SymmetricMatrix, dp.Covariance)
        for value in ([[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0], 1.0, np.zeros((2, 2, 2)))
    ),
    (dp.HermitianMatrix, [[1.0, 1j], [1j, 1.0]], {}, "conjugate to each other"),
    (dp.HermitianMatrix, [[1j]], {}, "conjugate to each other"),
    *((kind, [[2.0, 1j], [-1j, 3.0]], {}, "real entries") for kind in (dp.SymmetricMatrix, dp.Covariance)),
    *(
        (dp.AugmentedMoment, value, {"constant": 1.0}, "equal rows and columns, at least two")
        for value in ([[1.0]], [[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0])
    ),
    (dp.AugmentedMoment, [[1j, 0.0], [0.0, 1.0]], {"constant": 1.0}, "real"),
    *((dp.AugmentedMoment, SQUARE, {"constant": constant}, "constant") for constant in (0.0, NAN, "1")),
    (dp.Spectrum, [1.0, 2.0], {}, "sorted from the largest"),
    (dp.Spectrum, [1.0, -1.0], {}, "no negative values"),
    *((dp.Spectrum, value, {}, "one row of numbers") for value in (SQUARE, 1.0, [])),
    (dp.Spectrum, [1j], {}, "one row of numbers"),
    (dp.Subspace, [[1.0, 0.0]], {}, "no more than rows"),
    (dp.Subspace, [[0.6], [0.8j]], {}, "real entries"),
    (dp.Subspace, [1.0], {}, "columns"),
    (dp.Subspace, [[1.0], [1.0]], {}, "orthonormal columns"),
    (dp.Subspace, [[1.0, 1.0], [0.0, 0.0]], {}, "orthonormal columns"),
    (dp.Loadings, [1.0], {}, "two dimensions"),
    *((kind, value, {}, "one dimension") for kind in (dp.Vector, dp.Mean) for value in (SQUARE, 1.0)),
    (dp.Scalar, [1.0], {}, "no dimensions"),
    *((kind, [[1.0], [1.0, 2.0]], {}, kind.title) for kind in (dp.SymmetricMatrix, dp.Vector, dp.Scalar)),
]


@pytest.mark.parametrize(("kind", "value", "more", "message"), BAD)
def test_bad_values(kind: type[dp.Kind], value: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(dp.PlanError) as caught:
        kind(value, **more)
    assert message in str(caught.value)
    assert kind.title in str(caught.value)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.bool_, np.float32, np.float16])
def test_numbers_become_doubles(dtype: Any) -> None:
    made = dp.SymmetricMatrix(np.eye(2, dtype=dtype))
    assert np.float64 == made.array.dtype
    assert dp.SymmetricMatrix(np.eye(2)) == made


def test_messages_have_the_shape_and_no_values() -> None:
    with pytest.raises(
        dp.PlanError, match=r"^a symmetric matrix must have equal rows .*; got an array of shape \(1, 2\)\.$"
    ):
        dp.SymmetricMatrix([[1234.5, 0.0]])


def test_titles() -> None:
    assert "a covariance matrix or a mean" == titles([dp.Covariance, dp.Mean])
    every = [kind for kind, _, _ in GOOD]
    assert len(set(every)) == len({kind.title for kind in every})


def test_kinds_of_kinds() -> None:
    assert issubclass(dp.Covariance, dp.SymmetricMatrix)
    assert issubclass(dp.SymmetricMatrix, dp.HermitianMatrix)
    assert issubclass(dp.Subspace, dp.ComplexSubspace)
    assert issubclass(dp.Mean, dp.Vector)
    assert not issubclass(dp.AugmentedMoment, dp.HermitianMatrix)  # it must be centered first


@good
def test_equality(kind: type[dp.Kind], value: Any, more: dict[str, Any]) -> None:
    made, same = kind(value, **more), kind(np.array(value), **more)
    assert made == same
    assert hash(made) == hash(same)
    assert {made} == {made, same}
    assert made != attrs.evolve(
        made, array=made.array * 0.0 if not issubclass(kind, dp.ComplexSubspace) else made.array[::-1]
    )
    assert made != value
    assert made != "value"


def test_equality_looks_at_the_kind() -> None:
    assert dp.SymmetricMatrix(SQUARE) != dp.Covariance(SQUARE)
    assert dp.Covariance(SQUARE) != dp.SymmetricMatrix(SQUARE)
    assert dp.Vector([1.0]) != dp.Mean([1.0])


def test_equality_looks_at_the_axes() -> None:
    assert dp.Covariance(SQUARE, axes=AXES) == dp.Covariance(SQUARE, axes=AXES)
    assert dp.Covariance(SQUARE, axes=AXES) != dp.Covariance(SQUARE)
    assert dp.Covariance(SQUARE, axes=AXES) != dp.Covariance(SQUARE, axes=AXES.in_units)


def test_equality_looks_at_the_constant() -> None:
    assert dp.AugmentedMoment(SQUARE, constant=0.5) == dp.AugmentedMoment(SQUARE, constant=0.5)
    assert dp.AugmentedMoment(SQUARE, constant=0.5) != dp.AugmentedMoment(SQUARE, constant=0.25)


def test_equality_looks_at_the_shape() -> None:
    assert dp.Loadings([[1.0, 2.0]]) != dp.Loadings([[1.0], [2.0]])
    assert dp.Vector([1.0]) != dp.Vector([1.0, 1.0])


@settings(deadline=None)
@given(arrays(np.float64, st.integers(1, 3), elements=st.sampled_from([0.0, -0.0, 1.0, 5e-324])))
def test_equal_values_have_equal_hashes(values: Any) -> None:
    one, same = dp.Vector(values), dp.Vector(np.where(values == 0.0, 0.0, values))
    assert one == same
    assert hash(one) == hash(same)


numbers = st.floats(allow_nan=False, allow_infinity=False)


@settings(deadline=None)
@given(st.lists(numbers, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_spectrum_from_noisy(values: list[float], random: Any) -> None:
    spectrum = dp.Spectrum.from_noisy(values)
    assert sorted((max(value, 0.0) for value in values), reverse=True) == spectrum.array.tolist()
    random.shuffle(values)
    assert spectrum == dp.Spectrum.from_noisy(values)
    assert spectrum == dp.Spectrum.from_noisy(spectrum.array)


def test_spectrum_from_noisy_leaves_its_argument_alone() -> None:
    values = np.array([-1.0, 2.0])
    assert [2.0, 0.0] == dp.Spectrum.from_noisy(values).array.tolist()
    assert [-1.0, 2.0] == values.tolist()


@pytest.mark.parametrize("values", [[], [NAN], [INFINITY], SQUARE], ids=str)
def test_spectrum_from_noisy_refuses(values: Any) -> None:
    with pytest.raises(dp.PlanError, match="a spectrum must have"):
        dp.Spectrum.from_noisy(values)


def test_values_are_frozen() -> None:
    made = dp.Vector([1.0])
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.array = np.zeros(1)  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        made.array[0] = 2.0


def test_axes() -> None:
    made = dp.Axes.empty().with_axis("age", 36.5, 53.5).with_axis("hours", 49.0, 50.0)
    assert (AXES.labels, AXES.scale, AXES.offset) == (made.labels, made.scale, made.offset)
    assert (AXES.labels, (1.0, 1.0), (0.0, 0.0)) == (made.in_units.labels, made.in_units.scale, made.in_units.offset)


def test_an_array_is_copied_unless_nobody_can_write_to_it() -> None:
    mine = np.array(SQUARE)
    view = mine.view()
    view.setflags(write=False)
    for given_array in (mine, view):
        kept = dp.SymmetricMatrix(given_array)
        mine[0, 0] += 1.0
        assert 1.0 == float(mine[0, 0] - kept.array[0, 0])
    owned = np.array(SQUARE)
    owned.setflags(write=False)
    assert dp.SymmetricMatrix(owned).array is owned
