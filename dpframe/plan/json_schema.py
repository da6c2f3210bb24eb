"""A JSON schema of plan files, for editors: all keys, and the parameters of every installed action."""

from __future__ import annotations

from typing import Any

import attrs

from dpframe import registry
from dpframe.plan.file import FORMAT
from dpframe.spec.budget import Budget
from dpframe.spec.columns import Category, Column
from dpframe.spec.matrix import NORMS, Matrix
from dpframe.spec.refs import parameters_of
from dpframe.spec.rows import NEIGHBORS, Rows
from dpframe.spec.scenario import Scenario

TYPES = {"int": "integer", "float": "number", "str": "string", "bool": "boolean", "tuple[float, ...]": "array"}
REFERENCE = {
    "type": "object",
    "properties": {"ref": {"type": "string"}},
    "required": ["ref"],
    "additionalProperties": False,
}
NUMBERS = {"anyOf": [{"type": "array", "items": {"type": "number"}}, REFERENCE]}
MATRIX = {"anyOf": [{"type": "array", "items": {"type": "array", "items": {"type": "number"}}}, REFERENCE]}
PLACEMENT = {
    "about": NUMBERS,
    "scale": NUMBERS,
    "linear": MATRIX,
    "norm": {"anyOf": [{"type": "number"}, REFERENCE]},
}


def schema() -> dict[str, Any]:
    """The JSON schema of plan files, with the plugins that are installed."""
    rows = _object(Rows)
    rows["properties"] |= {
        "neighbors": {"enum": list(NEIGHBORS)},
        **PLACEMENT,
        "columns": {"type": "array", "items": {"anyOf": [_object(Column), _object(Category)]}},
    }
    rows["required"] = ["neighbors"]
    matrix = _object(Matrix)
    matrix["properties"]["neighbors"] = {"enum": list(NEIGHBORS)}
    matrix |= {"required": ["neighbors"], "anyOf": [{"required": [norm]} for norm in NORMS]}
    steps = [_step("release", cls) for cls in registry.classes("mechanism")]
    steps += [_step("derive", cls) for cls in registry.classes("postprocessor")]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "dpframe plan",
        "type": "object",
        "properties": {
            "format": {"const": FORMAT},
            "requires": {"type": "object", "additionalProperties": {"type": "string"}},
            "accountant": {"enum": ["auto", *(cls.name for cls in registry.accountants())]},
            "accept": {"type": "array", "items": {"type": "string"}},
            "rows": rows,
            "matrix": matrix,
            "budget": _object(Budget),
            "steps": {"type": "array", "minItems": 1, "items": {"oneOf": steps}},
            "scenario": _object(Scenario),
        },
        "required": ["format", "budget", "steps"],
        "oneOf": [{"required": ["rows"]}, {"required": ["matrix"]}],
        "additionalProperties": False,
    }


def _step(role: str, cls: Any) -> dict[str, Any]:
    described = _object(cls)
    parts = {**PLACEMENT, "center": {"type": "boolean"}}
    placed = {"type": "object", "properties": parts, "additionalProperties": False}
    shares = {"weight": {"type": "number"}, "level": {"type": "number"}, "rows": placed} if role == "release" else {}
    return {
        "type": "object",
        "description": (cls.__doc__ or "").strip().split("\n")[0],
        "properties": {role: {"type": "string"}, "with": {"const": cls.name}, **shares, **described["properties"]},
        "required": [role, "with", *described["required"]],
        "additionalProperties": False,
    }


def _object(cls: Any) -> dict[str, Any]:
    """The fields of a class by the names that users type, with a JSON type where the annotation is a simple one."""
    fields = {alias: field for alias, field in parameters_of(cls).items() if field.init}
    return {
        "type": "object",
        "properties": {alias: _type(field) for alias, field in fields.items()},
        "required": [alias for alias, field in fields.items() if field.default is attrs.NOTHING],
        "additionalProperties": False,
    }


def _type(field: attrs.Attribute[Any]) -> dict[str, Any]:
    names = [word.strip() for word in str(field.type).split("|")]
    known = [TYPES[name] for name in names if name in TYPES]
    return {"type": known if len(known) > 1 else known[0]} if len(known) == len({*names} - {"None"}) > 0 else {}
