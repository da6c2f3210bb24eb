"""Objects that can be named but not printed."""

from __future__ import annotations


class Redacted:
    """A private object that can be named but not printed."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: private>"
