"""The public promise about a matrix that was computed elsewhere: how far one person moves it."""

from __future__ import annotations

import math
from typing import Any

import attrs

from dpframe import lattice, validators
from dpframe.errors import PlanError
from dpframe.spec.columns import Category, Column
from dpframe.spec.placement import NORM_LIMIT, Numbers
from dpframe.spec.placement import Matrix as Numbers2D
from dpframe.spec.refs import Ref
from dpframe.spec.rows import Rows, check_neighbors

BOUND_BITS = 31
"""The largest bound that is promised has from 2³¹ to 2³³ lattice units, about as many as a row's squared length."""

LARGEST_ENTRY = 1 << 61
"""The largest entry, in units of 2·4^−halvings: 2²⁹ times the bound at least.

The sum of two, with noise below 2⁶², fits in 64 bits.

A sum over fewer people, which is that of nobody where there are none, has no larger entry."""

NORMS = {"frobenius": "Frobenius norm", "trace_norm": "trace norm"}


@attrs.frozen(kw_only=True, repr=False, init=False)
class Matrix(Rows):
    """The public promise about a symmetric matrix that was computed elsewhere: how far one person moves it.

    It stands in the place of `dp.Rows` where there are no rows to read, such as for sums that several hospitals added
    up. Of two data sets that differ by one person, with everything that person contributes, one gives the matrix A and
    the other A'; then ‖A − A'‖ is at most the bound. **Nothing enforces this**: rows are scaled down to their norm, but
    a matrix does not show who is in it. No part of it may be computed from the data.

    The matrix is taken as follows, and the promise is about what is taken: an entry that is not a finite number is 0,
    and one beyond `largest` is that. Of the result the symmetric part (A + Aᵀ)/2 counts, which brings no two matrices
    farther apart. It is rounded to a public lattice, and every sensitivity includes the rounding
    (:mod:`dpframe.sensitivity`).

    Args:
        neighbors: "add-remove" (the two data sets differ by whether one person is in them) or "replace" (by what one
            person's data are). It changes no noise, since the bound is about that relation; reports state it, and a
            ledger holds all plans of a data set to one. Mandatory.
        frobenius: the bound on ‖A − A'‖ in Frobenius norm, the root of the sum of squares of all entries.
        trace_norm: the bound in trace norm, the sum of the singular values, which for a symmetric difference are the
            absolute values of its eigenvalues. It is a bound in Frobenius norm, too. At least one of the two is needed.
        dim: the number of rows and columns; needed only for forecasts, since the matrix has it.
        complex: whether the matrix is complex. Then its Hermitian part (A + Aᴴ)/2 counts, and what is said of entries
            holds for real and for imaginary parts.

    >>> Matrix(trace_norm=2.0, neighbors="replace").bound("frobenius")
    2.0
    """

    frobenius: float | None = attrs.field(default=None, converter=validators.as_float)
    trace_norm: float | None = attrs.field(default=None, converter=validators.as_float)

    norm: float | Ref | None = attrs.field(default=None, init=False)
    columns: tuple[Column | Category, ...] | None = attrs.field(default=None, init=False)
    center: bool = attrs.field(default=False, init=False)
    contributions: int = attrs.field(default=1, init=False)
    person: str | None = attrs.field(default=None, init=False)
    about: Numbers | Ref | None = attrs.field(default=None, init=False)
    scale: Numbers | Ref | None = attrs.field(default=None, init=False)
    linear: Numbers2D | Ref | None = attrs.field(default=None, init=False)

    def __init__(
        self,
        *,
        neighbors: str | None = None,
        frobenius: float | None = None,
        trace_norm: float | None = None,
        dim: int | None = None,
        complex: bool = False,  # noqa: A002 - the name of the field
        **others: Any,
    ) -> None:
        if others:
            raise PlanError(
                f"dp.Matrix has no {next(iter(others))}=; it takes neighbors, frobenius, trace_norm, dim and complex. "
                "It is a promise about a matrix, of which nobody's rows are known: columns, norms and people are those "
                "of dp.Rows."
            )
        self.__attrs_init__(neighbors=neighbors, frobenius=frobenius, trace_norm=trace_norm, dim=dim, complex=complex)

    def __attrs_post_init__(self) -> None:
        check_neighbors(self)
        if self.frobenius is None and self.trace_norm is None:
            raise PlanError(
                "dp.Matrix needs how far one person moves the matrix: frobenius=, in Frobenius norm, or trace_norm=, "
                "the sum of the singular values of the difference. It cannot be read off the matrix."
            )
        for name in NORMS:
            value = getattr(self, name)
            if value is not None and not (validators.is_real(value) and 1 / NORM_LIMIT <= value <= NORM_LIMIT):
                allowed = f"a finite number between {1 / NORM_LIMIT:g} and {NORM_LIMIT:g}"
                raise validators.refuse(self, name, allowed, value)
        most = lattice.MAX_DIM // (1 + self.complex)
        if self.dim is not None and self.dim > most:
            raise validators.refuse(self, "dim", f"at most {most}", self.dim)

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in ("neighbors", *NORMS, "dim", "complex")}
        return f"Matrix({', '.join(f'{name}={each!r}' for name, each in given.items() if each not in (None, False))})"

    def bound(self, norm: str) -> float:
        """How far one person moves the matrix; raises PlanError if no bound in this norm is promised.

        Args:
            norm: "frobenius" or "trace_norm".
        """
        promised = [self.trace_norm] if norm == "trace_norm" else [self.frobenius, self.trace_norm]
        known = [each for each in promised if each is not None]
        if not known:
            raise PlanError(
                "dp.Matrix promises no bound in trace norm, the sum of the singular values of a difference: say "
                "trace_norm=. It is at most √rank times that in Frobenius norm, for the rank of a difference."
            )
        return min(known)

    @property
    def _largest_bound(self) -> float:
        return max(each for each in (self.frobenius, self.trace_norm) if each is not None)

    @property
    def length(self) -> float:
        """The root of the largest bound: the length of a row that moves a second moment as far."""
        return math.sqrt(self._largest_bound)

    @property
    def halvings(self) -> int:
        """The lattice unit of the matrix is 4^−halvings, a power of two: so scaling an entry is exact."""
        return -(-(BOUND_BITS + 1 - math.frexp(self._largest_bound)[1]) // 2)

    @property
    def step(self) -> float:
        """The root of the lattice unit, as of rows."""
        return 2.0**-self.halvings

    @property
    def largest(self) -> float:
        """The largest size of an entry: a larger one is taken as this."""
        return math.ldexp(1.0, LARGEST_ENTRY.bit_length() - 2 * self.halvings)

    @property
    def semidefinite(self) -> bool:
        """False: eigenvalues may be negative."""
        return False

    @property
    def unplaced(self) -> Rows:
        """The promise itself: a matrix is taken as it is."""
        return self
