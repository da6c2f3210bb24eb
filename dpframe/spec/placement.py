"""Where rows lie: their center, the scales that divide them or the matrix that multiplies them, and their norm.

Each is public, or the released result of an earlier step. The map of a row is then a function of that row and of
released numbers alone, so every sensitivity is that of plain rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

import attrs
import numpy as np

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.kinds import Axes, Kind, LinearMap, Mean, Scalar, Scales
from dpframe.spec.refs import Ref

NORM_LIMIT = 1e140  # squares of lattice steps must stay in float64
SCALE_LIMIT = 1e6  # scales are from 1/SCALE_LIMIT to SCALE_LIMIT

KINDS: dict[str, type[Kind]] = {"about": Mean, "scale": Scales, "linear": LinearMap, "norm": Scalar}
"""The kind that a step must give, for each part of a placement."""

MOVES = ("about", "scale", "linear")
"""The parts that move mapped rows; the norm scales them down."""

LIMITS = {
    "about": (-1.0, 1.0),
    "scale": (1 / SCALE_LIMIT, SCALE_LIMIT),
    "linear": (-SCALE_LIMIT, SCALE_LIMIT),
    "norm": (1 / NORM_LIMIT, NORM_LIMIT),
}
"""The ranges of the numbers of each part."""

Numbers = tuple[float, ...]


class Matrix(tuple[Numbers, ...]):
    """Rows of floats that were converted, and are hashed and checked once: many promises of a run have one matrix."""

    @cached_property
    def is_square(self) -> bool:
        """Whether it has as many columns as rows, of numbers that a linear map may have."""
        low, high = LIMITS["linear"]
        return all(
            isinstance(row, tuple)
            and len(row) == len(self)
            and all(low <= each <= high if type(each) is float else _between(each, low, high) for each in row)
            for row in self
        )

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash


def as_numbers(values: Any) -> Any:
    """Convert a sequence of real numbers to a tuple of floats; return anything else unchanged, to be refused."""
    values = validators.as_tuple(values)
    if not isinstance(values, tuple):
        return values
    if set(map(type, values)) == {float}:  # a large matrix is converted again and again
        return tuple(each + 0.0 for each in values)
    return tuple(each + 0.0 if isinstance(each, float) else each for each in map(validators.as_float, values))


def as_matrix(values: Any) -> Any:
    """Convert rows of real numbers to tuples of floats; return anything else unchanged, to be refused."""
    if isinstance(values, Matrix):
        return values
    values = validators.as_tuple(values)
    return Matrix(map(as_numbers, values)) if isinstance(values, tuple) else values


def check_parts(owner: Any) -> None:
    """Raise PlanError unless about, scale, linear and norm are references or numbers in their ranges."""
    if not (owner.norm is None or isinstance(owner.norm, Ref) or _between(owner.norm, 1 / NORM_LIMIT, NORM_LIMIT)):
        allowed = f"a finite number between {1 / NORM_LIMIT:g} and {NORM_LIMIT:g}"
        raise validators.refuse(owner, "norm", allowed, owner.norm)
    for name in ("about", "scale"):
        value, (low, high) = getattr(owner, name), LIMITS[name]
        if value is None or isinstance(value, Ref):
            continue
        if not isinstance(value, tuple) or not all(_between(each, low, high) for each in value):
            allowed = f"the result of a step, or for each coordinate a number from {low:g} to {high:g}"
            raise validators.refuse(owner, name, allowed, value)
    linear = owner.linear
    if not (linear is None or isinstance(linear, Ref) or (isinstance(linear, Matrix) and linear.is_square)):
        allowed = f"the result of a step, or a square matrix of numbers from -{SCALE_LIMIT:g} to {SCALE_LIMIT:g}"
        raise validators.refuse(owner, "linear", allowed, linear)
    if linear is not None and owner.scale is not None:
        raise PlanError("rows are divided by scale= or multiplied by linear=, not both: a linear map has scales in it.")


def _between(value: Any, low: float, high: float) -> bool:
    return validators.is_real(value) and low <= value <= high


def references(owner: Any) -> dict[str, str]:
    """The steps that the parts of a placement refer to, by field."""
    return {name: value.name for name in KINDS if isinstance(value := getattr(owner, name), Ref)}


def released(owner: Any, values: Mapping[str, Kind], axes: Axes | None) -> dict[str, Any]:
    """The parts whose steps are among the values, as numbers in their ranges.

    A part outside its range is moved to the end of it: rows are taken about a point of their box.

    Args:
        owner: what refers to steps.
        values: the results so far, by step.
        axes: the coordinates of mapped rows. A mean, or scales, in other coordinates of the same columns are mapped to
            these.
    """
    parts: dict[str, Any] = {}
    for name, step in references(owner).items():
        if step not in values:
            continue
        if name == "linear":
            parts[name] = _released_matrix(values[step])
            continue
        array = values[step].array.real
        if name != "norm" and axes is not None:
            array = _in_coordinates(name, array, values[step].axes, axes, step)
        found = np.clip(array, *LIMITS[name]).tolist()
        parts[name] = found if name == "norm" else tuple(found)
    return parts


@lru_cache(maxsize=4)
def _released_matrix(value: Kind) -> Any:
    """A released linear map in numbers, of which a run asks again and again."""
    return as_matrix(np.clip(value.array.real, *LIMITS["linear"]).tolist())


def _in_coordinates(name: str, array: Any, own: Axes | None, axes: Axes, step: str) -> Any:
    """A mean or scales in coordinates of their own, in those of mapped rows."""
    if own is None or own == axes:
        return array
    if own.labels != axes.labels:
        raise PlanError(f"the {name} of rows must be of their own columns, but {step!r} is of others.")
    shift = np.array(own.offset) - axes.offset if name == "about" else 0.0
    with np.errstate(all="ignore"):
        return np.nan_to_num((shift + own.scale * array) / axes.scale)


@attrs.frozen(kw_only=True, repr=False)
class Placement:
    """The parts of the promise that one step replaces; None leaves a part as the plan has it.

    Args:
        about: the center, in coordinates from -1 to 1; see :class:`dpframe.Rows`.
        scale: the scales.
        linear: the linear map, instead of scales.
        norm: the largest length of a row about the center, in scaled coordinates.
        center: whether a constant coordinate is added; see :class:`dpframe.Rows`.
    """

    about: Numbers | Ref | None = attrs.field(default=None, converter=as_numbers)
    scale: Numbers | Ref | None = attrs.field(default=None, converter=as_numbers)
    linear: Matrix | Ref | None = attrs.field(default=None, converter=as_matrix)
    norm: float | Ref | None = attrs.field(default=None, converter=validators.as_float)
    center: bool | None = attrs.field(default=None, validator=attrs.validators.optional(validators.boolean))

    def __repr__(self) -> str:
        """All parts, but some only where they are given: recorded hashes of plans rest on this text."""
        fields = {field.name: getattr(self, field.name) for field in attrs.fields(Placement)}
        shown = {name: each for name, each in fields.items() if each is not None or name not in ("linear", "center")}
        return f"Placement({', '.join(f'{name}={each!r}' for name, each in shown.items())})"

    def __attrs_post_init__(self) -> None:
        check_parts(self)

    @property
    def given(self) -> dict[str, Any]:
        """The parts that it replaces, by name."""
        return {name: value for name in (*KINDS, "center") if (value := getattr(self, name)) is not None}


def as_placement(value: Any) -> Any:
    """A placement from a dictionary of its parts; anything else unchanged, to be refused."""
    if not isinstance(value, dict):
        return value
    known = [field.name for field in attrs.fields(Placement)]
    if unknown := [name for name in value if name not in known]:
        raise PlanError(f"rows={{...}} of a step takes {', '.join(known)}; got {unknown[0]!r}.")
    return Placement(**value)
