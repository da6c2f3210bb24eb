"""Kinds of released values: the types of the results and inputs of steps.

A value is a read-only array with the names and units of its coordinates. Kinds are checked when a plan is built, values
when they are constructed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpframe import validators
from dpframe.errors import PlanError


@attrs.frozen
class Axes:
    """Names of the coordinates and the map back to their units: original = offset + scale · coordinate.

    Args:
        labels: the name of each coordinate.
        scale: the factor of each coordinate.
        offset: the original value at coordinate 0.
        unit: the unit of each original value; "" if it has none.
    """

    labels: tuple[str, ...]
    scale: tuple[float, ...]
    offset: tuple[float, ...]
    unit: tuple[str, ...] = attrs.Factory(lambda axes: ("",) * len(axes.labels), takes_self=True)

    @classmethod
    def empty(cls) -> Axes:
        """Axes of no coordinates."""
        return cls((), (), (), ())

    def with_axis(self, label: str, scale: float, offset: float, unit: str = "") -> Axes:
        """These axes followed by one more."""
        return Axes((*self.labels, label), (*self.scale, scale), (*self.offset, offset), (*self.unit, unit))

    @property
    def in_units(self) -> Axes:
        """The axes of a value that is already in its original units: scale 1 and offset 0."""
        return Axes(self.labels, (1.0,) * len(self.labels), (0.0,) * len(self.labels), self.unit)


def _read_only(values: ArrayLike) -> NDArray[Any]:
    """The values as a read-only array: a copy, unless the array owns its memory and is already read-only."""
    if type(values) is np.ndarray and values.base is None and not values.flags.writeable:
        array: NDArray[Any] = values
    else:
        try:
            array = np.array(values)
        except ValueError:  # a ragged list, refused below since None is not a number
            array = np.array(None)
    if array.dtype.kind in "biuf":
        array = array.astype(np.float64, copy=False)
    if array.dtype.kind == "c":
        array = array.astype(np.complex128, copy=False)
    array.setflags(write=False)
    return array


@attrs.frozen(eq=False, slots=False)
class Kind:
    """Base of all kinds.

    Args:
        array: the value; real numbers are stored as float64, complex ones as complex128.
        axes: names and units of the coordinates, if they have any.
    """

    title: ClassVar[str] = "a value"

    array: NDArray[Any] = attrs.field(converter=_read_only)
    axes: Axes | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.array.dtype.kind not in "fc" or not np.isfinite(self.array).all():
            raise self._refused("finite numbers")

    @classmethod
    def of(cls, value: Any) -> Self:
        """Make a value of this kind from one written in a plan, such as a list."""
        return value if isinstance(value, cls) else cls(value)

    def _refused(self, requirement: str) -> PlanError:
        return PlanError(f"{self.title} must have {requirement}; got an array of shape {self.array.shape}.")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (
            self.beside == other.beside
            and self.array.dtype == other.array.dtype
            and np.array_equal(self.array, other.array)
        )

    def __hash__(self) -> int:
        return hash((type(self), self.array.shape, (self.array + 0.0).tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), {field.name: getattr(self, field.name) for field in attrs.fields(type(self))})

    @property
    def beside(self) -> tuple[Any, ...]:
        """Everything that is released with the array: axes and, in some kinds, a constant."""
        return tuple(getattr(self, field.name) for field in attrs.fields(type(self)) if field.name != "array")


def _restored(kind: type[Kind], fields: dict[str, Any]) -> Kind:
    """A value that was pickled or copied, read-only as it was: NumPy makes new arrays writeable."""
    value = object.__new__(kind)
    for name, part in fields.items():
        object.__setattr__(value, name, part)
    value.array.setflags(write=False)
    return value


@attrs.frozen(eq=False, slots=False)
class HermitianMatrix(Kind):
    """A complex matrix equal to its conjugate transpose."""

    title = "a Hermitian matrix"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.ndim != 2 or not np.array_equal(self.array, self.array.conj().T):
            raise self._refused("equal rows and columns, conjugate to each other")


@attrs.frozen(eq=False, slots=False)
class SymmetricMatrix(HermitianMatrix):
    """A real symmetric matrix."""

    title = "a symmetric matrix"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.dtype.kind != "f":
            raise self._refused("real entries")


@attrs.frozen(eq=False, slots=False)
class Covariance(SymmetricMatrix):
    """A covariance matrix: a symmetric matrix of centered rows."""

    title = "a covariance matrix"


@attrs.frozen(eq=False, slots=False)
class AugmentedMoment(Kind):
    """The second moment of rows whose last coordinate is constant; it contains the count, mean and covariance.

    Args:
        constant: the constant coordinate, in the units of the other coordinates.
    """

    title = "an augmented moment"

    constant: float = attrs.field(kw_only=True)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.ndim != 2 or not np.array_equal(self.array, self.array.T) or len(self.array) < 2:
            raise self._refused("equal rows and columns, at least two")
        if self.array.dtype.kind != "f":
            raise self._refused("real entries")
        if not (validators.is_finite(self.constant) and self.constant > 0):
            raise self._refused("a positive constant")


@attrs.frozen(eq=False, slots=False)
class FoldedMoment(Kind):
    """Second moments of disjoint folds of the rows, one below the other.

    Args:
        folds: their number.
        constant: the constant coordinate of the rows, the last one; None without it.
    """

    title = "moments of folds"

    folds: int = attrs.field(kw_only=True)
    constant: float | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if not (validators.is_int(self.folds) and self.folds > 1):
            raise self._refused("at least two folds")
        if self.array.ndim != 2 or self.array.shape != (self.folds * self.array.shape[1], self.array.shape[1]):
            raise self._refused("a square matrix for each fold, one below the other")
        if self.array.dtype.kind != "f" or not np.array_equal(self.moments, self.moments.transpose(0, 2, 1)):
            raise self._refused("real and symmetric matrices")
        if self.constant is not None and not (validators.is_finite(self.constant) and self.constant > 0):
            raise self._refused("a positive constant")

    @property
    def moments(self) -> NDArray[Any]:
        """The moment of each fold, (folds, width, width)."""
        return self.array.reshape(self.folds, self.array.shape[1], self.array.shape[1])


@attrs.frozen(eq=False, slots=False)
class AugmentedSum(Kind):
    """The sum of rows whose last coordinate is constant; it contains the count and the mean.

    Args:
        constant: the constant coordinate, in the units of the other coordinates.
    """

    title = "an augmented sum"

    constant: float = attrs.field(kw_only=True)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.ndim != 1 or len(self.array) < 2 or self.array.dtype.kind != "f":
            raise self._refused("one row of numbers, at least two")
        if not (validators.is_finite(self.constant) and self.constant > 0):
            raise self._refused("a positive constant")


@attrs.frozen(eq=False, slots=False)
class Spectrum(Kind):
    """Eigenvalues in descending order, none of them negative."""

    title = "a spectrum"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.ndim != 1 or not len(self.array) or self.array.dtype.kind != "f":
            raise self._refused("one row of numbers")
        if (np.diff(self.array) > 0).any() or (self.array < 0).any():
            raise self._refused("no negative values, sorted from the largest")

    @classmethod
    def from_noisy(cls, values: ArrayLike) -> Spectrum:
        """Sort noisy eigenvalues and set negative ones to zero: post-processing of released values."""
        return cls(np.sort(np.maximum(np.asarray(values, dtype=np.float64), 0.0))[::-1])


@attrs.frozen(eq=False, slots=False)
class ComplexSubspace(Kind):
    """A complex orthonormal basis, in the columns of a (dim, k) matrix, the leading direction first."""

    title = "a complex subspace"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.ndim != 2 or not 1 <= self.array.shape[1] <= self.array.shape[0]:
            raise self._refused("columns, at least one and no more than rows")
        overlap = self.array.conj().T @ self.array
        if not np.allclose(overlap, np.eye(len(overlap)), atol=1e-6):
            raise self._refused("orthonormal columns")


@attrs.frozen(eq=False, slots=False)
class Subspace(ComplexSubspace):
    """A real orthonormal basis, in the columns of a (dim, k) matrix, the leading direction first."""

    title = "a subspace"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.dtype.kind != "f":
            raise self._refused("real entries")


@attrs.frozen(eq=False, slots=False)
class Loadings(Kind):
    """Directions in the units of the original columns, (dim, k)."""

    title = "loadings"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.ndim != 2:
            raise self._refused("two dimensions")


@attrs.frozen(eq=False, slots=False)
class Vector(Kind):
    """One number per coordinate or per component."""

    title = "a vector"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.ndim != 1:
            raise self._refused("one dimension")


@attrs.frozen(eq=False, slots=False)
class Scales(Vector):
    """One positive number per coordinate, by which coordinates are divided."""

    title = "scales"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.dtype.kind != "f" or not (self.array > 0.0).all():
            raise self._refused("positive numbers")


@attrs.frozen(eq=False, slots=False)
class LinearMap(Kind):
    """A square matrix by which rows are multiplied."""

    title = "a linear map"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.ndim != 2 or self.array.shape[0] != self.array.shape[1] or self.array.dtype.kind != "f":
            raise self._refused("as many rows as columns of numbers")


@attrs.frozen(eq=False, slots=False)
class Radii(Vector):
    """Two bounds on lengths: of the projection on a subspace, and of that on its orthogonal complement."""

    title = "a pair of radii"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.shape != (2,) or not (self.array > 0.0).all():
            raise self._refused("two positive numbers")


@attrs.frozen(eq=False, slots=False)
class Mean(Vector):
    """The mean of the rows."""

    title = "a mean"


@attrs.frozen(eq=False, slots=False)
class LinearModel(Vector):
    """A linear model of one column: a slope for each feature, in the units of the columns, and the intercept, last.

    Args:
        target: the column that is predicted.
        penalty: what was added to the variance of every feature, in the coordinates of the covariance.
        r_squared: the share of the variance of the target that these slopes explain on the rows, estimated.
    """

    title = "a linear model"

    target: str = attrs.field(kw_only=True)
    penalty: float = attrs.field(kw_only=True)
    r_squared: float = attrs.field(kw_only=True)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if len(self.array) < 2 or self.array.dtype.kind != "f":
            raise self._refused("one slope at least, and an intercept")
        if not isinstance(self.target, str) or not self.target:
            raise self._refused("the name of its target")
        if not (validators.is_finite(self.penalty) and self.penalty >= 0.0):
            raise self._refused("a penalty of at least 0")
        if not (validators.is_finite(self.r_squared) and 0.0 <= self.r_squared <= 1.0):
            raise self._refused("an R² from 0 to 1")

    @property
    def slopes(self) -> NDArray[Any]:
        """The slope of each feature, in the units of the columns."""
        return self.array[:-1]

    @property
    def intercept(self) -> float:
        """The predicted value where all features are 0."""
        return float(self.array[-1])


@attrs.frozen(eq=False, slots=False)
class Discriminant(Kind):
    """Linear scores of classes, one in each row: a slope for each feature, in units, and the intercept, last.

    A row is of the class whose score is largest.

    Args:
        features: the names of the features.
        shares: the share of each class.
    """

    title = "scores of classes"

    features: tuple[str, ...] = attrs.field(kw_only=True)
    shares: tuple[float, ...] = attrs.field(kw_only=True)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.shape != (len(self.shares), len(self.features) + 1) or self.array.dtype.kind != "f":
            raise self._refused("a row for each class, with a slope for each feature and an intercept")


@attrs.frozen(eq=False, slots=False)
class Scalar(Kind):
    """One number."""

    title = "a number"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.array.ndim != 0:
            raise self._refused("no dimensions")


def titles(kinds: Sequence[type[Kind]]) -> str:
    """The kinds in words: 'a symmetric matrix or a spectrum'."""
    return " or ".join(kind.title for kind in kinds)
