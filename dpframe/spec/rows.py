"""The public promise about the rows, which determines sensitivities and units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

from dpframe import lattice, validators
from dpframe.errors import PlanError
from dpframe.kinds import Axes, Kind
from dpframe.spec.columns import Category, Column
from dpframe.spec.refs import Ref

NEIGHBORS = ("add-remove", "replace")
MAX_CONTRIBUTIONS = 1 << 20
NORM_LIMIT = 1e140  # squares of lattice steps must stay in float64


def _usable_norm(norm: Any) -> bool:
    return validators.is_real(norm) and 1 / NORM_LIMIT <= norm <= NORM_LIMIT


@attrs.frozen(kw_only=True)
class Rows:
    """The public promise about the data, from which every sensitivity follows.

    No part of it is computed from the data.

    Args:
        neighbors: "add-remove" (one person's rows are present or not; the number of rows is private) or "replace"
            (one person's rows are exchanged for as many others; the number of rows is public). Mandatory.
        norm: rows longer than this are scaled down to it. With columns the default is √(number of columns), which no
            mapped row exceeds. ``dp.ref("radius")`` takes the released result of an earlier step instead.
        columns: public ranges and levels; without them, rows are arrays of plain numbers.
        center: adds a constant coordinate, so that count, mean and covariance come out of one release.
        contributions: the largest number of rows of any one person; with ``person``, the largest number that count.
        person: the name of a column of ids, integers or text, that identifies the person of each row. It is read in
            addition to the columns and is not a coordinate. The first ``contributions`` rows of each person count, in
            the order of the source; others, and rows without an id, contribute nothing. Without ``person``,
            ``contributions`` is a promise.
        dim: the number of coordinates, needed only if neither columns nor the source determine it.

    >>> Rows(norm=1.0, neighbors="add-remove").length
    1.0
    """

    neighbors: str | None = attrs.field(default=None)
    norm: float | Ref | None = attrs.field(default=None, converter=validators.as_float)
    columns: tuple[Column | Category, ...] | None = attrs.field(default=None, converter=validators.as_tuple)
    center: bool = attrs.field(default=False, validator=validators.boolean)
    contributions: int = attrs.field(default=1, validator=validators.positive_int)
    person: str | None = attrs.field(default=None, validator=attrs.validators.optional(validators.text))
    dim: int | None = attrs.field(default=None, validator=attrs.validators.optional(validators.positive_int))

    def __attrs_post_init__(self) -> None:
        if self.neighbors not in NEIGHBORS:
            got = "none was given" if self.neighbors is None else f"got {self.neighbors!r}"
            raise PlanError(
                f"Rows.neighbors must be 'add-remove' (the number of rows is private) or 'replace' (it is public); "
                f"{got}. The guarantee has no meaning without it."
            )
        if self.norm is None and self.columns is None:
            raise PlanError(
                "Rows needs a public bound: norm=, the largest length of a row, or columns= with public ranges."
            )
        if not (self.norm is None or isinstance(self.norm, Ref) or _usable_norm(self.norm)):
            allowed = f"a finite number between {1 / NORM_LIMIT:g} and {NORM_LIMIT:g}"
            raise validators.refuse(self, "norm", allowed, self.norm)
        if self.columns is not None:
            self._check_columns(self.columns)
        if self.person is not None:
            self._check_person(self.person)
        if self.contributions > MAX_CONTRIBUTIONS:
            raise validators.refuse(self, "contributions", f"at most {MAX_CONTRIBUTIONS}", self.contributions)
        if self.dim is not None and self.dim > lattice.MAX_DIM:
            raise validators.refuse(self, "dim", f"at most {lattice.MAX_DIM}", self.dim)

    def _check_columns(self, columns: tuple[Column | Category, ...]) -> None:
        if (
            not columns
            or not isinstance(columns, tuple)
            or not all(isinstance(column, Column | Category) for column in columns)
        ):
            raise PlanError("Rows.columns must be a list of at least one dp.Column or dp.Category.")
        names = [column.name for column in columns]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise PlanError(f"Rows.columns has more than one column named {repeated[0]!r}; names must differ.")
        width = sum(len(column.labels) for column in columns)
        if self.dim not in (None, width):
            raise PlanError(f"Rows.dim is {self.dim}, but its columns make {width} coordinates; leave dim out.")
        object.__setattr__(self, "dim", width)

    def _check_person(self, person: str) -> None:
        if self.columns is None:
            raise PlanError(
                f"Rows.person={person!r} names a column of a table, but the rows are arrays of plain numbers. Say "
                "columns=[...] and pass a table of named columns, or leave person out and promise contributions=."
            )
        if any(column.name == person for column in self.columns):
            raise PlanError(
                f"Rows.person={person!r} is one of Rows.columns; an id identifies the person of a row and is not "
                "released. Leave it out of the columns."
            )

    @property
    def length(self) -> float:
        """The public bound on the length of a row."""
        if isinstance(self.norm, Ref):
            raise PlanError(f"the norm is the result of step {self.norm.name!r}, which is known only during a run.")
        if self.norm is not None:
            return self.norm
        assert self.columns is not None  # by the check at construction
        return math.sqrt(len(self.columns))  # each column contributes at most 1, numeric or one-hot

    @property
    def known_dim(self) -> int:
        """The number of coordinates, without the constant one; raises PlanError if it is not known yet."""
        if self.dim is None:
            raise PlanError("the dimension of the rows is not known yet; say dp.Rows(..., dim=...).")
        return self.dim

    @property
    def width(self) -> int:
        """The number of integer coordinates: one more than the dimension if the plan is centered."""
        return self.known_dim + self.center

    @property
    def step(self) -> float:
        """The length of one lattice step in the units of the rows."""
        return self.length / lattice.inner_radius(self.known_dim)

    @property
    def constant(self) -> int:
        """The constant coordinate of centered rows, in lattice steps.

        A larger constant increases the sensitivity; a smaller one makes the mean less precise. For the covariance the
        best square is near R²/√(4d); a power of two near its root keeps every formula exact.
        """
        return lattice.RADIUS >> round(math.log2(4 * self.known_dim) / 4)

    @property
    def axes(self) -> Axes | None:
        """Names and units of the coordinates; None without columns."""
        if self.columns is None:
            return None
        axes = Axes.empty()
        for column in self.columns:
            for label in column.labels:
                if isinstance(column, Column):
                    axes = axes.with_axis(label, column.half_width, column.middle, column.unit)
                else:
                    axes = axes.with_axis(label, 1.0, 0.0)
        return axes

    @property
    def released_norm(self) -> str | None:
        """The name of the step that releases the norm, or None."""
        return self.norm.name if isinstance(self.norm, Ref) else None

    def with_released_norm(self, values: Mapping[str, Kind]) -> Rows:
        """The same promise with the released norm, if it is among the values."""
        name = self.released_norm
        return self if name is None or name not in values else attrs.evolve(self, norm=float(values[name].array))

    def bind(self, dim: int) -> Rows:
        """The same promise for rows of a known dimension."""
        if self.dim is not None and self.dim != dim:
            if self.columns is not None:
                raise PlanError(f"Rows.dim is {dim}, but its columns make {self.dim} coordinates; leave dim out.")
            raise PlanError(f"the promise says dim={self.dim}; got dim={dim}.")
        return attrs.evolve(self, dim=dim)
