"""Result files: reading what `Result.to_json` wrote, with every field checked before anything is made of it."""

from __future__ import annotations

import json
import re
import reprlib
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import kinds
from dpframe.display.visible import visible
from dpframe.errors import DataError, PlanError
from dpframe.intervals.interval import Interval
from dpframe.kinds import AugmentedMoment, AugmentedSum, Axes, Kind
from dpframe.plan.text_file import read_text
from dpframe.run.error_bars import StoredBars
from dpframe.run.result import FORMAT, Charge, Record, Result
from dpframe.run.statement import Line, Statement
from dpframe.run.structured import Malformed, at, fields, number, value_as
from dpframe.spec.rows import NEIGHBORS
from dpframe.validators import is_name

ADVICE = "A result is the JSON text that result.to_json(path) or dpframe run writes."
HASH = re.compile(r"[0-9a-f]{64}")
ARRAYS = ("low", "high", "standard_error")  # of an interval, beside where it is determined
BARS = ("intervals", "without_interval")  # error bars, and why some values have none
NESTED = 32  # the most dimensions that an array may have here, and the most kinds within kinds


def load(path: str | Path) -> Result:
    """Read a result file; raises DataError unless it is one, whatever else it holds.

    Args:
        path: the path of the file.
    """
    text = read_text(path, error=DataError, what="a result", advice=ADVICE)
    try:
        return _result(_parsed(text))
    except _OtherFormat as error:
        raise DataError(visible(f"{path} {error}")) from None
    except (Malformed, PlanError) as error:
        reason = str(error).removesuffix(".")
    except RecursionError:
        reason = "it is nested too deeply"
    raise DataError(visible(f"{path} is not a result written by dpframe: {reason}. {ADVICE}"))


class _OtherFormat(Exception):
    """Raised for a file of another version of the format."""


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_distinct)
    except Malformed:
        raise
    except ValueError:  # not JSON, or an integer of thousands of digits
        raise Malformed("it is not JSON") from None


