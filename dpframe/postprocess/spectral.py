"""Eigenvalues, subspaces and low-rank parts of a released matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.interfaces import PostProcessor
from dpframe.kinds import ComplexSubspace, HermitianMatrix, Kind, Spectrum, Subspace, SymmetricMatrix, Vector
from dpframe.postprocess.eigen import top_eigenpairs
from dpframe.spec.refs import Shape, input, shape_of
from dpframe.spec.rows import Rows


def _check_k(k: int, of: Any, rows: Rows) -> None:
    if isinstance(of, Kind) and k > len(of.array):
        raise PlanError(f"k={k} is more than the {len(of.array)} coordinates of {of.title}.")
    if rows.dim is not None and k > rows.dim:
        raise PlanError(f"k={k} is more than the {rows.dim} coordinates of the rows.")


def _check_part(k: int, dim: int) -> None:
    """Raise PlanError where all eigenvectors are taken: forecasts bound the error of a proper subspace."""
    if k >= dim:
        raise PlanError(
            f"k={k} takes all {dim} eigenvectors, so there is no error of a subspace to forecast. "
            f"Say k below {dim}, or leave the scenario out."
        )


def _symmetric(matrix: NDArray[Any]) -> NDArray[Any]:
    """The Hermitian part of a matrix that is Hermitian up to rounding."""
    symmetric: NDArray[Any] = (matrix + matrix.conj().T) / 2
    return symmetric


@attrs.frozen(kw_only=True)
class TopSubspace(PostProcessor):
    """An orthonormal basis of the k leading eigenvectors: the principal components.

    The result is a complex subspace if the matrix may be complex.

    Args:
        of: a symmetric or Hermitian matrix.
        k: the dimension of the subspace.
    """

    name = "top-subspace"
    gives = Subspace

    of: Any = input(HermitianMatrix)
    k: int = attrs.field(validator=validators.positive_int)

    def check(self, rows: Rows) -> None:
        _check_k(self.k, self.of, rows)

    def check_forecast(self, dim: int) -> None:
        _check_part(self.k, dim)

    def output(self, kinds: Mapping[str, type[Kind]]) -> type[Kind]:
        real_constant = isinstance(self.of, Kind) and self.of.array.dtype.kind == "f"
        return Subspace if real_constant or issubclass(kinds["of"], SymmetricMatrix) else ComplexSubspace

    def output_shape(self, rows: Rows) -> Shape:
        return (shape_of(self.of) or (None,))[0], self.k

    def apply(self) -> ComplexSubspace:
        vectors = top_eigenpairs(self.of.array, self.k)[1]
        kind = ComplexSubspace if vectors.dtype.kind == "c" else Subspace
        return kind(vectors, axes=self.of.axes)


@attrs.frozen(kw_only=True)
class RankK(PostProcessor):
    """The part of a matrix spanned by its k leading eigenpairs; negative eigenvalues are replaced by zero.

    Args:
        of: a symmetric matrix.
        k: the number of eigenpairs.
    """

    name = "rank-k"
    gives = SymmetricMatrix

    of: Any = input(SymmetricMatrix)
    k: int = attrs.field(validator=validators.positive_int)

    def output(self, kinds: Mapping[str, type[Kind]]) -> type[Kind]:
        return kinds["of"]

    def check(self, rows: Rows) -> None:
        _check_k(self.k, self.of, rows)

    def check_forecast(self, dim: int) -> None:
        _check_part(self.k, dim)

    def apply(self) -> Kind:
        values, vectors = top_eigenpairs(self.of.array, self.k)
        kept = _symmetric((vectors * np.maximum(values, 0.0)) @ vectors.T)
        return attrs.evolve(self.of, array=kept)  # type: ignore[no-any-return]


@attrs.frozen(kw_only=True)
class WithSpectrum(PostProcessor):
    """The matrix with the leading eigenvectors of one result and the eigenvalues of another; further ones are zero.

    Args:
        of: a symmetric matrix, for the eigenvectors.
        spectrum: the eigenvalues, from the largest.
    """

    name = "with-spectrum"
    gives = SymmetricMatrix

    of: Any = input(SymmetricMatrix)
    spectrum: Any = input(Spectrum)

    def check(self, rows: Rows) -> None:
        if isinstance(self.spectrum, Spectrum):
            _check_k(len(self.spectrum.array), self.of, rows)

    def apply(self) -> SymmetricMatrix:
        wanted = self.spectrum.array
        vectors = top_eigenpairs(self.of.array, len(wanted))[1]
        return SymmetricMatrix(_symmetric((vectors * wanted) @ vectors.T), axes=self.of.axes)


@attrs.frozen(kw_only=True)
class Eigenvalues(PostProcessor):
    """The k largest eigenvalues; negative ones are replaced by zero.

    Args:
        of: a symmetric or Hermitian matrix.
        k: the number of eigenvalues; all by default.
    """

    name = "eigenvalues"
    gives = Spectrum

    of: Any = input(HermitianMatrix)
    k: int | None = attrs.field(default=None, validator=attrs.validators.optional(validators.positive_int))

    def check(self, rows: Rows) -> None:
        _check_k(self.k or 1, self.of, rows)

    def apply(self) -> Spectrum:
        matrix = self.of.array
        values = np.linalg.eigvalsh(matrix) if self.k is None else top_eigenpairs(matrix, self.k)[0]
        return Spectrum.from_noisy(values)


@attrs.frozen(kw_only=True)
class PositivePart(PostProcessor):
    """The nearest positive semidefinite matrix: eigenvalues that noise made negative are replaced by zero.

    Args:
        of: a symmetric matrix.
    """

    name = "psd"
    gives = SymmetricMatrix

    of: Any = input(SymmetricMatrix)

    def output(self, kinds: Mapping[str, type[Kind]]) -> type[Kind]:
        return kinds["of"]

    def apply(self) -> Kind:
        values, vectors = np.linalg.eigh(self.of.array)
        nearest = _symmetric((vectors * np.maximum(values, 0.0)) @ vectors.T)
        return attrs.evolve(self.of, array=nearest)  # type: ignore[no-any-return]


@attrs.frozen(kw_only=True)
class RealPart(PostProcessor):
    """The real part of a Hermitian matrix.

    Args:
        of: the Hermitian matrix.
    """

    name = "real-part"
    gives = SymmetricMatrix

    of: Any = input(HermitianMatrix)

    def apply(self) -> SymmetricMatrix:
        return SymmetricMatrix(self.of.array.real, axes=self.of.axes)


@attrs.frozen(kw_only=True)
class ExplainedVariance(PostProcessor):
    """The share of the trace that each component of a subspace captures, computed from the released matrix.

    Args:
        of: a symmetric matrix.
        components: the subspace.
    """

    name = "explained-variance"
    gives = Vector

    of: Any = input(SymmetricMatrix)
    components: Any = input(Subspace)

    def apply(self) -> Vector:
        basis, matrix = self.components.array, self.of.array
        captured = np.maximum(np.einsum("ij,ij->j", basis, matrix @ basis), 0.0)
        total = max(float(np.trace(matrix)), float(captured.sum()))
        return Vector(captured / total if total > 0.0 else np.zeros(len(captured)))
