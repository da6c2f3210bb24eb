"""Frozen classes from plain data: every field is checked against its annotation."""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, TypeVar

import attrs

from dpframe.display.exportable import NOT_FINITE
from dpframe.spec.budget import Budget, ModelBudget
from dpframe.validators import as_float, is_int, is_real

T = TypeVar("T")


class Malformed(ValueError):
    """Raised where plain data is not what a class holds; the message names the field and never shows its value."""


def structured(cls: type[T], content: Any, place: str = "") -> T:
    """An instance of a class from the plain data that `attrs.asdict` gives.

    Args:
        cls: an attrs class, whose fields with defaults may be left out.
        content: its fields.
        place: where the content is, for messages.
    """
    return cls(**fields(cls, content, place))


def fields(cls: type[Any], content: Any, place: str = "", *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a class, each read as its annotation says.

    Args:
        cls: an attrs class.
        content: its fields as plain data.
        place: where the content is, for messages.
        without: fields that are not among the content.
    """
    declared = {field.name: field for field in attrs.fields(cls) if field.name not in without}
    given = _table(content, place)
    if unknown := [key for key in given if key not in declared]:
        raise Malformed(f"{at(place, unknown[0])} is not a field of {cls.__name__}")
    hints = _hints(cls)
    read = {name: value_as(hints.get(name, Any), value, at(place, name)) for name, value in given.items()}
    needed = (name for name, field in declared.items() if field.default is attrs.NOTHING)
    if absent := [name for name in needed if name not in read]:
        raise Malformed(f"{at(place, absent[0])} is missing")
    return read


def value_as(hint: Any, value: Any, place: str) -> Any:
    """A value of plain data as an annotation says; one that no rule is known for as it is, for the class to check.

    Args:
        hint: the annotation.
        value: the value.
        place: where it is, for messages.
    """
    kind, parts = typing.get_origin(hint), typing.get_args(hint)
    if kind in (typing.Union, UnionType):
        others = [part for part in parts if part is not NoneType]
        if value is None and NoneType in parts:
            return None
        return value_as(others[0] if len(others) == 1 else Any, value, place)
    if kind is tuple and len(parts) == 2 and parts[1] is ...:
        return tuple(value_as(parts[0], each, f"{place}[{i}]") for i, each in enumerate(_list(value, place)))
    if kind is dict:
        return {key: value_as(parts[1], each, at(place, key)) for key, each in _table(value, place).items()}
    return _of_class(hint, value, place) if isinstance(hint, type) else value


def _of_class(cls: type[Any], value: Any, place: str) -> Any:
    if (read := READERS.get(cls)) is not None:
        return read(value, place)
    return structured(cls, value, place) if attrs.has(cls) and not isinstance(value, cls) else value


def at(place: str, key: str) -> str:
    """The place of a field, as in "statement.lines[0].name".

    Args:
        place: where its owner is.
        key: the name of the field.
    """
    return f"{place}.{key}" if place else key


def number(value: Any, place: str) -> float:
    """A number, or one of the three strings that stand for those that JSON lacks.

    Args:
        value: the value.
        place: where it is, for messages.
    """
    if isinstance(value, str) and value in NOT_FINITE:
        return NOT_FINITE[value]
    if not is_real(value) or not math.isfinite(as_float(value)):
        raise Malformed(f"{place} is not a number")
    return float(value)


def _hints(cls: type[Any]) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except (NameError, TypeError):  # a plugin's annotation that only a type checker can read
        return {}


def _text(value: Any, place: str) -> str:
    return _instance(value, str, "a text", place)


def _boolean(value: Any, place: str) -> bool:
    return _instance(value, bool, "true or false", place)


def _table(value: Any, place: str) -> dict[str, Any]:
    return _instance(value, dict, "an object", place)


def _list(value: Any, place: str) -> list[Any]:
    return _instance(value, list, "a list", place)


def _instance(value: Any, cls: type[T], described: str, place: str) -> T:
    if not isinstance(value, cls):
        raise Malformed(f"{place or 'it'} is not {described}")
    return value


def _natural(value: Any, place: str) -> int:
    if not is_int(value) or value < 0:
        raise Malformed(f"{place} is not an integer of at least 0")
    return int(value)


def _budget(value: Any, place: str) -> Budget:
    """A budget; one that rests on a model says which."""
    return structured(ModelBudget if "model" in _table(value, place) else Budget, value, place)


READERS: dict[type[Any], Callable[[Any, str], Any]] = {
    str: _text,
    bool: _boolean,
    int: _natural,
    float: number,
    Budget: _budget,
}