def _no_constant(word: str) -> Any:
    raise Malformed(f"{word} is not JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise Malformed("an object has a key twice")
    return content


def _result(content: Any) -> Result:
    if not isinstance(content, dict):
        raise Malformed("it is not an object")
    if absent := [key for key in ("format", "private", "statement", "versions", "results") if key not in content]:
        raise Malformed(f"{absent[0]} is missing")
    if type(content["format"]) is not int or content["format"] != FORMAT:
        raise _OtherFormat(f"has result format {reprlib.repr(content['format'])}; this version reads {FORMAT}.")
    value_as(str, content.get("caveat", ""), "caveat")
    own = {key: value for key, value in content.items() if key not in ("format", "caveat", "results", *BARS)}
    parts = fields(Result, own, without=("records", "bars"))
    _check_statement(parts["statement"])
    if parts.get("charge") is not None:
        _check_charge(parts["charge"])
    lines = {line.name: line for line in parts["statement"].lines}
    results = value_as(dict[str, Any], content["results"], "results")
    records = {name: _record(name, value, lines.get(name)) for name, value in results.items()}
    written = set(BARS) & set(content)
    bars = _bars(content.get(BARS[0], {}), content.get(BARS[1], {}), records) if written else None
    return Result(**parts, records=records, bars=bars)


def _bars(content: Any, reasons: Any, records: dict[str, Record]) -> StoredBars:
    """The error bars of a file; each must be of a value, and like it."""
    intervals, errors = {}, {}
    for name, table in value_as(dict[str, Any], content, "intervals").items():
        place = at("intervals", name)
        if name not in records:
            raise Malformed(f"{place} is of no result")
        stored = dict(value_as(dict[str, Any], table, place))
        parts: dict[str, Any] = {key: _array(stored.pop(key, None), at(place, key)) for key in ARRAYS}
        determined = np.array(stored.pop("determined", None))
        shape = records[name].value.array.shape
        if determined.dtype != np.bool_ or any(each.shape != shape for each in (determined, *parts.values())):
            raise Malformed(f"{place} has parts that are not like the value")
        errors[name] = parts.pop("standard_error")
        parts |= fields(Interval, stored, place, without=("low", "high", "determined"))
        if any(np.isnan(each).any() for each in (parts["low"], parts["high"], errors[name])):
            raise Malformed(f"{place} has an end that is not a number")
        if not 0.0 < parts["confidence"] < 1.0:
            raise Malformed(f"{at(place, 'confidence')} is not between 0 and 1")
        intervals[name] = Interval(**parts, determined=determined)
    return StoredBars(intervals, errors, value_as(dict[str, str], reasons, "without_interval"))


def _record(name: str, content: Any, line: Line | None) -> Record:
    if line is None:
        raise Malformed("statement.lines lacks the line of a result")
    return Record(name=name, value=_kind(content, at("results", name), NESTED), line=line)


def _check_statement(statement: Statement) -> None:
    names = [line.name for line in statement.lines]
    if not all(map(is_name, names)) or len(set(names)) < len(names):
        raise Malformed("statement.lines has names that are none, or a name twice")
    if not any(line.is_release for line in statement.lines):
        raise Malformed("statement.lines has no release")
    if not all(line.level is None or line.level > 0.0 for line in statement.lines):
        raise Malformed("statement.lines has a level that is not positive")
    if statement.neighbors not in NEIGHBORS:
        raise Malformed(f"statement.neighbors is none of {', '.join(NEIGHBORS)}")
    if not HASH.fullmatch(statement.plan):
        raise Malformed("statement.plan is not a hash")


def _check_charge(charge: Charge) -> None:
    if not HASH.fullmatch(charge.head) or not charge.entry:
        raise Malformed("charge has no entry or no hash of one")


def _kind(content: Any, place: str, depth: int) -> Kind:
    """A value from what `Result.to_dict` gives for it; an object in it is a value in turn."""
    if not depth:
        raise RecursionError
    content = value_as(dict[str, Any], content, place)
    if absent := [key for key in ("kind", "array", "axes") if key not in content]:
        raise Malformed(f"{at(place, absent[0])} is missing")
    kind = _known_kinds().get(value_as(str, content["kind"], at(place, "kind")))
    if kind is None:
        raise Malformed(f"{at(place, 'kind')} is not the name of a kind of an installed plugin")
    others = {
        key: _kind(value, at(place, key), depth - 1) if isinstance(value, dict) else value
        for key, value in content.items()
        if key not in ("kind", "array", "axes")
    }
    rest = fields(kind, others, place, without=("array", "axes"))
    array = _array(content["array"], at(place, "array"))
    axes = value_as(Axes | None, content["axes"], at(place, "axes"))
    try:
        with np.errstate(all="ignore"):
            value = kind(array, axes=axes, **rest)
    except PlanError:
        raise
    except Exception as error:  # raised by the checks of a plugin's kind
        raise Malformed(f"{place} is refused by its kind ({type(error).__name__})") from None
    _check_axes(value, at(place, "axes"))
    return value


def _check_axes(value: Kind, place: str) -> None:
    if value.axes is None:
        return
    names = len(value.axes.labels)
    if any(len(getattr(value.axes, field.name)) != names for field in attrs.fields(Axes)):
        raise Malformed(f"{place} has parts of different lengths")
    rows = len(value.array) - isinstance(value, AugmentedMoment | AugmentedSum) if value.array.ndim else 0
    if type(value).__module__ == kinds.__name__ and rows != names:
        raise Malformed(f"{place} has {names} names for {rows} rows")


def _array(content: Any, place: str) -> NDArray[Any]:
    if not isinstance(content, dict):
        return _real(content, place)
    if set(content) != {"real", "imaginary"}:
        raise Malformed(f"{place} must have a real and an imaginary part, and nothing else")
    real, imaginary = (_real(content[part], at(place, part)) for part in ("real", "imaginary"))
    if real.shape != imaginary.shape:
        raise Malformed(f"{place} has parts of different shapes")
    array = real.astype(np.complex128)
    array.imag = imaginary
    return array


def _real(content: Any, place: str) -> NDArray[Any]:
    """An array of real numbers; those that JSON lacks are strings, and rare enough to be looked for one by one."""
    try:
        array = np.array(content)
        if array.dtype.kind not in "iuf":
            array = np.array(_numbers(content, place, NESTED), dtype=np.float64)
    except ValueError:
        raise Malformed(f"{place} is not an array of numbers") from None
    return array


def _numbers(content: Any, place: str, depth: int) -> Any:
    if not depth:
        raise Malformed(f"{place} has too many dimensions")
    if isinstance(content, list):
        return [_numbers(each, place, depth - 1) for each in content]
    return number(content, place)


def _known_kinds() -> dict[str, type[Kind]]:
    """All kinds, those of plugins included, by name."""
    known, todo = {}, [Kind]
    while todo:
        kind = todo.pop()
        known[kind.__name__] = kind
        todo.extend(kind.__subclasses__())
    return known
