"""Plan files: TOML that round-trips exactly and holds no code; an error names the line of the mistake.

::

    format = 1
    requires = {dpframe-gaussian = ">=0.1.0"}

    [rows]
    neighbors = "add-remove"
    norm = 1.0

    [budget]
    epsilon = 1.0
    delta = 1e-6

    [[steps]]
    release = "moment"
    with = "gaussian"

    [[steps]]
    derive = "components"
    with = "top-subspace"
    of = {ref = "moment"}
    k = 3

    [scenario]                                          # optional: assumed data for `explain` and for recipes
    dim = 6
    spectrum = [1195, 996, 507, 282, 178, 168]

A plan about a matrix that was computed elsewhere has, in the place of ``[rows]``::

    [matrix]
    neighbors = "add-remove"
    frobenius = 1.0
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import attrs
import numpy as np

from dpframe import registry, validators
from dpframe.discovery import OWN, STEP_KEYS
from dpframe.display.visible import visible
from dpframe.errors import DPFrameError, PlanError
from dpframe.interfaces import PostProcessor
from dpframe.kinds import Kind
from dpframe.plan import Plan
from dpframe.plan.steps import Step, made
from dpframe.plan.toml import Place, Places, write
from dpframe.spec.budget import Budget
from dpframe.spec.columns import Category, Column
from dpframe.spec.matrix import Matrix
from dpframe.spec.placement import Placement
from dpframe.spec.refs import Ref, parameters_of
from dpframe.spec.rows import Rows
from dpframe.spec.scenario import Scenario

FORMAT = 1
KEYS = ("format", "requires", "accountant", "accept", "rows", "matrix", "budget", "steps", "scenario")
ASSUMED = ("sd", "mean")  # of a column, in forecasts
NESTED = 16  # levels of tables and lists; a matrix in a step of a plan is on the fifth
LARGEST_BITS = 1023  # of integers that are finite doubles

T = TypeVar("T")


def dumps(plan: Plan) -> str:
    """The text of the plan file, in TOML."""
    return write(to_dict(plan))


def loads(text: str, *, source: str = "plan") -> Plan:
    """Read a plan from TOML; every mistake is a PlanError that names the line.

    Args:
        text: the text of a plan file.
        source: the name of the file in error messages.
    """
    try:
        content = tomllib.loads(text)
        _check_size(content, NESTED)
    except RecursionError:
        raise PlanError(visible(f"{source} is not a plan: its values are nested too deeply.")) from None
    except ValueError as error:  # not TOML, or an integer of thousands of digits
        raise PlanError(visible(f"{source} is not TOML: {error}")) from None
    return _Reader(Places(source, text)).plan(content)


def _check_size(value: Any, depth: int) -> None:
    """Raise RecursionError for values nested more deeply than any plan needs, ValueError for too large an integer."""
    if not depth:
        raise RecursionError
    if isinstance(value, int) and value.bit_length() > LARGEST_BITS:
        raise ValueError(f"an integer has {value.bit_length()} bits, more than any number of a plan")
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_size(each, depth - 1)


def content_hash(plan: Plan) -> str:
    """SHA-256 of the canonical form, which equal plans share, whatever the layout of their files.

    What forecasts assume about columns is left out: plans that differ only in it release the same.
    """
    try:
        content = {key: value for key, value in to_dict(plan).items() if key != "requires"}
        for column in content.get("rows", {}).get("columns", ()):
            for assumed in ASSUMED:
                column.pop(assumed, None)
    except PlanError:  # holds a value that no file can: hash its representation, with all digits of arrays
        with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
            content = {"plan": _by_parts(plan)}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _by_parts(plan: Plan) -> str:
    """The representation of a plan that no file can hold. Recorded hashes depend on its text, "written" included."""
    parts = {field.name: getattr(plan, field.name) for field in attrs.fields(Plan)}
    parts = {"written" if name == "declared" else name: value for name, value in parts.items()}
    return f"Plan({', '.join(f'{name}={value!r}' for name, value in parts.items())})"


# -- writing ----------------------------------------------------------------------------------------------------------


def to_dict(plan: Plan) -> dict[str, Any]:
    """The canonical form: nested tables of plain values, without those that equal their defaults."""
    content: dict[str, Any] = {"format": FORMAT}
    if needed := _requirements(plan):
        content["requires"] = needed
    if plan.accountant != "auto":
        content["accountant"] = plan.accountant
    if plan.accept:
        content["accept"] = [model.name for model in plan.accept]
    rows = _fields(plan.rows)
    if plan.rows.columns is not None:
        del rows["dim"]  # determined by the columns
    promise = "matrix" if isinstance(plan.rows, Matrix) else "rows"
    content |= {promise: rows, "budget": _fields(plan.budget), "steps": [_step(step) for step in plan.declared]}
    if plan.scenario is not None:
        content["scenario"] = _fields(plan.scenario)
    return content


def _step(step: Step) -> dict[str, Any]:
    role = "derive" if isinstance(step.action, PostProcessor) else "release"
    shares = _fields(step, ("weight", "level", "rows"))
    return {role: step.name, "with": step.action.name, **shares, **_fields(step.action)}


def _fields(owner: Any, only: tuple[str, ...] | None = None) -> dict[str, Any]:
    """The fields of a value by the names that users type, without those that equal their defaults."""
    fields = {}
    for alias, field in parameters_of(type(owner)).items():
        value = getattr(owner, field.name)
        if only is not None and field.name not in only:
            continue
        if value is not None and not (field.default is not attrs.NOTHING and _same(value, field.default)):
            fields[alias] = _plain(value)
    return fields


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _plain(value: Any) -> Any:
    if isinstance(value, Ref):
        return {"ref": value.name}
    if isinstance(value, Kind):
        if value.axes is not None or value.array.dtype.kind != "f" or len(attrs.fields(type(value))) > 2:
            raise PlanError(
                f"{value.title} cannot be written to a plan file unless it is an array of real numbers alone."
            )
        return value.array.tolist()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Column | Category | Placement):
        return _fields(value)
    raise PlanError(f"a {type(value).__name__} cannot be written to a plan file.")


def _requirements(plan: Plan) -> dict[str, str]:
    """The plugins that the plan uses, each with its installed version as the minimum."""
    roles = []
    for step in plan.declared:
        role = "postprocessor" if isinstance(step.action, PostProcessor) else "mechanism"
        roles.append((role, step.action.name))
    if plan.accountant != "auto":
        roles.append(("accountant", plan.accountant))
    used = {plugin.name: plugin.version for role in roles if (plugin := registry.provider(*role)) is not None}
    return {name: f">={version}" for name, version in sorted(used.items()) if name != "dpframe"}


# -- reading ----------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Reader:
    """Builds a plan from the tables of one file; errors name the line of the key at fault."""

    places: Places

    def plan(self, content: dict[str, Any]) -> Plan:
        """The plan that the tables describe."""
        top = self.places.top
        version = content.get("format")
        if version != FORMAT or isinstance(version, bool):
            raise top.at("format").error(f"format must be {FORMAT}; got {version!r}.")
        self._known(content, KEYS, top)
        self._check_requirements(self._table(content, "requires", top, optional=True))
        promise = self._promise(content, top)
        steps = content.get("steps")
        if not isinstance(steps, list):
            raise top.at("steps").error("a plan file needs [[steps]], one table for each step.")
        parts: dict[str, Any] = {
            "rows": promise,
            "budget": self._build(Budget, self._table(content, "budget", top), top.at("budget")),
            "steps": [self._step(step, top.at("steps", index)) for index, step in enumerate(steps)],
        }
        if "accountant" in content:
            parts["accountant"] = content["accountant"]
        if "accept" in content:
            parts["accept"] = content["accept"]
        if "scenario" in content:
            parts["scenario"] = self._build(Scenario, self._table(content, "scenario", top), top.at("scenario"))
        return self._placed(top, lambda: Plan(**parts))

    def _promise(self, content: dict[str, Any], top: Place) -> Rows:
        """The promise about rows, or about a matrix."""
        if "matrix" not in content:
            return self._rows(self._table(content, "rows", top), top.at("rows"))
        if "rows" in content:
            raise top.at("matrix").error("a plan is about rows or about a matrix: [rows] or [matrix], not both.")
        return self._build(Matrix, self._table(content, "matrix", top), top.at("matrix"))

    def _rows(self, table: dict[str, Any], place: Place) -> Rows:
        columns = table.get("columns")
        if columns is not None:
            if not isinstance(columns, list):
                raise place.at("columns").error("columns must be tables: [[rows.columns]] for each.")
            table = {**table, "columns": [self._column(c, place.at("columns", i)) for i, c in enumerate(columns)]}
        return self._build(Rows, table, place)

    def _column(self, table: Any, place: Place) -> Column | Category:
        if not isinstance(table, dict):
            raise place.error("a column must be a table with name, low and high, or name and levels.")
        return self._build(Category, table, place) if "levels" in table else self._build(Column, table, place)

    def _step(self, table: Any, place: Place) -> Step:
        if not isinstance(table, dict) or ("release" in table) == ("derive" in table):
            raise place.error('a step must be a table with either release = "name" or derive = "name".')
        role = "release" if "release" in table else "derive"
        if not isinstance(table[role], str) or not isinstance(table.get("with"), str):
            raise place.error(f'a step needs {role} = "its name" and with = "the name of what does it".')
        parameters = {key: self._value(value, place.at(key)) for key, value in table.items() if key not in STEP_KEYS}
        shares = {key: table[key] for key in ("weight", "level") if key in table}
        if shares and role == "derive":
            raise place.at(next(iter(shares))).error("a derived result is free: it takes neither weight nor level.")
        if "rows" in table:
            if role == "derive":
                raise place.at("rows").error("a derived result sees released values only: it takes no rows.")
            rows = self._table(table, "rows", place)
            shares["rows"] = {key: self._value(value, place.at("rows", key)) for key, value in rows.items()}
        return self._placed(place, lambda: made(role, table[role], table["with"], parameters, **shares))

    def _build(self, cls: type[T], table: dict[str, Any], place: Place) -> T:
        declared: Any = cls
        fields = {field.alias: field for field in attrs.fields(declared) if field.init}
        self._known(table, tuple(fields), place)
        required = [name for name, field in fields.items() if field.default is attrs.NOTHING]
        if absent := [name for name in required if name not in table]:
            raise place.error(f"{absent[0]!r} is missing.")
        values = {key: self._value(value, place.at(key)) for key, value in table.items()}
        return self._placed(place, lambda: cls(**values))

    def _value(self, value: Any, place: Place) -> Any:
        if isinstance(value, dict):
            if set(value) != {"ref"} or not isinstance(value["ref"], str):
                raise place.error('a table here must be a reference: {ref = "name of an earlier step"}.')
            return Ref(value["ref"])
        return value

    def _table(self, content: dict[str, Any], key: str, place: Place, *, optional: bool = False) -> dict[str, Any]:
        table = content.get(key, {} if optional else None)
        if not isinstance(table, dict):
            raise place.at(key).error(f"a plan file needs the table [{key}].")
        return table

    def _known(self, table: Mapping[str, Any], allowed: tuple[str, ...], place: Place) -> None:
        if unknown := [key for key in table if key not in allowed]:
            raise place.at(unknown[0]).error(f"unknown key {unknown[0]!r}; allowed: {', '.join(allowed)}.")

    def _placed(self, place: Place, make: Callable[[], T]) -> T:
        try:
            return make()
        except DPFrameError as error:
            raise place.error(str(error)) from None

    def _check_requirements(self, requires: dict[str, Any]) -> None:
        from packaging.specifiers import SpecifierSet

        installed = {plugin.name: plugin for plugin in registry.plugins()}
        for name, wanted in requires.items():
            place = self.places.top.at("requires")
            plugin = installed.get(name)
            try:
                accepted = SpecifierSet(wanted if isinstance(wanted, str) else "no text")
                fits = plugin is not None and accepted.contains(plugin.version, prereleases=True)
            except ValueError:  # no specifier, or one with numbers of thousands of digits
                raise place.error(
                    f'{name} must be a version range such as ">=0.1"; got {validators.shown(wanted)}.'
                ) from None
            if plugin is None or plugin.status != "active":
                state = "is not installed" if plugin is None else f"is {plugin.status}: {plugin.reason}"
                get = f" Get it: pip install {name}." if plugin is None and name in OWN else ""
                raise place.error(f"the plan requires {name} {wanted}, which {state}.{get}")
            if not fits:
                raise place.error(f"the plan requires {name} {wanted}; version {plugin.version} is installed.")
