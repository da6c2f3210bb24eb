"""The catalog of everything that plans can name, from the docstrings.

``python -m docs.building.catalog`` writes the page. It has the same facts as ``dpframe plugins NAME``.
"""

from __future__ import annotations

import inspect
import re

from docs.building.stage import DOCS
from dpframe import registry
from dpframe.cli.described import Description, described
from dpframe.discovery import CORE, OWN

PAGE = DOCS / "reference" / "catalog.md"
PARTS = {
    "mechanism": ("Mechanisms", "For `dp.release`: they read the data, draw noise, and cost budget."),
    "postprocessor": ("Post-processors", "For `dp.derive`: functions of released values, free of charge."),
    "statistic": (
        "Statistics",
        "What mechanisms read: exact sums over the rows. Plans do not name them.",
    ),
    "accountant": ("Accountants", "They add up what steps cost. A plan asks all and takes the smallest answer."),
    "bound oracle": ("Bound oracles", "They forecast errors for `plan.explain` and `dp.compare`, and never see data."),
}

INTRODUCTION = """\
# Catalog

Everything that a plan can name, from the core and the plugins of this project, in the words of its docstring. In a
shell, `dpframe plugins NAME` shows the same. [Which mechanism?](../how-to/which-mechanism.md) helps to choose.
"""


def page() -> str:
    """The whole page."""
    found = [each for name in (CORE, *sorted(OWN)) for each in described(name)]
    parts = [INTRODUCTION]
    for role, (title, introduction) in PARTS.items():
        own = sorted((each for each in found if each.role == role), key=lambda each: each.name)
        parts.append(f"## {title}\n\n{introduction}\n")
        rows = [f"| [`{each.name}`](#{each.name}) | {_cell(_first(each.purpose))} | {_package(each)} |" for each in own]
        parts.append("\n".join(["| Name | Purpose | Package |", "|---|---|---|", *rows]) + "\n")
        parts += [_section(each) for each in own]
    return "\n".join(parts)


def _section(each: Description) -> str:
    parts = [f"### `{each.name}`", *(_prose(part) for part in each.purpose.split("\n\n"))]
    if each.parameters:
        rows = [f"| `{name}` | {_cell(words)} |" for name, words in each.parameters.items()]
        parts.append("\n".join(["| Parameter | |", "|---|---|", *rows]))
    if each.guarantee:
        parts.append(f"**Guarantee.** {_prose(each.guarantee)}")
    if each.example:
        parts.append(f"```text\n{each.example}\n```")
    if doctest := _doctest(each):
        parts.append(f"```pycon\n{doctest}\n```")
    if each.references:
        parts.append(f"*{_prose(' '.join(each.references.split())).rstrip('.')}.*")
    return "\n\n".join(parts) + "\n"


def _doctest(each: Description) -> str:
    """The examples of the class's docstring, which the tests run."""
    cls = next(cls for cls in registry.classes(each.role) if cls.name == each.name)
    text = inspect.getdoc(cls) or ""
    found = re.findall(r"^( *)(>>> .*(?:\n\1.+)*)", text, re.M)
    return "\n".join(inspect.cleandoc(indent + body) for indent, body in found)


def _package(each: Description) -> str:
    return f"`{each.provider.split()[0]}`"


def _first(purpose: str) -> str:
    """The first sentence."""
    return re.split(r"(?<=\.) ", purpose.split("\n\n", maxsplit=1)[0], maxsplit=1)[0]


def _prose(text: str) -> str:
    """A text of a docstring as Markdown."""
    text = re.sub(r"``([^`]+)``|:\w+:`~?([^`]+)`", r"`\1\2`", text)
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)


def _cell(text: str) -> str:
    return _prose(text).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
