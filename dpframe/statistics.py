"""The built-in statistics. Each is an exact integer sum over rows, so any chunking gives the same bits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import hermitian, lattice, sensitivity, validators
from dpframe.errors import PlanError
from dpframe.interfaces import Statistic
from dpframe.kinds import (
    AugmentedMoment,
    AugmentedSum,
    FoldedMoment,
    HermitianMatrix,
    Radii,
    Subspace,
    SymmetricMatrix,
)
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading.chunk import Chunk, Grid
from dpframe.sensitivity import Sensitivity
from dpframe.spec.columns import Column
from dpframe.spec.placement import NORM_LIMIT
from dpframe.spec.refs import Shape, input, shape_of
from dpframe.spec.rows import Rows

if TYPE_CHECKING:
    from dpframe.reading.exact_sum import ExactSum

MOST_FOLDS = 100
BASIS_BITS = 30  # |Σ q u| ≤ 2¹⁶ · 2³⁰ · (1 + tiny) < 2⁵³: projections of integer rows are exact


@attrs.frozen(kw_only=True)
class Moment(Statistic):
    """The second moment Σ q qᵀ of the lattice rows, with the constant coordinate if the plan is centered.

    Of complex rows, it is the Hermitian matrix Σ q qᴴ, as its real and its imaginary part: (2, dim, dim).
    """

    name = "moment"
    takes_complex = True

    def sensitivity(self, rows: Rows) -> Mapping[str, Sensitivity]:
        """See :func:`dpframe.sensitivity.moment`."""
        return {"moment": sensitivity.moment(rows)}

    def partial(self, chunk: Chunk) -> Mapping[str, IntArray]:
        """The Gram matrix of these rows, as Hermitian parts if they are complex."""
        if not chunk.rows.complex:
            return {"moment": lattice.gram(chunk.integers())}
        gram = np.zeros((chunk.rows.width,) * 2, dtype=np.int64)
        chunk.add_gram(gram)
        return {"moment": hermitian.of_gram(gram)}

    def add_to(self, chunk: Chunk, sums: Mapping[str, ExactSum]) -> None:
        """Add the Gram matrix of these rows, without storing it if they are real."""
        if chunk.rows.complex:
            super().add_to(chunk, sums)
        else:
            chunk.add_gram(sums["moment"].with_room(len(chunk) * lattice.RADIUS**2))

    def part_shapes(self, rows: Rows) -> Mapping[str, Shape]:
        """A square matrix, or two."""
        return {"moment": (2, *self.shape(rows)) if rows.complex else self.shape(rows)}

    @staticmethod
    def shape(rows: Rows) -> Shape:
        """The shape of a released moment, as far as it is known."""
        return (None, None) if rows.dim is None else (rows.dim + rows.center,) * 2

    @staticmethod
    def kind(rows: Rows) -> type[SymmetricMatrix | HermitianMatrix | AugmentedMoment]:
        """The kind of a released moment."""
        if rows.complex:
            return HermitianMatrix
        return AugmentedMoment if rows.center else SymmetricMatrix

    @staticmethod
    def value(noisy: IntArray, rows: Rows) -> SymmetricMatrix | HermitianMatrix | AugmentedMoment:
        """A noisy moment in the units of the rows: post-processing."""
        if rows.complex:
            return HermitianMatrix(hermitian.as_complex(noisy.astype(np.float64) * rows.step**2))
        array = noisy.astype(np.float64)
        array *= rows.step**2
        array.setflags(write=False)  # so that the constructor does not copy it
        if rows.center:
            return AugmentedMoment(array, axes=rows.axes, constant=rows.constant * rows.step)
        return SymmetricMatrix(array, axes=rows.axes)


@attrs.frozen(kw_only=True)
class FoldMoments(Statistic):
    """The second moments of disjoint folds of the rows, for cross-validation at the price of one moment.

    The fold of a row is a public hash of the row itself, as it is on the lattice. So it depends on no other row, as a
    position would: where one row is removed, all others stay in their folds. Equal rows share a fold.

    Args:
        folds: the number of folds.
        key: a public number; another one gives other folds.
    """

    name = "fold-moments"

    folds: int = attrs.field(validator=validators.integer(at_least=2, at_most=MOST_FOLDS))
    key: int = attrs.field(default=0, validator=validators.integer(at_least=0, at_most=2**63 - 1))

    def sensitivity(self, rows: Rows) -> Mapping[str, Sensitivity]:
        """See :func:`dpframe.sensitivity.fold_moments`."""
        return {"moments": sensitivity.fold_moments(rows)}

    def partial(self, chunk: Chunk) -> Mapping[str, IntArray]:
        """The Gram matrices of the rows of each fold."""
        integers = chunk.integers()
        places = self.places(integers)
        return {"moments": np.stack([lattice.gram(integers[places == fold]) for fold in range(self.folds)])}

    def places(self, integers: FloatArray) -> IntArray:
        """The fold of each integer row: a hash of its numbers, one after the other, by multiplying and shifting.

        Args:
            integers: integer rows.
        """
        with np.errstate(over="ignore"):  # arithmetic modulo 2⁶⁴ is meant
            found = np.full(len(integers), _mixed(np.array([self.key], dtype=np.uint64))[0])
            for column in integers.T:
                found = _mixed(found ^ column.astype(np.int64).view(np.uint64))
        return (found % np.uint64(self.folds)).astype(np.int64)

    def part_shapes(self, rows: Rows) -> Mapping[str, Shape]:
        """One square matrix for each fold."""
        return {"moments": (self.folds, *Moment.shape(rows))}

    def shape(self, rows: Rows) -> Shape:
        """The shape of released moments, one below the other."""
        return (None, None) if rows.dim is None else (self.folds * rows.width, rows.width)

    def value(self, noisy: IntArray, rows: Rows) -> FoldedMoment:
        """Noisy moments in the units of the rows: post-processing."""
        array = noisy.reshape(-1, noisy.shape[-1]).astype(np.float64) * rows.step**2
        constant = rows.constant * rows.step if rows.center else None
        return FoldedMoment(array, folds=self.folds, constant=constant)


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Each 64-bit word mixed: all bits of the result depend on all bits of the word (the finalizer of SplitMix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))


@attrs.frozen(kw_only=True)
class RowSum(Statistic):
    """The sum Σ [q, c] of the lattice rows and of a constant c per row, which gives the mean and the count.

    Rows are taken about the middle of their ranges, whatever ``Rows.about`` says: a center is found with it.
    """

    name = "row-sum"
    sees: ClassVar[Literal["mapped", "placed", "clipped"]] = "mapped"

    constant: ClassVar[int] = lattice.RADIUS // 2
    """c, in lattice steps. A larger one makes the count more precise, and the sums less."""

    def check(self, rows: Rows) -> None:
        """Raise PlanError if there is no bound on a row that is known before the run."""
        if rows.columns is None and "norm" in rows.awaited:
            raise PlanError("a sum of rows needs public ranges, columns=[...], or a public norm.")

    def sensitivity(self, rows: Rows) -> Mapping[str, Sensitivity]:
        """See :func:`dpframe.sensitivity.augmented_sum`."""
        return {"sum": sensitivity.augmented_sum(self.seen(rows), self.constant)}

    def partial(self, chunk: Chunk) -> Mapping[str, IntArray]:
        """The sum of these rows; a row that contributes nothing has no constant."""
        return {"sum": np.append(chunk.total(), np.int64(self.constant * chunk.count()))}

    def part_shapes(self, rows: Rows) -> Mapping[str, Shape]:
        """A vector, with the constant."""
        return {"sum": self.shape(rows)}

    @staticmethod
    def shape(rows: Rows) -> Shape:
        """The shape of a sum, also of a released one, as far as it is known."""
        return (None if rows.dim is None else rows.dim + 1,)

    @staticmethod
    def seen(rows: Rows) -> Rows:
        """The promise about the rows that are summed."""
        return rows.unplaced

    @classmethod
    def value(cls, noisy: IntArray, rows: Rows) -> AugmentedSum:
        """A noisy sum in the units of the rows: post-processing."""
        seen = cls.seen(rows)
        return AugmentedSum(noisy.astype(np.float64) * seen.step, axes=seen.axes, constant=cls.constant * seen.step)


@attrs.frozen(kw_only=True)
class PlacedSum(RowSum):
    """The sum Σ [q, c] of the lattice rows as they are placed: about a center, and scaled down to the norm.

    It says how far the mean is from that center, with noise in proportion to the norm instead of the ranges.
    """

    name = "placed-sum"
    sees = "clipped"

    constant: ClassVar[int] = lattice.RADIUS // 4
    """c, in lattice steps: smaller than that of a `RowSum`, which says the number of rows already."""

    def check(self, rows: Rows) -> None:
        """Any promise will do: it bounds the rows."""

    @staticmethod
    def seen(rows: Rows) -> Rows:
        """The promise itself."""
        return rows


@attrs.frozen(kw_only=True, slots=False)
class BlockMoment(Statistic):
    """Second moments in a released basis, with both projections of a row clipped separately.

    With a = Uᵀx clipped to the first radius and b = U⊥ᵀx clipped to the second: ``signal`` Σ a aᵀ, ``cross`` Σ a bᵀ and
    ``residual`` Σ ‖b‖². The basis is rounded to 2⁻³⁰ and lattice rows are projected on it in exact integers, so the
    contribution of a row depends on that row alone; the sensitivities follow from the two clips, for any basis.

    Args:
        basis: a released (dim, rank) basis, or a reference to one.
        radii: bounds on the lengths of a and b, public or released, or a reference to them.
    """

    name = "block-moment"

    basis: Any = input(Subspace)
    radii: Any = input(Radii)

    @radii.validator
    def _check_radii(self, attribute: attrs.Attribute[Any], value: Any) -> None:
        if isinstance(value, Radii) and not ((value.array >= 1 / NORM_LIMIT) & (value.array <= NORM_LIMIT)).all():
            raise validators.refuse(self, "radii", f"from {1 / NORM_LIMIT:g} to {NORM_LIMIT:g}", value.array.tolist())

    def __attrs_post_init__(self) -> None:
        if isinstance(self.basis, Subspace):
            _ = self._integer_basis  # computed once, here: the linear algebra of a worker may round differently

    def check(self, rows: Rows) -> None:
        """Raise PlanError if the rows are centered, or the basis does not fit their dimension."""
        if rows.center:
            raise PlanError("a block moment needs rows without a constant coordinate: dp.Rows(center=False).")
        dim, rank = shape_of(self.basis) or (None, None)
        if None not in (dim, rows.dim) and dim != rows.dim:
            raise PlanError(f"a block moment of {rows.dim} coordinates cannot use a basis of shape {(dim, rank)}.")
        coordinates = rows.dim or dim
        if rank is not None and coordinates is not None and rank >= coordinates:
            raise PlanError(
                f"a block moment needs a basis of fewer directions than the {coordinates} coordinates, since it "
                f"also covers their orthogonal complement; got {rank}. Take fewer, or release the whole moment."
            )

    def sensitivity(self, rows: Rows) -> Mapping[str, Sensitivity]:
        """See :func:`dpframe.sensitivity.blocks`."""
        return sensitivity.blocks(rows, self.basis.array.shape[1])

    def part_shapes(self, rows: Rows) -> Mapping[str, Shape]:
        """The shapes of the three parts."""
        dim, rank = shape_of(self.basis) or (rows.dim, None)
        rest = None if dim is None or rank is None else dim - rank
        return {"signal": (rank, rank), "cross": (rank, rest), "residual": ()}

    def sides(self, chunk: Chunk, radii: tuple[float, float] | None = None) -> tuple[FloatArray, FloatArray]:
        """The integer rows a and b, each of length at most RADIUS on its own lattice; see `steps`.

        Args:
            chunk: some rows.
            radii: the lengths to which they are clipped, instead of its own.
        """
        rank = self.basis.array.shape[1]
        projected = chunk.integers() @ self._integer_basis
        in_steps = (self.radii.array if radii is None else np.array(radii)) * (2.0**BASIS_BITS / chunk.rows.step)
        signal, _ = lattice.integer_rows(projected[:, :rank], in_steps[0])
        residual, _ = lattice.integer_rows(projected[:, rank:], in_steps[1])
        return signal, residual

    def steps(self) -> tuple[float, float]:
        """The length of one lattice step of a and of b, in the units of the rows."""
        dim, rank = self.basis.array.shape
        alpha, beta = self.radii.array.tolist()
        return alpha / lattice.inner_radius(rank), beta / lattice.inner_radius(dim - rank)

    def partial(self, chunk: Chunk) -> Mapping[str, IntArray]:
        """The three parts for these rows."""
        signal, residual = self.sides(chunk)
        return {
            "signal": lattice.gram(signal),
            "cross": (signal.T @ residual).astype(np.int64),
            "residual": np.asarray(np.einsum("ij,ij->", residual, residual), dtype=np.int64),
        }

    @cached_property
    def _integer_basis(self) -> FloatArray:
        """The basis and its orthogonal complement, rounded to integers: a function of released values only."""
        return np.rint(self.rotation(self.basis) * 2.0**BASIS_BITS)

    @staticmethod
    def rotation(basis: Subspace) -> FloatArray:
        """The basis and its orthogonal complement in columns: the coordinates of a and b."""
        array = basis.array
        complement = np.linalg.qr(array, mode="complete")[0][:, array.shape[1] :]
        return np.hstack([array, complement])


def _check_edges(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    numbers = isinstance(value, tuple) and all(validators.is_real(edge) and math.isfinite(edge) for edge in value)
    if not value or not numbers or any(low >= high for low, high in itertools.pairwise(value)):
        raise validators.refuse(owner, attribute.name, "increasing numbers, at least one", value)


@attrs.frozen(kw_only=True)
class NormHistogram(Statistic):
    """Counts of row lengths in the bins between public edges, the last bin being unbounded.

    Rows are not clipped to ``Rows.norm``: their lengths are compared as exact integers on a separate grid, whose step
    is the last edge divided by 2^15 to 2^25, depending on the dimension.

    Args:
        edges: increasing positive lengths, public. Bin i counts the lengths in (edges[i-1], edges[i]].
    """

    name = "norm-histogram"
    sees = "placed"
    takes_complex = True

    edges: tuple[float, ...] = attrs.field(converter=validators.as_tuple, validator=_check_edges)

    def __attrs_post_init__(self) -> None:
        if not 1 / NORM_LIMIT <= self.edges[0] <= self.edges[-1] <= NORM_LIMIT:
            raise validators.refuse(self, "edges", f"positive, from {1 / NORM_LIMIT:g} to {NORM_LIMIT:g}", self.edges)

    def sensitivity(self, rows: Rows) -> Mapping[str, Sensitivity]:
        """See :func:`dpframe.sensitivity.histogram`."""
        return {"counts": sensitivity.histogram(rows)}

    def part_shapes(self, rows: Rows) -> Mapping[str, Shape]:
        """One count for each bin."""
        return {"counts": (len(self.edges) + 1,)}

    def partial(self, chunk: Chunk) -> Mapping[str, IntArray]:
        """The counts of these rows."""
        return {"counts": chunk.length_counts(self.grid(chunk.rows.real_dim))}

    def grid(self, dim: int) -> Grid:
        """The grid on which lengths of rows of this many coordinates are compared."""
        return _grid(self.edges, dim)


@lru_cache(maxsize=64)
def _grid(edges: tuple[float, ...], dim: int) -> Grid:
    """See `NormHistogram.grid`: squared edges are integers below 2⁵³, hence exact in float64."""
    bits = lattice.direction_bits(dim) - 1
    per_step = Fraction(2**bits) / Fraction(edges[-1])
    squares = np.array([float(round(Fraction(edge) * per_step) ** 2) for edge in edges])
    squares.setflags(write=False)  # it is shared
    return Grid(2.0**bits / edges[-1], 2.0**bits, squares)


@attrs.frozen(kw_only=True)
class ColumnHistogram(Statistic):
    """Counts of the values of one column in the bins between public edges, the last bin being unbounded.

    Args:
        column: the name of a numeric column, or the index of a coordinate if rows have no columns.
        edges: increasing values in the column's own units, public. Bin i counts the values in (edges[i-1], edges[i]].
    """

    name = "column-histogram"
    sees = "mapped"

    column: str | int
    edges: tuple[float, ...] = attrs.field(converter=validators.as_tuple, validator=_check_edges)

    def check(self, rows: Rows) -> None:
        """Raise PlanError if the rows have no such column or coordinate."""
        if rows.columns is None:
            if not validators.is_int(self.column) or not 0 <= int(self.column) < (rows.dim or math.inf):
                raise PlanError(f"column={self.column!r} must be the index of one of the coordinates of the rows.")
        elif not any(isinstance(column, Column) and column.name == self.column for column in rows.columns):
            raise PlanError(f"column={self.column!r} must be the name of a numeric column of the rows.")

    def sensitivity(self, rows: Rows) -> Mapping[str, Sensitivity]:
        """See :func:`dpframe.sensitivity.histogram`."""
        return {"counts": sensitivity.histogram(rows)}

    def part_shapes(self, rows: Rows) -> Mapping[str, Shape]:
        """One count for each bin."""
        return {"counts": (len(self.edges) + 1,)}

    def partial(self, chunk: Chunk) -> Mapping[str, IntArray]:
        """The counts of these rows."""
        index, edges = int(self.column) if chunk.rows.columns is None else 0, np.asarray(self.edges)
        for column in chunk.rows.columns or ():
            if isinstance(column, Column) and column.name == self.column:
                edges = column.map(edges)[:, 0]  # mapped as the cells are, so that comparisons agree
                break
            index += len(column.labels)
        bins = np.searchsorted(edges, chunk.finite()[:, index].astype(np.float64), side="left")
        return {"counts": np.bincount(bins, minlength=len(edges) + 1).astype(np.int64)}
