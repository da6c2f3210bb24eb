"""The public promise about the rows, which determines sensitivities and units."""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs
import numpy as np

from dpframe import lattice, validators
from dpframe.errors import PlanError
from dpframe.kinds import Axes, Kind
from dpframe.lattice import FloatArray
from dpframe.spec import placement
from dpframe.spec.columns import Category, Column
from dpframe.spec.placement import Matrix, Numbers, Placement
from dpframe.spec.refs import Ref

NEIGHBORS = ("add-remove", "replace")
MAX_CONTRIBUTIONS = 1 << 20


def check_neighbors(promise: Rows) -> None:
    """Raise PlanError unless a promise names its neighboring relation."""
    if promise.neighbors not in NEIGHBORS:
        got = "none was given" if promise.neighbors is None else f"got {promise.neighbors!r}"
        raise PlanError(
            f"{type(promise).__name__}.neighbors must be 'add-remove' (the number of rows is private) or 'replace' (it "
            f"is public); {got}. The guarantee has no meaning without it."
        )


@attrs.frozen(kw_only=True, repr=False)
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
        about: the point about which mapped rows are taken, one number from -1 to 1 per coordinate; the middle of the
            ranges by default. ``dp.ref("center")`` takes the released mean of an earlier step. Then the norm bounds the
            distance of a row from that point.
        scale: numbers by which the coordinates about that point are divided; ``dp.ref("scale")`` takes a released
            vector. Results are in the scaled coordinates, and ``to-units`` maps them back.
        linear: a square matrix that rows about that point are multiplied by, instead of scales; ``dp.ref("linear")``
            takes a released one. The coordinates are then no longer columns, and results have no names and units.
        complex: whether rows are arrays of complex numbers. Their second moment is the Hermitian matrix Σ x xᴴ, and the
            norm bounds the length √Σ|x_j|². They have no columns and no constant coordinate.

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
    about: Numbers | Ref | None = attrs.field(default=None, converter=placement.as_numbers)
    scale: Numbers | Ref | None = attrs.field(default=None, converter=placement.as_numbers)
    linear: Matrix | Ref | None = attrs.field(default=None, converter=placement.as_matrix)
    complex: bool = attrs.field(default=False, validator=validators.boolean)

    def __repr__(self) -> str:
        """All fields, but a placement and `complex` only where given: recorded hashes of plans rest on this text."""
        fields = {field.name: getattr(self, field.name) for field in attrs.fields(Rows)}
        unseen = dict.fromkeys(placement.MOVES) | {"complex": False}
        shown = {name: each for name, each in fields.items() if name not in unseen or each is not unseen[name]}
        return f"Rows({', '.join(f'{name}={each!r}' for name, each in shown.items())})"

    def _repr_html_(self) -> str:
        from dpframe.display.notebook import html_of
        from dpframe.run.plan_text import render_rows

        return html_of(render_rows(self))

    def __attrs_post_init__(self) -> None:
        check_neighbors(self)
        if self.norm is None and self.columns is None:
            raise PlanError(
                "Rows needs a public bound: norm=, the largest length of a row, or columns= with public ranges."
            )
        placement.check_parts(self)
        if self.complex:
            self._check_complex()
        if self.columns is not None:
            self._check_columns(self.columns)
        self._check_placement()
        if self.person is not None:
            self._check_person(self.person)
        if self.contributions > MAX_CONTRIBUTIONS:
            raise validators.refuse(self, "contributions", f"at most {MAX_CONTRIBUTIONS}", self.contributions)
        most = lattice.MAX_DIM // (1 + self.complex)
        if self.dim is not None and self.dim > most:
            raise validators.refuse(self, "dim", f"at most {most}", self.dim)

    def _check_complex(self) -> None:
        for name, given in (("columns", self.columns is not None), ("center", self.center)):
            if given:
                raise PlanError(
                    f"Rows.complex=True is for arrays of complex numbers with a norm; it takes no {name}=. Leave "
                    f"{name}= out, or declare real and imaginary parts as columns of their own, without complex=."
                )

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

    def _check_placement(self) -> None:
        for name in placement.MOVES:
            value = getattr(self, name)
            if value is not None and self.columns is None:
                raise PlanError(
                    f"Rows.{name} is in coordinates from -1 to 1, so it needs public ranges: columns=[...]. Arrays are "
                    "matched to columns by position."
                )
            if isinstance(value, tuple) and len(value) != self.dim:
                parts = "rows" if name == "linear" else "numbers"
                raise PlanError(f"Rows.{name} has {len(value)} {parts}, but the columns make {self.dim} coordinates.")

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
        if self.is_moved:
            return self._longest()
        return math.sqrt(len(self.columns))  # each column contributes at most 1, numeric or one-hot

    def _longest(self) -> float:
        """The largest distance of a mapped row from the center, in scaled coordinates; a bound after a linear map."""
        if self.linear is not None:
            squares = np.square(self.multiplied).ravel().tolist()
            longest = math.sqrt(math.fsum(squares)) * self.before_linear.length  # the same number on every machine
            return min(max(longest, 1 / placement.NORM_LIMIT), placement.NORM_LIMIT)
        shift, rate = self.affine
        total, at = 0.0, 0
        for column in self.columns or ():
            here = slice(at, at := at + len(column.labels))
            zero, one = (shift[here] * rate[here]) ** 2, ((1.0 - shift[here]) * rate[here]) ** 2
            if isinstance(column, Column):
                total += float(np.maximum(((-1.0 - shift[here]) * rate[here]) ** 2, one)[0])
            else:
                total += float(zero.sum() + (one - zero).max())  # one level is 1, all others are 0
        return max(math.sqrt(total), 1 / placement.NORM_LIMIT)  # it is 0 for a category of one level about 1

    @property
    def semidefinite(self) -> bool:
        """Whether a second moment has no negative eigenvalues: as a sum over rows, and not of any symmetric matrix."""
        return True

    @property
    def is_moved(self) -> bool:
        """Whether rows are taken about a center, divided by scales or multiplied by a matrix."""
        return any(getattr(self, name) is not None for name in placement.MOVES)

    @property
    def affine(self) -> tuple[FloatArray, FloatArray]:
        """The placed coordinate of a mapped one x is (x − shift) · rate: (shift, rate), one number per coordinate."""
        self._known("about")
        self._known("scale")
        shift = np.zeros(self.known_dim) if self.about is None else np.array(self.about)
        rate = np.ones(self.known_dim) if self.scale is None else 1.0 / np.array(self.scale)
        return shift, rate

    @property
    def multiplied(self) -> FloatArray:
        """The matrix that rows are multiplied by, (dim, dim)."""
        self._known("linear")
        return np.eye(self.known_dim) if self.linear is None else np.array(self.linear)

    @property
    def before_linear(self) -> Rows:
        """The promise about the same rows before the linear map, none of them scaled down to a norm."""
        return attrs.evolve(self, linear=None, norm=None)

    def _known(self, name: str) -> None:
        """Raise PlanError where a part of the placement is yet to be released."""
        if isinstance(value := getattr(self, name), Ref):
            raise PlanError(f"Rows.{name} is the result of step {value.name!r}, which is known only during a run.")

    @property
    def unplaced(self) -> Rows:
        """The promise about mapped rows: of columns, without a center, scales and a norm; arrays as they are."""
        placed = self.columns is not None and (self.is_moved or self.norm is not None)
        return attrs.evolve(self, about=None, scale=None, linear=None, norm=None) if placed else self

    @property
    def known_dim(self) -> int:
        """The number of coordinates, without the constant one; raises PlanError if it is not known yet."""
        if self.dim is None:
            raise PlanError("the dimension of the rows is not known yet; say dp.Rows(..., dim=...).")
        return self.dim

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of coordinates of each column: 1 for a numeric one, that of its levels for a category."""
        return tuple(len(column.labels) for column in self.columns or ())

    @property
    def real_dim(self) -> int:
        """The number of real coordinates, without the constant one: twice the dimension of complex rows."""
        return self.known_dim * (1 + self.complex)

    @property
    def dtype(self) -> type[np.complex128 | np.float64]:
        """The type of a coordinate."""
        return np.complex128 if self.complex else np.float64

    @property
    def as_real(self) -> Rows:
        """The promise about the same rows as real ones: that of complex rows with twice the coordinates."""
        return attrs.evolve(self, complex=False, dim=self.real_dim) if self.complex else self

    @property
    def width(self) -> int:
        """The number of integer coordinates: of real ones, and one more if the plan is centered."""
        return self.real_dim + self.center

    @property
    def step(self) -> float:
        """The length of one lattice step in the units of the rows."""
        return self.length / lattice.inner_radius(self.real_dim)

    @property
    def constant(self) -> int:
        """The constant coordinate of centered rows, in lattice steps.

        A larger constant increases the sensitivity; a smaller one makes the mean less precise. For the covariance the
        best square is near R²/√(4d); a power of two near its root keeps every formula exact. Rows about a center have
        a small mean, and the constant is at most R/4, and near R/√d, where columns that vary alike have means and
        deviations that are known equally well.
        """
        halvings = round(math.log2(4 * self.known_dim) / 4)
        if self.about is not None:
            halvings = max(halvings, 2, round(math.log2(self.known_dim) / 2))
        return lattice.RADIUS >> halvings

    @property
    def axes(self) -> Axes | None:
        """Names and units of the coordinates; None without columns, and after a linear map."""
        if self.columns is None or self.linear is not None:
            return None
        axes, moved = Axes.empty(), self.is_moved
        shift, rate = self.affine
        for column in self.columns:
            for label in column.labels:
                at = len(axes.labels)
                if isinstance(column, Column):
                    middle, per_unit = column.affine(shift[at], rate[at])
                    axes = axes.with_axis(label, 1 / per_unit if moved else column.half_width, middle, column.unit)
                else:
                    axes = axes.with_axis(label, 1 / rate[at], shift[at])
        return axes

    @property
    def awaited(self) -> dict[str, str]:
        """The steps that are to release its norm, center and scales, by field; empty where all of them are known."""
        return placement.references(self)

    def with_released(self, values: Mapping[str, Kind]) -> Rows:
        """The same promise with the parts of it that are among the released values."""
        if not any(step in values for step in self.awaited.values()):
            return self
        known = placement.released(self, values, None if self.columns is None else self.unplaced.axes)
        return attrs.evolve(self, **known) if known else self

    def seen_by(self, place: Placement | None) -> Rows:
        """The promise as a step with this placement sees it."""
        return self if place is None else attrs.evolve(self, **place.given)

    def bind(self, dim: int) -> Rows:
        """The same promise for rows of a known dimension."""
        if self.dim is not None and self.dim != dim:
            if self.columns is not None:
                raise PlanError(f"Rows.dim is {dim}, but its columns make {self.dim} coordinates; leave dim out.")
            raise PlanError(f"the promise says dim={self.dim}; got dim={dim}.")
        return attrs.evolve(self, dim=dim)
