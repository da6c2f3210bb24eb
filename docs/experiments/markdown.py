"""Tables in Markdown, as the results pages have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Print a table."""
    for line in (head, ["---"] * len(head), *lines):
        print("| " + " | ".join(line) + " |")
    print()
