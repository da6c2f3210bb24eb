"""``dpframe plugins NAME``: what a mechanism, post-processor or other class is for, from its docstring and fields."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import attrs

from dpframe import registry
from dpframe.discovery import ROLES, PluginInfo
from dpframe.display.tables import heading, pairs
from dpframe.errors import PluginError
from dpframe.spec.refs import parameters_of

if TYPE_CHECKING:
    from rich.console import RenderableType

SECTION = re.compile(r"^(Args|Guarantee|References):$", re.M)
STEPS = {"mechanism": "release", "postprocessor": "derive"}


@attrs.frozen(kw_only=True)
class Description:
    """One class of a plugin, in words.

    Args:
        role: "mechanism", "postprocessor" and so on.
        name: its name in plans.
        provider: the package that provides it, with its version.
        purpose: its docstring up to the first section.
        parameters: what its parameters are, each with its default, by the name that users type.
        guarantee: its guarantee; empty where it has none of its own.
        references: where it is from.
        example: how a plan file says it; empty where it is no step.
    """

    role: str
    name: str
    provider: str
    purpose: str
    parameters: dict[str, str]
    guarantee: str = ""
    references: str = ""
    example: str = ""


def described(name: str) -> list[Description]:
    """All classes with a name, or all of a package; raises PluginError where there is none.

    Args:
        name: the name of a class, as plans have it, or of a package.
    """
    infos = registry.plugins()
    found = [(info, each) for info in infos for each in info.provides if name in (info.name, _split(each)[1])]
    if not found:
        aside = [info for info in infos if info.name == name and info.status != "active"]
        if aside:
            raise PluginError(f"{name} is {aside[0].status}: {aside[0].reason}.")
        registry.mechanism(name)  # refuses it, with the names that are close or the line that installs it
    return [_described(info, *_split(each)) for info, each in found]


def _split(provided: str) -> tuple[str, str]:
    """The role and the name in "bound oracle first-order"."""
    role = next(role for role in ROLES if provided.startswith(f"{role} "))
    return role, provided.removeprefix(f"{role} ")


def _described(info: PluginInfo, role: str, name: str) -> Description:
    cls = next(cls for cls in registry.classes(role) if cls.name == name)
    parts = _sections(inspect.getdoc(cls) or "")
    told = _told(cls)
    fields = parameters_of(cls) if attrs.has(cls) else {}
    return Description(
        role=role,
        name=name,
        provider=f"{info.name} {info.version}".strip(),
        purpose=_paragraphs(parts[""]),
        parameters={alias: _parameter(field, told.get(alias, "")) for alias, field in fields.items()},
        guarantee=_paragraphs(parts.get("Guarantee", "")),
        references=parts.get("References", ""),
        example=_example(role, name, fields),
    )


def _sections(text: str) -> dict[str, str]:
    """The sections of a docstring by title, without its doctests; what comes first has the title ""."""
    words = SECTION.split(text.split("\n>>> ", maxsplit=1)[0])
    named = {"": words[0], **dict(zip(words[1::2], words[2::2], strict=True))}
    return {title: inspect.cleandoc(f"\n{body}").strip() for title, body in named.items()}


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _told(cls: type) -> dict[str, str]:
    """What is said of each argument of a class, in its docstring or an inherited one; several may share a line."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        section = _sections(inspect.cleandoc(base.__doc__ or "")).get("Args", "")
        for names, words in re.findall(r"^(\w+(?:, \w+)*): (.*(?:\n[ \t]+.*)*)", section, re.M):
            found |= dict.fromkeys(names.split(", "), " ".join(words.split()))
    return found


def _parameter(field: attrs.Attribute[Any], told: str) -> str:
    plain = isinstance(field.default, bool | int | float | str)
    default = f"default {field.default!r}" if plain else "optional"
    state = "required" if field.default is attrs.NOTHING else default
    return f"{told} ({state})" if told else f"({state})"


def _example(role: str, name: str, fields: dict[str, attrs.Attribute[Any]]) -> str:
    if role not in STEPS:
        return ""
    needed = [alias for alias, field in fields.items() if field.default is attrs.NOTHING]
    rest = [f'{alias} = {{ref = "..."}}' if alias == "of" else f"{alias} = ..." for alias in needed]
    return "\n".join(["[[steps]]", f'{STEPS[role]} = "result"', f'with = "{name}"', *rest])


def rendered(descriptions: list[Description]) -> RenderableType:
    """The descriptions as text.

    Args:
        descriptions: what is described.
    """
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    def section(title: str, text: str) -> list[RenderableType]:
        return [heading(title), Padding(Text(text), (0, 0, 0, 2)), Text()] if text else []

    parts: list[RenderableType] = []
    for each in descriptions:
        parts += [heading(f"{each.name}: {each.role} of {each.provider}"), Text(), Text(each.purpose), Text()]
        if each.parameters:
            parts += [heading("Parameters"), pairs(each.parameters), Text()]
        parts += section("Guarantee", each.guarantee)
        parts += section("In a plan file", each.example)
        parts += section("References", each.references)
    return Group(*parts)
