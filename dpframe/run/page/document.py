"""The document: a template, filled; and a plain one where that fails, since what is reported may be paid for."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dpframe.run.page.svg import Markup, escaped, shown

if TYPE_CHECKING:
    from jinja2 import Template

POLICY = "default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'"
"""What a browser may do for the page: apply its own style and run its own script, and nothing else."""

LONG_NAME = 18  # characters


def document(**content: Any) -> str:
    """The text of a page.

    Args:
        content: what the template shows; every text in it is escaped.
    """
    style, script = _file("page.css"), _file("page.js")
    policy = POLICY.format(style=_hash(style), script=_hash(script))
    return _template().render(**content, style=Markup(style), script=Markup(script), policy=policy)


def plain_document(title: str, text: str, reason: str) -> str:
    """A page with nothing but text, where the other one cannot be made.

    Args:
        title: its title.
        text: the text.
        reason: why there is no more.
    """
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>'
    notice = f"The figures of this page could not be drawn ({escape(reason)}). This is the report as text."
    return (
        f'<!doctype html><html lang="en"><head>{head}</head><body><main><h1>{escape(title)}</h1><p>{notice}</p>'
        f"<pre>{escape(shown(text))}</pre></main></body></html>\n"
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_visible
    )
    environment.filters["name"] = name
    return environment.from_string(_file("page.html"))


def name(text: str) -> Markup:
    """A name; a long one may be broken into lines where its words end.

    >>> name("hours<week"), name("hours_of_work_per_week")
    ('hours&lt;week', 'hours_<wbr>of_<wbr>work_<wbr>per_<wbr>week')
    """
    return Markup(escaped(text).replace("_", "_<wbr>")) if len(text) > LONG_NAME else escaped(text)


def _visible(value: Any) -> Any:
    """What a template shows: of texts, nothing that cannot be seen."""
    return shown(value) if type(value) is str else value


@cache
def _file(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
