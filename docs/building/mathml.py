"""Formulas: an extension of Python-Markdown that turns LaTeX into MathML when the site is built.

``$x$`` is a formula in a line, ``$$x$$`` and a fenced block ``math`` are displayed. Browsers draw MathML themselves, so
a page needs no script for it, and code hosts that know these marks show the same formulas from the same pages.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor
from math_core import LatexToMathML

FENCE = re.compile(r"^```math\n(.*?)^```$", re.M | re.S)
DISPLAYED = r"\$\$(.+?)\$\$"
INLINE = r"(?<![\\$\w])\$(?![\s$])((?:[^$\\\n]|\\.|\n(?!\n))+?)(?<!\s)\$(?![\w$])([.,;:)]*)"


CONVERTER = LatexToMathML(fancy_error=False, annotation=True)


def mathml(latex: str, display: str) -> str:
    """A formula as MathML; a command that is not known is an error.

    Args:
        latex: the formula, without its marks.
        display: "inline" or "block".
    """
    made: str = CONVERTER.convert_with_local_state(latex.strip(), displaystyle=display == "block")
    return made


class Displayed(InlineProcessor):
    """A formula on lines of its own."""

    def handleMatch(  # type: ignore[override]  # noqa: N802
        self, m: re.Match[str], data: str
    ) -> tuple[Element | str, int, int]:
        return self.md.htmlStash.store(mathml(m[1], "block")), m.start(0), m.end(0)


class Inline(InlineProcessor):
    """A formula in a line, which is not separated from the punctuation after it."""

    def handleMatch(  # type: ignore[override]  # noqa: N802
        self, m: re.Match[str], data: str
    ) -> tuple[Element | str, int, int]:
        made = mathml(m[1], "inline")
        kept = f'<span style="white-space: nowrap">{made}{m[2]}</span>' if m[2] else made
        return self.md.htmlStash.store(kept), m.start(0), m.end(0)


class Fences(Preprocessor):
    """Fenced blocks of formulas, before other fences are looked at."""

    def run(self, lines: list[str]) -> list[str]:
        text = FENCE.sub(lambda found: self.md.htmlStash.store(mathml(found[1], "block")), "\n".join(lines))
        return text.split("\n")


class MathML(Extension):
    """Formulas below code in precedence: what stands in backticks stays as it is."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.preprocessors.register(Fences(md), "math-fences", 28)
        md.inlinePatterns.register(Displayed(DISPLAYED, md), "math-displayed", 186)
        md.inlinePatterns.register(Inline(INLINE, md), "math-inline", 185)


def makeExtension(**options: Any) -> MathML:  # noqa: N802
    return MathML(**options)
