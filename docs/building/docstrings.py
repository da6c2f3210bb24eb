"""Extensions of griffe, which reads source code for the reference.

They show the signatures that attrs writes, which are not in the source, and doctests as code, with prompts.
"""

from __future__ import annotations

import importlib
import inspect
import re
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


DOCTEST = re.compile(r"^( *)(>>> .*(?:\n\1(?! *$).+)*)", re.M)


class Doctests(griffe.Extension):
    """Puts the doctests of docstrings into fences."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            text = re.sub(r"\](\s+)\[(?=[A-Z])", r"]\1\\[", obj.docstring.value)  # two remarks, not a link
            obj.docstring.value = DOCTEST.sub(r"\1```pycon\n\1\2\n\1```", text)
