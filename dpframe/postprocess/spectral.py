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
from dpframe.intervals import Law, MatrixLaw
from dpframe.intervals.eigenvalues import SpectrumLaw
from dpframe.intervals.low_rank import LowRankLaw
from dpframe.intervals.subspace import SubspaceLaw
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


def _is_real(of: Any) -> bool:
    """Whether an input is known to hold real numbers; a reference is not."""
    return isinstance(of, Kind) and of.array.dtype.kind == "f"


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
        return Subspace if _is_real(self.of) or issubclass(kinds["of"], SymmetricMatrix) else ComplexSubspace

    def output_shape(self, rows: Rows) -> Shape:
        return (shape_of(self.of) or (None,))[0], self.k

    def apply(self) -> ComplexSubspace:
        vectors = top_eigenpairs(self.of.array, self.k)[1]
        kind = ComplexSubspace if vectors.dtype.kind == "c" else Subspace
        return kind(vectors, axes=self.of.axes)

    def result_law(self, laws: Mapping[str, Law]) -> Law | None:
        of = laws.get("of")
        of = of.of if isinstance(of, LowRankLaw) else of  # it has the same directions
        return SubspaceLaw(of=of, basis=self.apply().array) if isinstance(of, MatrixLaw) else None


@attrs.frozen(kw_only=True)
class RankK(PostProcessor):
    """The part of a matrix spanned by its k leading eigenpairs; negative eigenvalues are replaced by zero.

    Args:
        of: a symmetric or Hermitian matrix.
        k: the number of eigenpairs.
    """

    name = "rank-k"
    gives = SymmetricMatrix

    of: Any = input(HermitianMatrix)
    k: int = attrs.field(validator=validators.positive_int)

    def output(self, kinds: Mapping[str, type[Kind]]) -> type[Kind]:
        return kinds["of"]

    def check(self, rows: Rows) -> None:
        _check_k(self.k, self.of, rows)

    def check_forecast(self, dim: int) -> None:
        _check_part(self.k, dim)

    def apply(self) -> Kind:
        values, vectors = top_eigenpairs(self.of.array, self.k)
        kept = _symmetric((vectors * np.maximum(values, 0.0)) @ vectors.conj().T)
        return attrs.evolve(self.of, array=kept)  # type: ignore[no-any-return]

    def result_law(self, laws: Mapping[str, Law]) -> Law | None:
        of = laws.get("of")
        return LowRankLaw(of=of, k=self.k) if isinstance(of, MatrixLaw) else None


@attrs.frozen(kw_only=True)
class WithSpectrum(PostProcessor):
    """The matrix with the leading eigenvectors of one result and the eigenvalues of another; further ones are zero.

    Applied to the real part of a draw of ``orbit``, which has up to twice the rank of the draw, with the spectrum of
    the draw, it restores rank and spectrum. It also joins directions that were released with eigenvalues that were.

    Args:
        of: a symmetric or Hermitian matrix, for its eigenvectors; or a subspace, whose columns are taken as they are.
        spectrum: the eigenvalues, from the largest; or a vector with one for each of these eigenvectors in their order,
            where negative ones are replaced by zero.
    """

    name = "with-spectrum"
    gives = SymmetricMatrix

    of: Any = input(HermitianMatrix, ComplexSubspace)
    spectrum: Any = input(Spectrum, Vector)

    def output(self, kinds: Mapping[str, type[Kind]]) -> type[Kind]:
        real = issubclass(kinds["of"], SymmetricMatrix | Subspace)
        return SymmetricMatrix if real or _is_real(self.of) else HermitianMatrix

    def check(self, rows: Rows) -> None:
        if isinstance(self.spectrum, Kind):
            _check_k(len(self.spectrum.array), self.of, rows)
        (count,), (_, columns) = shape_of(self.spectrum) or (None,), shape_of(self.of) or (None, None)
        if count is not None and columns is not None and count > columns:
            raise PlanError(f"with-spectrum has {count} eigenvalues for {columns} directions. Give as many of both.")

    def output_shape(self, rows: Rows) -> Shape:
        return ((shape_of(self.of) or (None,))[0],) * 2

    def apply(self) -> HermitianMatrix:
        wanted = np.maximum(self.spectrum.array, 0.0)
        directions = isinstance(self.of, ComplexSubspace)
        vectors = self.of.array[:, : len(wanted)] if directions else top_eigenpairs(self.of.array, len(wanted))[1]
        kind = SymmetricMatrix if _is_real(self.of) else HermitianMatrix
        return kind(_symmetric((vectors * wanted) @ vectors.conj().T), axes=self.of.axes)

    def result_law(self, laws: Mapping[str, Law]) -> Law | None:
        of, spectrum = laws.get("of"), laws.get("spectrum")
        if isinstance(of, LowRankLaw | SubspaceLaw):
            of = of.of
        if not isinstance(of, MatrixLaw):
            return None
        error = None if spectrum is None else np.square(spectrum.standard_error())
        wanted = self.spectrum.array
        return LowRankLaw(of=of, k=len(wanted), spectrum=wanted, spectrum_variance=error)


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

    def result_law(self, laws: Mapping[str, Law]) -> Law | None:
        of = laws.get("of")
        return SpectrumLaw(of=of, k=self.k) if isinstance(of, MatrixLaw) else None


@attrs.frozen(kw_only=True)
class PositivePart(PostProcessor):
    """The nearest positive semidefinite matrix: eigenvalues that noise made negative are replaced by zero.

    Args:
        of: a symmetric or Hermitian matrix.
    """

    name = "psd"
    gives = SymmetricMatrix

    of: Any = input(HermitianMatrix)

    def output(self, kinds: Mapping[str, type[Kind]]) -> type[Kind]:
        return kinds["of"]

    def apply(self) -> Kind:
        values, vectors = np.linalg.eigh(self.of.array)
        nearest = _symmetric((vectors * np.maximum(values, 0.0)) @ vectors.conj().T)
        return attrs.evolve(self.of, array=nearest)  # type: ignore[no-any-return]

    def result_law(self, laws: Mapping[str, Law]) -> Law | None:
        """That of the input, if without noise that has no negative eigenvalues."""
        of = laws.get("of")
        return None if isinstance(of, MatrixLaw) and not of.semidefinite else of


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
        of: a symmetric or Hermitian matrix.
        components: the subspace.
    """

    name = "explained-variance"
    gives = Vector

    of: Any = input(HermitianMatrix)
    components: Any = input(ComplexSubspace)

    def apply(self) -> Vector:
        basis, matrix = self.components.array, self.of.array
        captured = np.maximum(np.einsum("ij,ij->j", basis.conj(), matrix @ basis).real, 0.0)
        total = max(float(np.trace(matrix).real), float(captured.sum()))
        return Vector(captured / total if total > 0.0 else np.zeros(len(captured)))

    def result_law(self, laws: Mapping[str, Law]) -> Law | None:
        """That of the shares of the leading eigenvalues, where the components are of the same matrix."""
        of, components = laws.get("of"), laws.get("components")
        if not isinstance(of, MatrixLaw) or not isinstance(components, SubspaceLaw) or components.of is not of:
            return None
        if not of.semidefinite:  # shares of a trace to which negative eigenvalues add
            return None
        return SpectrumLaw(of=of, k=self.components.array.shape[1], of_trace=True)
