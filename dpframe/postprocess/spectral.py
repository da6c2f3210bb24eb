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
    """Raise PlanError where all eigenvectors are taken: a forecast is about the error of a part of them."""
    if k >= dim:
        raise PlanError(
            f"k={k} takes all {dim} eigenvectors there are, so that there is no error of a part to forecast. "
            f"Say k below {dim}, or leave the scenario out."
        )


def _symmetric(matrix: NDArray[Any]) -> NDArray[Any]:
    """Remove the rounding that keeps a product from being its own conjugate transpose."""
    symmetric: NDArray[Any] = (matrix + matrix.conj().T) / 2
    return symmetric


@attrs.frozen(kw_only=True)
class TopSubspace(PostProcessor):
    """An orthonormal basis of the k leading eigenvectors: the principal components.

    Those of a matrix that may be complex are a complex subspace.
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
        written = isinstance(self.of, Kind) and self.of.array.dtype.kind == "f"
        return Subspace if written or issubclass(kinds["of"], SymmetricMatrix) else ComplexSubspace

    def output_shape(self, rows: Rows) -> Shape:
        return (shape_of(self.of) or (None,))[0], self.k

    def apply(self) -> ComplexSubspace:
        vectors = top_eigenpairs(self.of.array, self.k)[1]
        kind = ComplexSubspace if vectors.dtype.kind == "c" else Subspace
        return kind(vectors, axes=self.of.axes)


@attrs.frozen(kw_only=True)
class RankK(PostProcessor):
    """The part of a matrix in its k leading eigenvectors, with their eigenvalues; negative ones count as zero."""

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
    """The eigenvectors of a matrix with another spectrum, whose missing values are zero."""

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
    """The k largest eigenvalues, all of them unless k is given; negative ones count as zero."""

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
    """The nearest positive semi-definite matrix: noise makes eigenvalues negative that cannot be."""

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
    """The real part of a Hermitian matrix."""

    name = "real-part"
    gives = SymmetricMatrix

    of: Any = input(HermitianMatrix)

    def apply(self) -> SymmetricMatrix:
        return SymmetricMatrix(self.of.array.real, axes=self.of.axes)


@attrs.frozen(kw_only=True)
class ExplainedVariance(PostProcessor):
    """The share of the trace that each component of a subspace captures, by the released matrix itself."""

    name = "explained-variance"
    gives = Vector

    of: Any = input(SymmetricMatrix)
    components: Any = input(Subspace)

    def apply(self) -> Vector:
        basis, matrix = self.components.array, self.of.array
        captured = np.maximum(np.einsum("ij,ij->j", basis, matrix @ basis), 0.0)
        total = max(float(np.trace(matrix)), float(captured.sum()))
        return Vector(captured / total if total > 0.0 else np.zeros(len(captured)))
