"""Made-up values of any kind and shape, as releases might give them: no data is read and nothing is drawn for them.

They are fixed functions of the kind and the shape. Derivations are tried on them before a run is charged, and the
conformance kit tries harder ones: values that are noise alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from dpframe.errors import PlanError
from dpframe.kinds import (
    AugmentedMoment,
    AugmentedSum,
    Axes,
    ComplexSubspace,
    Covariance,
    HermitianMatrix,
    Kind,
    LinearMap,
    Loadings,
    Mean,
    Radii,
    Scalar,
    Scales,
    Spectrum,
    Subspace,
    SymmetricMatrix,
    Vector,
)
from dpframe.lattice import FloatArray
from dpframe.spec.refs import Shape

ROWS = 100_000.0
"""The number of rows that the data is imagined to have."""

CONSTANT = 0.5
"""The constant coordinate of imagined rows, in units of their norm, where none is given."""


@attrs.frozen(kw_only=True)
class Imagined:
    """Data that values are imagined to be released from.

    Args:
        variances: the eigenvalues of the covariance for a dimension, for rows of norm 1.
        noise: the size of the noise, as a share of the number of rows.
        rows: the number of rows.
    """

    variances: Callable[[int], FloatArray]
    noise: float
    rows: float = ROWS

    def covariance(self, dim: int) -> FloatArray:
        """A covariance with these eigenvalues, in no special direction, with noise."""
        random = np.random.default_rng(dim)
        basis = np.linalg.qr(random.standard_normal((dim, dim)))[0]
        noise = random.standard_normal((dim, dim))
        noise -= np.eye(dim) * (np.trace(noise) / dim if dim > 1 else noise + 1.0)  # some eigenvalue is negative
        values = self.variances(dim)
        if self.rows:
            values = values / values.sum() / 2
        matrix = (basis * values) @ basis.T + self.noise * noise
        symmetric: FloatArray = (matrix + matrix.T) / 2
        return symmetric


def _decreasing(dim: int) -> FloatArray:
    return 1.0 / np.arange(1.0, dim + 1) ** 2


def _one_strong(dim: int) -> FloatArray:
    return np.where(np.arange(dim) == 0, 1.0, 0.1 / dim)


def _equal(dim: int) -> FloatArray:
    return np.ones(dim)


def _none(dim: int) -> FloatArray:
    return np.zeros(dim)


PLAUSIBLE = Imagined(variances=_decreasing, noise=1e-9)
"""Much data with a few strong directions, and little noise."""

NOISE = Imagined(variances=_none, noise=1.0, rows=0.0)
"""No data: noise alone, with negative eigenvalues and a count of zero."""

NOTHING = Imagined(variances=_none, noise=0.0, rows=0.0)
"""No data and no noise."""

IMAGINED = (PLAUSIBLE, Imagined(variances=_one_strong, noise=1e-9), Imagined(variances=_equal, noise=1e-3), NOISE)
"""Data of different shapes: few derivations that are right fail on all of them."""


def made_up(
    kind: type[Kind],
    shape: Shape | None,
    imagined: Imagined,
    *,
    length: float = 1.0,
    constant: float | None = None,
    axes: Axes | None = None,
) -> Kind | None:
    """A value of this kind and shape from imagined data; None where it is not known how such a value looks.

    Args:
        kind: the kind, one of the core's own: others may demand more of a value than they say.
        shape: the shape of its array.
        imagined: the data.
        length: the norm of the rows.
        constant: the constant coordinate of an augmented moment or sum.
        axes: names and units of the coordinates; used where there are as many of them.
    """
    if kind not in _MAKERS or shape is None or None in shape:
        return None
    array = np.zeros(tuple(length or 0 for length in shape))
    extra: dict[str, Any] = {}
    augmented = kind in (AugmentedMoment, AugmentedSum)
    if augmented:
        extra["constant"] = CONSTANT * length if constant is None else constant
    try:
        value: Kind = kind(_MAKERS[kind](array.shape, imagined, length, **extra), **extra)
    except (PlanError, ValueError, TypeError, IndexError):  # no value of this kind has this shape
        return None
    if value.array.shape != array.shape:
        return None
    coordinates = len(array) - augmented if array.ndim else 0
    fits = axes is not None and len(axes.labels) == coordinates and kind is not Spectrum
    return attrs.evolve(value, axes=axes) if fits else value


def _moment(shape: tuple[int, ...], imagined: Imagined, length: float) -> FloatArray:
    return imagined.covariance(*_square(shape)) * (length**2 * max(imagined.rows, 1.0))


def _covariance(shape: tuple[int, ...], imagined: Imagined, length: float) -> FloatArray:
    return imagined.covariance(*_square(shape)) * length**2


def _hermitian(shape: tuple[int, ...], imagined: Imagined, length: float) -> Any:
    matrix = _moment(shape, imagined, length)
    turn = np.tril(np.ones(shape), -1)
    return matrix + 1j * (imagined.noise + 1e-3) * matrix * (turn - turn.T)


def _augmented(shape: tuple[int, ...], imagined: Imagined, length: float, constant: float) -> FloatArray:
    (width,) = _square(shape)
    mean = np.full(width - 1, 0.1 * length / math.sqrt(max(width - 1, 1)))
    matrix = np.zeros(shape)
    covariance = _covariance((width - 1, width - 1), imagined, length)
    matrix[:-1, :-1] = (covariance + np.outer(mean, mean)) * max(imagined.rows, 1.0)
    matrix[-1, :-1] = matrix[:-1, -1] = constant * mean * (imagined.rows or imagined.noise)
    matrix[-1, -1] = constant**2 * imagined.rows
    return matrix


def _augmented_sum(shape: tuple[int, ...], imagined: Imagined, length: float, constant: float) -> FloatArray:
    (width,) = shape
    mean = 0.1 * length / math.sqrt(max(width - 1, 1))
    return np.append(np.full(width - 1, mean * (imagined.rows or imagined.noise)), constant * imagined.rows)


def _square(shape: tuple[int, ...]) -> tuple[int]:
    rows, columns = shape
    if rows != columns:
        raise ValueError(shape)
    return (rows,)


def _spectrum(shape: tuple[int, ...], imagined: Imagined, length: float) -> FloatArray:
    (count,) = shape
    values = imagined.variances(count) * imagined.rows + imagined.noise * (np.arange(count) < count / 2)
    return np.sort(values)[::-1] * length**2


def _subspace(shape: tuple[int, ...], imagined: Imagined, length: float) -> FloatArray:
    rows, columns = shape
    return np.linalg.qr(np.random.default_rng(rows).standard_normal((rows, rows)))[0][:, :columns]


def _numbers(shape: tuple[int, ...], imagined: Imagined, length: float) -> FloatArray:
    spread = 1.0 if imagined.rows else imagined.noise
    return np.random.default_rng(len(shape)).standard_normal(shape) * spread * length


def _radii(shape: tuple[int, ...], imagined: Imagined, length: float) -> FloatArray:
    return np.array([length, length / 2])


def _scales(shape: tuple[int, ...], imagined: Imagined, length: float) -> FloatArray:
    return np.linspace(0.1, 1.0, math.prod(shape)).reshape(shape) * length


def _linear_map(shape: tuple[int, ...], imagined: Imagined, length: float) -> FloatArray:
    return np.diag(np.linspace(0.1, 1.0, shape[0]))


def _scalar(shape: tuple[int, ...], imagined: Imagined, length: float) -> FloatArray:
    return np.full(shape, length if imagined.rows else 0.0)


_MAKERS: dict[type[Kind], Callable[..., Any]] = {
    AugmentedMoment: _augmented,
    AugmentedSum: _augmented_sum,
    ComplexSubspace: _subspace,
    Covariance: _covariance,
    HermitianMatrix: _hermitian,
    Loadings: _numbers,
    LinearMap: _linear_map,
    Mean: _numbers,
    Radii: _radii,
    Scalar: _scalar,
    Scales: _scales,
    Spectrum: _spectrum,
    Subspace: _subspace,
    SymmetricMatrix: _moment,
    Vector: _numbers,
}
