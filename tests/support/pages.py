"""Pages of the documentation: their blocks, and what stays the same of what they print."""

from __future__ import annotations

import re

import attrs


@attrs.frozen
class Block:
    """A fenced block of a page."""

    language: str
    title: str
    body: str
    mark: str  # "output", "sample" or none
    start: int
    stop: int
    line: int


FENCE = re.compile(
    r"^(?:<!-- (?P<mark>output|sample) -->\n)?```(?P<language>\w*)(?P<rest>[^\n`]*)\n(?P<body>.*?)^```$", re.M | re.S
)


def blocks(text: str) -> list[Block]:
    return [
        Block(
            language=found["language"],
            title=(re.findall(r'title="([^"]+)"', found["rest"]) or [""])[0],
            body=found["body"],
            mark=found["mark"] or "",
            start=found.start(),
            stop=found.end(),
            line=text.count("\n", 0, found.start("body")),
        )
        for found in FENCE.finditer(text)
    ]


def stable(text: str) -> str:
    """A text without hashes, and without what a report says of other plugins that happen to be installed."""
    text = re.sub(r"sha256 [0-9a-f]+", "sha256", text)
    text = re.sub(r"\(accountant: ([^;)]*);[^)]*\)", r"(accountant: \1)", text)
    return re.sub(r"^(dpframe \d[\w.]*), dpframe-(?:.|\n(?!\n))*", r"\1", text, flags=re.M).rstrip()  # over lines
