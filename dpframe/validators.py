"""Validators of declared values, with one form of message.

Each validator is used as ``attrs.field(validator=...)`` and raises :class:`~dpframe.errors.PlanError` such as
``SymmetricGaussian.noise must be one of 'goe', 'triangular', 'paper'; got 'gaussian'.``
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from dpframe.errors import PlanError

LONGEST_SHOWN = 200  # characters of a value in a message
Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def refuse(owner: object, field: str, requirement: str, got: object) -> PlanError:
    """The error for an invalid parameter: ``Owner.field must be <requirement>; got <value>.``"""
    return PlanError(f"{type(owner).__name__}.{field} must be {requirement}; got {shown(got)}.")


def shown(value: object) -> str:
    """The representation of a value, cut where it is long.

    >>> shown("name"), len(shown("name" * 1000)), shown(10**5000)
    ("'name'", 203, 'an integer of 16610 bits')
    """
    if isinstance(value, int) and value.bit_length() > LONGEST_SHOWN:  # Python refuses to write thousands of digits
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def is_int(value: object) -> bool:
    """Whether the value is an integer; booleans are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """Whether the value is an integer or a float; booleans are not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Whether the value is a real number that is finite as a double."""
    return is_real(value) and math.isfinite(as_float(value))


def as_float(value: Any) -> Any:
    """Convert a real number to a float; return anything else unchanged, for the validator to refuse."""
    try:
        return float(value) if is_real(value) else value
    except OverflowError:
        return math.inf  # an integer larger than every double


def as_tuple(values: Any) -> Any:
    """Convert a list or array to a tuple; return anything else unchanged, for the validator to refuse."""
    return tuple(values) if isinstance(values, list | np.ndarray) else values


def as_floats(value: Any) -> Any:
    """Convert a number to a float, and a list, tuple or array of numbers to a tuple of floats; see `as_float`."""
    return tuple(map(as_float, value)) if isinstance(value, list | tuple | np.ndarray) else as_float(value)


def positive_int(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Require an integer of at least one."""
    if not is_int(value) or value < 1:
        raise refuse(owner, attribute.alias or attribute.name, "a positive integer", value)


def positive_ints(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Require a tuple of integers of at least one, and not an empty one."""
    if not (isinstance(value, tuple) and value and all(is_int(each) and each > 0 for each in value)):
        raise refuse(owner, attribute.alias or attribute.name, "positive integers, at least one", value)


def integer(*, at_least: int, at_most: int) -> Validator:
    """Require an integer in the given range."""

    def check(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        if not (is_int(value) and at_least <= value <= at_most):
            allowed = f"an integer from {at_least} to {at_most}"
            raise refuse(owner, attribute.alias or attribute.name, allowed, value)

    return check


def check_delta(delta: Any) -> None:
    """Raise PlanError unless delta is a finite number in [0, 1)."""
    if not (is_finite(delta) and 0.0 <= delta < 1.0):
        raise PlanError(f"delta must be a finite number of at least 0 and below 1; got {delta!r}.")


def one_of(*allowed: str) -> Validator:
    """Require one of the given words."""

    def check(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value not in allowed:
            raise refuse(owner, attribute.alias or attribute.name, "one of " + ", ".join(map(repr, allowed)), value)

    return check


def number(*, above: float = -math.inf, at_least: float = -math.inf, below: float = math.inf) -> Validator:
    """Require a finite number in the given range."""
    parts = ["a finite number"]
    if above > -math.inf:
        parts.append(f"above {above:g}")
    if at_least > -math.inf:
        parts.append(f"of at least {at_least:g}")
    if below < math.inf:
        parts.append(f"and below {below:g}")
    requirement = " ".join(parts)

    def check(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        if not (is_finite(value) and value > above and value >= at_least and value < below):
            raise refuse(owner, attribute.alias or attribute.name, requirement, value)

    return check


def descending(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Require a finite number above 0, or a tuple of such numbers of which none is above the one before it."""
    values = list(value) if isinstance(value, tuple) else [value]
    positive = values and all(is_finite(each) and each > 0.0 for each in values)
    if not positive or values != sorted(values, reverse=True):
        allowed = "a finite number above 0, or several in descending order"
        raise refuse(owner, attribute.alias or attribute.name, allowed, value)


def text(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Require a string."""
    if not isinstance(value, str):
        raise refuse(owner, attribute.alias or attribute.name, "a text", value)


def boolean(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Require True or False."""
    if not isinstance(value, bool):
        raise refuse(owner, attribute.alias or attribute.name, "True or False", value)


LONGEST_NAME = 200
"""Names of steps are names of files and of members of archives."""


def is_name(value: object) -> bool:
    """Whether the value is the name of a step: words of letters, digits, '_' and '-', joined by dots in recipes."""
    words = value.split(".") if isinstance(value, str) and len(value) <= LONGEST_NAME else [""]
    return all(word.replace("_", "").replace("-", "").isalnum() for word in words)


def identifier(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Require the name of a step; see `is_name`."""
    if not is_name(value):
        allowed = f"a name of letters, digits, '_' and '-', at most {LONGEST_NAME} of them"
        raise refuse(owner, attribute.alias or attribute.name, allowed, value)
