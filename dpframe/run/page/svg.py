"""Elements of SVG and HTML as text, in which every value is escaped."""

from __future__ import annotations

from html import escape
from typing import Any

from dpframe.display.visible import visible

Numbers = int | float


class Markup(str):
    """Text that is markup already, for templates and for other elements."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def shown(text: str) -> str:
    """The text with its lines and nothing else that cannot be seen.

    Args:
        text: any text, of a plan file, say.
    """
    return "\n".join(visible(line) for line in text.split("\n"))


def escaped(value: Any) -> Markup:
    """A value as markup: a number to two decimals, markup as it is, and any text escaped.

    >>> escaped("<b>"), escaped(1.0), escaped(2.346)
    ('&lt;b&gt;', '1', '2.35')
    """
    if isinstance(value, Markup):
        return value
    if isinstance(value, float):
        return Markup(f"{value:.2f}".rstrip("0").rstrip("."))
    return Markup(escape(shown(str(value)), quote=True))


def element(name: str, *children: Any, **attributes: Any) -> Markup:
    """An element; attributes that are None are left out, and underscores in their names are hyphens.

    Args:
        name: its name.
        children: texts, numbers and elements.
        attributes: its attributes.

    >>> element("text", "a < b", x=1.5, text_anchor="end", class_="label")
    '<text x="1.5" text-anchor="end" class="label">a &lt; b</text>'
    """
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    opened = "".join(f' {key}="{escaped(value)}"' for key, value in given.items())
    return Markup(f"<{name}{opened}>{''.join(map(escaped, children))}</{name}>")


def drawing(label: str, width: Numbers, height: Numbers, *parts: Any) -> Markup:
    """A picture with a text for those who do not see it.

    Args:
        label: what it shows.
        width: its width.
        height: its height.
        parts: its elements.
    """
    size = {"width": width, "height": height, "viewBox": f"0 0 {escaped(width)} {escaped(height)}"}
    return element("svg", *parts, role="img", aria_label=label, **size)


def cut(name: str, longest: int) -> str:
    """A name of at most so many characters.

    Args:
        name: the name.
        longest: the most characters.

    >>> cut("education_num", 9)
    'educatio…'
    """
    return name if len(name) <= longest else f"{name[: longest - 1]}…"
