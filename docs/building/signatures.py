"""Shows the signatures that attrs writes: an extension of griffe, which reads source code and cannot see them."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import attrs
import griffe


class AttrsSignatures(griffe.Extension):
    """Gives every attrs class the parameters of its constructor."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        owner: Any = importlib.import_module(cls.module.path)
        for name in cls.path.removeprefix(cls.module.path + ".").split("."):
            owner = getattr(owner, name, None)
        if not (inspect.isclass(owner) and attrs.has(owner)):
            return
        parameters = [
            griffe.Parameter(
                parameter.name,
                annotation=None if parameter.annotation is parameter.empty else _text(parameter.annotation),
                kind=griffe.ParameterKind(parameter.kind.description),
                default=None if parameter.default is parameter.empty else repr(parameter.default),
            )
            for parameter in inspect.signature(owner).parameters.values()
        ]
        own = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
        cls.set_member("__init__", griffe.Function("__init__", parameters=griffe.Parameters(own, *parameters)))


def _text(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
